/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Every error as the result of each kind of verb. */
#include "test.h"

#include <limits.h>

#include "providers/usiw/result.h"

CASE(value_is_positive_errno)
{
	int e;

	for (e = 1; e <= USIW_ERRNO_MAX; e++) {
		errno = 0;
		assert_int_equal(usiw_result_int(-e), e);
		assert_int_equal(errno, e);
	}
}

CASE(object_is_null_with_errno)
{
	int e;

	for (e = 1; e <= USIW_ERRNO_MAX; e++) {
		errno = 0;
		assert_null(usiw_result_null(-e));
		assert_int_equal(errno, e);
	}
}

CASE(poll_is_minus_one_with_errno)
{
	int e;

	for (e = 1; e <= USIW_ERRNO_MAX; e++) {
		errno = 0;
		assert_int_equal(usiw_result_minus(-e), -1);
		assert_int_equal(errno, e);
	}
}

CASE(rereg_is_a_code_of_its_own)
{
	int e;

	for (e = 1; e <= USIW_ERRNO_MAX; e++) {
		errno = 0;
		assert_int_equal(usiw_result_rereg(-e), IBV_REREG_MR_ERR_INPUT);
		assert_int_equal(errno, e);
	}
}

CASE(success_passes_and_keeps_errno)
{
	errno = ERANGE;
	assert_int_equal(usiw_result_int(0), 0);
	assert_int_equal(usiw_result_int(7), 0);
	assert_int_equal(usiw_result_minus(7), 7);
	assert_int_equal(usiw_result_rereg(0), 0);
	assert_int_equal(errno, ERANGE);
}

CASE(no_errno_is_an_io_error)
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
