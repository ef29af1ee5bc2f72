/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Counter pages in memfds and files. Each case runs in its own process, because
 * settings are read once.
 */
#define _GNU_SOURCE
#include "statdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/page.h"

#define SIZE 65536

static int check_memfd(void)
{
	char path[64], name[64];
	struct util_page page;
	uint8_t octet = 1;
	ssize_t len;

	CHECK(util_page_make("tool", "test", SIZE, 4096, NULL, &page) == 0);
	CHECK(!page.is_file && page.fd >= 0);
	CHECK(fcntl(page.fd, F_GETFD) & FD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", page.fd);
	len = readlink(path, name, sizeof(name) - 1);
	CHECK(len > 0);
	name[len] = '\0';
	CHECK(strstr(name, "memfd:test-stat"));
	CHECK(lseek(page.fd, 0, SEEK_END) == SIZE);
	CHECK(pread(page.fd, &octet, 1, 100) == 1 && octet == 0);
	((uint8_t *)page.mem)[100] = 7;
	CHECK(pread(page.fd, &octet, 1, 100) == 1 && octet == 7);
	/* Others can open it: they must not take it away, it may grow. */
	CHECK(ftruncate(page.fd, SIZE - 1) < 0 && errno == EPERM);
	CHECK(ftruncate(page.fd, SIZE + 1) == 0);
	return 0;
}

static int check_file(void)
{
	char path[128], other[160];
	struct util_page page;
	struct stat st;
	uint8_t octet;
	int fd;

	/* An existing file of that name is not overwritten. */
	snprintf(path, sizeof(path), "%s/test.%d", dir, (int)getpid());
	snprintf(other, sizeof(other), "%s.trap", path);
	fd = open(other, O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0 && symlink(other, path) == 0);
	CHECK(util_page_make("tool", "test", SIZE, SIZE, NULL, &page) == 0);
	CHECK(page.is_file && page.fd >= 0);
	CHECK(fstat(fd, &st) == 0 && st.st_size == 0);
	close(fd);
	unlink(other);
	CHECK(lstat(path, &st) == 0 && S_ISREG(st.st_mode));
	CHECK(st.st_size == SIZE && st.st_blocks * 512 >= SIZE);
	((uint8_t *)page.mem)[SIZE - 1] = 7;
	fd = open(path, O_RDONLY);
	CHECK(pread(fd, &octet, 1, SIZE - 1) == 1 && octet == 7);
	close(fd);
	return 0;
}

static int check_place(void)
{
	struct util_page page;
	uint8_t *mem;

	mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(mem != MAP_FAILED);
	mem[0] = 9;
	CHECK(util_page_make("tool", "test", SIZE, 4096, mem, &page) == 0);
	CHECK(page.mem == mem && mem[0] == 0);
	return 0;
}

static int check_growth(void)
{
	struct rlimit low = { 2 * SIZE - 1, RLIM_INFINITY };
	struct util_page page;
	uint8_t octet;
	void *more;

	CHECK(util_page_make("tool", "test", SIZE, 4096, NULL, &page) == 0);
	CHECK(util_page_extend(page.fd, SIZE, SIZE, &more) == 0);
	CHECK(((uint8_t *)more)[SIZE - 1] == 0);
	((uint8_t *)more)[SIZE - 1] = 7;
	CHECK(pread(page.fd, &octet, 1, 2 * SIZE - 1) == 1 && octet == 7);
	CHECK(setrlimit(RLIMIT_FSIZE, &low) == 0);
	CHECK(util_page_extend(page.fd, SIZE, SIZE, &more) == -EFBIG);
	CHECK(util_page_extend(-1, 0, SIZE, &more) == -EBADF);
	return 0;
}

static int check_file_limit(void)
{
	const struct rlimit low = { SIZE - 1, RLIM_INFINITY };
	struct util_page page;

	CHECK(setrlimit(RLIMIT_FSIZE, &low) == 0);
	CHECK(util_page_make("tool", "test", SIZE, 4096, NULL, &page) ==
	      -EFBIG);
	return 0;
}

CASE(makes_a_memfd)
{
	assert_int_equal(run(check_memfd, NULL), 0);
}

CASE(makes_a_file_in_the_directory)
{
	assert_int_equal(run(check_file, dir), 0);
}

CASE(works_without_the_directory)
{
	assert_int_equal(run(check_memfd, "/nonexistent/dir"), 0);
}

CASE(maps_where_it_is_told)
{
	assert_int_equal(run(check_place, NULL), 0);
	assert_int_equal(run(check_place, dir), 0);
}

CASE(grows)
{
	assert_int_equal(run(check_growth, NULL), 0);
	assert_int_equal(run(check_growth, dir), 0);
}

/* A larger file would end the program by SIGXFSZ. */
CASE(keeps_the_file_limit)
{
	assert_int_equal(run(check_file_limit, NULL), 0);
	assert_int_equal(run(check_file_limit, dir), 0);
}

BEFORE_CASES()
{
	setenv("USIW_LOG", "none", 1);
}

ALL_CASES_WITH(setup, teardown);
