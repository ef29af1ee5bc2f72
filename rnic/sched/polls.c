/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See polls.h. */
#include "polls.h"

#include "util/clock.h"

/* A poll so recent that the poller is taken to be still at it. */
#define POLLS_LIVE_NS 50000ull
/* One that sleeps on the sockets, or works on what it has got, is for longer.
 * A longer pause costs one wake-up too many. */
#define POLLS_ATTENDED_NS (2 * NS_PER_MS)
/* A yield that takes so many times the shortest one has run another thread. */
#define POLLS_SWITCH 3u
#define POLLS_SWITCH_MAX_NS (1 * NS_PER_MS)

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

/* The shortest yield finds no other thread on this CPU, sooner or later. */
static bool yield_has_switched(struct rnic_polls *polls, uint64_t away_ns)
{
	uint32_t least_ns =
		atomic_load_explicit(&polls->yield_ns, memory_order_relaxed);

	if (!least_ns || away_ns < least_ns)
		atomic_store_explicit(&polls->yield_ns,
				      away_ns < UINT32_MAX ? (uint32_t)away_ns
							   : UINT32_MAX,
				      memory_order_relaxed);
	/* A program that computes has had the CPU for longer. */
	return least_ns && away_ns >= POLLS_SWITCH * (uint64_t)least_ns &&
	       away_ns < POLLS_SWITCH_MAX_NS;
}

void rnic_polls_note_yield(struct rnic_polls *polls, uint64_t away_ns)
{
	bool has_switched = yield_has_switched(polls, away_ns);

	atomic_store_explicit(&polls->has_switched, has_switched,
			      memory_order_relaxed);
	if (!has_switched)
		atomic_store_explicit(&polls->is_shared, false,
				      memory_order_relaxed);
	rnic_skip_note(&polls->skip, away_ns);
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
