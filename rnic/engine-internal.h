/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Between engine.c, whose passes these are, and engine-thread.c. */
#ifndef RNIC_ENGINE_INTERNAL_H
#define RNIC_ENGINE_INTERNAL_H

#include <errno.h>
#include <sys/epoll.h>

#include "engine.h"

#define NS_PER_MS 1000000ull

#define ENGINE_EVENT_MAX 64
/* epoll data of the wake fd; slot numbers are below. */
#define ENGINE_WAKE_TOKEN UINT64_MAX

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

/* It looks anew at deadlines and at whether to stop. */
void rnic_engine_thread_wake(struct rnic_engine *engine);

/* Only the completion thread does this, for which the wake is meant, or who
 * takes its place while draining. */
void rnic_engine_wake_clear(struct rnic_engine *engine,
			    const struct epoll_event *ev, int cnt);

#endif
