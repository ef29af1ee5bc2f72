/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The table of STags of a context, and its entries: memory regions, windows,
 * the null region.
 *
 * STag = 24-bit index << 8 | 8-bit key, both random. A released index is not
 * used again for a while.
 *
 * The table is a hash map of the indices that are in use or were released
 * recently, so its memory is proportional to their number. Readers take no
 * lock.
 */
#ifndef RNIC_MR_TABLE_H
#define RNIC_MR_TABLE_H

#include "object.h"

int rnic_mr_table_init(struct rnic_mr_table *table)
	__attribute__((warn_unused_result)); /* -ENOMEM */

/* Frees entries that the application has not freed. The engine is stopped. */
void rnic_mr_table_fini(struct rnic_mr_table *table);

/*
 * Gives @mr an STag and makes rnic_mr_table_lookup() find it.
 * @call: a refusal names it (util/reason.h).
 * Return: 0; -ENOMEM: out of memory, or the limit of entries is reached;
 *   -EAGAIN: no random octets.
 */
int rnic_mr_table_add(struct rnic_mr_table *table, const char *call,
		      struct rnic_mr *mr) __attribute__((warn_unused_result));

/* It is not found any more. Context: under all leads, or without readers. */
void rnic_mr_table_remove(struct rnic_mr_table *table,
			  const struct rnic_mr *mr);

/* Changes the key: the old STag is no longer valid. Context: under all
 * leads. */
void rnic_mr_rekey(struct rnic_mr *mr, uint8_t key);

/*
 * Others see the entry as it is now, from the first call on.  Context: its
 * maker, or under the lead that guards it.
 */
void rnic_mr_show(const struct rnic_mr *mr);

/* Are windows bound to it?  A lead at least: under all, or of its window's
 * engine, the answer lasts. */
static inline bool rnic_mr_has_windows(const struct rnic_mr *mr)
{
	return atomic_load_explicit(&mr->mw_cnt, memory_order_relaxed) > 0;
}

/* The entry of an index, whatever its key and state. NULL: none. Context: under
 * the lead. */
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
