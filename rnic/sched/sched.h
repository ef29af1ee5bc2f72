/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Scheduling: who serves the sources of an engine, and when.
 *
 * The engine notes what happens here, and asks what to do.  Nothing here makes
 * a system call, looks at a clock, or knows a socket or a queue pair, so that a
 * test can run it on machines of its own (tests/rnic/sched/model_test.c).
 *
 * Three kinds of threads ask:
 *
 * - One that posts: transmit now or leave it to a poll, and give up the CPU
 *   afterwards or not (burst.h, answer.h).
 * - One that polls: give up the CPU first or not (polls.h), and what to look at
 *   (look.h).
 * - The completion thread: serve, park, spin or sleep (park.h, spin.h, cpu.h).
 *
 * Times are ns of CLOCK_MONOTONIC, and may be some polls old.
 */
#ifndef RNIC_SCHED_H
#define RNIC_SCHED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "answer.h"
#include "burst.h"
#include "cpu.h"
#include "look.h"
#include "park.h"
#include "polls.h"
#include "skip.h"
#include "spin.h"

struct rnic_sched {
	/* Hints of all threads. */
	struct rnic_burst burst;
	struct rnic_polls polls;
	struct rnic_answers answers;
	struct rnic_skip skip; /* of posts that yield */
	_Atomic int post_cpu;  /* where a thread last posted; -1: nowhere */
	/* How often octets were read; wraps.  Written under the lead. */
	_Atomic uint32_t arrival_no;
	_Atomic bool is_crowded; /* threads have lost their CPU lately */
	/* The completion thread looks before it sleeps.  seq_cst:
	 * rnic_engine_may_stay_awake() */
	_Atomic bool is_spinning;

	struct rnic_look look; /* under the lead */

	/* Of the completion thread. */
	struct rnic_park park;
	struct rnic_spin spin;
	struct rnic_cpu cpu;
};

void rnic_sched_init(struct rnic_sched *sched);

/* ---- a thread that posts ------------------------------------------------- */

/* What it does once its post is transmitted, as bits. */
enum rnic_sched_after {
	RNIC_AFTER_GO_ON = 0,
	RNIC_AFTER_YIELD = 1, /* it gives up its CPU once */
	/* ... until the peer has read what is in memory; this one first */
	RNIC_AFTER_HAND_OVER = 2,
};

/* It transmits an answer, or something else.  @has_memory: a source has. */
enum rnic_sched_after rnic_sched_post(struct rnic_sched *sched,
				      bool has_memory);

/* ---- what comes ---------------------------------------------------------- */

static inline uint32_t rnic_sched_arrival_no(const struct rnic_sched *sched)
{
	return atomic_load_explicit(&sched->arrival_no, memory_order_relaxed);
}

/* Under the lead: octets of a peer are there. */
static inline void rnic_sched_note_arrival(struct rnic_sched *sched)
{
	atomic_store_explicit(&sched->arrival_no,
			      rnic_sched_arrival_no(sched) + 1,
			      memory_order_relaxed);
	rnic_polls_note_arrival(&sched->polls);
}

static inline bool rnic_sched_is_spinning(const struct rnic_sched *sched)
{
	return atomic_load_explicit(&sched->is_spinning, memory_order_relaxed);
}

/*
 * Under the lead: octets of a peer's Write are about to be placed.  A program
 * that spins on them posts its answer next.  A completion tells of everything
 * else: programs poll or sleep for it.
 */
static inline void rnic_sched_note_write(struct rnic_sched *sched)
{
	/* With an idle CPU, it does not matter. */
	if (!rnic_sched_is_spinning(sched))
		rnic_answer_note(&sched->answers,
				 rnic_burst_is_watched(&sched->burst)
					 ? RNIC_ANSWER_POLLER
					 : RNIC_ANSWER_SPINNER);
}

/* ... and a message behind the Write completes a receive: nobody needs to spin
 * on the octets. */
static inline void rnic_sched_note_told(struct rnic_sched *sched)
{
	rnic_answer_note(&sched->answers, RNIC_ANSWER_NONE);
}

/* ---- a thread that polls, or waits for an event -------------------------- */

/* A thread that attends the engine is about to poll, or to sleep on the epoll
 * set and poll afterwards.  @may_gather: it transmits what it has posted,
 * whatever it does next but compute. */
void rnic_sched_note_attended(struct rnic_sched *sched, uint64_t now_ns,
			      bool may_gather);

/* ---- the completion thread ----------------------------------------------- */

enum rnic_sched_next {
	RNIC_NEXT_SLEEP, /* in epoll */
	RNIC_NEXT_SERVE,
	RNIC_NEXT_SPIN, /* looks for more before it sleeps */
	RNIC_NEXT_PARK, /* sleeps outside epoll, while another thread polls */
};

/* The threads of the process have lost their CPU so often: cpu.h. */
void rnic_sched_note_cpu(struct rnic_sched *sched, uint64_t now_ns,
			 uint64_t lost_cnt);

/* It has slept.  @has_events: epoll has named sources; @is_called: the thread
 * itself is wanted. */
enum rnic_sched_next rnic_sched_woke(const struct rnic_sched *sched,
				     uint64_t now_ns, bool has_events,
				     bool is_called);

/* It has served everything.  Under the lead: from here on sources stay awake if
 * it spins. */
enum rnic_sched_next rnic_sched_served(struct rnic_sched *sched,
				       uint64_t now_ns);

/* Parked, it has slept for @last_ns; 0: it begins.  Return: how long it sleeps
 * now; 0: it comes back. */
uint64_t rnic_sched_park_ns(const struct rnic_sched *sched, uint64_t now_ns,
			    uint64_t last_ns);

/* It has come back at that time, and octets lay unread.  @was_served: others
 * were read meanwhile. */
void rnic_sched_parked(struct rnic_sched *sched, uint64_t now_ns,
		       bool was_served);

/* It spins.  Return: whether it goes on. */
bool rnic_sched_spins_on(const struct rnic_sched *sched, uint64_t now_ns);

/* It spins no more. */
void rnic_sched_spun(struct rnic_sched *sched, bool found);

#endif
