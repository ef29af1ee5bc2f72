/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The program's limit of descriptors is raised while it is needed. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "sock/limit.h"

#define HARD 256

static void limit_set(rlim_t soft)
{
	struct rlimit limit = { .rlim_cur = soft, .rlim_max = HARD };

	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static rlim_t limit_now(void)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	return limit.rlim_cur;
}

static void stays_while_there_are_enough(void **state)
{
	bool is_raised;

	(void)state;
	limit_set(128);
	is_raised = sdp_limit_begin(0);
	assert_int_equal(limit_now(), 128);
	sdp_limit_end(is_raised);
	assert_int_equal(limit_now(), 128);
}

static void is_raised_for_as_long_as_one_needs_it(void **state)
{
	bool first, second;

	(void)state;
	limit_set(16);
	first = sdp_limit_begin(0);
	second = sdp_limit_begin(0);
	assert_int_equal(limit_now(), HARD);
	sdp_limit_end(first);
	assert_int_equal(limit_now(), HARD);
	sdp_limit_end(second);
	assert_int_equal(limit_now(), 16);
}

/* None is free. */
static void is_raised_at_the_limit(void **state)
{
	int fds[32], cnt = 0, fd;
	bool is_raised;

	(void)state;
	limit_set(16);
	while (cnt < 32 && (fds[cnt] = open("/dev/null", O_RDONLY)) >= 0)
		cnt++;
	is_raised = sdp_limit_begin(0);
	fd = dup(0);
	assert_true(fd >= 16);
	close(fd);
	sdp_limit_end(is_raised);
	assert_int_equal(dup(0), -1);
	while (cnt > 0)
		close(fds[--cnt]);
}

static void leaves_what_the_program_has_set(void **state)
{
	bool is_raised;

	(void)state;
	limit_set(16);
	is_raised = sdp_limit_begin(0);
	limit_set(64);
	sdp_limit_end(is_raised);
	assert_int_equal(limit_now(), 64);
}

static void is_as_it_was_in_a_child(void **state)
{
	(void)state;
	limit_set(16);
	(void)sdp_limit_begin(0);
	sdp_limit_fork_child();
	assert_int_equal(limit_now(), 16);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(stays_while_there_are_enough),
		cmocka_unit_test(is_raised_for_as_long_as_one_needs_it),
		cmocka_unit_test(is_raised_at_the_limit),
		cmocka_unit_test(leaves_what_the_program_has_set),
		cmocka_unit_test(is_as_it_was_in_a_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
