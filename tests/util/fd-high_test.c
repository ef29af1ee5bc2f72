/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* fd-high.c: where descriptors go with several limits, and when no high number
 * is free. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "util/fd-high.h"

static struct rlimit old;

static int setup(void **state)
{
	return getrlimit(RLIMIT_NOFILE, &old);
}

static int teardown(void **state)
{
	return setrlimit(RLIMIT_NOFILE, &old);
}

#define FILE_CASE(name) CASE_WITH(name, setup, teardown)

static void limit_set(int cnt)
{
	struct rlimit limit = old;

	limit.rlim_cur = (rlim_t)cnt;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static int null_open(void)
{
	int fd = open("/dev/null", O_RDONLY);

	assert_true(fd >= 0);
	return fd;
}

FILE_CASE(numbers_follow_the_limit)
{
	static const struct {
		int limit, lowest;
	} rows[] = {
		{ 2000, 512 }, { 1024, 512 }, { 1000, 512 },
		{ 512, 16 },   { 64, 16 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int fd = null_open(), copy, moved;

		limit_set(rows[i].limit);
		copy = util_fd_high_dup(fd, NULL);
		assert_in_range(copy, rows[i].lowest, rows[i].limit - 1);
		assert_true(fcntl(copy, F_GETFD) & FD_CLOEXEC);
		assert_int_equal(close(copy), 0);
		moved = util_fd_high_move(fd, NULL, NULL);
		assert_int_equal(moved, copy);
		assert_int_equal(fcntl(fd, F_GETFD), -1);
		/* It is high already. */
		assert_int_equal(util_fd_high_move(moved, NULL, NULL), moved);
		assert_int_equal(close(moved), 0);
	}
}

/* No number from half of the limit on; then none from 16 on; then none. */
FILE_CASE(falls_back_to_lower_numbers)
{
	int fd = null_open(), other, next = null_open();

	limit_set(40);
	for (other = fd; other >= 0; other = fcntl(fd, F_DUPFD, 20))
		;
	other = util_fd_high_dup(fd, NULL);
	assert_in_range(other, UTIL_FD_HIGH_SMALL, 19);
	for (; other >= 0; other = fcntl(fd, F_DUPFD, UTIL_FD_HIGH_SMALL))
		;
	other = util_fd_high_dup(fd, NULL);
	assert_in_range(other, next + 1, UTIL_FD_HIGH_SMALL - 1);
	for (; other >= 0; other = fcntl(fd, F_DUPFD, 0))
		;
	assert_int_equal(util_fd_high_dup(fd, NULL), -EMFILE);
	/* It stays. */
	assert_int_equal(util_fd_high_move(fd, NULL, NULL), fd);
	for (other = next; other < 40; other++)
		close(other);
	close(fd);
}

static int asked[3], asked_cnt, closed_fd;

static int dup_refuse(int fd, int lowest)
{
	asked[asked_cnt++] = lowest;
	errno = EBADF;
	return -1;
}

static int dup_allow(int fd, int lowest)
{
	return 700;
}

static int close_note(int fd)
{
	closed_fd = fd;
	return 0;
}

FILE_CASE(calls_what_it_is_given)
{
	limit_set(1024);
	assert_int_equal(util_fd_high_dup(5, dup_refuse), -EBADF);
	assert_int_equal(asked_cnt, 3);
	assert_int_equal(asked[0], UTIL_FD_HIGH);
	assert_int_equal(asked[1], UTIL_FD_HIGH_SMALL);
	assert_int_equal(asked[2], 0);
	assert_int_equal(util_fd_high_move(5, dup_allow, close_note), 700);
	assert_int_equal(closed_fd, 5);
	assert_int_equal(util_fd_high_move(-1, dup_allow, close_note), -1);
	assert_int_equal(util_fd_high_dup(-1, NULL), -EBADF);
}
