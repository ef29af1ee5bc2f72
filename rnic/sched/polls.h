/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Who polls: a thread that does reads what comes, so the completion thread may
 * park.  A thread that sleeps on the engine's epoll set and polls when it wakes
 * attends it; so does one that waits for an event (chan-host.h).
 *
 * All are hints, read and written by several threads at once, unless a comment
 * says otherwise.
 */
#ifndef RNIC_SCHED_POLLS_H
#define RNIC_SCHED_POLLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "skip.h"

/*
 * What a thread polls for may need its CPU.  Where more threads poll than there
 * are CPUs, two programs that exchange messages may share one, and each would
 * poll until the scheduler's next tick.  So a thread gives up the CPU after so
 * many polls in vain.  They take longer than an answer from another CPU.
 */
#define RNIC_POLLS_VAIN 64u
/* ... and after so many where the last yields have brought what it polled
 * for. */
#define RNIC_POLLS_SHARED 1u

/* Zero at first. */
struct rnic_polls {
	/* When the last empty poll led, CLOCK_MONOTONIC; 0: none polls. */
	_Atomic uint64_t last_ns;
	/* Threads that sleep on the epoll set, and poll when they wake.
	 * seq_cst: rnic_engine_may_stay_awake() */
	_Atomic uint32_t sleeper_cnt;
	/* One of them has slept, and has not armed a CQ since to sleep
	 * elsewhere. */
	_Atomic bool is_attended;
	_Atomic bool has_slept;	   /* one has, and the next poll asks epoll */
	_Atomic bool has_left;	   /* the last poll has left octets unread */
	_Atomic uint32_t vain_cnt; /* since octets came, or a poll yielded */
	_Atomic uint32_t yield_ns; /* the shortest yield; 0: none yet */
	/* The last yield has run another thread, and no octets came since. */
	_Atomic bool has_switched;
	_Atomic bool is_shared; /* that thread, on this CPU, has sent them */
	struct rnic_skip skip;	/* of polls that yield */
};

static inline bool rnic_polls_have_sleeper(const struct rnic_polls *polls)
{
	return atomic_load_explicit(&polls->sleeper_cnt, memory_order_relaxed) >
	       0;
}

static inline bool rnic_polls_are_attended(const struct rnic_polls *polls)
{
	return atomic_load_explicit(&polls->is_attended, memory_order_relaxed);
}

/* Is the thread that polled last busy with what it got?  It polls again, but
 * later than one that spins. */
static inline bool rnic_polls_come_back(const struct rnic_polls *polls)
{
	return rnic_polls_are_attended(polls) ||
	       atomic_load_explicit(&polls->has_left, memory_order_relaxed);
}

/* Has a thread polled since rnic_polls_end()? */
static inline bool rnic_polls_are_noted(const struct rnic_polls *polls)
{
	return atomic_load_explicit(&polls->last_ns, memory_order_relaxed);
}

/* Does a thread poll, or has it polled just now?  @now_ns: the clock when the
 * caller looked at it, before or after the poll. */
bool rnic_polls_are_live(const struct rnic_polls *polls, uint64_t now_ns);

/* A poll that has found no completion begins.  Return: whether it yields the
 * CPU first; rnic_polls_note_yield() follows. */
static inline bool rnic_polls_yield(struct rnic_polls *polls)
{
	uint32_t cnt =
		atomic_load_explicit(&polls->vain_cnt, memory_order_relaxed);
	bool is_shared =
		atomic_load_explicit(&polls->is_shared, memory_order_relaxed);
	bool is_due = cnt >= (is_shared ? RNIC_POLLS_SHARED : RNIC_POLLS_VAIN);

	if (is_due && !rnic_skip_may(&polls->skip))
		return false;
	atomic_store_explicit(&polls->vain_cnt, is_due ? 0 : cnt + 1,
			      memory_order_relaxed);
	return is_due;
}

/* It has yielded, and the CPU has been away for that time. */
void rnic_polls_note_yield(struct rnic_polls *polls, uint64_t away_ns);

/* Octets have come. */
static inline void rnic_polls_note_arrival(struct rnic_polls *polls)
{
	if (atomic_load_explicit(&polls->vain_cnt, memory_order_relaxed)) {
		atomic_store_explicit(&polls->vain_cnt, 0,
				      memory_order_relaxed);
	} else if (atomic_load_explicit(&polls->has_switched,
					memory_order_relaxed)) {
		atomic_store_explicit(&polls->is_shared, true,
				      memory_order_relaxed);
		atomic_store_explicit(&polls->has_switched, false,
				      memory_order_relaxed);
	}
}

/* A poll leads now. */
void rnic_polls_note(struct rnic_polls *polls, uint64_t now_ns);

/* A thread that attends is about to poll. */
void rnic_polls_note_attended(struct rnic_polls *polls, uint64_t now_ns);

/* Nobody polls from now on: the application is about to wait for an event. */
void rnic_polls_end(struct rnic_polls *polls);

/* It has slept, or is about to. */
static inline void rnic_polls_note_slept(struct rnic_polls *polls)
{
	atomic_store_explicit(&polls->has_slept, true, memory_order_relaxed);
}

/* Has a thread slept since the last poll that asked?  It may poll once, and
 * sleep again. */
static inline bool rnic_polls_take_slept(struct rnic_polls *polls)
{
	if (!atomic_load_explicit(&polls->has_slept, memory_order_relaxed))
		return false;
	atomic_store_explicit(&polls->has_slept, false, memory_order_relaxed);
	return true;
}

/* A poll leaves octets unread for the next one. */
static inline void rnic_polls_leave(struct rnic_polls *polls)
{
	atomic_store_explicit(&polls->has_left, true, memory_order_relaxed);
}

/* A poll reads now what was left. */
static inline void rnic_polls_take_left(struct rnic_polls *polls)
{
	if (atomic_load_explicit(&polls->has_left, memory_order_relaxed))
		atomic_store_explicit(&polls->has_left, false,
				      memory_order_relaxed);
}

#endif
