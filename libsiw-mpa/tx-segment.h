/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which octets may share a TCP segment. */
#ifndef SMPA_TX_SEGMENT_H
#define SMPA_TX_SEGMENT_H

#include "state.h"

/* Would a READ Request behind what is encoded lie in one segment?  Where
 * nothing waits to be taken it does. */
bool tx_read_fits(const struct smpa_conn *c);

/* TCP has taken @len octets of what tx_prepare offered. */
void tx_share_segment(struct smpa_conn *c, size_t len);

#endif
