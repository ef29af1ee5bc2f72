/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* mr-table.c: unpredictable STags, limits, keys. */
#include "mem/mr-table.h"
#include "said.h"
#include "test.h"
#include "util/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct rnic_mr_table table;
static struct usiw_res_pd pd_res;
static struct rnic_pd pd = { .res = &pd_res };
static _Atomic bool is_grown;

static int setup(void **state)
{
	return rnic_mr_table_init(&table);
}

/* The tests own the regions, also if a test fails before it removes them.
 * rnic_mr_table_fini() would free them. */
static int teardown(void **state)
{
	struct rnic_mr_map *map = table.map;

	for (uint32_t i = 0; i <= map->mask; i++)
		map->slot[i].mr = NULL;
	rnic_mr_table_fini(&table);
	return 0;
}

#define FILE_CASE(name) CASE_WITH(name, setup, teardown)

static int mr_add(struct rnic_mr *mr)
{
	mr->home = &pd;
	return rnic_mr_table_add(&table, "ibv_reg_mr", mr);
}

static uint32_t fresh_stag(void)
{
	struct rnic_mr mr = { .kind = RNIC_MR_REGION };

	assert_int_equal(mr_add(&mr), 0);
	rnic_mr_table_remove(&table, &mr);
	return mr.stag;
}

static int compare_u32(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

/* U-22 */
FILE_CASE(stags_cannot_be_guessed)
{
	uint32_t index[1000], bits[32] = { 0 };
	int rising = 0;

	for (int i = 0; i < 1000; i++) {
		uint32_t stag = fresh_stag();

		index[i] = stag >> 8;
		assert_int_not_equal(index[i], 0);
		for (int b = 0; b < 32; b++)
			bits[b] += (stag >> b) & 1;
	}
	/* Each bit is equally likely: 500 +- 16; a deviation of 8 sigma does
	 * not occur. */
	for (int b = 0; b < 32; b++)
		assert_in_range(bits[b], 370, 630);
	for (int i = 1; i < 1000; i++)
		rising += index[i] > index[i - 1];
	assert_in_range(rising, 420, 580);
	qsort(index, 1000, sizeof(index[0]), compare_u32);
	for (int i = 1; i < 1000; i++)
		assert_int_not_equal(index[i], index[i - 1]);
}

FILE_CASE(two_tables_draw_differently)
{
	uint32_t first = fresh_stag(), second;

	teardown(NULL);
	setup(NULL);
	second = fresh_stag();
	assert_int_not_equal(first >> 8, second >> 8);
}

/* 150000 draws of 2^24: some indices come twice, but never soon. */
FILE_CASE(a_used_index_rests)
{
	uint32_t *last_use = calloc(1u << 24, sizeof(*last_use));
	uint32_t reuse_cnt = 0;

	assert_non_null(last_use);
	for (uint32_t i = 1; i <= 150000; i++) {
		uint32_t index = fresh_stag() >> 8;

		if (last_use[index] != 0) {
			assert_true(i - last_use[index] >= RNIC_MR_REST_CNT);
			reuse_cnt++;
		}
		last_use[index] = i;
	}
	assert_true(reuse_cnt > 50);
	free(last_use);
}

/* ---- memory ---- */

#define LIVE_MAX 20000

static size_t map_size(void)
{
	const struct rnic_mr_map *map = table.map;
	size_t size = 0;

	for (; map; map = map->older)
		size += (map->mask + 1) * sizeof(map->slot[0]);
	return size;
}

/* Maximum size for that many entries, after others were removed. */
static size_t fair_size(size_t live_cnt)
{
	return 8 * (live_cnt + RNIC_MR_REST_CNT) * sizeof(struct rnic_mr_slot);
}

FILE_CASE(memory_is_as_large_as_what_lives)
{
	static struct rnic_mr mr[LIVE_MAX];
	size_t live_cnt;

	for (int i = 0; i < 300000; i++)
		(void)fresh_stag();
	assert_true(map_size() <= fair_size(0));
	for (live_cnt = 0; live_cnt < LIVE_MAX; live_cnt++) {
		assert_int_equal(mr_add(&mr[live_cnt]), 0);
		assert_true(map_size() <= fair_size(live_cnt));
	}
	for (int i = 0; i < 3000; i++)
		(void)fresh_stag();
	assert_null(table.map->older);
	while (live_cnt > 0) {
		live_cnt--;
		/* removes every second one from the front */
		rnic_mr_table_remove(
			&table,
			&mr[live_cnt % 2 ? live_cnt : LIVE_MAX - 2 - live_cnt]);
		assert_true(map_size() <= fair_size(live_cnt));
	}
	assert_int_equal(table.mr_cnt, 0);
}

#define SOME 600

struct listed {
	struct rnic_mr mr[SOME];
	bool is_live[SOME];
};

/* A live region is found. With the index of a removed one, only a live region
 * that has received it since may be found. */
static void assert_found_as_listed(const struct listed *list)
{
	for (size_t i = 0; i < SOME; i++) {
		uint32_t index = list->mr[i].stag >> 8;
		const struct rnic_mr *found =
			rnic_mr_table_entry(&table, index);

		if (list->is_live[i]) {
			assert_ptr_equal(found, &list->mr[i]);
		} else if (found) {
			assert_true(list->is_live[found - list->mr]);
			assert_int_equal(found->stag >> 8, index);
		}
	}
}

/* Compared with a list, in random order: everything that moves is found
 * again. */
FILE_CASE(finds_all_and_nothing_else)
{
	static struct listed list;

	srandom(3);
	for (int i = 0; i < 60000; i++) {
		/* periods of growth and of shrinking */
		size_t one = (size_t)random() % (i / 5000 % 2 ? SOME : 60);

		if (list.is_live[one])
			rnic_mr_table_remove(&table, &list.mr[one]);
		else
			assert_int_equal(mr_add(&list.mr[one]), 0);
		list.is_live[one] = !list.is_live[one];
		if (i % 64 == 0)
			assert_found_as_listed(&list);
	}
	for (size_t i = 0; i < SOME; i++)
		if (list.is_live[i])
			rnic_mr_table_remove(&table, &list.mr[i]);
	assert_null(rnic_mr_table_entry(&table, 0));
}

/* The holder of the lead looks up regions while other threads register. */
static void *read_all_along(void *arg)
{
	const struct rnic_mr *mr = arg;

	while (!atomic_load_explicit(&is_grown, memory_order_relaxed)) {
		if (rnic_mr_table_lookup(&table, mr->stag) != mr)
			return arg;
		if (rnic_mr_table_entry(&table, 0))
			return arg;
	}
	return NULL;
}

FILE_CASE(readers_find_what_is_there_while_it_grows)
{
	static struct rnic_mr mr[LIVE_MAX];
	pthread_t reader;
	void *lost;

	atomic_store(&is_grown, false);
	assert_int_equal(mr_add(&mr[0]), 0);
	assert_int_equal(pthread_create(&reader, NULL, read_all_along, &mr[0]),
			 0);
	for (size_t i = 1; i < LIVE_MAX; i++)
		assert_int_equal(mr_add(&mr[i]), 0);
	atomic_store(&is_grown, true);
	assert_int_equal(pthread_join(reader, &lost), 0);
	assert_null(lost);
	for (size_t i = 0; i < LIVE_MAX; i++)
		rnic_mr_table_remove(&table, &mr[i]);
}

/* Regions and windows are counted separately. */
FILE_CASE(finds_what_is_valid)
{
	struct rnic_mr region = { .kind = RNIC_MR_REGION };
	struct rnic_mr window = { .kind = RNIC_MR_WINDOW };
	uint32_t old;

	assert_int_equal(mr_add(&region), 0);
	assert_int_equal(mr_add(&window), 0);
	assert_int_equal(table.mr_cnt, 1);
	assert_int_equal(table.mw_cnt, 1);
	assert_ptr_equal(rnic_mr_table_lookup(&table, region.stag), &region);
	assert_null(rnic_mr_table_lookup(&table, region.stag ^ 1));
	assert_ptr_equal(rnic_mr_table_entry(&table, window.stag >> 8),
			 &window);
	window.is_invalidated = true;
	assert_null(rnic_mr_table_lookup(&table, window.stag));
	assert_ptr_equal(rnic_mr_table_entry(&table, window.stag >> 8),
			 &window);
	old = region.stag;
	rnic_mr_rekey(&region, (uint8_t)(old + 5));
	assert_null(rnic_mr_table_lookup(&table, old));
	assert_ptr_equal(rnic_mr_table_lookup(&table, region.stag), &region);
	assert_int_equal(region.stag >> 8, old >> 8);
	assert_int_equal((uint8_t)region.stag, (uint8_t)(old + 5));
	rnic_mr_table_remove(&table, &region);
	rnic_mr_table_remove(&table, &window);
	assert_int_equal(table.mr_cnt + table.mw_cnt, 0);
	assert_null(rnic_mr_table_entry(&table, window.stag >> 8));
}

FILE_CASE(is_full_at_the_limit)
{
	struct rnic_mr mr = { .kind = RNIC_MR_REGION };

	assert_int_equal(
		util_log_route("verbs", UTIL_LOG_DEBUG, UTIL_LOG_STDERR, NULL),
		0);
	table.mr_cnt = rnic_limits()->max_mr;
	said_begin();
	assert_int_equal(mr_add(&mr), -ENOMEM);
	assert_string_equal(said_end(),
			    "usiw: verbs: debug: ibv_reg_mr: ENOMEM: 1048576 "
			    "memory regions exist, and there may be no more\n");
	assert_int_equal(table.mr_cnt, rnic_limits()->max_mr);
	table.mw_cnt = rnic_limits()->max_mw;
	mr.kind = RNIC_MR_WINDOW;
	assert_int_equal(mr_add(&mr), -ENOMEM);
	table.mr_cnt = 0;
	table.mw_cnt = 0;
}
