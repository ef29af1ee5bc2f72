/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The table of STags of a context, and its entries: memory regions, windows,
 * the null region.
 *
 * STag = 24-bit index << 8 | 8-bit key, both drawn at random.  An index that
 * was given back rests before it may be drawn again.
 *
 * The table is a hash map of what is taken or rests, so that its memory is
 * proportional to that, wherever in the 24 bits it lies.  Readers take no lock.
 */
#ifndef RNIC_MR_TABLE_H
#define RNIC_MR_TABLE_H

#include <stdatomic.h>

#include "../util/lock.h"
#include "rnic.h"

#define RNIC_MR_INDEX_BITS 24
#define RNIC_MR_KEY_MASK 0xffu

/* An index given back is not drawn again before so many others were. */
#define RNIC_MR_REST_CNT 1024u

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
	_Atomic uint32_t index; /* 0: free */
	struct rnic_mr *mr;	/* NULL: free, or the index rests */
};

/* Linear probing; half of the slots are free at least. */
struct rnic_mr_map {
	struct rnic_mr_map *older; /* outgrown, but a reader may be in it */
	uint32_t used_cnt;	   /* slots that are not free */
	uint32_t mask;		   /* slots - 1 */
	struct rnic_mr_slot slot[];
};

struct rnic_mr_table {
	_Atomic(struct rnic_mr_map *) map;
	_Atomic uint32_t pd_cnt;
	struct util_lock lock; /* rank MR_TABLE; guards the rest */
	uint32_t mr_cnt, mw_cnt;
	uint32_t rest[RNIC_MR_REST_CNT]; /* indices given back, a ring */
	uint32_t rest_idx;		 /* free-running */
	uint8_t random[240]; /* from the kernel, used front to back */
	uint32_t random_used;
	void *null_zero, *null_sink; /* of null regions; made by the first */
	struct rnic_dm *dms;	     /* device memory, for the end */
	uint64_t dm_used;	     /* octets */
};

int rnic_mr_table_init(struct rnic_mr_table *table)
	__attribute__((warn_unused_result)); /* -ENOMEM */

/* Frees entries that the application forgot.  Engine stopped. */
void rnic_mr_table_fini(struct rnic_mr_table *table);

/*
 * Give @mr an STag and show it to rnic_mr_table_lookup().
 * Return: 0; -ENOMEM: none left, or as many as there may be; -EAGAIN: no
 *   random octets.
 */
int rnic_mr_table_add(struct rnic_mr_table *table, struct rnic_mr *mr)
	__attribute__((warn_unused_result));

/* Nobody finds it any more.  Context: under the lead, or without readers. */
void rnic_mr_table_remove(struct rnic_mr_table *table,
			  const struct rnic_mr *mr);

/* Another key: the old STag is nobody's.  Context: under the lead. */
void rnic_mr_rekey(struct rnic_mr *mr, uint8_t key);

/* The entry of an index, whatever its key and state.  NULL: none.  Context:
 * under the lead. */
static inline struct rnic_mr *rnic_mr_table_entry(struct rnic_mr_table *table,
						  uint32_t index)
{
	const struct rnic_mr_map *map;

	/* acquire: pairs with map_resize() */
	map = atomic_load_explicit(&table->map, memory_order_acquire);
	for (uint32_t at = index;; at++) {
		const struct rnic_mr_slot *slot = &map->slot[at & map->mask];
		/* acquire: pairs with map_insert() */
		uint32_t found = atomic_load_explicit(&slot->index,
						      memory_order_acquire);

		if (!found)
			return NULL;
		if (found == index)
			return slot->mr;
	}
}

/* The valid entry with this STag.  Context: under the lead. */
static inline struct rnic_mr *rnic_mr_table_lookup(struct rnic_mr_table *table,
						   uint32_t stag)
{
	struct rnic_mr *mr = rnic_mr_table_entry(table, stag >> 8);

	if (!mr || mr->stag != stag ||
	    atomic_load_explicit(&mr->is_invalidated, memory_order_relaxed))
		return NULL;
	return mr;
}

#endif
