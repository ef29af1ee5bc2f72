/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Numbered references: one to a removed object finds nothing, even if its slot
 * is reused. */
#include "test.h"

#include "cm/object.h"

#include <stdlib.h>

static int lock_manager(void **state)
{
	*state = calloc(1, sizeof(struct rnic_ref_table));
	util_lock(&rnic_loop.lock);
	return *state ? 0 : -1;
}

static int unlock_manager(void **state)
{
	struct rnic_ref_table *table = *state;

	util_unlock(&rnic_loop.lock);
	for (uint32_t i = 0; i < table->page_cnt; i++)
		free(table->page[i]);
	free(table);
	return 0;
}

#define FILE_CASE(name) CASE_WITH(name, lock_manager, unlock_manager)

FILE_CASE(late_references_find_nothing)
{
	struct rnic_ref_table *table = *state;
	uint64_t first, second;
	int a, b;

	assert_null(rnic_ref_get(table, 1));
	assert_null(rnic_ref_get_slot(table, 0));
	assert_int_equal(rnic_ref_add(table, &a, &first), 0);
	assert_int_not_equal(first, 0);
	assert_ptr_equal(rnic_ref_get(table, first), &a);
	rnic_ref_remove(table, first);
	assert_null(rnic_ref_get(table, first));
	assert_null(rnic_ref_live_slot(table, first));
	assert_int_equal(rnic_ref_add(table, &b, &second), 0);
	assert_int_equal(rnic_ref_slot_idx(first), rnic_ref_slot_idx(second));
	assert_null(rnic_ref_get(table, first));
	assert_ptr_equal(rnic_ref_get(table, second), &b);
	assert_ptr_equal(rnic_ref_get_slot(table, rnic_ref_slot_idx(first)),
			 &b);
}

FILE_CASE(generation_never_is_zero)
{
	struct rnic_ref_table *table = *state;
	uint64_t ref;
	int a;

	assert_int_equal(rnic_ref_add(table, &a, &ref), 0);
	rnic_ref_remove(table, ref);
	table->page[0][0].last_generation = UINT32_MAX;
	assert_int_equal(rnic_ref_add(table, &a, &ref), 0);
	assert_int_equal(ref >> 32, 1);
}

FILE_CASE(slots_stay_where_they_are)
{
	enum { CNT = 3 * RNIC_REF_PAGE };
	static uint64_t ref[CNT];
	struct rnic_ref_table *table = *state;
	struct rnic_ref_slot *slot;

	assert_int_equal(rnic_ref_add(table, &ref[0], &ref[0]), 0);
	slot = rnic_ref_live_slot(table, ref[0]);
	for (uint32_t i = 1; i < CNT; i++) {
		assert_int_equal(rnic_ref_add(table, &ref[i], &ref[i]), 0);
		assert_int_equal(rnic_ref_slot_idx(ref[i]), i);
	}
	assert_ptr_equal(slot, rnic_ref_live_slot(table, ref[0]));
	for (uint32_t i = 0; i < CNT; i++)
		assert_ptr_equal(rnic_ref_get(table, ref[i]), &ref[i]);
	assert_null(rnic_ref_get_slot(table, CNT));
}

/* A walk visits each object once, over holes and pages, and may remove it. */
FILE_CASE(walk_meets_each_object_once)
{
	enum { CNT = 2 * RNIC_REF_PAGE };
	static uint64_t ref[CNT];
	struct rnic_ref_table *table = *state;
	uint32_t met, slot = 0;
	uint64_t *object;

	assert_null(rnic_ref_next(table, &slot));
	for (uint32_t i = 0; i < CNT; i++)
		assert_int_equal(rnic_ref_add(table, &ref[i], &ref[i]), 0);
	for (uint32_t i = 0; i < CNT; i += 2)
		rnic_ref_remove(table, ref[i]);
	for (met = 1; (object = rnic_ref_next(table, &slot)); met += 2) {
		assert_ptr_equal(object, &ref[met]);
		assert_int_equal(slot, met + 1);
		rnic_ref_remove(table, *object);
	}
	assert_int_equal(met, CNT + 1);
	assert_null(rnic_ref_next(table, &slot));
	slot = 0;
	assert_null(rnic_ref_next(table, &slot));
}

/* The note is stored in the slot, so it must not outlive the reference. */
FILE_CASE(removal_takes_the_note_along)
{
	struct rnic_ref_slot *slot;
	uint64_t ref;
	int a;

	assert_int_equal(rnic_ref_add(&rnic_loop.noted, &a, &ref), 0);
	slot = rnic_ref_live_slot(&rnic_loop.noted, ref);
	rnic_loop_note(ref, -1);
	assert_ptr_equal(TAILQ_FIRST(&rnic_loop.inbox), &slot->note);
	assert_int_equal(slot->note.status, -1);
	rnic_loop_note(ref, -2); /* only once */
	assert_int_equal(slot->note.status, -1);
	rnic_ref_remove(&rnic_loop.noted, ref);
	assert_true(TAILQ_EMPTY(&rnic_loop.inbox));
	rnic_loop_note(ref, -3);
	rnic_loop_note(0, -3);
	assert_true(TAILQ_EMPTY(&rnic_loop.inbox));
}
