/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* STags: drawn, given back, never guessed. */
#include "mr-table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/cancel.h"

#define MR_INDEX_MASK ((1u << RNIC_MR_INDEX_BITS) - 1)

/* An index given back is not drawn again before so many others were. */
#define MR_REST_CNT 65536u

int rnic_mr_table_init(struct rnic_mr_table *table)
{
	memset(table, 0, sizeof(*table));
	/* Half a MiB of address space, of which only pages in use exist. */
	table->leaves = calloc(RNIC_MR_LEAF_CNT, sizeof(*table->leaves));
	if (!table->leaves)
		return -ENOMEM;
	table->random_used = sizeof(table->random);
	util_lock_init(&table->lock, UTIL_RANK_MR_TABLE);
	return 0;
}

void rnic_mr_table_fini(struct rnic_mr_table *table)
{
	if (!table->leaves)
		return;
	for (uint32_t i = 0; i < RNIC_MR_LEAF_CNT; i++) {
		struct rnic_mr_leaf *leaf = atomic_load_explicit(
			&table->leaves[i], memory_order_relaxed);

		for (uint32_t j = 0; leaf && j < RNIC_MR_LEAF_SIZE; j++)
			free(atomic_load_explicit(&leaf->slot[j].mr,
						  memory_order_relaxed));
		free(leaf);
	}
	free(table->leaves);
	table->leaves = NULL;
}

/* Under the lock: the slot of an index, made if need be.  NULL: ENOMEM. */
static struct rnic_mr_slot *slot_make(struct rnic_mr_table *table,
				      uint32_t index)
{
	_Atomic(struct rnic_mr_leaf *) *where =
		&table->leaves[index >> RNIC_MR_LEAF_BITS];
	struct rnic_mr_leaf *leaf =
		atomic_load_explicit(where, memory_order_relaxed);

	if (!leaf) {
		leaf = calloc(1, sizeof(*leaf));
		if (!leaf)
			return NULL;
		/* release: the zeroes first; pairs with
		 * rnic_mr_table_tenant() */
		atomic_store_explicit(where, leaf, memory_order_release);
	}
	return &leaf->slot[index % RNIC_MR_LEAF_SIZE];
}

static bool slot_is_free(const struct rnic_mr_table *table,
			 struct rnic_mr_slot *slot)
{
	if (atomic_load_explicit(&slot->mr, memory_order_relaxed))
		return false;
	return !slot->was_used ||
	       table->free_seq - slot->freed_seq >= MR_REST_CNT;
}

/* Three octets of index and one of first key, unpredictable. */
static int table_draw(struct rnic_mr_table *table, uint32_t *ret_random)
{
	ssize_t got;

	if (table->random_used + sizeof(*ret_random) > sizeof(table->random)) {
		/* Up to 256 octets come whole and are not interrupted. */
		got = util_sys_getrandom(table->random, sizeof(table->random));
		if (got != (ssize_t)sizeof(table->random))
			return -EAGAIN;
		table->random_used = 0;
	}
	memcpy(ret_random, table->random + table->random_used,
	       sizeof(*ret_random));
	memset(table->random + table->random_used, 0, sizeof(*ret_random));
	table->random_used += sizeof(*ret_random);
	return 0;
}

/*
 * Under the lock.  At most one index in eight is taken or resting, so the loop
 * ends soon.  Index 0 stays unused: programs take STag 0 for "none".
 */
static int table_add_locked(struct rnic_mr_table *table, struct rnic_mr *mr)
{
	struct rnic_mr_slot *slot;
	uint32_t random, index;
	int ret;

	do {
		do {
			ret = table_draw(table, &random);
			if (ret < 0)
				return ret;
			index = random & MR_INDEX_MASK;
		} while (index == 0);
		slot = slot_make(table, index);
		if (!slot)
			return -ENOMEM;
	} while (!slot_is_free(table, slot));

	slot->key = slot->was_used ? (uint8_t)(slot->key + 1)
				   : (uint8_t)(random >> RNIC_MR_INDEX_BITS);
	slot->was_used = true;
	mr->stag = index << 8 | slot->key;
	/* release: the tenant before its pointer; pairs with
	 * rnic_mr_table_tenant() */
	atomic_store_explicit(&slot->mr, mr, memory_order_release);
	return 0;
}

static uint32_t *table_cnt(struct rnic_mr_table *table,
			   const struct rnic_mr *mr)
{
	return mr->kind == RNIC_MR_WINDOW ? &table->mw_cnt : &table->mr_cnt;
}

int rnic_mr_table_add(struct rnic_mr_table *table, struct rnic_mr *mr)
{
	uint32_t *cnt = table_cnt(table, mr);
	uint32_t max = mr->kind == RNIC_MR_WINDOW ? rnic_limits()->max_mw
						  : rnic_limits()->max_mr;
	int ret = -ENOMEM;

	util_lock(&table->lock);
	if (*cnt < max)
		ret = table_add_locked(table, mr);
	if (ret == 0)
		++*cnt;
	util_unlock(&table->lock);
	return ret;
}

void rnic_mr_table_remove(struct rnic_mr_table *table, const struct rnic_mr *mr)
{
	struct rnic_mr_slot *slot;

	util_lock(&table->lock);
	slot = slot_make(table, mr->stag >> 8);
	atomic_store_explicit(&slot->mr, NULL, memory_order_relaxed);
	slot->freed_seq = ++table->free_seq;
	--*table_cnt(table, mr);
	util_unlock(&table->lock);
}

void rnic_mr_table_rekey(struct rnic_mr_table *table, struct rnic_mr *mr,
			 uint8_t key)
{
	util_lock(&table->lock);
	slot_make(table, mr->stag >> 8)->key = key;
	mr->stag = (mr->stag & ~RNIC_MR_KEY_MASK) | key;
	util_unlock(&table->lock);
}
