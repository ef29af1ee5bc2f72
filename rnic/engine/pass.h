/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Passes over the sources: of threads that poll, and of those that wait. */
#ifndef RNIC_ENGINE_PASS_H
#define RNIC_ENGINE_PASS_H

#include <sys/epoll.h>

#include "object.h"

/* Events that one question to epoll brings. */
#define ENGINE_EVENT_MAX 64

/* Should a polling thread make a pass even if its CQ is not empty?  A hint. */
static inline bool rnic_engine_wants_pass(const struct rnic_engine *engine)
{
	return rnic_burst_wants_pass(&engine->sched.burst);
}

/* The calling thread is about to sleep on epfd: that tells of all news from now
 * on.  Return: false: there is some already, which the next pass serves. */
bool rnic_engine_rest(struct rnic_engine *engine);

/* One pass in the calling thread, which found its CQ empty.  Leaves errno as it
 * is. */
void rnic_engine_poll(struct rnic_engine *engine);

/* The same for a thread that waits for an event; it waits for the lead. */
void rnic_engine_serve(struct rnic_engine *engine);

/* What epoll knows is served; or another thread keeps the lead for long. */
void rnic_engine_catch_up(struct rnic_engine *engine);

/* Serves the events of epoll, the bells, and deadlines that have come. */
void rnic_engine_serve_events(struct rnic_engine *engine,
			      const struct epoll_event *ev, int cnt);

#endif
