/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Deadlines of what the loop serves, in lists that are each in their order. */
#include "timer.h"

#include "ref.h"

void rnic_loop_deadline(uint64_t deadline_ns)
{
	util_lock_assert_held(&rnic_loop.lock);
	if (deadline_ns >= rnic_loop.wakes_ns)
		return;
	rnic_loop.wakes_ns = deadline_ns;
	rnic_loop_wake();
}

void rnic_timer_start(struct rnic_timer *timer, enum rnic_timer_list list,
		      uint64_t ns)
{
	struct rnic_timers *timers = &rnic_loop.timers[list];

	rnic_timer_stop(timer);
	if (!timers->cnt)
		TAILQ_INIT(&timers->head);
	timer->list = list;
	timer->deadline_ns = util_now_ns() + ns;
	TAILQ_INSERT_TAIL(&timers->head, timer, link);
	timers->cnt++;
	rnic_loop_deadline(timer->deadline_ns);
}

void rnic_timer_stop(struct rnic_timer *timer)
{
	struct rnic_timers *timers = &rnic_loop.timers[timer->list];

	if (!rnic_timer_runs(timer))
		return;
	TAILQ_REMOVE(&timers->head, timer, link);
	timers->cnt--;
	timer->list = RNIC_TIMER_NONE;
}

/* One that starts anew meanwhile is due in the next round at the earliest. */
static void timers_expire(enum rnic_timer_list list, uint64_t now_ns)
{
	const struct rnic_timers *timers = &rnic_loop.timers[list];

	for (uint32_t left = timers->cnt; left && timers->cnt; left--) {
		struct rnic_timer *timer = TAILQ_FIRST(&timers->head);

		if (timer->deadline_ns > now_ns)
			return;
		rnic_timer_stop(timer);
		rnic_loop.ops->expire[list](timer);
	}
}

void rnic_timers_fire(uint64_t now_ns)
{
	for (int i = 0; i < RNIC_TIMER_CNT; i++)
		timers_expire((enum rnic_timer_list)i, now_ns);
}

uint64_t rnic_timers_next_ns(void)
{
	uint64_t next = UINT64_MAX;

	for (int i = 0; i < RNIC_TIMER_CNT; i++) {
		const struct rnic_timers *timers = &rnic_loop.timers[i];

		if (timers->cnt &&
		    TAILQ_FIRST(&timers->head)->deadline_ns < next)
			next = TAILQ_FIRST(&timers->head)->deadline_ns;
	}
	return next;
}
