/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Coordination of the completion thread with polling threads: when it is woken,
 * when it parks, and which thread reads the sockets.
 */
#ifndef RNIC_ENGINE_WAKE_H
#define RNIC_ENGINE_WAKE_H

#include <sys/epoll.h>

#include "object.h"

/* The completion thread checks deadlines again, and whether to stop. */
void rnic_engine_thread_wake(struct rnic_engine *engine);

/* Only for the completion thread, which is the one to be woken, or the thread
 * that replaces it while draining. */
void rnic_engine_wake_clear(struct rnic_engine *engine,
			    const struct epoll_event *ev, int cnt);

/* The application is about to wait for an event: unparks at once. */
void rnic_engine_unpark(struct rnic_engine *engine);

/* Does a thread poll, or has it polled just now?  @now_ns: the clock when the
 * caller looked at it, before or after the poll. */
bool rnic_engine_is_polled(const struct rnic_engine *engine, uint64_t now_ns);

/* A thread posts in bursts, and polls: may the completion thread park? Under
 * the lead. */
void rnic_engine_ask_park(struct rnic_engine *engine, uint64_t now_ns);

/*
 * The calling thread is about to sleep on epfd, and polls when epfd becomes
 * readable. The completion thread does not read the sockets in the meantime.
 * Return: false: the completion thread has work; try later.
 */
bool rnic_engine_sleep_begin(struct rnic_engine *engine);
void rnic_engine_sleep_end(struct rnic_engine *engine);

/*
 * A thread has slept on epfd, or is about to, and polls afterwards. Without
 * notice of its end: it is trusted for some milliseconds. @may_gather: it
 * transmits what it has posted, whatever it does next but compute.
 */
void rnic_engine_note_attended(struct rnic_engine *engine, bool may_gather);

/* Does wake_fd have something for the completion thread? */
static inline bool rnic_engine_is_woken(const struct rnic_engine *engine)
{
	/* seq_cst: pairs with rnic_engine_thread_wake() */
	return atomic_load_explicit(&engine->is_woken, memory_order_seq_cst);
}

static inline bool rnic_engine_has_sleeper(const struct rnic_engine *engine)
{
	/* relaxed: a hint */
	return atomic_load_explicit(&engine->sleeper_cnt,
				    memory_order_relaxed) > 0;
}

/* Is the context served by threads that sleep on epfd when they do not poll? */
static inline bool rnic_engine_is_attended(const struct rnic_engine *engine)
{
	/* relaxed: a hint */
	return atomic_load_explicit(&engine->is_attended, memory_order_relaxed);
}

/* Is the thread that polled last busy with what it got?  It polls again, but
 * later than one that spins. */
static inline bool rnic_engine_comes_back(const struct rnic_engine *engine)
{
	/* relaxed: hints */
	return rnic_engine_is_attended(engine) ||
	       atomic_load_explicit(&engine->has_left, memory_order_relaxed);
}

/* Does the completion thread check for posts that wait? It does so from the
 * request to park until it sleeps in epoll. */
static inline bool rnic_engine_is_watched(const struct rnic_engine *engine)
{
	return atomic_load_explicit(&engine->is_watching, memory_order_relaxed);
}

static inline void rnic_engine_watch(struct rnic_engine *engine)
{
	atomic_store_explicit(&engine->is_watching, true, memory_order_relaxed);
}

/* Does the completion thread look for octets all the time?  There is an idle
 * CPU then. */
static inline bool rnic_engine_is_spinning(const struct rnic_engine *engine)
{
	return atomic_load_explicit(&engine->is_spinning, memory_order_relaxed);
}

/* How often streams have read octets; it wraps.  Without the lead, a hint. */
static inline uint32_t rnic_engine_arrival_no(const struct rnic_engine *engine)
{
	return atomic_load_explicit(&engine->arrival_no, memory_order_relaxed);
}

/* Under the lead: a stream has octets of its peer. */
static inline void rnic_engine_note_arrival(struct rnic_engine *engine)
{
	/* relaxed: other threads than the leader take it as a hint */
	atomic_store_explicit(&engine->arrival_no,
			      rnic_engine_arrival_no(engine) + 1,
			      memory_order_relaxed);
	rnic_vain_end(&engine->vain);
}

/*
 * Under the lead: octets of a peer's Write are about to be placed.  A program
 * that spins on them posts its answer next.  A completion tells of everything
 * else: programs poll or sleep for it.
 */
static inline void rnic_engine_note_write(struct rnic_engine *engine)
{
	/* With an idle CPU, it does not matter. */
	if (!rnic_engine_is_spinning(engine))
		rnic_yield_note(&engine->yield, rnic_engine_is_watched(engine)
							? RNIC_ANSWER_POLLER
							: RNIC_ANSWER_SPINNER);
}

/* ... and a message behind the Write completes a receive: nobody needs to spin
 * on the octets. */
static inline void rnic_engine_note_told(struct rnic_engine *engine)
{
	rnic_yield_note(&engine->yield, RNIC_ANSWER_NONE);
}

#endif
