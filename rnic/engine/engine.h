/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The engine makes progress for all streams of a context, with one leader at
 * a time: the thread that holds @lead.
 *
 * - A thread that posts tries the lead and transmits what it posted.
 * - A thread that polls an empty CQ tries the lead and does one pass over the
 *   sockets: reads, places, completes, transmits, without hand-over.
 * - The engine's completion thread serves everything else.  It blocks in
 *   epoll; while another thread is inside a run of empty polls it parks, so
 *   that both do not wake for the same octets.
 *
 * Doorbell: a QP whose SQ (or, when it has ended or holds a Send, RQ) got
 * entries is pushed on a lock-free stack, and so is such an SRQ.  A thread that
 * gives up the lead looks at the stack once more, so a poster that failed to
 * get the lead need not wait or wake another thread.
 *
 * Bursts: a system call and a segment for each of many small messages would
 * cost several times what the messages do.  Of a thread that posts again and
 * again, and polls in between, the first message of each burst is transmitted
 * at once, and those behind it together: by its next poll, or when
 * ENGINE_BURST_MAX have come, or by a thread that takes the lead before that.
 * Posts wait only while the completion thread watches: asked to, it parks,
 * looks after posts that no poll has followed, and watches no more for a while
 * if it finds any.
 */
#ifndef RNIC_ENGINE_H
#define RNIC_ENGINE_H

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>

#include "object.h"

/* Sockets that a polling thread reads without asking epoll first. */
#define RNIC_ENGINE_HOT_MAX 4

#define ENGINE_EVENT_MAX 64
/* So many posts in a row may share one transmission. */
#define ENGINE_BURST_MAX 16
/* So many posts in a row are worth a pass behind them, and a parked thread. */
#define ENGINE_BURST_MANY 8
/* How long a poster lets the leader finish, in turns of some 10 ns. */
#define ENGINE_FINISH_SPINS 64

int rnic_engine_new(const struct rnic_engine_ops *ops, struct rnic_context *ctx,
		    struct rnic_engine **ret_engine);

/*
 * Ends every stream in order: sends FIN, reads on until the peer's FIN or the
 * drain limit.  Other threads may go on calling.
 * Return: false: the lead could not be had within the limit; nothing was done.
 */
bool rnic_engine_drain(struct rnic_engine *engine);

/* Drains, and ends the completion thread.  Return: as rnic_engine_drain(). */
bool rnic_engine_stop(struct rnic_engine *engine);

/* Stops, and frees (not what cannot be stopped); NULL is fine. */
void rnic_engine_free(struct rnic_engine *engine);

/* Take and give up the lead.  Giving up serves bells that rang meanwhile. */
void rnic_engine_lead(struct rnic_engine *engine);
void rnic_engine_unlead(struct rnic_engine *engine);

/* A queue got entries: serve it here if the lead is free. */
void rnic_engine_ring(struct rnic_engine *engine, struct rnic_bell *bell);

/* The same for an SQ, which may have to wait for company: see above. */
void rnic_engine_post(struct rnic_engine *engine, struct rnic_bell *bell);

/* Transmit what was posted and waits for company. */
void rnic_engine_flush(struct rnic_engine *engine);

/* Shall a polling thread make a pass even where its CQ is not empty?  A hint.
 */
static inline bool rnic_engine_wants_pass(const struct rnic_engine *engine)
{
	return atomic_load_explicit(&engine->wants_pass, memory_order_relaxed);
}

/* To be served by the leader, at the end of what it does now. */
void rnic_engine_bell(struct rnic_engine *engine, struct rnic_bell *bell);

/* Does a queue wait to be served? */
static inline bool rnic_engine_has_bells(const struct rnic_engine *engine)
{
	return atomic_load_explicit(&engine->bell_head, memory_order_relaxed);
}

/* One pass in the calling thread, which found its CQ empty. */
void rnic_engine_poll(struct rnic_engine *engine);

/* ---- under the lead ------------------------------------------------------ */

/*
 * An STag is going away: streams that still use it end with TERMINATE; none is
 * freed here.  When it returns no octet is touched any more on behalf of that
 * STag.
 */
void rnic_engine_mr_gone(struct rnic_engine *engine, uint32_t stag,
			 const void *addr, size_t len);

/* Put a source under the engine's care; its thread runs.  Return: 0; -EIO: the
 * engine is broken; -ENOMEM; what epoll_ctl() said. */
int rnic_engine_add(struct rnic_engine *engine, struct rnic_source *source);
void rnic_engine_remove(struct rnic_engine *engine, struct rnic_source *source);

/* What epoll is to wait for. */
void rnic_engine_set_events(struct rnic_engine *engine,
			    struct rnic_source *source, uint32_t events);

/* A stream has something to do by then: make sure that a thread looks. */
void rnic_engine_deadline(struct rnic_engine *engine, uint64_t deadline_ns);

/* Serve the doorbell; leaves it empty. */
void rnic_engine_serve_bells(struct rnic_engine *engine);

/* Serve what epoll told, the bells, and what is due. */
void rnic_engine_serve_events(struct rnic_engine *engine,
			      const struct epoll_event *ev, int cnt);

/* What is wrong, if anything, where epoll_wait() returned @cnt. */
static inline int rnic_engine_wait_error(int cnt)
{
	return cnt < 0 && errno != EINTR ? -errno : 0;
}

/*
 * No socket can be waited for any more: the application has closed what is
 * not its own, or worse.  Every stream ends, and every work request completes,
 * served by the threads that post or poll.
 */
void rnic_engine_break(struct rnic_engine *engine, int err);

#endif
