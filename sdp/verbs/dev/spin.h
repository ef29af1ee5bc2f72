/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whether a thread polls before it sleeps.
 *
 * Polling pays off if the peer runs on another processor: the answer arrives
 * sooner than a sleeping thread wakes. It does harm if the peer waits for the
 * processor that polls. After a wait that polled in vain the next ones do not
 * poll, twice as many each time, and half as many after one that did not.
 *
 * No lock: threads may use a budget at once. An update that is lost is learnt
 * again.
 */
#ifndef SDP_SPIN_H
#define SDP_SPIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* How long a thread polls. */
#define SDP_SPIN_NS 50000u
/* Waits that do not poll, at most. */
#define SDP_SPIN_SKIPS 1023u

/* Zero at first. */
struct sdp_budget {
	_Atomic uint32_t skip_cnt; /* waits that do not poll */
	_Atomic uint32_t gap;	   /* ... after the last one in vain */
};

/* A wait begins. Return: whether it polls; sdp_budget_note() follows. */
bool sdp_budget_spins(struct sdp_budget *budget);

/* It has polled. @found: what it waits for. */
void sdp_budget_note(struct sdp_budget *budget, bool found);

#endif
