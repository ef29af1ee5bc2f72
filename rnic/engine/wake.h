/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The completion thread woken and unparked, and threads that sleep on the epoll
 * set in its place.
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

/*
 * The calling thread is about to sleep on epfd, and polls when epfd becomes
 * readable. The completion thread does not read the sockets in the meantime.
 * Return: false: the completion thread has work; try later.
 */
bool rnic_engine_sleep_begin(struct rnic_engine *engine);
void rnic_engine_sleep_end(struct rnic_engine *engine);

/* Does wake_fd have something for the completion thread? */
static inline bool rnic_engine_is_woken(const struct rnic_engine *engine)
{
	/* seq_cst: pairs with rnic_engine_thread_wake() */
	return atomic_load_explicit(&engine->thread.is_woken,
				    memory_order_seq_cst);
}

static inline bool rnic_engine_has_sleeper(const struct rnic_engine *engine)
{
	return rnic_polls_have_sleeper(&engine->sched.polls);
}

#endif
