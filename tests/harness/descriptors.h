/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The number of open descriptors, and a limit for further ones.
 */
#ifndef TEST_DESCRIPTORS_H
#define TEST_DESCRIPTORS_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Number of open descriptors below 1024. */
static inline int test_fd_cnt(void)
{
	int cnt = 0;

	for (int fd = 0; fd < 1024; fd++)
		cnt += fcntl(fd, F_GETFD) >= 0;
	return cnt;
}

/* The number that the next descriptor will have. */
static inline int test_fd_next(void)
{
	int fd = dup(0);

	if (fd < 0)
		abort();
	close(fd);
	return fd;
}

static inline bool test_fd_is_same(int fd, int other)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && fstat(other, &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Limits the process to @cnt further descriptors, if no lower number is free.
 * Return: the former limit, for test_fd_restore(). */
static inline struct rlimit test_fd_leave(int cnt)
{
	struct rlimit old, limit;

	if (getrlimit(RLIMIT_NOFILE, &old) < 0)
		abort();
	limit = old;
	limit.rlim_cur = (rlim_t)(test_fd_next() + cnt);
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		abort();
	return old;
}

static inline void test_fd_restore(struct rlimit old)
{
	if (setrlimit(RLIMIT_NOFILE, &old) < 0)
		abort();
}

#endif
