/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Deadlines of the objects that the loop serves. All calls are made locked. */
#ifndef RNIC_LOOP_TIMER_H
#define RNIC_LOOP_TIMER_H

#include <stddef.h>

#include "object.h"

/* Expires in @ns, which is the same for all timers of @list. A running timer is
 * restarted. */
void rnic_timer_start(struct rnic_timer *timer, enum rnic_timer_list list,
		      uint64_t ns);
/* A timer that does not run may be stopped, too. */
void rnic_timer_stop(struct rnic_timer *timer);

static inline bool rnic_timer_runs(const struct rnic_timer *timer)
{
	return timer->list != RNIC_TIMER_NONE;
}

static inline uint32_t rnic_timer_cnt(enum rnic_timer_list list)
{
	return rnic_loop.timers[list].cnt;
}

/* The one that expires first; the others follow by link. NULL: none. */
static inline struct rnic_timer *rnic_timer_first(enum rnic_timer_list list)
{
	return TAILQ_FIRST(&rnic_loop.timers[list].head);
}

static inline void *rnic_owner(void *part, size_t offset)
{
	return (char *)part - offset;
}

/* The object of @type that contains @part as @member. */
#define RNIC_OWNER(part, type, member)                                         \
	((type *)rnic_owner(part, offsetof(type, member)))

/* Calls the functions of timers that have expired at @now_ns. */
void rnic_timers_fire(uint64_t now_ns);
uint64_t rnic_timers_next_ns(void); /* UINT64_MAX: none runs */

/* There is a deadline before the time at which the sleeping thread will wake
 * up. */
void rnic_loop_deadline(uint64_t deadline_ns);

#endif
