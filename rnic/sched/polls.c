/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See polls.h. */
#include "polls.h"

#include "util/clock.h"

/* A poll so recent that the poller is taken to be still at it. */
#define POLLS_LIVE_NS 50000ull
/* One that sleeps on the sockets, or works on what it has got, is for longer.
 * A longer pause costs one wake-up too many. */
#define POLLS_ATTENDED_NS (2 * NS_PER_MS)

bool rnic_polls_are_live(const struct rnic_polls *polls, uint64_t now_ns)
{
	uint64_t last_ns =
		atomic_load_explicit(&polls->last_ns, memory_order_relaxed);
	bool comes_back = rnic_polls_have_sleeper(polls) ||
			  rnic_polls_come_back(polls);

	/* It may have polled since the caller looked at the clock. */
	return last_ns && now_ns < last_ns + (comes_back ? POLLS_ATTENDED_NS
							 : POLLS_LIVE_NS);
}

void rnic_polls_note(struct rnic_polls *polls, uint64_t now_ns)
{
	atomic_store_explicit(&polls->last_ns, now_ns, memory_order_relaxed);
}

void rnic_polls_note_attended(struct rnic_polls *polls, uint64_t now_ns)
{
	/* It is about to poll: the thread does not come back in between. */
	rnic_polls_note(polls, now_ns);
	atomic_store_explicit(&polls->is_attended, true, memory_order_relaxed);
}

void rnic_polls_end(struct rnic_polls *polls)
{
	atomic_store_explicit(&polls->is_attended, false, memory_order_relaxed);
	/* Before the caller unparks the completion thread, which looks again:
	 * engine_park(). */
	atomic_store_explicit(&polls->last_ns, 0, memory_order_relaxed);
}
