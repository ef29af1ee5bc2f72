/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* reason.c: the line of a call that is refused. */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "said.h"
#include "util/log.h"
#include "util/reason.h"

static int setup(void **state)
{
	(void)state;
	return util_log_route("verbs", UTIL_LOG_DEBUG, UTIL_LOG_STDERR, NULL);
}

CASE_WITH(a_refusal_is_one_line, setup, NULL)
{
	int err;

	said_begin();
	errno = EXDEV;
	err = util_refuse("verbs", EOPNOTSUPP, "ibv_create_cq_ex",
			  "flags is 0x%x", 4u);
	assert_int_equal(errno, EXDEV);
	assert_string_equal(said_end(), "usiw: verbs: debug: ibv_create_cq_ex: "
					"EOPNOTSUPP: flags is 0x4\n");
	assert_int_equal(err, -EOPNOTSUPP);
	said_begin();
	assert_int_equal(util_refuse_memory("verbs", "ibv_x"), -ENOMEM);
	assert_non_null(strstr(said_end(), " ibv_x: ENOMEM: "));
}

static char noted[160];

static void reason_note(const char *reason)
{
	snprintf(noted, sizeof(noted), "%s", reason);
}

/* Each is told, too. */
CASE_WITH(datagrams_are_an_error_once, setup, NULL)
{
	static const char *const levels[] = { "error", "debug", "debug" };
	const char *text;

	util_reason_watch(reason_note);
	for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
		*noted = '\0';
		said_begin();
		assert_int_equal(util_refuse_datagrams("verbs", "ibv_x"),
				 -EOPNOTSUPP);
		text = said_end();
		assert_int_equal(strncmp(text, "usiw: verbs: ", 13), 0);
		assert_int_equal(strncmp(text + 13, levels[i], 5), 0);
		assert_non_null(strstr(text, ": ibv_x: EOPNOTSUPP: an iWARP "));
		assert_non_null(strstr(noted, "usiw run --persona ca"));
	}
	util_reason_watch(NULL);
}

CASE_WITH(another_part_says_nothing, setup, NULL)
{
	said_begin();
	assert_int_equal(util_refuse("cm", EINVAL, "rdma_bind_addr", "x"),
			 -EINVAL);
	assert_string_equal(said_end(), "");
}

CASE_WITH(a_value_in_its_range_says_nothing, setup, NULL)
{
	said_begin();
	assert_int_equal(util_check_range("verbs", "ibv_x", "a", 1, 1, 3), 0);
	assert_int_equal(util_check_range("verbs", "ibv_x", "a", 3, 1, 3), 0);
	assert_string_equal(said_end(), "");
	said_begin();
	assert_int_equal(util_check_range("verbs", "ibv_x", "a", 0, 1, 3),
			 -EINVAL);
	assert_non_null(strstr(said_end(), "ibv_x: EINVAL: a is 0, not 1 to "
					   "3\n"));
	said_begin();
	assert_int_equal(
		util_check_range("verbs", "ibv_x", "a", UINT64_MAX, 0, 0),
		-EINVAL);
	assert_non_null(strstr(said_end(), "a is 18446744073709551615, not 0"));
}

/* An errno that has no name. */
CASE_WITH(every_errno_has_a_line, setup, NULL)
{
	said_begin();
	assert_int_equal(util_refuse("verbs", 9999, "ibv_x", "b"), -9999);
	assert_non_null(strstr(said_end(), "ibv_x: ?: b\n"));
}
