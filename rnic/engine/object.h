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
#include "staging.h"
#include "yield.h"

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

#define RNIC_ENGINE_BUSY_MAX 4
/* After so many posts without arming, a program does not sleep when it
 * waits. */
#define RNIC_ENGINE_ARMED_POSTS 64

struct rnic_engine {
	struct util_lock lead;
	int epfd;
	int wake_fd; /* eventfd: timers changed, stop */

	rnic_bell_head bells; /* the leader serves them */

	/* When the last empty poll led, CLOCK_MONOTONIC; 0: not polling. */
	_Atomic uint64_t poll_ns;
	/* When the polls began that have had no pause since. */
	_Atomic uint64_t run_ns;
	_Atomic uint32_t park_word; /* futex: 1 while the thread is parked */
	_Atomic int post_cpu;	    /* where a thread last posted; a hint */
	/* Posts until the program counts as one that does not sleep when it
	 * waits; a hint. */
	_Atomic uint32_t armed_cnt;
	_Atomic uint32_t burst_cnt; /* posts since a poller's pass; a hint */
	_Atomic bool wants_pass;  /* ... which is due, whether or not the CQ is
				     empty */
	_Atomic bool is_watching; /* posts may wait */
	_Atomic bool wants_park;  /* a thread posts in bursts, and polls */
	_Atomic bool is_stopping;
	/* Threads that sleep on epfd, and poll when they wake. */
	_Atomic uint32_t sleeper_cnt;
	/* One of them has slept, and has not armed a CQ since to sleep
	 * elsewhere. */
	_Atomic bool is_attended;
	/* ... and its posts may wait nevertheless, if it posts in bursts. */
	_Atomic bool may_gather;
	_Atomic bool is_bursty;	  /* many posts came between two passes of it */
	_Atomic bool has_slept;	  /* one has, and the next poll asks epoll */
	_Atomic bool is_woken;	  /* wake_fd has something for the thread */
	_Atomic bool is_spinning; /* the thread looks before it sleeps */
	_Atomic bool is_crowded;  /* no CPU is idle, as far as is known */
	_Atomic bool has_posted;  /* the program, since the thread served */
	struct rnic_yield yield;
	struct rnic_vain vain;
	_Atomic uint32_t arrival_no; /* how often octets were read; wraps.
					Written under lead */
	_Atomic uint32_t memory_cnt; /* sources with memory */
	_Atomic uint32_t waker_cnt;  /* threads that use wake_fds or words of
					sources without the lead */
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

	/* guarded by lead */
	struct rnic_slot *slots;
	uint32_t slot_cnt, slot_free;
	struct rnic_source_list sources; /* all, newest first */
	uint32_t source_cnt;
	struct rnic_hot_list hot; /* latest first */
	uint32_t hot_cnt;
	struct rnic_wakes wakes;
	/* Not all of them are asleep.  Others may look: engine_is_at_rest(). */
	_Atomic bool is_restless;
	/* Of many sources with a socket only, those that had octets lately, the
	 * latest first: sockets.h. */
	struct rnic_source *busy[RNIC_ENGINE_BUSY_MAX];
	uint32_t busy_cnt;
	uint32_t turn_cnt; /* polls while a socket was busy */
	uint32_t turn_gap; /* so many until one asks epoll for others */
	uint64_t asked_ns; /* when a poll asked epoll last */
	uint32_t vain_cnt; /* polls since news in memory, up to a limit */
	uint32_t poll_cnt; /* polls since one asked epoll */
	uint32_t poll_gap; /* polls from one that asks epoll to the next */
	uint64_t news_ns; /* a poll found news in memory, beside many sockets */
	struct rnic_staging_pool rx_pool, tx_pool;
	uint64_t now_ns;      /* rnic_engine_now_ns(); 0: not asked yet */
	struct rnic_due *due; /* what has a time: due.h */
	uint64_t ask_ns; /* the thread is not asked to park before this time */
	bool has_thread;
	bool may_leave; /* octets unread: the leader is a thread of the program,
			   and comes back for them */
	_Atomic bool has_left;	  /* the last poll has left octets unread */
	_Atomic uint8_t left_cnt; /* polls since; a hint */
	uint32_t poll_turn; /* of the leader that may leave octets; 0: a post */
	uint32_t turn_no;   /* of the last poll; never 0 */
	bool is_broken;	    /* epoll fails: no source can be added */
	pthread_t thread;
};

/* The structure of @type that contains @ptr as @member. */
#define RNIC_CONTAINER_OF(ptr, type, member)                                   \
	((type *)(void *)(((char *)(ptr)) - offsetof(type, member)))

#endif
