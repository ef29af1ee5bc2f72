/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Messages and start frames -> octets. */
#ifndef SMPA_TX_H
#define SMPA_TX_H

#include "state.h"

/* Queues a start frame; -ENOBUFS: no staging. */
int tx_put_start(struct smpa_conn *c, const struct start_frame *f);

/* TERMINATE, if one may be sent (MPA-134, C-17); drops what is not encoded.
 * Return: whether one was queued. */
bool tx_terminate(struct smpa_conn *c, struct smpa_fault fault,
		  const struct term_cause *cause);

/* Nothing but what is encoded already goes out. */
void tx_close(struct smpa_conn *c);

/* SENT events that are due; 0: none. */
int tx_next_event(struct smpa_conn *c, struct smpa_event *ret_ev);

#endif
