/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* STags: drawn, given back, never guessed. */
#include "mr-table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/cancel.h"
#include "util/reason.h"

#define MR_INDEX_MASK ((1u << RNIC_MR_INDEX_BITS) - 1)

/* Slots of the smallest map; a power of two. */
#define MR_MAP_MIN 64u

/* ---- the map ------------------------------------------------------------ */

static struct rnic_mr_map *map_new(uint32_t slot_cnt)
{
	struct rnic_mr_map *map =
		calloc(1, sizeof(*map) + slot_cnt * sizeof(map->slot[0]));

	if (map)
		map->mask = slot_cnt - 1;
	return map;
}

/* Under the lock. */
static struct rnic_mr_map *table_map(const struct rnic_mr_table *table)
{
	return atomic_load_explicit(&table->map, memory_order_relaxed);
}

static uint32_t slot_index(const struct rnic_mr_slot *slot)
{
	return atomic_load_explicit(&slot->index, memory_order_relaxed);
}

/* The slot of @index, or the free one where it would be. */
static struct rnic_mr_slot *map_find(struct rnic_mr_map *map, uint32_t index)
{
	uint32_t at = index & map->mask;

	while (slot_index(&map->slot[at]) &&
	       slot_index(&map->slot[at]) != index)
		at = (at + 1) & map->mask;
	return &map->slot[at];
}

static void map_insert(struct rnic_mr_map *map, uint32_t index,
		       struct rnic_mr *mr)
{
	struct rnic_mr_slot *slot = map_find(map, index);

	slot->mr = mr;
	/* release: the entry before its index; pairs with
	 * rnic_mr_table_entry() */
	atomic_store_explicit(&slot->index, index, memory_order_release);
	map->used_cnt++;
}

/*
 * No reader.  What stands behind the slot, up to the next free one, moves up
 * where its own search would have passed the hole.
 */
static void map_erase(struct rnic_mr_map *map, uint32_t index)
{
	uint32_t hole = (uint32_t)(map_find(map, index) - map->slot);
	uint32_t at = hole;

	for (;;) {
		uint32_t other;

		at = (at + 1) & map->mask;
		other = slot_index(&map->slot[at]);
		if (!other)
			break;
		if (((at - other) & map->mask) < ((at - hole) & map->mask))
			continue;
		map->slot[hole].mr = map->slot[at].mr;
		atomic_store_explicit(&map->slot[hole].index, other,
				      memory_order_relaxed);
		hole = at;
	}
	map->slot[hole].mr = NULL;
	atomic_store_explicit(&map->slot[hole].index, 0, memory_order_relaxed);
	map->used_cnt--;
}

/* Under the lock.  The map that is replaced stays for its readers. */
static bool map_resize(struct rnic_mr_table *table, uint32_t slot_cnt)
{
	struct rnic_mr_map *old = table_map(table);
	struct rnic_mr_map *map = map_new(slot_cnt);

	if (!map)
		return false;
	for (uint32_t i = 0; i <= old->mask; i++)
		if (slot_index(&old->slot[i]))
			map_insert(map, slot_index(&old->slot[i]),
				   old->slot[i].mr);
	map->older = old;
	/* release: the slots first; pairs with rnic_mr_table_entry() */
	atomic_store_explicit(&table->map, map, memory_order_release);
	return true;
}

static void map_free_older(struct rnic_mr_map *map)
{
	while (map->older) {
		struct rnic_mr_map *gone = map->older;

		map->older = gone->older;
		free(gone);
	}
}

/* ---- the table ---------------------------------------------------------- */

int rnic_mr_table_init(struct rnic_mr_table *table)
{
	struct rnic_mr_map *map = map_new(MR_MAP_MIN);

	memset(table, 0, sizeof(*table));
	if (!map)
		return -ENOMEM;
	atomic_init(&table->map, map);
	table->random_used = sizeof(table->random);
	util_lock_init(&table->lock, UTIL_RANK_MR_TABLE);
	return 0;
}

void rnic_mr_table_fini(struct rnic_mr_table *table)
{
	struct rnic_mr_map *map = table_map(table);

	if (!map)
		return;
	map_free_older(map);
	for (uint32_t i = 0; i <= map->mask; i++) {
		struct rnic_mr *mr = map->slot[i].mr;

		rnic_res_give(USIW_RES_MR, mr ? mr->res : NULL);
		free(mr);
	}
	free(map);
	atomic_store_explicit(&table->map, NULL, memory_order_relaxed);
}

/* Three octets of index and one of key, unpredictable. */
static bool table_draw(struct rnic_mr_table *table, uint32_t *ret_random)
{
	ssize_t got;

	if (table->random_used + sizeof(*ret_random) > sizeof(table->random)) {
		/* Up to 256 octets come whole and are not interrupted. */
		got = util_sys_getrandom(table->random, sizeof(table->random));
		if (got != (ssize_t)sizeof(table->random))
			return false;
		table->random_used = 0;
	}
	memcpy(ret_random, table->random + table->random_used,
	       sizeof(*ret_random));
	memset(table->random + table->random_used, 0, sizeof(*ret_random));
	table->random_used += sizeof(*ret_random);
	return true;
}

/*
 * Under the lock.  At most one index in ten is taken or rests, so the loop
 * ends soon.  Index 0 stays unused: programs take STag 0 for "none".
 */
static int table_add_locked(struct rnic_mr_table *table, const char *call,
			    struct rnic_mr *mr)
{
	struct rnic_mr_map *map = table_map(table);
	uint32_t random, index;

	if (2 * map->used_cnt > map->mask) {
		if (!map_resize(table, 2 * (map->mask + 1)))
			return util_refuse_memory("verbs", call);
		map = table_map(table);
	}
	do {
		if (!table_draw(table, &random))
			return util_refuse("verbs", EAGAIN, call,
					   "getrandom() gives no octets");
		index = random & MR_INDEX_MASK;
	} while (index == 0 || slot_index(map_find(map, index)));
	mr->stag = index << 8 | random >> RNIC_MR_INDEX_BITS;
	map_insert(map, index, mr);
	return 0;
}

static uint32_t *table_cnt(struct rnic_mr_table *table,
			   const struct rnic_mr *mr)
{
	return mr->kind == RNIC_MR_WINDOW ? &table->mw_cnt : &table->mr_cnt;
}

static int table_add(struct rnic_mr_table *table, const char *call,
		     struct rnic_mr *mr)
{
	uint32_t *cnt = table_cnt(table, mr);
	uint32_t max = mr->kind == RNIC_MR_WINDOW ? rnic_limits()->max_mw
						  : rnic_limits()->max_mr;
	UTIL_LOCKED(&table->lock);
	int ret;

	if (*cnt >= max)
		return util_refuse(
			"verbs", ENOMEM, call,
			"%u memory %s exist, and there may be no more", *cnt,
			mr->kind == RNIC_MR_WINDOW ? "windows" : "regions");
	ret = table_add_locked(table, call, mr);
	if (ret == 0)
		++*cnt;
	return ret;
}

int rnic_mr_table_add(struct rnic_mr_table *table, const char *call,
		      struct rnic_mr *mr)
{
	struct usiw_res_mr *res = rnic_res_take(USIW_RES_MR, 0);
	int ret;

	if (!res)
		return util_refuse_memory("verbs", call);
	mr->res = res;
	ret = table_add(table, call, mr);
	if (ret < 0)
		rnic_res_give(USIW_RES_MR, res);
	else
		rnic_mr_show(mr);
	return ret;
}

void rnic_mr_show(const struct rnic_mr *mr)
{
	struct usiw_res_mr *res = mr->res;

	rnic_res_open(&res->head);
	res->head.id = mr->stag;
	res->pd = mr->home->res->head.id;
	res->addr = (uintptr_t)mr->addr;
	res->len = mr->len;
	res->iova = mr->iova;
	res->access = mr->access;
	res->type = mr->kind;
	res->is_valid = !atomic_load_explicit(&mr->is_invalidated,
					      memory_order_relaxed);
	rnic_res_close(&res->head);
}

/* Under the lock: @index rests from now on, another does no longer. */
static void table_rest(struct rnic_mr_table *table, uint32_t index)
{
	uint32_t *oldest = &table->rest[table->rest_idx++ % RNIC_MR_REST_CNT];

	map_find(table_map(table), index)->mr = NULL;
	if (*oldest)
		map_erase(table_map(table), *oldest);
	*oldest = index;
}

void rnic_mr_table_remove(struct rnic_mr_table *table, const struct rnic_mr *mr)
{
	struct rnic_mr_map *map;

	rnic_res_give(USIW_RES_MR, mr->res);
	util_lock(&table->lock);
	table_rest(table, mr->stag >> 8);
	--*table_cnt(table, mr);
	map = table_map(table);
	/* It is as well if there is no memory to have less of it. */
	if (map->mask >= MR_MAP_MIN && 8 * map->used_cnt < map->mask)
		(void)map_resize(table, (map->mask + 1) / 2);
	/* Readers have a lead; the caller has all. */
	map_free_older(table_map(table));
	util_unlock(&table->lock);
}

void rnic_mr_rekey(struct rnic_mr *mr, uint8_t key)
{
	mr->stag = (mr->stag & ~RNIC_MR_KEY_MASK) | key;
}
