/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Between engine.c, whose passes these are, and engine-thread.c. */
#ifndef RNIC_ENGINE_INTERNAL_H
#define RNIC_ENGINE_INTERNAL_H

#include <errno.h>
#include <sys/epoll.h>

#include "engine.h"

#define ENGINE_EVENT_MAX 64
/* epoll data of the wake fd; slot numbers are below. */
#define ENGINE_WAKE_TOKEN UINT64_MAX

/* Does a queue wait to be served? */
static inline bool rnic_engine_has_bells(const struct rnic_engine *engine)
{
	return atomic_load_explicit(&engine->bell_head, memory_order_relaxed);
}

/* So many posts in a row may share one transmission. */
#define ENGINE_BURST_MAX 16
/* Who posts so many in a row is worth a pass behind it, and a parked thread. */
#define ENGINE_BURST_MANY 8
/* How long a poster leaves the lead to who has it, in turns of some 10 ns. */
#define ENGINE_FINISH_SPINS 64

/* What is wrong, if anything, where epoll_wait() returned @cnt. */
static inline int rnic_engine_wait_error(int cnt)
{
	return cnt < 0 && errno != EINTR ? -errno : 0;
}

/* Serve what epoll told, the bells, and what is due.  Led. */
void rnic_engine_serve_events(struct rnic_engine *engine,
			      const struct epoll_event *ev, int cnt);

/*
 * No socket can be waited for any more: the application has closed what is
 * not its own, or worse.  Every stream ends, and every work request
 * completes, by who posts or polls.  Led.
 */
void rnic_engine_break(struct rnic_engine *engine, int err);

/* Start the completion thread if it does not run.  Led.  Return: 0; -errno. */
int rnic_engine_thread_start(struct rnic_engine *engine);

/* Does the completion thread look after posts that wait?  It does so from
 * being asked to park until it sleeps in epoll. */
static inline bool rnic_engine_is_watched(const struct rnic_engine *engine)
{
	return atomic_load_explicit(&engine->is_watching, memory_order_relaxed);
}

static inline void rnic_engine_watch(struct rnic_engine *engine)
{
	atomic_store_explicit(&engine->is_watching, true, memory_order_relaxed);
}

/* Somebody posts in bursts, and polls: may it park?  Led. */
void rnic_engine_ask_park(struct rnic_engine *engine, uint64_t now_ns);

/* It looks anew at deadlines and at whether to stop. */
void rnic_engine_thread_wake(struct rnic_engine *engine);

/* Only the completion thread does this, for which the wake is meant, or who
 * takes its place while draining. */
void rnic_engine_wake_clear(struct rnic_engine *engine,
			    const struct epoll_event *ev, int cnt);

#endif
