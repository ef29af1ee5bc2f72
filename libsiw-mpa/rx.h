/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Events from the octets of RDMA mode. */
#ifndef SMPA_RX_H
#define SMPA_RX_H

#include "state.h"

/* Gets the next receive event after the start.  Return: 0: there is none. */
int rx_next_event(struct smpa_conn *c, struct smpa_event *ret_ev);

/* Discards all further input, and forgets an open sink. */
void rx_discard(struct smpa_conn *c);

/*
 * Ends the input after a protocol violation or the end of the stream.  Queues
 * TERMINATE where one may be sent.  Fills @ev and returns 1.
 */
int rx_fault(struct smpa_conn *c, struct smpa_event *ev, uint16_t value,
	     const struct term_cause *cause);

#endif
