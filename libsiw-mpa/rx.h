/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Octets of RDMA mode -> events. */
#ifndef SMPA_RX_H
#define SMPA_RX_H

#include "state.h"

/* The next receive event, once the start is over; 0: none. */
int rx_next_event(struct smpa_conn *c, struct smpa_event *ret_ev);

/* No further input is taken; an open sink is forgotten. */
void rx_kill(struct smpa_conn *c);

/*
 * The peer broke the protocol, or is gone: no more input, TERMINATE where one
 * may be sent; fills @ev and returns 1.
 */
int rx_fault(struct smpa_conn *c, struct smpa_event *ev, uint16_t value,
	     const struct term_cause *cause);

#endif
