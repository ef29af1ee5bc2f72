/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The engine makes progress for all streams of a context, with one leader at a
 * time: the thread that holds @lead.
 *
 * - A thread that posts tries to take the lead and transmits what it posted.
 * - A thread that polls an empty CQ tries to take the lead and does one pass
 *   over the sockets: reads, places, completes, transmits. No other thread is
 *   involved.
 * - The engine's completion thread serves everything else. It blocks in epoll.
 *   While another thread is inside a run of empty polls it parks, so that both
 *   do not wake up for the same octets.
 *
 * Doorbell: a QP whose SQ got entries is pushed on a lock-free stack. So are an
 * RQ of a QP that has ended or holds a Send, and such an SRQ. A thread that
 * gives up the lead checks the stack once more, so a thread that posted and did
 * not get the lead need not wait or wake another thread.
 *
 * Bursts: a system call and a segment for each of many small messages would
 * cost several times what the messages cost. If a thread posts repeatedly, and
 * polls in between, the first message of each burst is transmitted at once. The
 * messages after it are transmitted together: by its next poll, or after
 * ENGINE_BURST_MAX of them, or by a thread that takes the lead before that.
 * Posts wait only while the completion thread watches: on request it parks, and
 * checks for posts that no poll has followed. If it finds any it stops watching
 * for a while. Receives that held Sends wait for are posts, too.
 */
#ifndef RNIC_ENGINE_H
#define RNIC_ENGINE_H

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>

#include "object.h"

/* A poll that finds no news in memory looks so often again, if one of so many
 * polls before did. */
#define ENGINE_LOOKS 8
#define ENGINE_LOOK_POLLS 16u

/* If a poll has left octets unread, one in so many polls makes a pass although
 * it finds completions. */
#define ENGINE_LEFT_POLLS 4u

#define ENGINE_EVENT_MAX 64
/* At most this many posts in a row may share one transmission. */
#define ENGINE_BURST_MAX 16
/* After this many posts in a row, a pass and a parked thread are worth their
 * cost. */
#define ENGINE_BURST_MANY 8
/* A thread that did not poll for so long did something else.  It is longer than
 * the system takes a CPU away for its own work. */
#define ENGINE_PAUSE_NS 200000u
/* How long a poster waits for the leader to finish, in turns of about 10 ns. */
#define ENGINE_FINISH_SPINS 64
/* How long one whose post is an answer waits for the leader to send it. */
#define ENGINE_SERVE_SPINS 500
/* ... and so often, if it hands its CPU over. */
#define ENGINE_SERVE_TRIES 4
/* How long the connection manager waits for a leader. */
#define ENGINE_CATCH_UP_NS (10 * NS_PER_MS)

int rnic_engine_new(const struct rnic_engine_ops *ops, struct rnic_context *ctx,
		    struct rnic_engine **ret_engine);

/* Begins the orderly end of every stream. Return: false: the lead was not free
 * by @end_ns (CLOCK_MONOTONIC). */
bool rnic_engine_close(struct rnic_engine *engine, uint64_t end_ns);

/*
 * Ends every stream in order: sends FIN, and reads until the peer's FIN or
 * until @end_ns. Other threads may continue to make calls.
 * Return: false: the lead was not free within the limit; nothing was done.
 */
bool rnic_engine_drain(struct rnic_engine *engine, uint64_t end_ns);

/* Drains, and ends the completion thread. Return: as rnic_engine_drain(). */
bool rnic_engine_stop(struct rnic_engine *engine, uint64_t end_ns);

/* Stops, and frees everything that could be stopped. NULL: nothing. */
void rnic_engine_free(struct rnic_engine *engine);

/* Takes and gives up the lead. Giving up serves bells that rang in the
 * meantime. */
void rnic_engine_lead(struct rnic_engine *engine);
void rnic_engine_unlead(struct rnic_engine *engine);

/* The same for a thread that has the leads of other engines. It takes them in
 * their order, and serves bells when it has all. */
void rnic_engine_lead_beside(struct rnic_engine *engine);
void rnic_engine_unlead_beside(struct rnic_engine *engine);

/* Waits until no thread leads, for at most @turns of about 10 ns. A hint. */
void rnic_engine_let_finish(const struct rnic_engine *engine, int turns);

/* A queue got entries: serves it here if the lead is free, unless posts wait to
 * be served together: see above.  Leaves errno as it is. */
void rnic_engine_post(struct rnic_engine *engine, struct rnic_bell *bell);

/* Transmits posts that wait to be transmitted together. */
void rnic_engine_flush(struct rnic_engine *engine);

/* Should a polling thread make a pass even if its CQ is not empty? A hint. */
static inline bool rnic_engine_wants_pass(const struct rnic_engine *engine)
{
	return atomic_load_explicit(&engine->wants_pass, memory_order_relaxed);
}

/* Counts a poll of the calling thread.  Return: whether it should make a pass
 * even if its CQ is not empty, because octets were left some polls ago. */
static inline bool rnic_engine_is_left_due(struct rnic_engine *engine)
{
	uint8_t cnt;

	/* relaxed, all: polls of several threads at once may count as one */
	if (!atomic_load_explicit(&engine->has_left, memory_order_relaxed))
		return false;
	cnt = atomic_load_explicit(&engine->left_cnt, memory_order_relaxed);
	cnt++;
	atomic_store_explicit(&engine->left_cnt, cnt, memory_order_relaxed);
	return cnt >= ENGINE_LEFT_POLLS;
}

/* The leader serves it at the end of its present work. */
void rnic_engine_bell(struct rnic_engine *engine, struct rnic_bell *bell);

/* Is there a queue to be served? */
static inline bool rnic_engine_has_bells(const struct rnic_engine *engine)
{
	return atomic_load_explicit(&engine->bells, memory_order_relaxed);
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

/* Calls @act for each source, which may be freed by it.  Takes the lead. */
void rnic_engine_each(struct rnic_engine *engine,
		      void (*act)(struct rnic_source *source, void *arg),
		      void *arg);

/* ---- under the lead ------------------------------------------------------ */

/* The time, CLOCK_MONOTONIC, of the first such question since the lead was
 * taken: a clock costs as much as a short message. */
static inline uint64_t rnic_engine_now_ns(struct rnic_engine *engine)
{
	if (!engine->now_ns)
		engine->now_ns = util_now_ns();
	return engine->now_ns;
}

/* A stream leaves octets unread for the next poll. */
static inline void rnic_engine_leave(struct rnic_engine *engine)
{
	/* relaxed: hints */
	atomic_store_explicit(&engine->has_left, true, memory_order_relaxed);
	atomic_store_explicit(&engine->left_cnt, 0, memory_order_relaxed);
}

/*
 * An STag is being removed: streams that still use it end with TERMINATE. None
 * is freed here. After the return no octet is accessed by this STag.
 */
void rnic_engine_mr_gone(struct rnic_engine *engine, uint32_t stag,
			 const void *addr, size_t len);

/* Adds a source to the engine, and makes sure that its thread runs. Return: 0;
 * -EIO: the engine is broken; -ENOMEM; errors of epoll_ctl(). */
int rnic_engine_add(struct rnic_engine *engine, struct rnic_source *source);
void rnic_engine_remove(struct rnic_engine *engine, struct rnic_source *source);

/* The events that epoll waits for. */
void rnic_engine_set_events(struct rnic_engine *engine,
			    struct rnic_source *source, uint32_t events);

/* @due is due at @ns at the latest: makes sure that a thread serves it then. */
void rnic_engine_deadline(struct rnic_engine *engine, struct rnic_due *due,
			  uint64_t ns);

/* Serves the doorbell, and leaves it empty. */
void rnic_engine_serve_bells(struct rnic_engine *engine);

/* Serves the events of epoll, the bells, and deadlines that have come. */
void rnic_engine_serve_events(struct rnic_engine *engine,
			      const struct epoll_event *ev, int cnt);

/* The error, if any, after epoll_wait() returned @cnt. */
static inline int rnic_engine_wait_error(int cnt)
{
	return cnt < 0 && errno != EINTR ? -errno : 0;
}

/*
 * Sockets cannot be waited for any more, for example because the application
 * has closed descriptors of the RNIC. Every stream ends, and every work request
 * completes, served by the threads that post or poll.
 */
void rnic_engine_break(struct rnic_engine *engine, int err);

#endif
