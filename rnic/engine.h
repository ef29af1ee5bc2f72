/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The engine makes progress for all streams of a context, with one leader at
 * a time: whoever holds @lead.
 *
 * - A thread that posts tries the lead and transmits what it posted.
 * - A thread that polls an empty CQ tries the lead and does one pass over the
 *   sockets: reads, places, completes, transmits, without hand-over.
 * - The engine's completion thread serves everything else.  It blocks in
 *   epoll; while another thread is inside a run of empty polls it parks, so
 *   that both do not wake for the same octets.
 *
 * Doorbell: a QP whose SQ (or, when it has ended or holds a Send, RQ) got
 * entries is pushed on a lock-free stack, and so is such an SRQ.  Whoever gives
 * up the lead looks at the stack once more, so a poster that failed to get the
 * lead need not wait or wake anyone.
 *
 * Bursts: a system call and a segment for each of many small messages would
 * cost several times what the messages do.  Who posts again and again, and
 * polls in between, has the first message of each burst transmitted at once,
 * and those behind it together: by its next poll, or when ENGINE_BURST_MAX have
 * come, or by whoever takes the lead before that.  Posts wait only while the
 * completion thread watches: asked to, it parks, looks after posts that nobody
 * polled behind, and watches no more for a while if it finds any.
 */
#ifndef RNIC_ENGINE_H
#define RNIC_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../util/lock.h"
#include "os/clock.h"

struct rnic_qp;
struct rnic_stream;

/* Sockets that a polling thread reads without asking epoll first. */
#define RNIC_ENGINE_HOT_MAX 4

struct rnic_staging {
	struct rnic_staging *next;
};

struct rnic_staging_pool {
	struct rnic_staging *free_list;
	size_t size;
};

struct rnic_slot {
	struct rnic_stream *stream; /* NULL: free */
	uint32_t gen; /* so that a late epoll event finds nobody */
	uint32_t next_free;
};

/* In whatever can be rung; zero but for @kind before first use. */
struct rnic_bell {
	_Atomic(struct rnic_bell *) next;
	_Atomic bool is_rung;
	enum rnic_bell_kind { RNIC_BELL_QP, RNIC_BELL_SRQ } kind;
};

struct rnic_engine {
	struct util_lock lead;
	int epfd;
	int wake_fd; /* eventfd: timers changed, stop */

	/* Doorbell: Treiber stack, any thread pushes, the leader takes all. */
	_Atomic(struct rnic_bell *) bell_head;

	/* When the last empty poll led, CLOCK_MONOTONIC; 0: not polling. */
	_Atomic uint64_t poll_ns;
	_Atomic uint32_t park_word; /* futex: 1 while the thread is parked */
	_Atomic int post_cpu;	    /* where a thread last posted; a hint */
	_Atomic uint32_t burst_cnt; /* posts since a poller's pass; a hint */
	_Atomic bool wants_pass;    /* ... which is due, CQ empty or not */
	_Atomic bool is_watching;   /* posts may wait */
	_Atomic bool wants_park;    /* somebody posts in bursts, and polls */
	_Atomic bool is_stopping;
	/* Threads that sleep on epfd, and poll when they wake. */
	_Atomic uint32_t sleeper_cnt;
	/* One has, and has not armed a CQ since to sleep elsewhere. */
	_Atomic bool is_attended;
	_Atomic bool is_woken;	  /* wake_fd has something for the thread */
	struct rnic_context *ctx; /* whose it is */

	/* guarded by lead */
	struct rnic_slot *slots;
	uint32_t slot_cnt, slot_free;
	struct rnic_stream *streams; /* all, newest first */
	uint32_t stream_cnt;
	struct rnic_staging_pool rx_pool, tx_pool;
	uint64_t deadline_ns; /* earliest of all streams; 0: none */
	uint64_t ask_ns;      /* the thread is not asked to park before */
	bool has_thread;
	bool is_broken; /* epoll does not answer: no stream any more */
	pthread_t thread;
};

int rnic_engine_new(struct rnic_engine **ret_engine);

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

/* Is the context served by threads that sleep on epfd where they do not poll?
 */
static inline bool rnic_engine_is_attended(const struct rnic_engine *engine)
{
	/* relaxed: a hint */
	return atomic_load_explicit(&engine->is_attended, memory_order_relaxed);
}

/* Transmit what was posted and waits for company. */
void rnic_engine_flush(struct rnic_engine *engine);

/* Shall who polls make a pass even where its CQ is not empty?  A hint. */
static inline bool rnic_engine_wants_pass(const struct rnic_engine *engine)
{
	return atomic_load_explicit(&engine->wants_pass, memory_order_relaxed);
}

/* It wants to be served by whoever leads, at the end of what he is at. */
void rnic_engine_bell(struct rnic_engine *engine, struct rnic_bell *bell);

/* One pass in the calling thread, which found its CQ empty. */
void rnic_engine_poll(struct rnic_engine *engine);

/* The application is about to wait for an event: unpark at once. */
void rnic_engine_unpark(struct rnic_engine *engine);

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

/* ---- under the lead, for stream.c and qp.c ----------------------------- */

/*
 * An STag is going away: streams that still use it end with TERMINATE; none is
 * freed here.  When it returns no octet is touched any more on behalf of that
 * STag.
 */
void rnic_engine_mr_gone(struct rnic_engine *engine, uint32_t stag,
			 const void *addr, size_t len);

/* Put a stream under the engine's care (epoll, slot); starts the thread. */
int rnic_engine_add(struct rnic_engine *engine, struct rnic_stream *stream);
void rnic_engine_remove(struct rnic_engine *engine, struct rnic_stream *stream);

/* The stream's deadline_ns was set: make sure somebody looks in time. */
void rnic_engine_deadline(struct rnic_engine *engine, uint64_t deadline_ns);

/* Staging memory; NULL: out of memory. */
void *rnic_staging_get(struct rnic_staging_pool *pool);
void rnic_staging_put(struct rnic_staging_pool *pool, void *mem);

/* Serve the doorbell; leaves it empty. */
void rnic_engine_serve_bells(struct rnic_engine *engine);

#endif
