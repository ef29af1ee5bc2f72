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

/*
 * How long a pause is, at least: more than a program needs to post again, and
 * less than its peer needs to answer.  Both depend on the machine.  An answer
 * takes the peer about as long as the fastest post that was served alone took
 * here.  After a post with a system call the next one needs longer than usual,
 * where the call has emptied the caches of the processor; but not half of that
 * time.
 */
#define RNIC_ALONE_NS 250u
#define RNIC_ALONE_MAX_NS 600u

static inline uint64_t rnic_alone_pause_ns(uint64_t fastest_ns)
{
	uint64_t pause_ns = fastest_ns / 2;

	if (pause_ns < RNIC_ALONE_NS)
		return RNIC_ALONE_NS;
	return pause_ns < RNIC_ALONE_MAX_NS ? pause_ns : RNIC_ALONE_MAX_NS;
}

/*
 * An answer may seem to come too early: a thread that lost its CPU at the end
 * of its post finds it at once.  So it takes several posts without a pause
 * before none is alone.
 */
#define RNIC_ALONE_TRUST 3u

/* There was a pause before this post, or there was none. */
static inline bool rnic_alone_judge(struct rnic_alone *alone, bool has_paused)
{
	uint8_t trust =
		atomic_load_explicit(&alone->trust, memory_order_relaxed);

	if (has_paused && trust < RNIC_ALONE_TRUST)
		trust++;
	else if (!has_paused && trust > 0)
		trust--;
	else
		return trust > 0;
	atomic_store_explicit(&alone->trust, trust, memory_order_relaxed);
	return trust > 0;
}

/* A post begins. */
static inline void rnic_alone_enter(struct rnic_alone *alone)
{
	uint64_t left_ns =
		atomic_load_explicit(&alone->left_ns, memory_order_relaxed);
	bool is_alone = false;

	if (left_ns) {
		uint64_t now_ns = rnic_now_ns();
		uint64_t pause_ns = rnic_alone_pause_ns(atomic_load_explicit(
			&alone->fastest_ns, memory_order_relaxed));

		is_alone =
			rnic_alone_judge(alone, now_ns - left_ns >= pause_ns);
		atomic_store_explicit(&alone->left_ns, 0, memory_order_relaxed);
		atomic_store_explicit(&alone->entered_ns, now_ns,
				      memory_order_relaxed);
	}
	/* Most posts find nothing to be changed. */
	if (is_alone !=
	    atomic_load_explicit(&alone->is_alone, memory_order_relaxed))
		atomic_store_explicit(&alone->is_alone, is_alone,
				      memory_order_relaxed);
}

/* A post that was served alone took @ns. */
static inline void rnic_alone_took(struct rnic_alone *alone, uint64_t ns)
{
	uint64_t fastest_ns =
		atomic_load_explicit(&alone->fastest_ns, memory_order_relaxed);

	if (!fastest_ns || ns < fastest_ns)
		atomic_store_explicit(&alone->fastest_ns, ns,
				      memory_order_relaxed);
	atomic_store_explicit(&alone->is_served, false, memory_order_relaxed);
}

/* ... and ends. */
static inline void rnic_alone_leave(struct rnic_alone *alone)
{
	uint64_t now_ns;

	if (!atomic_load_explicit(&alone->is_asked, memory_order_relaxed))
		return;
	now_ns = rnic_now_ns();
	atomic_store_explicit(&alone->is_asked, false, memory_order_relaxed);
	atomic_store_explicit(&alone->left_ns, now_ns, memory_order_relaxed);
	if (atomic_load_explicit(&alone->is_served, memory_order_relaxed))
		rnic_alone_took(alone, now_ns - atomic_load_explicit(
							&alone->entered_ns,
							memory_order_relaxed));
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

/* It has, and the post was served in the way that is for those. */
static inline void rnic_alone_note_served(struct rnic_alone *alone)
{
	atomic_store_explicit(&alone->is_served, true, memory_order_relaxed);
}

#endif
