/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Threads that give up the CPU for what they wait for: posts and polls.
 *
 * A program that spins on its memory leaves what it receives to the completion
 * thread, and so does its peer.  Where CPUs are few, the octets that one
 * program sends wake the peer's completion thread on the CPU of the sender. The
 * scheduler lets that thread run at once only if it has had no more than its
 * share of the CPU since it woke up before.  Otherwise it looks again at the
 * next clock tick, up to 4 ms later, and the sender spins until then.
 *
 * So the sender gives up the CPU after such a post, by sched_yield().  If it
 * has written to memory, it does so until the peer has read that, for some
 * microseconds: once does not help a thread of another group of the scheduler
 * (autogroup, cgroup), which two terminals and two containers are.
 */
#ifndef RNIC_ENGINE_YIELD_H
#define RNIC_ENGINE_YIELD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "local/handover.h"

/* What a post is the answer of. */
enum rnic_answer {
	RNIC_ANSWER_NONE,
	RNIC_ANSWER_POLLER,  /* a program that polls */
	RNIC_ANSWER_SPINNER, /* one that spins on its memory */
};

/*
 * A program that polls for what it receives needs no completion thread, and
 * neither does its peer.  It is one that polls about once or more between two
 * posts, on average over some posts.  One that spins on its memory polls for
 * the completions of its posts only, and mostly they are there already.  If a
 * poller gave up the CPU, its completion thread would find that nobody polls.
 */
#define RNIC_YIELD_POSTS 8u /* that the average is of */
#define RNIC_YIELD_POLL 64u /* the average of one poll per post */
#define RNIC_YIELD_POLLER (7 * RNIC_YIELD_POLL / 8)
/* More polls between two posts count as so many. */
#define RNIC_YIELD_POLLS_MAX 4u

/* Zero at first. */
struct rnic_yield_skip {
	_Atomic uint32_t cnt;  /* chances to yield that are not taken */
	_Atomic uint32_t next; /* ... after the next long one */
};

/* Of an engine; zero at first.  All are hints, so races are harmless. */
struct rnic_yield {
	_Atomic enum rnic_answer due; /* a Write has come since the last post */
	_Atomic uint32_t poll_cnt;    /* polls since then */
	_Atomic uint32_t poll_mean;   /* ... per post, times RNIC_YIELD_POLL */
	struct rnic_yield_skip skip;
};

/*
 * What a thread polls for may need its CPU.  Where more threads poll than there
 * are CPUs, two programs that exchange messages may share one, and each would
 * poll until the scheduler's next tick.  So a thread gives up the CPU after so
 * many polls in vain.  They take longer than an answer from another CPU.
 */
#define RNIC_VAIN_POLLS 64u

/* Of an engine; zero at first.  Hints, too. */
struct rnic_vain {
	_Atomic uint32_t poll_cnt; /* since octets came, or a poll yielded */
	struct rnic_yield_skip skip;
};

/* What the peer has sent is about to be served. */
static inline void rnic_yield_note(struct rnic_yield *yield,
				   enum rnic_answer answer)
{
	atomic_store_explicit(&yield->due, answer, memory_order_relaxed);
}

/* A poll runs the engine, as it has found no completion. */
static inline void rnic_yield_note_poll(struct rnic_yield *yield)
{
	uint32_t cnt =
		atomic_load_explicit(&yield->poll_cnt, memory_order_relaxed);

	if (cnt < RNIC_YIELD_POLLS_MAX)
		atomic_store_explicit(&yield->poll_cnt, cnt + 1,
				      memory_order_relaxed);
}

/* A post.  Return: whether it is that of a poller. */
static inline bool rnic_yield_note_post(struct rnic_yield *yield)
{
	uint32_t cnt =
		atomic_load_explicit(&yield->poll_cnt, memory_order_relaxed);
	uint32_t mean =
		atomic_load_explicit(&yield->poll_mean, memory_order_relaxed);

	mean -= mean / RNIC_YIELD_POSTS;
	mean += cnt * (RNIC_YIELD_POLL / RNIC_YIELD_POSTS);
	atomic_store_explicit(&yield->poll_cnt, 0, memory_order_relaxed);
	atomic_store_explicit(&yield->poll_mean, mean, memory_order_relaxed);
	return mean >= RNIC_YIELD_POLLER;
}

/* A post.  The first one since then is probably the answer; a poller's does not
 * count. */
static inline enum rnic_answer rnic_yield_take(struct rnic_yield *yield)
{
	enum rnic_answer due =
		atomic_load_explicit(&yield->due, memory_order_relaxed);

	if (due)
		atomic_store_explicit(&yield->due, RNIC_ANSWER_NONE,
				      memory_order_relaxed);
	return rnic_yield_note_post(yield) ? RNIC_ANSWER_NONE : due;
}

/*
 * May the CPU be given up now?  If a thread of another program has taken it for
 * long, the next ones do not: the more of them, the more often that happens.
 */
bool rnic_yield_may(struct rnic_yield_skip *skip);

/* Lets other threads of this CPU run. */
void rnic_yield(struct rnic_yield_skip *skip);

/* ... until the peer has read, for some microseconds.  Return: whether it has
 * been necessary. */
bool rnic_yield_until(struct rnic_yield_skip *skip,
		      const struct rnic_handover *handover);

/* Octets have come. */
static inline void rnic_vain_end(struct rnic_vain *vain)
{
	if (atomic_load_explicit(&vain->poll_cnt, memory_order_relaxed))
		atomic_store_explicit(&vain->poll_cnt, 0, memory_order_relaxed);
}

/* A poll that has found no completion begins.  Without the lead: another
 * thread may need it. */
static inline void rnic_vain_poll(struct rnic_vain *vain)
{
	uint32_t cnt =
		atomic_load_explicit(&vain->poll_cnt, memory_order_relaxed);

	if (cnt < RNIC_VAIN_POLLS) {
		atomic_store_explicit(&vain->poll_cnt, cnt + 1,
				      memory_order_relaxed);
	} else if (rnic_yield_may(&vain->skip)) {
		atomic_store_explicit(&vain->poll_cnt, 0, memory_order_relaxed);
		rnic_yield(&vain->skip);
	}
}

#endif
