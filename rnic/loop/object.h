/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The loop: one thread of the process that waits for sockets, deadlines and
 * notes of engines; the lock that guards all objects that it serves; and
 * numbered references to them.
 *
 * A second lock (rank LEAF) guards the notes, because an engine that ends a
 * stream holds its lead and may take no lock of a lower rank. No thread blocks
 * while it holds either lock.
 *
 * References are numbers, (generation << 32 | slot). A late epoll event or note
 * finds a slot of another generation and is dropped, so an object may be freed
 * at any time.
 */
#ifndef RNIC_LOOP_OBJECT_H
#define RNIC_LOOP_OBJECT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "util/lock.h"
#include "util/clock.h"

/* Left by an engine when a stream ends. Guarded by the inbox lock. */
struct rnic_ref_note {
	TAILQ_ENTRY(rnic_ref_note) link;
	uint32_t slot_idx;
	int status;
	bool is_queued;
};

struct rnic_ref_slot {
	void *object;	     /* guarded by the loop's lock */
	uint32_t generation; /* written under both locks; 0: free */
	uint32_t last_generation;
	uint32_t next_free;
	struct rnic_ref_note note;
};

#define RNIC_REF_PAGE 256u
#define RNIC_REF_PAGES 4096u

struct rnic_ref_table {
	struct rnic_ref_slot
		*page[RNIC_REF_PAGES]; /* written under both locks */
	uint32_t page_cnt;
	uint32_t first_free; /* UINT32_MAX: none */
};

TAILQ_HEAD(rnic_ref_note_list, rnic_ref_note);

/* The table of an epoll event's reference. */
enum rnic_loop_tag {
	RNIC_LOOP_INBOX,
	RNIC_LOOP_LISTENER,
	RNIC_LOOP_CONN,
	RNIC_LOOP_OOB_LISTENER, /* reference: the port */
	RNIC_LOOP_OOB_LINK,
	RNIC_LOOP_PORT,
	RNIC_LOOP_UDP, /* reference: which socket */
	RNIC_LOOP_SERVICE,
	RNIC_LOOP_MAD, /* the process's socket for answers */
};

/* What is ready at the same time, by what has happened first. */
enum rnic_loop_order {
	RNIC_LOOP_FIRST,  /* before any note */
	RNIC_LOOP_ANY,	  /* no matter */
	RNIC_LOOP_BEHIND, /* behind notes of streams that have ended before */
};

/* All timers of one list run for the same time, so the list is in the order of
 * its deadlines. */
enum rnic_timer_list {
	RNIC_TIMER_NONE, /* it does not run */
	/* Connections of rdma_cm that are being set up, by what they wait
	 * for. */
	RNIC_TIMER_CM_STARTING,
	RNIC_TIMER_CM_ASKING,
	RNIC_TIMER_CM_REFUSED,
	RNIC_TIMER_CM_ASKED,
	RNIC_TIMER_CM_ANSWERED,
	RNIC_TIMER_CM_REJECTED,
	RNIC_TIMER_CM_CLOSING,
	/* Identities of rdma_cm. */
	RNIC_TIMER_CM_PAUSED,	 /* listener, out of file descriptors */
	RNIC_TIMER_CM_UNREAD,	 /* DISCONNECTED waits */
	RNIC_TIMER_CM_TIMEWAIT,	 /* persona ca */
	RNIC_TIMER_CM_SIDR,	 /* datagrams: an answer is awaited */
	RNIC_TIMER_CM_SIDR_FULL, /* the peer's socket is full */
	RNIC_TIMER_CM_MAD,	 /* a socket has descriptors of a stranger */
	/* Out-of-band connections that are being set up. */
	RNIC_TIMER_OOB_STARTING,
	RNIC_TIMER_OOB_PARKED,
	/* QPs that connect out of band. */
	RNIC_TIMER_OOB_PAUSED, /* out of file descriptors */
	RNIC_TIMER_OOB_TICK,
	RNIC_TIMER_OOB_REDIAL, /* several lists, by the pause */
	RNIC_TIMER_OOB_REDIAL_LAST = RNIC_TIMER_OOB_REDIAL + 3,
	RNIC_TIMER_PORT_AGAIN,
	RNIC_TIMER_PORT_LOST, /* an address, or an interface, is gone */
	RNIC_TIMER_PORT_REMOVED,
	RNIC_TIMER_FAULT, /* one timer, for each time anew */
	RNIC_TIMER_CNT
};

struct rnic_timer {
	TAILQ_ENTRY(rnic_timer) link;
	enum rnic_timer_list list;
	uint64_t deadline_ns;
};

typedef void rnic_timer_expired(struct rnic_timer *timer);

struct rnic_timers {
	TAILQ_HEAD(, rnic_timer) head; /* by deadline */
	uint32_t cnt;
};

/* The functions that the loop calls, locked. */
struct rnic_loop_ops {
	/* A socket is ready. */
	void (*dispatch)(enum rnic_loop_tag tag, uint64_t ref, uint32_t events);
	enum rnic_loop_order (*order)(enum rnic_loop_tag tag, uint64_t ref);
	/* Engines leave notes for the streams that have ended by now. */
	void (*catch_up)(void);
	/* A note was left for an object. */
	void (*note)(void *object, int status);
	/* By list: a timer has expired. It no longer runs. */
	rnic_timer_expired *const *expire;
	/* Called in each round, for changes that neither a socket nor a timer
	 * reports.
	 * Return: when the next round is due; UINT64_MAX: never. */
	uint64_t (*look)(uint64_t now_ns);
	/* Sockets cannot be waited for any more. */
	void (*broken)(void);
	/* The process exits: must the thread continue for a while? Called
	 * last. */
	bool (*is_closing)(void);
	void (*close_all)(void);
};

struct rnic_loop {
	struct util_lock lock; /* CM: guards everything here except the inbox */
	const struct rnic_loop_ops *ops; /* set once, by a constructor */
	struct rnic_ref_table noted; /* objects that notes can be left for */
	pthread_t thread;
	bool is_started, is_stopping;
	bool is_broken; /* written only by the thread, under the lock */
	int epoll_fd, wake_fd;
	uint64_t wakes_ns; /* when the thread wakes by itself; 0: it is awake */
	uint64_t linger_ns; /* until then it wakes up although nothing is due */
	struct rnic_timers timers[RNIC_TIMER_CNT];

	struct util_lock inbox_lock; /* LEAF */
	struct rnic_ref_note_list inbox;
};

extern struct rnic_loop rnic_loop;

#endif
