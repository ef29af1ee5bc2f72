/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Numbered references: a late one finds nothing, whoever has its slot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cm-internal.h"

#include <stdlib.h>

static int lock_manager(void **state)
{
	*state = calloc(1, sizeof(struct cm_table));
	util_lock(&cm.lock);
	return *state ? 0 : -1;
}

static int unlock_manager(void **state)
{
	struct cm_table *table = *state;

	util_unlock(&cm.lock);
	for (uint32_t i = 0; i < table->page_cnt; i++)
		free(table->page[i]);
	free(table);
	return 0;
}

static void late_references_find_nothing(void **state)
{
	struct cm_table *table = *state;
	uint64_t first, second;
	int a, b;

	assert_null(cm_table_get(table, 1));
	assert_null(cm_table_get_slot(table, 0));
	assert_int_equal(cm_table_add(table, &a, &first), 0);
	assert_int_not_equal(first, 0);
	assert_ptr_equal(cm_table_get(table, first), &a);
	cm_table_remove(table, first);
	assert_null(cm_table_get(table, first));
	assert_null(cm_table_live_slot(table, first));
	assert_int_equal(cm_table_add(table, &b, &second), 0);
	assert_int_equal(cm_ref_slot(first), cm_ref_slot(second));
	assert_null(cm_table_get(table, first));
	assert_ptr_equal(cm_table_get(table, second), &b);
	assert_ptr_equal(cm_table_get_slot(table, cm_ref_slot(first)), &b);
}

static void generation_never_is_zero(void **state)
{
	struct cm_table *table = *state;
	uint64_t ref;
	int a;

	assert_int_equal(cm_table_add(table, &a, &ref), 0);
	cm_table_remove(table, ref);
	table->page[0][0].last_generation = UINT32_MAX;
	assert_int_equal(cm_table_add(table, &a, &ref), 0);
	assert_int_equal(ref >> 32, 1);
}

static void slots_stay_where_they_are(void **state)
{
	enum { CNT = 3 * CM_TABLE_PAGE };
	static uint64_t ref[CNT];
	struct cm_table *table = *state;
	struct cm_slot *slot;

	assert_int_equal(cm_table_add(table, &ref[0], &ref[0]), 0);
	slot = cm_table_live_slot(table, ref[0]);
	for (uint32_t i = 1; i < CNT; i++) {
		assert_int_equal(cm_table_add(table, &ref[i], &ref[i]), 0);
		assert_int_equal(cm_ref_slot(ref[i]), i);
	}
	assert_ptr_equal(slot, cm_table_live_slot(table, ref[0]));
	for (uint32_t i = 0; i < CNT; i++)
		assert_ptr_equal(cm_table_get(table, ref[i]), &ref[i]);
	assert_null(cm_table_get_slot(table, CNT));
}

/* The note's memory is the slot's: it must not outlive the reference. */
static void removal_takes_the_note_along(void **state)
{
	struct cm_slot *slot;
	uint64_t ref;
	int a;

	(void)state;
	assert_int_equal(cm_table_add(&cm.ids, &a, &ref), 0);
	slot = cm_table_live_slot(&cm.ids, ref);
	rnic_cm_stream_ended(ref, -1);
	assert_ptr_equal(TAILQ_FIRST(&cm.inbox), &slot->note);
	assert_int_equal(slot->note.status, -1);
	rnic_cm_stream_ended(ref, -2); /* once */
	assert_int_equal(slot->note.status, -1);
	cm_table_remove(&cm.ids, ref);
	assert_true(TAILQ_EMPTY(&cm.inbox));
	rnic_cm_stream_ended(ref, -3);
	rnic_cm_stream_ended(0, -3);
	assert_true(TAILQ_EMPTY(&cm.inbox));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(late_references_find_nothing),
		cmocka_unit_test(generation_never_is_zero),
		cmocka_unit_test(slots_stay_where_they_are),
		cmocka_unit_test(removal_takes_the_note_along),
	};

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		const struct CMUnitTest one[] = {
			{ tests[i].name, tests[i].test_func, lock_manager,
			  unlock_manager, NULL },
		};

		if (cmocka_run_group_tests_name(tests[i].name, one, NULL, NULL))
			return 1;
	}
	return 0;
}
