/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* due.c: entries are served when their time has come, in its order. */
#include "engine/due.h"

#include <stdbool.h>
#include <string.h>

#include "../../harness/test.h"

#define CNT 64u
#define SERVED_MAX 1024u

static struct rnic_due *heap;
static struct rnic_due dues[CNT];
static uint64_t served_ns[SERVED_MAX];
static uint32_t served_cnt;

/* What an entry does when it is served. */
static void (*act)(struct rnic_due *due, uint64_t now_ns);
/* The times that entries have, as they were set. */
static uint64_t set_ns[CNT];

static void serve(struct rnic_due *due, uint64_t now_ns)
{
	size_t i = (size_t)(due - dues);

	assert_true(served_cnt < SERVED_MAX);
	assert_int_equal(due->ns, 0);
	assert_true(set_ns[i] && set_ns[i] <= now_ns);
	served_ns[served_cnt++] = set_ns[i];
	set_ns[i] = 0;
	if (act)
		act(due, now_ns);
}

static int setup(void **state)
{
	heap = NULL;
	act = NULL;
	served_cnt = 0;
	memset(dues, 0, sizeof(dues));
	memset(set_ns, 0, sizeof(set_ns));
	for (uint32_t i = 0; i < CNT; i++)
		dues[i].serve = serve;
	return 0;
}

static void set(uint32_t i, uint64_t ns)
{
	rnic_due_set(&heap, &dues[i], ns);
	set_ns[i] = ns;
}

static void clear(uint32_t i)
{
	rnic_due_clear(&heap, &dues[i]);
	set_ns[i] = 0;
}

/* The earliest of what was set; 0: none. */
static uint64_t first_ns(void)
{
	uint64_t first = 0;

	for (uint32_t i = 0; i < CNT; i++)
		if (set_ns[i] && (!first || set_ns[i] < first))
			first = set_ns[i];
	return first;
}

static void assert_served_in_order(void)
{
	for (uint32_t i = 1; i < served_cnt; i++)
		assert_true(served_ns[i - 1] <= served_ns[i]);
}

CASE_WITH(nothing_is_due_in_an_empty_heap, setup, NULL)
{
	assert_int_equal(rnic_due_first_ns(heap), 0);
	rnic_due_serve(&heap, UINT64_MAX);
	clear(0);
	assert_null(heap);
	set(0, 5);
	clear(0);
	assert_null(heap);
	rnic_due_serve(&heap, UINT64_MAX);
	assert_int_equal(served_cnt, 0);
}

static const struct row {
	const char *name;
	uint64_t ns[6]; /* in the order of setting; 0: the end */
	uint64_t now_ns;
	uint32_t served_cnt;
	uint64_t first_ns;
} rows[] = {
	{ "before", { 5 }, 4, 0, 5 },
	{ "exactly then", { 5 }, 5, 1, 0 },
	{ "rising", { 1, 2, 3, 4, 5 }, 3, 3, 4 },
	{ "falling", { 5, 4, 3, 2, 1 }, 3, 3, 4 },
	{ "all the same", { 7, 7, 7, 7 }, 7, 4, 0 },
	{ "mixed", { 3, 1, 4, 1, 5 }, 3, 3, 4 },
	{ "far away", { UINT64_MAX, 1 }, 2, 1, UINT64_MAX },
};

CASE(what_has_come_is_served_in_order)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		setup(state);
		for (uint32_t j = 0; j < 6 && rows[i].ns[j]; j++)
			set(j, rows[i].ns[j]);
		rnic_due_serve(&heap, rows[i].now_ns);
		assert_row(rows[i].name, served_cnt == rows[i].served_cnt);
		assert_row(rows[i].name,
			   rnic_due_first_ns(heap) == rows[i].first_ns);
		assert_served_in_order();
	}
}

/* Each entry may be anywhere in the heap when it is moved or taken out. */
CASE_WITH(any_may_be_moved_and_taken_out, setup, NULL)
{
	uint32_t seed = 1;

	for (uint32_t turn = 0; turn < 20000; turn++) {
		uint32_t i = (seed = seed * 1664525 + 1013904223) >> 8;
		uint64_t ns = 1 + (i >> 8) % 100;

		if (i & 1)
			set((i >> 2) % CNT, turn + ns);
		else if (i & 2)
			clear((i >> 2) % CNT);
		else
			rnic_due_serve(&heap, turn);
		assert_int_equal(rnic_due_first_ns(heap), first_ns());
		if (served_cnt > SERVED_MAX / 2)
			served_cnt = 0;
		assert_served_in_order();
		if (i & 3)
			served_cnt = 0;
	}
	rnic_due_serve(&heap, UINT64_MAX);
	assert_null(heap);
	assert_int_equal(first_ns(), 0);
}

static void act_again_later(struct rnic_due *due, uint64_t now_ns)
{
	if (served_cnt < 10)
		set((uint32_t)(due - dues), now_ns + 1);
}

static void act_again_now(struct rnic_due *due, uint64_t now_ns)
{
	if (served_cnt < 10)
		set((uint32_t)(due - dues), now_ns);
}

/* The end of a stream may end another one. */
static void act_clear_all(struct rnic_due *due, uint64_t now_ns)
{
	(void)due;
	(void)now_ns;
	for (uint32_t i = 0; i < CNT; i++)
		clear(i);
}

/* ... or free its own memory. */
static void act_free(struct rnic_due *due, uint64_t now_ns)
{
	(void)now_ns;
	memset(due, 0xff, sizeof(*due));
}

static const struct act_row {
	const char *name;
	void (*act)(struct rnic_due *due, uint64_t now_ns);
	uint32_t served_cnt;
	uint64_t first_ns;
} acts[] = {
	{ "set again, later", act_again_later, 3, 11 },
	{ "set again, now", act_again_now, 12, 0 },
	{ "all are taken out", act_clear_all, 1, 0 },
	{ "its memory goes", act_free, 3, 0 },
};

CASE(what_is_served_may_change_the_heap)
{
	for (size_t i = 0; i < ARRAY_LEN(acts); i++) {
		setup(state);
		act = acts[i].act;
		for (uint32_t j = 0; j < 3; j++)
			set(j, 1 + j);
		rnic_due_serve(&heap, 10);
		assert_row(acts[i].name, served_cnt == acts[i].served_cnt);
		assert_row(acts[i].name,
			   rnic_due_first_ns(heap) == acts[i].first_ns);
	}
}
