/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* On-demand regions in mr.c: what may be registered, the result of advice, and
 * that it faults pages in. */
#define _GNU_SOURCE
#include "../../harness/test.h"

#include <errno.h>
#include <sys/mman.h>

#include "mem/mr.h"
#include "rnicpair.h"

#define PAGE ((size_t)4096)
#define ON_DEMAND RNIC_ACCESS_ON_DEMAND
#define RW RNIC_ACCESS_LOCAL_WRITE

static struct rnicpair pair;
static struct rnic_pd *pd, *other;
static uint8_t *mem; /* 8 pages: two unmapped, two readable, four writable */

static int setup(void **state)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;

	rnicpair_open_idle(&pair, &opt);
	pd = pair.side[0].pd;
	must(rnic_pd_alloc(pair.side[0].ctx, &other) == 0);
	mem = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(mem != MAP_FAILED && munmap(mem, 2 * PAGE) == 0 &&
	     mprotect(mem + 2 * PAGE, 2 * PAGE, PROT_READ) == 0);
	return 0;
}

static int teardown(void **state)
{
	munmap(mem + 2 * PAGE, 6 * PAGE);
	must(rnic_pd_free(other) == 0);
	rnicpair_close(&pair);
	return 0;
}

static size_t resident(size_t first, size_t cnt)
{
	unsigned char vec[8];
	size_t sum = 0;

	assert_int_equal(mincore(mem + first * PAGE, cnt * PAGE, vec), 0);
	for (size_t i = 0; i < cnt; i++)
		sum += vec[i] & 1;
	return sum;
}

CASE_WITH(registers_without_a_look, setup, teardown)
{
	static const struct {
		const char *name;
		uintptr_t addr; /* 1: mem */
		size_t len;
		uint64_t iova;
		uint32_t access;
		int ret;
	} rows[] = {
		{ "not all there", 1, 8 * PAGE, 1, RW | ON_DEMAND, 0 },
		{ "the same, pinned", 1, 8 * PAGE, 1, RW, -EFAULT },
		{ "all there is", 0, SIZE_MAX, 0, RW | ON_DEMAND, 0 },
		{ "read only", 0, SIZE_MAX, 0, ON_DEMAND, 0 },
		{ "zero-based", 0, SIZE_MAX, 5,
		  ON_DEMAND | RNIC_ACCESS_ZERO_BASED, 0 },
		{ "moved", 0, SIZE_MAX, 4096, ON_DEMAND, -EINVAL },
		{ "pinned", 0, SIZE_MAX, 0, RW, -EINVAL },
		{ "from one on", 1, SIZE_MAX, 0, ON_DEMAND, -EINVAL },
		{ "remote write alone", 0, SIZE_MAX, 0,
		  ON_DEMAND | RNIC_ACCESS_REMOTE_WRITE, -EINVAL },
		{ "empty", 1, 0, 1, ON_DEMAND, -EINVAL },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		void *addr = rows[i].addr ? mem : NULL;
		uint64_t iova = rows[i].iova == 1 ? (uintptr_t)mem
						  : rows[i].iova;
		struct rnic_mr *mr;
		int ret = rnic_mr_reg(pd, addr, rows[i].len, iova,
				      rows[i].access, &mr);

		if (ret != rows[i].ret)
			fail_msg("%s: %d", rows[i].name, ret);
		if (ret == 0)
			assert_int_equal(rnic_mr_dereg(mr), 0);
	}
	assert_int_equal(resident(4, 4), 0);
}

/* The implicit region has every address except the last one. */
CASE_WITH(checks_all_there_is, setup, teardown)
{
	struct rnic_mr *mr;
	void *ptr;

	assert_int_equal(
		rnic_mr_reg(pd, NULL, SIZE_MAX, 0, RW | ON_DEMAND, &mr), 0);
	assert_int_equal(rnic_mr_check(mr, (uintptr_t)mem, PAGE, RW, &ptr),
			 RNIC_MR_OK);
	assert_ptr_equal(ptr, mem);
	assert_int_equal(rnic_mr_check(mr, 0, 1, 0, &ptr), RNIC_MR_OK);
	assert_null(ptr);
	assert_int_equal(rnic_mr_check(mr, UINT64_MAX - 8, 8, 0, &ptr),
			 RNIC_MR_OK);
	assert_int_equal(rnic_mr_check(mr, UINT64_MAX - 8, 9, 0, &ptr),
			 RNIC_MR_WRAP);
	assert_int_equal(rnic_mr_check(mr, 0, 1, RNIC_ACCESS_REMOTE_READ, &ptr),
			 RNIC_MR_BAD_ACCESS);
	assert_int_equal(rnic_mr_dereg(mr), 0);
}

CASE_WITH(advice_brings_pages_in, setup, teardown)
{
	struct rnic_mr *mr;
	uint32_t stag;

	assert_int_equal(
		rnic_mr_reg(pd, mem, 8 * PAGE, 0x1000000, RW | ON_DEMAND, &mr),
		0);
	stag = rnic_mr_stag(mr);
	assert_int_equal(resident(4, 4), 0);
	assert_int_equal(rnic_mr_advise(pd, RNIC_ADVICE_PREFETCH_NO_FAULT, stag,
					0x1000000, 8 * PAGE),
			 0);
	assert_int_equal(resident(4, 4), 0);
	/* From the middle of one page to the middle of the next. */
	assert_int_equal(rnic_mr_advise(pd, RNIC_ADVICE_PREFETCH_WRITE, stag,
					0x1000000 + 4 * PAGE + 100, PAGE),
			 0);
	assert_int_equal(resident(4, 2), 2);
	assert_int_equal(resident(6, 2), 0);
	assert_int_equal(rnic_mr_advise(pd, RNIC_ADVICE_PREFETCH_WRITE, stag,
					0x1000000 + 2 * PAGE, 6 * PAGE),
			 -EFAULT);
	assert_int_equal(rnic_mr_advise(pd, RNIC_ADVICE_PREFETCH, stag,
					0x1000000 + 2 * PAGE, 6 * PAGE),
			 0);
	assert_int_equal(rnic_mr_advise(pd, RNIC_ADVICE_PREFETCH, stag,
					0x1000000 + PAGE, 1),
			 -EFAULT);
	assert_int_equal(rnic_mr_advise(pd, RNIC_ADVICE_PREFETCH, stag,
					0x1000000 + 8 * PAGE, 0),
			 0);
	assert_int_equal(rnic_mr_dereg(mr), 0);
}

CASE_WITH(advice_is_checked, setup, teardown)
{
	struct rnic_mr *mr, *null;
	uint32_t stag;

	assert_int_equal(rnic_mr_reg(pd, NULL, SIZE_MAX, 0, ON_DEMAND, &mr), 0);
	assert_int_equal(rnic_mr_alloc_null(pd, &null), 0);
	stag = rnic_mr_stag(mr);
#define ADVISE(domain, advice, key)                                            \
	rnic_mr_advise(domain, advice, key, (uintptr_t)mem + 4 * PAGE, 1)
	assert_int_equal(ADVISE(pd, RNIC_ADVICE_PREFETCH, stag), 0);
	assert_int_equal(ADVISE(pd, 3, stag), -EOPNOTSUPP);
	assert_int_equal(ADVISE(pd, UINT32_MAX, stag), -EOPNOTSUPP);
	assert_int_equal(ADVISE(pd, RNIC_ADVICE_PREFETCH, stag ^ 1), -EFAULT);
	assert_int_equal(ADVISE(other, RNIC_ADVICE_PREFETCH, stag), -EPERM);
	assert_int_equal(ADVISE(pd, RNIC_ADVICE_PREFETCH_WRITE, stag), -EPERM);
	assert_int_equal(ADVISE(pd, RNIC_ADVICE_PREFETCH, rnic_mr_stag(null)),
			 -EINVAL);
	assert_int_equal(ADVISE(pd, RNIC_ADVICE_PREFETCH, pair.side[0].stag),
			 -ENOENT);
#undef ADVISE
	assert_int_equal(rnic_mr_dereg(null), 0);
	assert_int_equal(rnic_mr_dereg(mr), 0);
}

/* A region may become on-demand, and pinned again if all memory is
 * accessible. */
CASE_WITH(changes_by_registration_anew, setup, teardown)
{
	struct rnic_mr_change want = { .what = RNIC_MR_CHANGE_TRANSLATION |
					       RNIC_MR_CHANGE_ACCESS,
				       .addr = mem,
				       .len = 8 * PAGE,
				       .access = RW | ON_DEMAND };
	struct rnic_mr *mr;

	assert_int_equal(rnic_mr_reg(pd, mem + 4 * PAGE, PAGE, 0, RW, &mr), 0);
	assert_int_equal(rnic_mr_rereg(mr, &want), 0);
	want.what = RNIC_MR_CHANGE_ACCESS;
	want.access = RW;
	assert_int_equal(rnic_mr_rereg(mr, &want), -EFAULT);
	assert_int_equal(rnic_mr_dereg(mr), 0);
}
