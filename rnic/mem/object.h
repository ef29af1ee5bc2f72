/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Contexts, protection domains, and the objects with an STag: regions and
 * windows.
 */
#ifndef RNIC_MEM_OBJECT_H
#define RNIC_MEM_OBJECT_H

#include <stdatomic.h>
#include <sys/queue.h>

#include "util/lock.h"
#include "engine/engines.h"
#include "os/chan.h"
#include "os/resource.h"
#include "os/shm.h"
#include "rnic.h"

struct rnic_port;
struct rnic_qp;

#define RNIC_MR_INDEX_BITS 24
#define RNIC_MR_KEY_MASK 0xffu

/* A released index is not used again before this many others were released. */
#define RNIC_MR_REST_CNT 1024u

enum rnic_mr_kind {
	RNIC_MR_REGION,
	RNIC_MR_NULL,	/* reads as zeroes, drops writes */
	RNIC_MR_WINDOW, /* in a struct rnic_mw (mw.h) */
};

struct rnic_mr {
	struct rnic_pd *pd; /* of a region; NULL: checked in another way */
	uint8_t *addr;
	size_t len;
	uint64_t iova; /* iova + len does not wrap */
	uint32_t access;
	uint32_t stag;
	_Atomic bool is_invalidated; /* by LOCAL_INV; a window: not bound */
	enum rnic_mr_kind kind;
	uint32_t fork_gen;
	/* Windows bound to it. Bound under all leads, unbound under one. */
	_Atomic uint32_t mw_cnt;
	struct rnic_pd *home; /* the domain that counts it among its users */
	/* Regions of the same device memory; NULL: the application's memory. */
	_Atomic uint32_t *dm_mr_cnt;
	struct usiw_res_mr *res;
};

struct rnic_mr_slot {
	_Atomic uint32_t index; /* 0: free */
	struct rnic_mr *mr; /* NULL: free, or the index was released recently */
};

/* Linear probing. At least half of the slots are free. */
struct rnic_mr_map {
	struct rnic_mr_map
		*older; /* replaced by this one, but a reader may be using it */
	uint32_t used_cnt; /* slots that are not free */
	uint32_t mask;	   /* slots - 1 */
	struct rnic_mr_slot slot[];
};

struct rnic_mr_table {
	_Atomic(struct rnic_mr_map *) map;
	_Atomic uint32_t pd_cnt;
	struct util_lock lock; /* rank MR_TABLE; guards the rest */
	uint32_t mr_cnt, mw_cnt;
	uint32_t rest[RNIC_MR_REST_CNT]; /* released indices, a ring */
	uint32_t rest_idx;		 /* free-running */
	uint8_t random[240]; /* from the kernel, used front to back */
	uint32_t random_used;
	void *null_zero, *null_sink; /* of null regions; made with the first */
	struct rnic_dm *dms;	     /* device memory, to be freed at the end */
	uint64_t dm_used;	     /* octets */
};

struct rnic_pd {
	struct rnic_context *ctx;
	_Atomic uint32_t user_cnt; /* MRs, windows, QPs, SRQs */
	_Atomic uint32_t fork_gen; /* of the process that used it last */
	struct usiw_res_pd *res;
};

LIST_HEAD(rnic_mw_list, rnic_mw);

/* The part of a QP that binds windows. */
struct rnic_mw_owner {
	struct rnic_pd *pd;
	struct rnic_engine *engine;
	struct rnic_mw_list windows; /* of type 2; guarded by the lead */
};

struct rnic_mw {
	struct rnic_mr win; /* the entry; invalid while it is not bound */
	enum rnic_mw_type type;

	/* Written under all leads, and under that of @owner's engine by
	 * unbinding a window of type 2. */
	struct rnic_mr *mr; /* its region; NULL: not bound */
	/* Type 2: bound by this QP; NULL: not bound. Any leader compares it
	 * with its own QP's. */
	_Atomic(struct rnic_mw_owner *) owner;
	LIST_ENTRY(rnic_mw) link; /* of that owner */
};

/* The object of one ibv_open_device(). */
struct rnic_context {
	_Atomic uint32_t fork_gen; /* of the process that made its parts */
	struct rnic_device *dev;
	struct rnic_engines engines;
	struct rnic_engine *engine; /* the first of them */
	struct rnic_chan *async;
	struct rnic_shm shm;
	struct rnic_mr_table mrs;
	struct rnic_port *port; /* the last state of its port (port.c) */
	_Atomic bool is_fatal;	/* DEVICE_FATAL was raised */
	struct rnic_chan_node fatal_node;
	struct usiw_res_context *res;
	struct rnic_context *next; /* list of all contexts, for the exit */
	struct rnic_qp
		*forgotten; /* not freed by the application, at the end */
};

#endif
