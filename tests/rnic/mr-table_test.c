/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* mr-table.c: STags that nobody can guess, limits, keys. */
#include "mr-table.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct rnic_mr_table table;

static int setup(void **state)
{
	(void)state;
	return rnic_mr_table_init(&table);
}

static int teardown(void **state)
{
	(void)state;
	rnic_mr_table_fini(&table);
	return 0;
}

static uint32_t fresh_stag(void)
{
	struct rnic_mr mr = { .kind = RNIC_MR_REGION };

	assert_int_equal(rnic_mr_table_add(&table, &mr), 0);
	rnic_mr_table_remove(&table, &mr);
	return mr.stag;
}

static int compare_u32(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

/* U-22 */
static void stags_cannot_be_guessed(void **state)
{
	uint32_t index[1000], bits[32] = { 0 };
	int rising = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		uint32_t stag = fresh_stag();

		index[i] = stag >> 8;
		assert_int_not_equal(index[i], 0);
		for (int b = 0; b < 32; b++)
			bits[b] += (stag >> b) & 1;
	}
	/* Each bit is a fair coin: 500 +- 16; 8 sigma off never happens. */
	for (int b = 0; b < 32; b++)
		assert_in_range(bits[b], 370, 630);
	for (int i = 1; i < 1000; i++)
		rising += index[i] > index[i - 1];
	assert_in_range(rising, 420, 580);
	qsort(index, 1000, sizeof(index[0]), compare_u32);
	for (int i = 1; i < 1000; i++)
		assert_int_not_equal(index[i], index[i - 1]);
}

static void two_tables_draw_differently(void **state)
{
	uint32_t first = fresh_stag(), second;

	(void)state;
	teardown(NULL);
	setup(NULL);
	second = fresh_stag();
	assert_int_not_equal(first >> 8, second >> 8);
}

/* 150000 draws of 2^24: some come twice, never soon and never with the same
 * key. */
static void a_used_index_rests_and_changes_its_key(void **state)
{
	uint32_t *last_use = calloc(1u << 24, sizeof(*last_use));
	uint8_t *key = calloc(1u << 24, 1);
	uint32_t reuse_cnt = 0;

	(void)state;
	assert_non_null(last_use);
	assert_non_null(key);
	for (uint32_t i = 1; i <= 150000; i++) {
		uint32_t stag = fresh_stag();
		uint32_t index = stag >> 8;

		if (last_use[index] != 0) {
			assert_true(i - last_use[index] >= 65536);
			assert_int_not_equal(key[index], stag & 0xff);
			reuse_cnt++;
		}
		last_use[index] = i;
		key[index] = (uint8_t)stag;
	}
	assert_true(reuse_cnt > 50);
	free(last_use);
	free(key);
}

/* Regions and windows are counted apart. */
static void finds_what_is_valid(void **state)
{
	struct rnic_mr region = { .kind = RNIC_MR_REGION };
	struct rnic_mr window = { .kind = RNIC_MR_WINDOW };
	uint32_t old;

	(void)state;
	assert_int_equal(rnic_mr_table_add(&table, &region), 0);
	assert_int_equal(rnic_mr_table_add(&table, &window), 0);
	assert_int_equal(table.mr_cnt, 1);
	assert_int_equal(table.mw_cnt, 1);
	assert_ptr_equal(rnic_mr_table_lookup(&table, region.stag), &region);
	assert_null(rnic_mr_table_lookup(&table, region.stag ^ 1));
	assert_ptr_equal(rnic_mr_table_tenant(&table, window.stag >> 8),
			 &window);
	window.is_invalidated = true;
	assert_null(rnic_mr_table_lookup(&table, window.stag));
	assert_ptr_equal(rnic_mr_table_tenant(&table, window.stag >> 8),
			 &window);
	old = region.stag;
	rnic_mr_table_rekey(&table, &region, (uint8_t)(old + 5));
	assert_null(rnic_mr_table_lookup(&table, old));
	assert_ptr_equal(rnic_mr_table_lookup(&table, region.stag), &region);
	assert_int_equal(region.stag >> 8, old >> 8);
	assert_int_equal((uint8_t)region.stag, (uint8_t)(old + 5));
	rnic_mr_table_remove(&table, &region);
	rnic_mr_table_remove(&table, &window);
	assert_int_equal(table.mr_cnt + table.mw_cnt, 0);
	assert_null(rnic_mr_table_tenant(&table, window.stag >> 8));
}

static void is_full_at_the_limit(void **state)
{
	struct rnic_mr mr = { .kind = RNIC_MR_REGION };

	(void)state;
	table.mr_cnt = rnic_limits()->max_mr;
	assert_int_equal(rnic_mr_table_add(&table, &mr), -ENOMEM);
	assert_int_equal(table.mr_cnt, rnic_limits()->max_mr);
	table.mw_cnt = rnic_limits()->max_mw;
	mr.kind = RNIC_MR_WINDOW;
	assert_int_equal(rnic_mr_table_add(&table, &mr), -ENOMEM);
	table.mr_cnt = 0;
	table.mw_cnt = 0;
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(stags_cannot_be_guessed),
		T(two_tables_draw_differently),
		T(a_used_index_rests_and_changes_its_key),
		T(finds_what_is_valid),
		T(is_full_at_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
