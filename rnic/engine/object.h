/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The engine of a context, the objects that it serves, and the functions that
 * it calls for them.
 */
#ifndef RNIC_ENGINE_OBJECT_H
#define RNIC_ENGINE_OBJECT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "util/lock.h"
#include "due.h"
#include "local/handover.h"
#include "os/chan-host.h"
#include "util/clock.h"
#include "os/stat.h"
#include "sched/sched.h"
#include "staging.h"

struct rnic_context;
struct rnic_engine;
struct rnic_engines;
struct rnic_source;

/* The functions that the engine calls for a source, under the lead. */
struct rnic_source_ops {
	/* The socket is, or may be, ready for @events. The source may be
	 * freed. */
	void (*pass)(struct rnic_source *source, uint32_t events);
	/* Its memory has, or may have, news. @is_woken: wake_fd is readable.
	 * The source may be freed. */
	void (*look)(struct rnic_source *source, bool is_woken);
	/* From now on wake_fd tells of news. Return: false: there is news
	 * already, and wake_fd does not tell. */
	bool (*sleep)(struct rnic_source *source);
	/* wake_fd need not tell of news: this end looks. */
	void (*stay_awake)(struct rnic_source *source);
	/* The other end was to be woken, and cannot be. */
	void (*unwakeable)(struct rnic_source *source);
	/* What was written last.  Return: false: not by its memory. */
	bool (*handover)(struct rnic_source *source,
			 struct rnic_handover *ret_handover);
	/* rnic_engine_mr_gone() for one source, which is not freed. */
	void (*mr_gone)(struct rnic_source *source, uint32_t stag,
			const void *addr, size_t len);
	/* Its own address is gone for good. The source is freed. */
	void (*addr_gone)(struct rnic_source *source);
	/* Begins an orderly end. */
	void (*drain)(struct rnic_source *source);
	/* Ends at once. The source is freed. */
	void (*abort)(struct rnic_source *source);
};

/* A socket that the engine waits for: part of a link, such as a stream.  Under
 * the lead. */
struct rnic_source {
	const struct rnic_source_ops *ops;
	int fd;
	uint32_t slot;
	uint32_t events;    /* of epoll, registered at present */
	bool is_shared;	    /* other processes read it: one is woken */
	uint32_t quiet_cnt; /* polls that have read it since octets came */
	LIST_ENTRY(rnic_source) link;
	struct rnic_due due; /* no later than the first of its times */

	/* Memory beside the socket: hot.h.  News is a word that has changed;
	 * NULL: nothing is awaited there. */
	const _Atomic uint64_t *in, *out;
	uint64_t in_seen, out_seen;
	int wake_fd; /* with has_wake */
	bool has_wake;
	bool is_hot;
	bool is_asleep; /* or has been woken since: wake_fd says so then */
	TAILQ_ENTRY(rnic_source) hot_link;
};

/* Ends of sources, to be woken by a thread that has given up the lead. */
#define RNIC_WAKES_MAX 4

struct rnic_wakes {
	uint32_t cnt;
	struct {
		int fd;
		uint64_t token; /* as epoll data */
	} at[RNIC_WAKES_MAX];
};

LIST_HEAD(rnic_source_list, rnic_source);
TAILQ_HEAD(rnic_hot_list, rnic_source);

/* epoll data of the wake fd; slot numbers are below. */
#define ENGINE_WAKE_TOKEN UINT64_MAX

struct rnic_slot {
	struct rnic_source *source; /* NULL: free */
	uint32_t gen;		    /* lets a late epoll event find nothing */
	uint32_t next_free;
};

/*
 * A doorbell: part of anything that can be rung. All fields but @serve are zero
 * before the first use. @serve is called under the lead.
 */
struct rnic_bell {
	_Atomic(struct rnic_bell *) next;
	_Atomic bool is_rung;
	void (*serve)(struct rnic_bell *bell);
};

/* The top of a stack of them: bell.h. */
typedef _Atomic(struct rnic_bell *) rnic_bell_head;

/* The functions that the engine calls for all of it, under the lead unless they
 * say otherwise. */
struct rnic_engine_ops {
	/* Wakes the other end of a source, without the lead.  Return: false: it
	 * cannot be woken; unwakeable() follows, if the source is still
	 * there. */
	bool (*wake)(int wake_fd);
	/* Sockets cannot be waited for any more. Sources are aborted
	 * afterwards. */
	void (*broken)(struct rnic_engine *engine);
	/* Without the lead: there are bells at @all_bells. */
	void (*all_due)(struct rnic_engine *engine);
};

/* The sources of an engine.  Under the lead. */
struct rnic_slots {
	struct rnic_slot *at;
	uint32_t cnt, free;
	struct rnic_source_list list; /* of all, newest first */
};

/* Of the sources with a socket only, those that epoll has named lately, the
 * latest first: sockets.h.  Under the lead. */
#define RNIC_BUSY_MAX 4u

struct rnic_busy {
	struct rnic_source *at[RNIC_BUSY_MAX];
	uint32_t cnt;
};

/* Sources with memory: hot.h. */
struct rnic_hot {
	_Atomic uint32_t memory_cnt; /* all of them */
	/* Threads that use wake_fds or words of them without the lead. */
	_Atomic uint32_t waker_cnt;
	/* Not all are asleep.  Others than the leader may look:
	 * engine_is_at_rest(). */
	_Atomic bool is_restless;
	struct rnic_hot_list list; /* those with news lately, latest first */
	uint32_t cnt;
	struct rnic_wakes wakes;
};

/* The poll that leads.  Under the lead. */
struct rnic_turn {
	bool may_leave;	  /* octets unread: the leader is a thread of the
			     program, and comes back for them */
	uint32_t poll_no; /* of it; 0: a post */
	uint32_t last_no; /* of the last poll; never 0 */
	uint64_t now_ns;  /* rnic_engine_now_ns(); 0: not asked yet */
};

/* The completion thread. */
struct rnic_engine_thread {
	pthread_t id;
	bool is_started;	    /* under the lead */
	int wake_fd;		    /* eventfd: timers changed, stop */
	_Atomic bool is_woken;	    /* wake_fd has something for it */
	_Atomic uint32_t park_word; /* futex: 1 while it is parked */
};

struct rnic_engine {
	struct util_lock lead;
	int epfd;
	rnic_bell_head bells; /* the leader serves them */
	struct rnic_sched sched;
	struct rnic_hot hot;
	struct rnic_slots slots;
	struct rnic_busy busy;
	struct rnic_turn turn;
	struct rnic_due *due; /* what has a time: due.h; under the lead */
	struct rnic_staging_pool rx_pool, tx_pool; /* under the lead */

	struct rnic_engine_thread thread;
	_Atomic bool is_stopping;
	bool is_broken; /* epoll fails: no source can be added; under the
			   lead */
	/* Threads that wait for events do its work: attend.h, visit.h. */
	struct rnic_chan_host host;
	_Atomic uint32_t ref_cnt;     /* of its memory */
	_Atomic uint32_t visitor_cnt; /* such threads that are at work */
	const struct rnic_engine_ops *ops;
	struct rnic_context *ctx;   /* the owner */
	struct rnic_stat_part stat; /* where its leader counts */
	/* One of these; the bells that need the leads of all of them (NULL:
	 * it is alone). */
	struct rnic_engines *engines;
	rnic_bell_head *all_bells;
	_Atomic uint32_t qp_cnt; /* queue pairs that have it */
};

/* The structure of @type that contains @ptr as @member. */
#define RNIC_CONTAINER_OF(ptr, type, member)                                   \
	((type *)(void *)(((char *)(ptr)) - offsetof(type, member)))

#endif
