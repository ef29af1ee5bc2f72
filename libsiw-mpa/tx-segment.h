/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which octets may share a TCP segment. */
#ifndef SMPA_TX_SEGMENT_H
#define SMPA_TX_SEGMENT_H

#include "state.h"

/* True if a READ Request after the encoded octets would fit into their TCP
 * segment.  It does if no octet waits to be taken. */
bool tx_read_fits(const struct smpa_conn *c);

/* Accounts for @len octets of the last tx_prepare that TCP has taken. */
void tx_share_segment(struct smpa_conn *c, size_t len);

#endif
