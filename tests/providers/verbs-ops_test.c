/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * verbs-ops.def as each layout has it: one program per layout, whichever the
 * installed library has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "../../providers/usiw/verbs-abi.h"

static const struct {
	const char *name;
	size_t offset;
} rows[] = {
#define VERBS_ROW(kind, ret, name, params)                                     \
	{ #name, offsetof(struct verbs_context_ops, name) },
#include "../../providers/usiw/verbs-ops.def"
};

#define ROW_CNT (sizeof(rows) / sizeof(rows[0]))

/* The library keeps its structure in the order of the alphabet. */
static void rows_are_sorted(void **state)
{
	(void)state;
	assert_int_equal(ROW_CNT, VERBS_OP_CNT);
	for (size_t i = 1; i < ROW_CNT; i++)
		if (strcmp(rows[i - 1].name, rows[i].name) >= 0)
			fail_msg("%s before %s", rows[i - 1].name,
				 rows[i].name);
}

static void each_stands_at_its_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROW_CNT; i++)
		assert_int_equal(rows[i].offset, i * sizeof(void (*)(void)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_sorted),
		cmocka_unit_test(each_stands_at_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
