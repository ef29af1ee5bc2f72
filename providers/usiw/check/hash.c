/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See hash.h. */
#define _GNU_SOURCE
#include "hash.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* An odd number with bits all over; the multiplication is a permutation. */
#define FACTOR UINT64_C(0x9e3779b97f4a7c15)

static uint64_t word_add(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * FACTOR;
	return hash ^ hash >> 29;
}

uint64_t usiw_check_hash(uint64_t hash, const void *data, size_t len)
{
	const char *at = data;
	uint64_t word;

	hash = word_add(hash, len);
	for (; len >= sizeof(word); at += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = word_add(hash, word);
	}
	word = 0;
	memcpy(&word, at, len);
	return word_add(hash, word);
}

/* The system call copies what is there, and does not fault. */
static int pieces_copy(const struct iovec *from, unsigned long cnt, void *to,
		       size_t len)
{
	const struct iovec into = { to, len };
	ssize_t got = process_vm_readv(getpid(), &into, 1, from, cnt, 0);

	if (got < 0)
		return -errno;
	return (size_t)got == len ? 0 : -EFAULT;
}

int usiw_check_copy_memory(uint64_t addr, void *to, size_t len)
{
	return pieces_copy(&(struct iovec){ (void *)(uintptr_t)addr, len }, 1,
			   to, len);
}

int usiw_check_hash_memory(uint64_t addr, size_t len, uint64_t *ret_hash)
{
	static char buf[65536];
	uint64_t hash = 0;

	while (len) {
		size_t now = len < sizeof(buf) ? len : sizeof(buf);
		int err = usiw_check_copy_memory(addr, buf, now);

		if (err)
			return err;
		hash = usiw_check_hash(hash, buf, now);
		addr += now;
		len -= now;
	}
	*ret_hash = hash;
	return 0;
}

int usiw_check_is_mapped(uint64_t addr, size_t len)
{
	const struct iovec ends[] = {
		{ (void *)(uintptr_t)addr, 1 },
		{ (void *)(uintptr_t)(addr + len - 1), 1 },
	};
	char octets[2];

	return len ? pieces_copy(ends, 2, octets, 2) : 0;
}
