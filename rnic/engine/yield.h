/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A program that spins on its memory leaves what it receives to the completion
 * thread, and so does its peer.  Where CPUs are few, the octets that one
 * program sends wake the peer's completion thread on the CPU of the sender. The
 * scheduler lets that thread run at once only if it has had no more than its
 * share of the CPU since it woke up before.  Otherwise it looks again at the
 * next clock tick, up to 4 ms later, and the sender spins until then.
 *
 * So the sender yields the CPU once after such a post.  That costs a system
 * call if no other thread waits for the CPU.
 */
#ifndef RNIC_ENGINE_YIELD_H
#define RNIC_ENGINE_YIELD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Of an engine; zero at first.  All are hints, so races are harmless. */
struct rnic_yield {
	_Atomic bool is_due;	    /* the completion thread has served since */
	_Atomic uint32_t skip_cnt;  /* posts that do not yield */
	_Atomic uint32_t skip_next; /* ... after the next long one */
};

/* The completion thread is about to serve what the peer has sent. */
static inline void rnic_yield_note(struct rnic_yield *yield)
{
	atomic_store_explicit(&yield->is_due, true, memory_order_relaxed);
}

/* Is this the first post since then?  It is probably the answer. */
static inline bool rnic_yield_take(struct rnic_yield *yield)
{
	if (!atomic_load_explicit(&yield->is_due, memory_order_relaxed))
		return false;
	atomic_store_explicit(&yield->is_due, false, memory_order_relaxed);
	return true;
}

/*
 * Lets other threads of this CPU run.  If a thread of another program takes it
 * for long, the next posts do not yield: the more of them, the more often that
 * happens.
 * Return: whether it has yielded.
 */
bool rnic_yield(struct rnic_yield *yield);

#endif
