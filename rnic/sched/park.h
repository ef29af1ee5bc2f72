/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the completion thread has learnt about the threads that poll: whether it
 * may park, because they read what comes, and for how long.
 */
#ifndef RNIC_SCHED_PARK_H
#define RNIC_SCHED_PARK_H

#include <stdbool.h>
#include <stdint.h>

/* Of the completion thread; zero at first. */
struct rnic_park {
	uint64_t lost_ns; /* it did not park for so long the last time */
	uint64_t not_before_ns;
};

static inline bool rnic_park_may(const struct rnic_park *park, uint64_t now_ns)
{
	return now_ns >= park->not_before_ns;
}

/* How long the parked thread sleeps before it looks whether the poller still
 * polls, in ns.  @last_ns: how long it has slept the last time; 0: it parks. */
uint64_t rnic_park_ns(uint64_t last_ns);

/* The poller had gone: octets lay unread behind the parked thread. */
void rnic_park_note_unread(struct rnic_park *park, uint64_t now_ns);

#endif
