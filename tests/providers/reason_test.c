/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* reason.c: what a refused verb says at USIW_LOG=debug. */
#include "test.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "fake-rnic.h"
#include "providers/usiw/reason.h"
#include "util/log.h"

static int setup(void **state)
{
	(void)state;
	return util_log_route("verbs", UTIL_LOG_DEBUG, UTIL_LOG_STDERR, NULL);
}

/* What is printed from here to said_end(). */
static int said_fd[2], saved_fd;

static void said_begin(void)
{
	saved_fd = dup(STDERR_FILENO);
	assert_true(saved_fd >= 0);
	assert_int_equal(pipe(said_fd), 0);
	assert_true(dup2(said_fd[1], STDERR_FILENO) >= 0);
	close(said_fd[1]);
}

static const char *said_end(void)
{
	static char text[1024];
	ssize_t len;

	assert_true(dup2(saved_fd, STDERR_FILENO) >= 0);
	close(saved_fd);
	len = read(said_fd[0], text, sizeof(text) - 1);
	assert_true(len >= 0);
	text[len] = '\0';
	close(said_fd[0]);
	return text;
}

CASE_WITH(a_refusal_is_one_line, setup, NULL)
{
	const char *text;
	int err;

	said_begin();
	err = usiw_refuse(EOPNOTSUPP, "ibv_create_cq_ex", "flags is 0x%x", 4u);
	text = said_end();
	assert_int_equal(err, -EOPNOTSUPP);
	assert_non_null(strstr(text, "ibv_create_cq_ex: EOPNOTSUPP: flags is "
				     "0x4\n"));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

CASE_WITH(a_value_in_its_range_says_nothing, setup, NULL)
{
	said_begin();
	assert_int_equal(usiw_check_range("ibv_x", "a", 1, 1, 3), 0);
	assert_int_equal(usiw_check_range("ibv_x", "a", 3, 1, 3), 0);
	assert_string_equal(said_end(), "");
	said_begin();
	assert_int_equal(usiw_check_range("ibv_x", "a", 0, 1, 3), -EINVAL);
	assert_non_null(strstr(said_end(), "ibv_x: EINVAL: a is 0, not 1 to "
					   "3\n"));
	said_begin();
	assert_int_equal(usiw_check_range("ibv_x", "a", UINT64_MAX, 0, 0),
			 -EINVAL);
	assert_non_null(strstr(said_end(), "a is 18446744073709551615, not 0"));
}

CASE_WITH(missing_bits_have_names, setup, NULL)
{
	const char *text;

	assert_int_equal(usiw_check_mask(IBV_QPS_RTR, 7, 3), 0);
	said_begin();
	assert_int_equal(
		usiw_check_mask(IBV_QPS_RTR, IBV_QP_STATE,
				IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN),
		-EINVAL);
	text = said_end();
	assert_non_null(strstr(text, "EINVAL: RTR needs IBV_QP_AV "
				     "IBV_QP_DEST_QPN in attr_mask\n"));
	said_begin();
	assert_int_equal(usiw_check_mask(IBV_QPS_RTR, 0, (1 << 21) - 1),
			 -EINVAL);
	text = said_end();
	assert_non_null(strstr(text, "IBV_QP_STATE"));
	assert_non_null(strstr(text, "\n"));
}
