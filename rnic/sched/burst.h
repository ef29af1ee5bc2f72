/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Posts that are transmitted together.
 *
 * A system call and a segment for each of many small messages would cost
 * several times what the messages cost.  If a thread posts repeatedly, and
 * polls in between, the first message of each burst is transmitted at once.
 * The messages after it are transmitted together: by its next poll, or after
 * RNIC_BURST_MAX of them, or by a thread that takes the lead before that.
 *
 * Posts wait only while the completion thread watches: on request it parks, and
 * serves posts that no poll has followed when it comes back.
 *
 * All are hints of several threads at once, unless a comment says otherwise.
 */
#ifndef RNIC_SCHED_BURST_H
#define RNIC_SCHED_BURST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "polls.h"

/* At most this many posts in a row may share one transmission. */
#define RNIC_BURST_MAX 16u
/* After this many posts in a row, a pass and a parked thread are worth their
 * cost. */
#define RNIC_BURST_MANY 8u

/* Zero at first. */
struct rnic_burst {
	_Atomic uint32_t cnt; /* posts since a poller's pass */
	/* ... which is due, whether or not the CQ is empty */
	_Atomic bool wants_pass;
	/* The completion thread checks for posts that wait: from the request to
	 * park until it sleeps in epoll.  seq_cst, with the bells: see
	 * rnic_burst_waits(). */
	_Atomic bool is_watched;
	_Atomic bool wants_park; /* a thread posts in bursts, and polls */
	/* Posts of a thread that attends may wait, if it posts in bursts: it
	 * transmits them, whatever it does next but compute. */
	_Atomic bool may_gather;
	_Atomic bool is_bursty; /* many posts came between two passes of it */
};

static inline bool rnic_burst_is_watched(const struct rnic_burst *burst)
{
	return atomic_load_explicit(&burst->is_watched, memory_order_relaxed);
}

static inline void rnic_burst_watch(struct rnic_burst *burst)
{
	atomic_store_explicit(&burst->is_watched, true, memory_order_relaxed);
}

/* The completion thread is about to sleep.  It looks for bells behind this. */
static inline void rnic_burst_unwatch(struct rnic_burst *burst)
{
	atomic_store_explicit(&burst->is_watched, false, memory_order_relaxed);
	/* Pairs with the fence in rnic_burst_waits(): a poster that saw
	 * is_watched has rung a bell that is seen now. */
	atomic_thread_fence(memory_order_seq_cst);
}

/* A post.  Return: may it wait?  Then its bell is rung, and rnic_burst_waits()
 * asked. */
bool rnic_burst_post(struct rnic_burst *burst);

/* The bell of a post that may wait has been rung.  Return: whether it is left
 * to a thread that polls. */
bool rnic_burst_waits(struct rnic_burst *burst, const struct rnic_polls *polls);

/* A poll leads.  Return: whether it asks the completion thread to park. */
bool rnic_burst_poll(struct rnic_burst *burst, const struct rnic_polls *polls);

/* Has the completion thread been asked to park? */
bool rnic_burst_take_park(struct rnic_burst *burst);

static inline bool rnic_burst_wants_pass(const struct rnic_burst *burst)
{
	return atomic_load_explicit(&burst->wants_pass, memory_order_relaxed);
}

#endif
