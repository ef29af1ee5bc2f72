/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Files whose size cannot change; other kinds are in memory_test.c. */
#include "test.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "local/sealed.h"

CASE(two_mappings_are_one_memory)
{
	int fd = rnic_sealed_new(8192);
	void *mem[2];

	assert_true(fd >= 0);
	assert_int_equal(rnic_sealed_check(fd, 8192), 0);
	assert_int_equal(rnic_sealed_check(fd, 4096), -EPROTO);
	assert_true(ftruncate(fd, 4096) < 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(rnic_sealed_map(fd, 8192, &mem[i]), 0);
	memset(mem[0], 7, 8192);
	assert_memory_equal(mem[0], mem[1], 8192);
	for (int i = 0; i < 2; i++)
		munmap(mem[i], 8192);
	close(fd);
}
