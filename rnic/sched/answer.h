/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which posts are answers, and of whom.
 *
 * A program that spins on its memory leaves what it receives to the completion
 * thread, and so does its peer.  Where CPUs are few, the octets that one
 * program sends wake the peer's completion thread on the CPU of the sender.
 * The scheduler lets that thread run at once only if it has had no more than
 * its share of the CPU since it woke up before.  Otherwise it looks again at
 * the next clock tick, up to 4 ms later, and the sender spins until then.  So
 * the sender gives up its CPU after such a post.
 */
#ifndef RNIC_SCHED_ANSWER_H
#define RNIC_SCHED_ANSWER_H

#include <stdatomic.h>

/* What a post is the answer of. */
enum rnic_answer {
	RNIC_ANSWER_NONE,
	RNIC_ANSWER_POLLER,  /* a program that polls */
	RNIC_ANSWER_SPINNER, /* one that spins on its memory */
};

/* A hint of several threads at once; zero at first. */
struct rnic_answers {
	_Atomic enum rnic_answer due; /* a Write has come since the last post */
};

/* What the peer has sent is about to be served. */
static inline void rnic_answer_note(struct rnic_answers *answers,
				    enum rnic_answer answer)
{
	atomic_store_explicit(&answers->due, answer, memory_order_relaxed);
}

/* A post.  The first one since then is probably the answer. */
static inline enum rnic_answer rnic_answer_take(struct rnic_answers *answers)
{
	enum rnic_answer due =
		atomic_load_explicit(&answers->due, memory_order_relaxed);

	if (due)
		atomic_store_explicit(&answers->due, RNIC_ANSWER_NONE,
				      memory_order_relaxed);
	return due;
}

#endif
