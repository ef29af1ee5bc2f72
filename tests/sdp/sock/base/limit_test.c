/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The program's limit of descriptors is raised only while needed. */
#include "test.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sock/base/limit.h"

#define HARD 256

static void limits_set(rlim_t soft, rlim_t hard)
{
	struct rlimit limit = { soft, hard };

	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void limit_set(rlim_t soft)
{
	limits_set(soft, HARD);
}

static rlim_t limit_now(void)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	return limit.rlim_cur;
}

CASE(stays_while_there_are_enough)
{
	bool is_raised;

	limit_set(128);
	is_raised = sdp_limit_begin(0);
	assert_int_equal(limit_now(), 128);
	sdp_limit_end(is_raised);
	assert_int_equal(limit_now(), 128);
}

CASE(is_raised_for_as_long_as_one_needs_it)
{
	bool first, second;

	limit_set(16);
	first = sdp_limit_begin(0);
	second = sdp_limit_begin(0);
	assert_int_equal(limit_now(), HARD);
	sdp_limit_end(first);
	assert_int_equal(limit_now(), HARD);
	sdp_limit_end(second);
	assert_int_equal(limit_now(), 16);
}

/* No number is free. */
CASE(is_raised_at_the_limit)
{
	int fds[32], cnt = 0, fd;
	bool is_raised;

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

/* The library's numbers are used up, and the program's are not. */
CASE(is_raised_for_its_own_numbers)
{
	int fds[128], cnt = 0;
	bool is_raised;

	limit_set(128);
	while (cnt < 128 && (fds[cnt] = fcntl(0, F_DUPFD, 16)) >= 0)
		cnt++;
	assert_true(cnt > 100);
	close(fds[--cnt]);
	is_raised = sdp_limit_begin(0);
	assert_int_equal(limit_now(), HARD);
	sdp_limit_end(is_raised);
	while (cnt > 0)
		close(fds[--cnt]);
}

CASE(keeps_a_limit_that_the_program_has_set)
{
	bool is_raised;

	limit_set(16);
	is_raised = sdp_limit_begin(0);
	limit_set(64);
	sdp_limit_end(is_raised);
	assert_int_equal(limit_now(), 64);
}

/* In a child, because a hard limit cannot be raised again. */
static bool is_enough_with(rlim_t soft, rlim_t hard, int open_cnt)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		bool is;
		rlim_t now;

		for (int i = 0; i < open_cnt; i++)
			(void)dup(0);
		limits_set(soft, hard);
		is = sdp_limit_is_enough(0);
		now = limit_now();
		_exit(now != soft ? 2 : is);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return WEXITSTATUS(status);
}

CASE(checks_the_hard_limit)
{
	static const struct {
		const char *name;
		rlim_t soft, hard;
		int open_cnt;
		bool is_enough;
	} rows[] = {
		{ "32", 32, 32, 0, false },
		{ "enough", 64, 64, 0, true },
		{ "soft one only", 16, 64, 0, true },
		{ "soft one used up", 16, 64, 14, true },
		{ "most is used", 64, 64, 40, false },
		{ "all is used", 64, 64, 64, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_row(rows[i].name,
			   is_enough_with(rows[i].soft, rows[i].hard,
					  rows[i].open_cnt) ==
				   rows[i].is_enough);
}

CASE(is_as_it_was_in_a_child)
{
	limit_set(16);
	(void)sdp_limit_begin(0);
	sdp_limit_fork_child();
	assert_int_equal(limit_now(), 16);
}
