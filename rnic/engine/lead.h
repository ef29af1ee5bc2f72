/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The lead of an engine, its doorbell, and its sources. */
#ifndef RNIC_ENGINE_LEAD_H
#define RNIC_ENGINE_LEAD_H

#include <errno.h>

#include "object.h"

/* Takes and gives up the lead. Giving up serves bells that rang in the
 * meantime. */
void rnic_engine_lead(struct rnic_engine *engine);
void rnic_engine_unlead(struct rnic_engine *engine);

/* The same for a thread that has the leads of other engines. It takes them in
 * their order, and serves bells when it has all. */
void rnic_engine_lead_beside(struct rnic_engine *engine);
void rnic_engine_unlead_beside(struct rnic_engine *engine);

/*
 * Gives up a lead under which nothing was served and words or a handover were
 * taken (hot.h).  Bells are not served: one could end a source, which waits
 * until they are given back.
 * Return: false: there is something to serve: give them back, and lead again.
 */
bool rnic_engine_unlead_holding(struct rnic_engine *engine)
	__attribute__((warn_unused_result));

/* Return: false: another thread leads. */
bool rnic_engine_try_lead(struct rnic_engine *engine);
/* Return: false: another thread has led until @end_ns (CLOCK_MONOTONIC). */
bool rnic_engine_lead_until(struct rnic_engine *engine, uint64_t end_ns);

/* Did a leader find work that needs the leads of all engines? */
bool rnic_engine_is_all_due(const struct rnic_engine *engine);

/* Waits until no thread leads, for at most @turns of about 10 ns. A hint. */
void rnic_engine_let_finish(const struct rnic_engine *engine, int turns);

/* Lets other threads of this CPU run. Return: how long, in ns. */
uint64_t rnic_engine_yield(void);

/* The leader serves it at the end of its present work. */
void rnic_engine_bell(struct rnic_engine *engine, struct rnic_bell *bell);

/* Is there a queue to be served? */
static inline bool rnic_engine_has_bells(const struct rnic_engine *engine)
{
	return atomic_load_explicit(&engine->bells, memory_order_relaxed);
}

/* Calls @act for each source, which may be freed by it.  Takes the lead. */
void rnic_engine_each(struct rnic_engine *engine,
		      void (*act)(struct rnic_source *source, void *arg),
		      void *arg);

/* Have any sources memory?  A hint without the lead. */
static inline bool rnic_engine_has_memory(const struct rnic_engine *engine)
{
	return atomic_load_explicit(&engine->hot.memory_cnt,
				    memory_order_relaxed);
}

/* Does a thread without the lead wake the other end of a source?  A hint. */
static inline bool rnic_engine_is_waking(const struct rnic_engine *engine)
{
	return atomic_load_explicit(&engine->hot.waker_cnt,
				    memory_order_relaxed);
}

/* ---- under the lead ------------------------------------------------------ */

/* The time, CLOCK_MONOTONIC, of the first such question since the lead was
 * taken: a clock costs as much as a short message. */
static inline uint64_t rnic_engine_now_ns(struct rnic_engine *engine)
{
	if (!engine->turn.now_ns)
		engine->turn.now_ns = util_now_ns();
	return engine->turn.now_ns;
}

/*
 * An STag is being removed: streams that still use it end with TERMINATE. None
 * is freed here. After the return no octet is accessed by this STag.
 */
void rnic_engine_mr_gone(struct rnic_engine *engine, uint32_t stag,
			 const void *addr, size_t len);

/* By the data of an epoll event.  NULL: it went in the meantime. */
struct rnic_source *rnic_engine_find(const struct rnic_engine *engine,
				     uint64_t token);

/* Adds a source to the engine, and makes sure that its thread runs. Return: 0;
 * -EIO: the engine is broken; -ENOMEM; errors of epoll_ctl(). */
int rnic_engine_add(struct rnic_engine *engine, struct rnic_source *source);
void rnic_engine_remove(struct rnic_engine *engine, struct rnic_source *source);

/* Another socket takes the place of the source's, which stays open and is the
 * caller's.  Return: 0; -errno: nothing has changed. */
int rnic_engine_change_fd(struct rnic_engine *engine,
			  struct rnic_source *source, int fd);

/* The events that epoll waits for. */
void rnic_engine_set_events(struct rnic_engine *engine,
			    struct rnic_source *source, uint32_t events);

/* @due is due at @ns at the latest: makes sure that a thread serves it then. */
void rnic_engine_deadline(struct rnic_engine *engine, struct rnic_due *due,
			  uint64_t ns);

/* Serves the doorbell, and leaves it empty. */
void rnic_engine_serve_bells(struct rnic_engine *engine);

/* The error, if any, after epoll_wait() returned @cnt. */
static inline int rnic_engine_wait_error(int cnt)
{
	return cnt < 0 && errno != EINTR ? -errno : 0;
}

/* Ends every source at once. */
void rnic_engine_abort(struct rnic_engine *engine);

/*
 * Sockets cannot be waited for any more, for example because the application
 * has closed descriptors of the RNIC. Every stream ends, and every work request
 * completes, served by the threads that post or poll.
 */
void rnic_engine_break(struct rnic_engine *engine, int err);

#endif
