/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The table of STags of a context, and its tenants: memory regions, windows,
 * the null region.
 *
 * STag = 24-bit index << 8 | 8-bit key.  Indices are drawn at random, one that
 * was given back rests for a long time, and comes again with another key.
 */
#ifndef RNIC_MR_TABLE_H
#define RNIC_MR_TABLE_H

#include <stdatomic.h>

#include "../util/lock.h"
#include "rnic.h"

#define RNIC_MR_LEAF_BITS 8
#define RNIC_MR_LEAF_SIZE (1u << RNIC_MR_LEAF_BITS)
#define RNIC_MR_INDEX_BITS 24
#define RNIC_MR_LEAF_CNT (1u << (RNIC_MR_INDEX_BITS - RNIC_MR_LEAF_BITS))
#define RNIC_MR_KEY_MASK 0xffu

enum rnic_mr_kind {
	RNIC_MR_REGION,
	RNIC_MR_NULL,	/* reads as zeroes, forgets what is written */
	RNIC_MR_WINDOW, /* in a struct rnic_mw (mw.h) */
};

struct rnic_mr {
	struct rnic_pd *pd; /* a region's; NULL: judged in its own way */
	uint8_t *addr;
	size_t len;
	uint64_t iova; /* iova + len does not wrap */
	uint32_t access;
	uint32_t stag;
	_Atomic bool is_invalidated; /* by LOCAL_INV; a window: not bound */
	enum rnic_mr_kind kind;
	uint32_t fork_gen;
	uint32_t mw_cnt;      /* windows bound to it; guarded by the lead */
	struct rnic_pd *home; /* counts it among its users */
	struct rnic_dm *dm;   /* whose memory it is; NULL: the application's */
};

struct rnic_mr_slot {
	_Atomic(struct rnic_mr *) mr;

	/* guarded by the table's lock */
	uint32_t freed_seq; /* free_seq when it was given back */
	uint8_t key;	    /* of its last tenant */
	bool was_used;
};

struct rnic_mr_leaf {
	struct rnic_mr_slot slot[RNIC_MR_LEAF_SIZE];
};

struct rnic_mr_table {
	_Atomic(struct rnic_mr_leaf *) *leaves; /* RNIC_MR_LEAF_CNT */
	_Atomic uint32_t pd_cnt;
	struct util_lock lock; /* rank MR_TABLE; guards the rest */
	uint32_t mr_cnt, mw_cnt;
	uint32_t free_seq;   /* counts indices given back */
	uint8_t random[240]; /* from the kernel, used front to back */
	uint32_t random_used;
	void *null_zero, *null_sink; /* of null regions; made by the first */
	struct rnic_dm *dms;	     /* device memory, for the end */
	uint64_t dm_used;	     /* octets */
};

int rnic_mr_table_init(struct rnic_mr_table *table)
	__attribute__((warn_unused_result)); /* -ENOMEM */

/* Frees tenants that the application forgot.  Engine stopped. */
void rnic_mr_table_fini(struct rnic_mr_table *table);

/*
 * Give @mr an STag and show it to rnic_mr_table_lookup().
 * Return: 0; -ENOMEM: none left, or as many as there may be; -EAGAIN: no
 *   random octets.
 */
int rnic_mr_table_add(struct rnic_mr_table *table, struct rnic_mr *mr)
	__attribute__((warn_unused_result));

/* Nobody finds it any more. */
void rnic_mr_table_remove(struct rnic_mr_table *table,
			  const struct rnic_mr *mr);

/* Another key: the old STag is nobody's.  Context: under the lead. */
void rnic_mr_table_rekey(struct rnic_mr_table *table, struct rnic_mr *mr,
			 uint8_t key);

/* The tenant of an index, whatever its key and state.  NULL: none. */
static inline struct rnic_mr *rnic_mr_table_tenant(struct rnic_mr_table *table,
						   uint32_t index)
{
	struct rnic_mr_leaf *leaf;

	/* acquire: pairs with slot_make() */
	leaf = atomic_load_explicit(&table->leaves[index >> RNIC_MR_LEAF_BITS],
				    memory_order_acquire);
	if (!leaf)
		return NULL;
	/* acquire: pairs with rnic_mr_table_add() */
	return atomic_load_explicit(&leaf->slot[index % RNIC_MR_LEAF_SIZE].mr,
				    memory_order_acquire);
}

/* The valid tenant with this STag.  Context: under the lead. */
static inline struct rnic_mr *rnic_mr_table_lookup(struct rnic_mr_table *table,
						   uint32_t stag)
{
	struct rnic_mr *mr = rnic_mr_table_tenant(table, stag >> 8);

	if (!mr || mr->stag != stag ||
	    atomic_load_explicit(&mr->is_invalidated, memory_order_relaxed))
		return NULL;
	return mr;
}

#endif
