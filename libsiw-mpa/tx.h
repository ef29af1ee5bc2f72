/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Octets from messages and start frames. */
#ifndef SMPA_TX_H
#define SMPA_TX_H

#include "state.h"

/* Queues a start frame; -ENOBUFS: no staging. */
int tx_put_start(struct smpa_conn *c, const struct start_frame *f);

/* Queues TERMINATE if one may be sent (MPA-134, C-17), and drops messages that
 * are not encoded.  Return: whether one was queued. */
bool tx_terminate(struct smpa_conn *c, struct smpa_fault fault,
		  const struct term_cause *cause);

/* Accepts no further message; octets that are encoded are still sent. */
void tx_close(struct smpa_conn *c);

/* Gets the next SENT event.  Return: 0: there is none. */
int tx_next_event(struct smpa_conn *c, struct smpa_event *ret_ev);

#endif
