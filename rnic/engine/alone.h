/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Posts that come one by one: the program does something else in between, as
 * one does that waits for its peer after each post.  Such a program does not
 * gain if other threads share its work; one that posts without a pause does.
 *
 * Only the program's own time counts, from the end of one post to the beginning
 * of the next.  The values are hints: posts of several threads at once may be
 * taken for those of one.
 */
#ifndef RNIC_ENGINE_ALONE_H
#define RNIC_ENGINE_ALONE_H

#include "object.h"
#include "os/clock.h"

/* More than a program needs to post again, and less than any peer needs to
 * answer. */
#define RNIC_ALONE_NS 250u

/* A post begins. */
static inline void rnic_alone_enter(struct rnic_alone *alone)
{
	uint64_t left_ns =
		atomic_load_explicit(&alone->left_ns, memory_order_relaxed);
	bool is_alone = left_ns && rnic_now_ns() - left_ns >= RNIC_ALONE_NS;

	if (left_ns)
		atomic_store_explicit(&alone->left_ns, 0, memory_order_relaxed);
	/* Most posts find nothing to be changed. */
	if (is_alone !=
	    atomic_load_explicit(&alone->is_alone, memory_order_relaxed))
		atomic_store_explicit(&alone->is_alone, is_alone,
				      memory_order_relaxed);
}

/* ... and ends. */
static inline void rnic_alone_leave(struct rnic_alone *alone)
{
	if (!atomic_load_explicit(&alone->is_asked, memory_order_relaxed))
		return;
	atomic_store_explicit(&alone->is_asked, false, memory_order_relaxed);
	atomic_store_explicit(&alone->left_ns, rnic_now_ns(),
			      memory_order_relaxed);
}

/* In a post: has the program paused since the post before, for which this was
 * asked as well? */
static inline bool rnic_alone_ask(struct rnic_alone *alone)
{
	bool is_alone =
		atomic_load_explicit(&alone->is_alone, memory_order_relaxed);

	atomic_store_explicit(&alone->is_asked, true, memory_order_relaxed);
	atomic_store_explicit(&alone->is_alone, false, memory_order_relaxed);
	return is_alone;
}

#endif
