/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The engine of a context, what it serves, and what it calls for that.
 */
#ifndef RNIC_ENGINE_OBJECT_H
#define RNIC_ENGINE_OBJECT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "../../util/lock.h"
#include "os/clock.h"
#include "staging.h"

struct rnic_context;
struct rnic_engine;

/* A socket that the engine waits for: part of a stream.  Under the lead. */
struct rnic_source {
	int fd;
	uint32_t slot;
	uint32_t events; /* of epoll, registered now */
	LIST_ENTRY(rnic_source) link;
};

LIST_HEAD(rnic_source_list, rnic_source);

/* epoll data of the wake fd; slot numbers are below. */
#define ENGINE_WAKE_TOKEN UINT64_MAX

struct rnic_slot {
	struct rnic_source *source; /* NULL: free */
	uint32_t gen; /* so that a late epoll event finds nothing */
	uint32_t next_free;
};

/*
 * A doorbell: part of whatever can be rung.  Zero but for @serve before its
 * first use; @serve is called under the lead.
 */
struct rnic_bell {
	_Atomic(struct rnic_bell *) next;
	_Atomic bool is_rung;
	void (*serve)(struct rnic_bell *bell);
};

/* What the engine calls, under the lead. */
struct rnic_engine_ops {
	/* The socket is ready for @events, or may be.  The source may be gone
	 * after. */
	void (*pass)(struct rnic_source *source, uint32_t events);
	/* deadline_ns has come: do what is due, and set the next one. */
	void (*due)(struct rnic_engine *engine, uint64_t now_ns);
	/* rnic_engine_mr_gone(), source by source; none goes. */
	void (*mr_gone)(struct rnic_source *source, uint32_t stag,
			const void *addr, size_t len);
	/* Begin an orderly end. */
	void (*drain)(struct rnic_source *source);
	/* End now: the source is gone after. */
	void (*abort)(struct rnic_source *source);
	/* No socket can be waited for any more.  Sources are aborted after. */
	void (*broken)(struct rnic_engine *engine);
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
	_Atomic bool wants_park;    /* a thread posts in bursts, and polls */
	_Atomic bool is_stopping;
	/* Threads that sleep on epfd, and poll when they wake. */
	_Atomic uint32_t sleeper_cnt;
	/* One has, and has not armed a CQ since to sleep elsewhere. */
	_Atomic bool is_attended;
	_Atomic bool is_woken; /* wake_fd has something for the thread */
	const struct rnic_engine_ops *ops;
	struct rnic_context *ctx; /* the owner */

	/* guarded by lead */
	struct rnic_slot *slots;
	uint32_t slot_cnt, slot_free;
	struct rnic_source_list sources; /* all, newest first */
	uint32_t source_cnt;
	struct rnic_staging_pool rx_pool, tx_pool;
	uint64_t deadline_ns; /* earliest of all sources; 0: none */
	uint64_t ask_ns;      /* the thread is not asked to park before */
	bool has_thread;
	bool is_broken; /* epoll does not answer: no source any more */
	pthread_t thread;
};

/* The structure that @member of @type, at @ptr, is part of. */
#define RNIC_CONTAINER_OF(ptr, type, member)                                   \
	((type *)(void *)(((char *)(ptr)) - offsetof(type, member)))

#endif
