/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Copies from and to memory that is accessible, inaccessible, or partly
 * accessible. */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/user.h"

enum memory {
	MEMORY_NULL,
	MEMORY_NOWHERE,
	MEMORY_READ_ONLY,
	MEMORY_NONE,
	MEMORY_GOOD,
	MEMORY_END,  /* the last octets before a hole */
	MEMORY_HALF, /* the same, and a part of the hole */
	MEMORY_WRAP, /* beyond the end of the address space */
};

static const struct user_case {
	const char *name;
	enum memory memory;
	int get, put;
} user_cases[] = {
	{ "NULL", MEMORY_NULL, -EFAULT, -EFAULT },
	{ "address 16", MEMORY_NOWHERE, -EFAULT, -EFAULT },
	{ "read-only", MEMORY_READ_ONLY, 0, -EFAULT },
	{ "PROT_NONE", MEMORY_NONE, -EFAULT, -EFAULT },
	{ "good", MEMORY_GOOD, 0, 0 },
	{ "up to the end", MEMORY_END, 0, 0 },
	{ "beyond the end", MEMORY_HALF, -EFAULT, -EFAULT },
	{ "wraps around", MEMORY_WRAP, -EFAULT, -EFAULT },
};

#define LEN 100

static char *area; /* two pages, and an inaccessible one */
static size_t page;

static char *memory_of(enum memory memory)
{
	switch (memory) {
	case MEMORY_NULL:
		return NULL;
	case MEMORY_NOWHERE:
		return (char *)16;
	case MEMORY_END:
		return area + 2 * page - LEN;
	case MEMORY_HALF:
		return area + 2 * page - LEN / 2;
	case MEMORY_WRAP:
		return (char *)(UINTPTR_MAX - LEN / 2);
	default:
		return area + page - 1; /* both pages */
	}
}

static int setup(void **state)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	area = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return area == MAP_FAILED ? -1 : munmap(area + 2 * page, page);
}

static int teardown(void **state)
{
	return munmap(area, 2 * page);
}

/* Both orders: memory that is recorded as readable is not therefore
 * writable. */
static void copies(const struct user_case *c, bool is_put_first)
{
	int prot = c->memory == MEMORY_READ_ONLY ? PROT_READ
		   : c->memory == MEMORY_NONE	 ? PROT_NONE
						 : PROT_READ | PROT_WRITE;
	char *at, ours[LEN], back[LEN];

	assert_int_equal(setup(NULL), 0);
	at = memory_of(c->memory);
	assert_int_equal(mprotect(area, 2 * page, prot), 0);
	memset(ours, 'x', sizeof(ours));
	memset(back, 0, sizeof(back));
	errno = E2BIG;
	if (is_put_first)
		assert_int_equal(util_user_put(at, ours, LEN), c->put);
	assert_int_equal(util_user_get(back, at, LEN), c->get);
	assert_int_equal(util_user_is_readable(at, LEN), c->get == 0);
	assert_int_equal(util_user_put(at, ours, LEN), c->put);
	if (c->put == 0) {
		assert_int_equal(util_user_get(back, at, LEN), 0);
		assert_memory_equal(back, ours, LEN);
	}
	assert_int_equal(errno, E2BIG);
	assert_int_equal(teardown(NULL), 0);
}

/* Each mapping has its own addresses, so nothing about it is recorded. */
CASE(test_copies)
{
	char *kept;

	for (size_t i = 0; i < sizeof(user_cases) / sizeof(*user_cases); i++) {
		print_message("%s\n", user_cases[i].name);
		for (int first = 0; first < 2; first++) {
			copies(&user_cases[i], first);
			/* The next area must have another address. */
			kept = mmap(area, 3 * page, PROT_NONE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			assert_ptr_not_equal(kept, MAP_FAILED);
		}
	}
}

CASE(test_nothing)
{
	assert_int_equal(util_user_get(NULL, NULL, 0), 0);
	assert_int_equal(util_user_put((void *)16, NULL, 0), 0);
	assert_true(util_user_is_readable(NULL, 0));
}

/* Memory that was unmapped is noticed after a number of calls. */
CASE(test_forgets)
{
	char *good, ours[4] = "abc", last[4];
	bool is_there = true;

	assert_int_equal(setup(NULL), 0);
	good = area;
	assert_int_equal(util_user_put(good, ours, sizeof(ours)), 0);
	assert_int_equal(mprotect(good, page, PROT_NONE), 0);
	for (int i = 0; i < 1024 && is_there; i++)
		is_there = util_user_is_readable(good, sizeof(ours));
	assert_false(is_there);
	assert_int_equal(mprotect(good, page, PROT_READ), 0);
	assert_int_equal(util_user_get(last, good, sizeof(last)), 0);
	assert_memory_equal(last, ours, sizeof(ours));
	assert_int_equal(teardown(NULL), 0);
}

/* When ages wrap, an old page must not look new. */
CASE(test_long_use)
{
	char octet = 'x', back = 0;

	for (int i = 0; i < 3 * 1024 * 2048; i++)
		if (util_user_put(&back, &octet, 1) < 0)
			fail();
	assert_int_equal(back, 'x');
	assert_int_equal(util_user_get(&back, (void *)16, 1), -EFAULT);
}
