/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Every error as the result of each kind of verb. */
#include "test.h"

#include <limits.h>

#include "../../providers/usiw/result.h"

static void value_is_positive_errno(void **state)
{
	int e;

	for (e = 1; e <= USIW_ERRNO_MAX; e++) {
		errno = 0;
		assert_int_equal(usiw_result_int(-e), e);
		assert_int_equal(errno, e);
	}
}

static void object_is_null_with_errno(void **state)
{
	int e;

	for (e = 1; e <= USIW_ERRNO_MAX; e++) {
		errno = 0;
		assert_null(usiw_result_null(-e));
		assert_int_equal(errno, e);
	}
}

static void poll_is_minus_one_with_errno(void **state)
{
	int e;

	for (e = 1; e <= USIW_ERRNO_MAX; e++) {
		errno = 0;
		assert_int_equal(usiw_result_minus(-e), -1);
		assert_int_equal(errno, e);
	}
}

static void rereg_is_a_code_of_its_own(void **state)
{
	int e;

	for (e = 1; e <= USIW_ERRNO_MAX; e++) {
		errno = 0;
		assert_int_equal(usiw_result_rereg(-e), IBV_REREG_MR_ERR_INPUT);
		assert_int_equal(errno, e);
	}
}

static void success_passes_and_keeps_errno(void **state)
{
	errno = ERANGE;
	assert_int_equal(usiw_result_int(0), 0);
	assert_int_equal(usiw_result_int(7), 0);
	assert_int_equal(usiw_result_minus(7), 7);
	assert_int_equal(usiw_result_rereg(0), 0);
	assert_int_equal(errno, ERANGE);
}

static void no_errno_is_an_io_error(void **state)
{
	static const int odd[] = { -USIW_ERRNO_MAX - 1, INT_MIN, INT_MIN + 1 };
	size_t i;

	for (i = 0; i < ARRAY_LEN(odd); i++) {
		assert_int_equal(usiw_result_int(odd[i]), EIO);
		assert_int_equal(usiw_result_minus(odd[i]), -1);
		assert_null(usiw_result_null(odd[i]));
		assert_int_equal(errno, EIO);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(value_is_positive_errno),
		cmocka_unit_test(object_is_null_with_errno),
		cmocka_unit_test(poll_is_minus_one_with_errno),
		cmocka_unit_test(rereg_is_a_code_of_its_own),
		cmocka_unit_test(success_passes_and_keeps_errno),
		cmocka_unit_test(no_errno_is_an_io_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
