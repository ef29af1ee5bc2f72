/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Hashes of memory that changes, or goes. */
#include "test.h"
#include "case.h"
#include "providers/usiw/check/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LEN ((size_t)3 << 16)

static uint64_t hash_of(const void *data, size_t len)
{
	uint64_t hash;

	assert_int_equal(usiw_check_hash_memory((uintptr_t)data, len, &hash),
			 0);
	return hash;
}

CASE(each_octet_counts)
{
	uint8_t *data = calloc(1, LEN + 1);
	uint64_t hash;

	assert_non_null(data);
	hash = hash_of(data, LEN);
	assert_int_equal(hash_of(data, LEN), hash);
	for (size_t i = 0; i < LEN; i += 4093) {
		data[i] ^= 1;
		assert_int_not_equal(hash_of(data, LEN), hash);
		data[i] ^= 1;
	}
	data[LEN] = 1;
	assert_int_equal(hash_of(data, LEN), hash);
	assert_int_not_equal(hash_of(data, LEN - 1), hash);
	free(data);
}

CASE(tells_memory_that_is_gone)
{
	uint8_t *data = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t addr = (uintptr_t)data;
	uint64_t hash;

	assert_ptr_not_equal(data, MAP_FAILED);
	assert_int_equal(usiw_check_is_mapped(addr, LEN), 0);
	assert_int_equal(munmap(data + LEN / 2, LEN / 2), 0);
	assert_int_equal(usiw_check_is_mapped(addr, LEN), -EFAULT);
	assert_int_equal(usiw_check_is_mapped(addr, LEN / 2), 0);
	assert_int_equal(usiw_check_hash_memory(addr, LEN, &hash), -EFAULT);
	assert_int_equal(munmap(data, LEN / 2), 0);
}
