/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* memory.c: what is made is accepted, and what is not like it is refused. */
#define _GNU_SOURCE
#include "../../harness/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "local/memory.h"
#include "local/ring.h"
#include "maps.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

CASE(accepts_its_own)
{
	int fd = rnic_local_memory_new();

	assert_true(fd >= 0);
	assert_int_equal(rnic_local_memory_check(fd), 0);
	/* Nobody can make a mapping fault any more. */
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	close(fd);
}

/* A larger file would end the program by SIGXFSZ. */
CASE(is_not_made_beyond_the_file_limit)
{
	struct rlimit old, low;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	low = old;
	low.rlim_cur = RNIC_LOCAL_MEMORY_SIZE - 1;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	assert_int_equal(rnic_local_memory_new(), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
}

static bool is_huge;

int __wrap_fstatfs(int fd, struct statfs *ret_fs);
int __real_fstatfs(int fd, struct statfs *ret_fs);

/* Most machines have no huge pages. */
int __wrap_fstatfs(int fd, struct statfs *ret_fs)
{
	int rc = __real_fstatfs(fd, ret_fs);

	if (is_huge)
		ret_fs->f_type = HUGETLBFS_MAGIC;
	return rc;
}

static int fd_new(long size, int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	if (seals)
		assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

CASE(refuses_what_is_not_like_it)
{
	static const struct {
		const char *name;
		long size;
		int seals;
		bool is_huge;
	} rows[] = {
		{ "not sealed", RNIC_LOCAL_MEMORY_SIZE, 0, false },
		{ "may shrink", RNIC_LOCAL_MEMORY_SIZE,
		  F_SEAL_GROW | F_SEAL_SEAL, false },
		{ "may grow", RNIC_LOCAL_MEMORY_SIZE,
		  F_SEAL_SHRINK | F_SEAL_SEAL, false },
		{ "may be sealed further", RNIC_LOCAL_MEMORY_SIZE,
		  F_SEAL_GROW | F_SEAL_SHRINK, false },
		{ "shorter", RNIC_LOCAL_MEMORY_SIZE - 1, SEALS, false },
		{ "longer", RNIC_LOCAL_MEMORY_SIZE + 1, SEALS, false },
		{ "empty", 0, SEALS, false },
		{ "huge pages", RNIC_LOCAL_MEMORY_SIZE, SEALS, true },
	};
	int pipes[2];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int fd = fd_new(rows[i].size, rows[i].seals);

		is_huge = rows[i].is_huge;
		assert_row(rows[i].name,
			   rnic_local_memory_check(fd) == -EPROTO);
		is_huge = false;
		close(fd);
	}
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(rnic_local_memory_check(pipes[0]), -EPROTO);
	assert_int_equal(rnic_local_memory_check(-1), -EPROTO);
	close(pipes[0]);
	close(pipes[1]);
}

/* Each end writes where the other one reads, in two mappings. */
CASE(divides_it_for_both_ends)
{
	int fd = rnic_local_memory_new();
	struct rnic_ring tx[2], rx[2];
	char out[4] = "";
	struct iovec in_iov = { (void *)(uintptr_t)"abc", 4 };
	struct iovec out_iov = { out, sizeof(out) };
	void *mem[2];

	for (int i = 0; i < 2; i++) {
		assert_int_equal(rnic_local_memory_map(fd, &mem[i]), 0);
		rnic_local_memory_divide(mem[i], i == 0, &tx[i], &rx[i]);
	}
	close(fd);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rnic_ring_write(&tx[i], &in_iov, 1, 0, 4), 4);
		assert_false(rnic_ring_has_octets(&rx[i]));
		assert_int_equal(rnic_ring_read(&rx[!i], &out_iov, 1, 0, 4), 4);
		assert_string_equal(out, "abc");
	}
	assert_int_equal(maps_cnt("usiw-local"), 2);
	rnic_local_memory_unmap(mem[0]);
	rnic_local_memory_unmap(mem[1]);
	assert_int_equal(maps_cnt("usiw-local"), 0);
}

CASE(is_not_inherited)
{
	int fd = rnic_local_memory_new(), status;
	void *mem;
	pid_t pid;

	assert_int_equal(rnic_local_memory_map(fd, &mem), 0);
	pid = fork();
	if (pid == 0)
		_exit(msync(mem, 4096, MS_ASYNC) == 0);
	assert_true(waitpid(pid, &status, 0) == pid);
	assert_int_equal(status, 0);
	assert_int_equal(msync(mem, 4096, MS_ASYNC), 0);
	rnic_local_memory_unmap(mem);
	close(fd);
}
