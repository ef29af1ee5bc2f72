/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See burst.h. */
#include "burst.h"

static void burst_want_pass(struct rnic_burst *burst)
{
	atomic_store_explicit(&burst->wants_pass, true, memory_order_relaxed);
}

bool rnic_burst_post(struct rnic_burst *burst)
{
	/* Posts of several threads at once may count as one. */
	uint32_t cnt = atomic_load_explicit(&burst->cnt, memory_order_relaxed);

	atomic_store_explicit(&burst->cnt, cnt + 1, memory_order_relaxed);
	if (cnt + 1 >= RNIC_BURST_MANY)
		burst_want_pass(burst);
	return cnt % RNIC_BURST_MAX;
}

/* May the posts of a thread that attends share transmissions?  A single answer
 * must not wait while its sender computes. */
static bool burst_gathers(const struct rnic_burst *burst)
{
	return atomic_load_explicit(&burst->may_gather, memory_order_relaxed) &&
	       atomic_load_explicit(&burst->is_bursty, memory_order_relaxed);
}

bool rnic_burst_waits(struct rnic_burst *burst, const struct rnic_polls *polls)
{
	/* Pairs with the fences in rnic_burst_poll() and rnic_burst_unwatch(),
	 * and with rnic_engine_unlead_beside(). */
	atomic_thread_fence(memory_order_seq_cst);
	if (!rnic_burst_is_watched(burst) || rnic_polls_have_sleeper(polls) ||
	    (rnic_polls_are_attended(polls) && !burst_gathers(burst)))
		return false;
	burst_want_pass(burst);
	return true;
}

/* Return: how many posts came since the last one. */
static uint32_t burst_end(struct rnic_burst *burst)
{
	uint32_t cnt = atomic_load_explicit(&burst->cnt, memory_order_relaxed);

	if (!cnt && !rnic_burst_wants_pass(burst))
		return 0;
	atomic_store_explicit(&burst->cnt, 0, memory_order_relaxed);
	atomic_store_explicit(&burst->wants_pass, false, memory_order_relaxed);
	/* Pairs with the fence in rnic_burst_waits(): a bell that this pass
	 * does not see is that of a poster that asks for another. */
	atomic_thread_fence(memory_order_seq_cst);
	return cnt;
}

bool rnic_burst_poll(struct rnic_burst *burst, const struct rnic_polls *polls)
{
	uint32_t cnt = burst_end(burst);
	bool is_many = cnt >= RNIC_BURST_MANY;

	if (cnt && rnic_polls_are_attended(polls))
		atomic_store_explicit(&burst->is_bursty, is_many,
				      memory_order_relaxed);
	if (!is_many || rnic_burst_is_watched(burst))
		return false;
	atomic_store_explicit(&burst->wants_park, true, memory_order_relaxed);
	rnic_burst_watch(burst);
	return true;
}

bool rnic_burst_take_park(struct rnic_burst *burst)
{
	if (!atomic_load_explicit(&burst->wants_park, memory_order_relaxed))
		return false;
	atomic_store_explicit(&burst->wants_park, false, memory_order_relaxed);
	return true;
}
