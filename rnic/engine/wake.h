/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Between the completion thread and the threads that poll: when it is woken,
 * when it parks, and which thread reads the sockets meanwhile.
 */
#ifndef RNIC_ENGINE_WAKE_H
#define RNIC_ENGINE_WAKE_H

#include <sys/epoll.h>

#include "object.h"

/* The completion thread looks anew at deadlines and at whether to stop. */
void rnic_engine_thread_wake(struct rnic_engine *engine);

/* Only the completion thread does this, for which the wake-up is meant, or the
 * thread that takes its place while draining. */
void rnic_engine_wake_clear(struct rnic_engine *engine,
			    const struct epoll_event *ev, int cnt);

/* The application is about to wait for an event: unpark at once. */
void rnic_engine_unpark(struct rnic_engine *engine);

/* A thread posts in bursts, and polls: may the completion thread park?  Led. */
void rnic_engine_ask_park(struct rnic_engine *engine, uint64_t now_ns);

/*
 * The calling thread is going to sleep on epfd, and polls when that becomes
 * readable: the completion thread leaves the sockets to it meanwhile.
 * Return: false: the completion thread has something to do; not now.
 */
bool rnic_engine_sleep_begin(struct rnic_engine *engine);
void rnic_engine_sleep_end(struct rnic_engine *engine);

static inline bool rnic_engine_has_sleeper(const struct rnic_engine *engine)
{
	/* relaxed: a hint */
	return atomic_load_explicit(&engine->sleeper_cnt,
				    memory_order_relaxed) > 0;
}

/* Is the context served by threads that sleep on epfd where they do not poll?
 */
static inline bool rnic_engine_is_attended(const struct rnic_engine *engine)
{
	/* relaxed: a hint */
	return atomic_load_explicit(&engine->is_attended, memory_order_relaxed);
}

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

#endif
