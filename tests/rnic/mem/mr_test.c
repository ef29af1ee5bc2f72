/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mr.c: every access check compared with a second implementation that checks a
 * list of regions octet by octet; registration errors; registration anew.
 */
#include "mem/mr.h"
#include "test.h"

#include "mem/context.h"
#include "engine/engines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096u

static struct usiw_res_context ctx_res;
static struct rnic_context ctx;

/* The engine of these tests records its calls. */
static const void *gone_addr;
static size_t gone_len;
static struct rnic_mr *gone_mr;
static uint32_t gone_stag;
static struct rnic_pd *gone_pd;

void __wrap_rnic_engines_lead(struct rnic_engines *engines);
void __wrap_rnic_engines_unlead(struct rnic_engines *engines);
void __wrap_rnic_engines_mr_gone(struct rnic_engines *engines, uint32_t stag,
				 const void *addr, size_t len);

static int lead_cnt; /* 1: held */

void __wrap_rnic_engines_lead(struct rnic_engines *engines)
{
	assert_ptr_equal(engines, &ctx.engines);
	assert_int_equal(lead_cnt++, 0);
}

void __wrap_rnic_engines_unlead(struct rnic_engines *engines)
{
	assert_ptr_equal(engines, &ctx.engines);
	assert_int_equal(lead_cnt--, 1);
}

void __wrap_rnic_engines_mr_gone(struct rnic_engines *engines, uint32_t stag,
				 const void *addr, size_t len)
{
	void *ptr;

	assert_ptr_equal(engines, &ctx.engines);
	assert_int_equal(lead_cnt, 1);
	gone_addr = addr;
	gone_len = len;
	/* A region that is being removed can no longer be found, but still
	 * exists. */
	if (gone_mr) {
		assert_int_equal(stag, gone_stag);
		assert_int_equal(rnic_mr_resolve(&ctx.mrs, gone_pd, gone_stag,
						 gone_mr->iova, 1, 0, &ptr),
				 RNIC_MR_BAD_STAG);
		assert_int_equal(gone_mr->stag, gone_stag);
	}
}

/* A kernel without MADV_POPULATE_*. */
static bool is_kernel_old;

int __real_madvise(void *addr, size_t len, int advice);
int __wrap_madvise(void *addr, size_t len, int advice);

int __wrap_madvise(void *addr, size_t len, int advice)
{
	if (is_kernel_old) {
		errno = EINVAL;
		return -1;
	}
	return __real_madvise(addr, len, advice);
}

static int setup(void **state)
{
	is_kernel_old = false;
	gone_mr = NULL;
	gone_addr = NULL;
	memset(&ctx, 0, sizeof(ctx));
	ctx.res = &ctx_res;
	ctx.engine = (struct rnic_engine *)(void *)&ctx;
	return rnic_mr_table_init(&ctx.mrs);
}

static int setup_old(void **state)
{
	int ret = setup(state);

	is_kernel_old = true;
	return ret;
}

static int teardown(void **state)
{
	rnic_mr_table_fini(&ctx.mrs);
	return 0;
}

#define FILE_CASE(name) CASE_WITH(name, setup, teardown)

static struct rnic_pd *pd_new(void)
{
	struct rnic_pd *pd;

	assert_int_equal(rnic_pd_alloc(&ctx, &pd), 0);
	return pd;
}

static void *pages(size_t len, int prot)
{
	void *mem = mmap(NULL, len, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(mem, MAP_FAILED);
	return mem;
}

/* ---- the oracle ---- */

#define REGION_CNT 40

struct region {
	struct rnic_mr *mr; /* NULL: deregistered */
	const struct rnic_pd *pd;
	uint32_t stag;
	uint8_t *addr;
	size_t len;
	uint64_t iova;
	uint32_t access;
	bool is_invalidated;
};

/* One octet, by checking every octet of the region. */
static uint8_t *oracle_octet(const struct region *r, uint64_t addr)
{
	for (size_t i = 0; i < r->len; i++) {
		if (r->iova + i == addr)
			return r->addr + i;
	}
	return NULL;
}

static enum rnic_access_check oracle(const struct region *regions,
				     const struct rnic_pd *pd, uint32_t stag,
				     uint64_t addr, size_t len, uint32_t access,
				     void **ret_ptr)
{
	const struct region *r = NULL;

	for (int i = 0; i < REGION_CNT; i++) {
		if (regions[i].mr && regions[i].stag == stag &&
		    !regions[i].is_invalidated)
			r = &regions[i];
	}
	if (!r)
		return RNIC_MR_BAD_STAG;
	if (r->pd != pd)
		return RNIC_MR_BAD_PD;
	for (uint32_t bit = 1; bit != 0; bit <<= 1) {
		if ((access & bit) && !(r->access & bit))
			return RNIC_MR_BAD_ACCESS;
	}
	if (addr + len < addr)
		return RNIC_MR_WRAP;
	for (size_t i = 0; i < len; i++) {
		if (!oracle_octet(r, addr + i))
			return RNIC_MR_BAD_BOUNDS;
		if (i > r->len)
			break;
	}
	*ret_ptr = oracle_octet(r, addr);
	return RNIC_MR_OK;
}

static uint64_t rnd(uint64_t limit)
{
	return limit ? ((uint64_t)random() << 31 | (uint64_t)random()) % limit
		     : 0;
}

static void region_make(struct region *r, struct rnic_pd *const pd[2],
			uint8_t *mem, size_t mem_len)
{
	static const uint32_t accesses[] = { 0, 1, 3, 4, 5, 7, 15 };

	memset(r, 0, sizeof(*r));
	r->pd = pd[rnd(2)];
	r->access = accesses[rnd(7)];
	r->len = 1 + rnd(64);
	r->addr = mem + rnd(mem_len - r->len);
	switch (rnd(4)) {
	case 0:
		r->iova = 0;
		break;
	case 1: /* near the end of the address space */
		r->iova = UINT64_MAX - r->len - rnd(4);
		break;
	case 2:
		r->iova = rnd(UINT64_C(1) << 62);
		break;
	default:
		r->iova = (uintptr_t)r->addr;
		break;
	}
	assert_int_equal(rnic_mr_reg(pd[r->pd == pd[1]], r->addr, r->len,
				     r->iova, r->access, &r->mr),
			 0);
	r->stag = rnic_mr_stag(r->mr);
}

static uint32_t query_stag(const struct region *r)
{
	switch (rnd(12)) {
	case 0:
		return r->stag ^ (1u << rnd(32));
	case 1:
		return (uint32_t)rnd(UINT64_C(1) << 32);
	default:
		return r->stag;
	}
}

static uint64_t query_addr(const struct region *r)
{
	switch (rnd(8)) {
	case 0:
		return rnd(UINT64_C(1) << 62) * 4;
	case 1:
		return UINT64_MAX - rnd(3);
	default: /* a few octets outside, at the borders, inside */
		return r->iova + rnd(r->len + 6) - 3;
	}
}

static size_t query_len(const struct region *r)
{
	switch (rnd(10)) {
	case 0:
		return SIZE_MAX - rnd(3);
	case 1:
		return 1 + rnd(UINT64_C(1) << 40);
	default:
		return 1 + rnd(r->len + 4);
	}
}

FILE_CASE(agrees_with_the_oracle)
{
	struct rnic_pd *pd[2] = { pd_new(), pd_new() };
	uint8_t *mem = pages(2 * PAGE, PROT_READ | PROT_WRITE);
	struct region regions[REGION_CNT];
	uint32_t seen[RNIC_MR_BAD_BOUNDS + 1] = { 0 };

	srandom(1);
	for (int i = 0; i < REGION_CNT; i++)
		region_make(&regions[i], pd, mem, 2 * PAGE);
	for (int i = 0; i < 60000; i++) {
		struct region *r = &regions[rnd(REGION_CNT)];
		uint32_t stag = query_stag(r);
		uint64_t addr = query_addr(r);
		size_t len = query_len(r);
		uint32_t access = rnd(3) ? 1u << rnd(4) : 0;
		const struct rnic_pd *who =
			pd[rnd(8) ? r->pd == pd[1] : rnd(2)];
		void *want = NULL, *got = NULL;
		enum rnic_access_check check =
			oracle(regions, who, stag, addr, len, access, &want);

		assert_int_equal(rnic_mr_resolve(&ctx.mrs, who, stag, addr, len,
						 access, &got),
				 check);
		assert_ptr_equal(got, want);
		seen[check]++;
		if (rnd(500) == 0) {
			r->is_invalidated =
				rnic_mr_invalidate(&ctx.mrs, r->pd, r->stag) ==
					RNIC_MR_OK ||
				r->is_invalidated;
		} else if (rnd(200) == 0) {
			assert_int_equal(rnic_mr_dereg(r->mr), 0);
			region_make(r, pd, mem, 2 * PAGE);
		}
	}
	/* The queries have reached every check many times. */
	for (int v = RNIC_MR_OK; v <= RNIC_MR_BAD_BOUNDS; v++)
		assert_true(seen[v] > 200);
	for (int i = 0; i < REGION_CNT; i++)
		assert_int_equal(rnic_mr_dereg(regions[i].mr), 0);
	assert_int_equal(rnic_pd_free(pd[0]), 0);
	assert_int_equal(rnic_pd_free(pd[1]), 0);
	munmap(mem, 2 * PAGE);
}

/* U-5 of doc/spec/ddp-rdmap.md */
FILE_CASE(holds_bounds_at_octet_granularity)
{
	struct rnic_pd *pd = pd_new();
	uint8_t *mem = pages(PAGE, PROT_READ | PROT_WRITE);
	struct rnic_mr *mr;
	uint32_t stag;
	void *ptr = NULL;

	assert_int_equal(rnic_mr_reg(pd, mem + 7, 100, 1000, 3, &mr), 0);
	stag = rnic_mr_stag(mr);
	assert_int_equal(
		rnic_mr_resolve(&ctx.mrs, pd, stag, 1000, 100, 2, &ptr),
		RNIC_MR_OK);
	assert_ptr_equal(ptr, mem + 7);
	assert_int_equal(rnic_mr_resolve(&ctx.mrs, pd, stag, 1099, 1, 2, &ptr),
			 RNIC_MR_OK);
	assert_ptr_equal(ptr, mem + 106);
	assert_int_equal(rnic_mr_resolve(&ctx.mrs, pd, stag, 1099, 2, 2, &ptr),
			 RNIC_MR_BAD_BOUNDS);
	assert_int_equal(rnic_mr_resolve(&ctx.mrs, pd, stag, 1100, 1, 2, &ptr),
			 RNIC_MR_BAD_BOUNDS);
	assert_int_equal(rnic_mr_resolve(&ctx.mrs, pd, stag, 999, 1, 2, &ptr),
			 RNIC_MR_BAD_BOUNDS);
	assert_int_equal(
		rnic_mr_resolve(&ctx.mrs, pd, stag, UINT64_MAX, 1, 2, &ptr),
		RNIC_MR_WRAP);
	assert_ptr_equal(ptr, mem + 106); /* unchanged by refusals */
	assert_int_equal(rnic_mr_dereg(mr), 0);
	assert_int_equal(rnic_pd_free(pd), 0);
	munmap(mem, PAGE);
}

/* ---- registration ---- */

static int reg_error(void *addr, size_t len, uint64_t iova, uint32_t access)
{
	struct rnic_pd *pd = pd_new();
	struct rnic_mr *mr = NULL;
	int ret = rnic_mr_reg(pd, addr, len, iova, access, &mr);

	if (ret == 0)
		assert_int_equal(rnic_mr_dereg(mr), 0);
	else
		assert_null(mr);
	assert_int_equal(rnic_pd_free(pd), 0); /* it is not in use */
	return ret;
}

FILE_CASE(refuses_wrong_arguments)
{
	uint8_t *mem = pages(PAGE, PROT_READ | PROT_WRITE);
	uint64_t at = (uintptr_t)mem;

	assert_int_equal(reg_error(mem, PAGE, at, 0), 0);
	assert_int_equal(reg_error(mem, 0, at, 1), -EINVAL);
	assert_int_equal(reg_error(mem, SIZE_MAX, at, 1), -EINVAL);
	assert_int_equal(reg_error(mem, SIZE_MAX / 2 + 1, at, 1), -EINVAL);
	assert_int_equal(reg_error(mem, PAGE, UINT64_MAX - 8, 1), -EINVAL);
	assert_int_equal(reg_error(mem, PAGE, at, RNIC_ACCESS_REMOTE_WRITE),
			 -EINVAL);
	assert_int_equal(reg_error(mem, PAGE, at, RNIC_ACCESS_REMOTE_ATOMIC),
			 -EINVAL);
	assert_int_equal(reg_error(mem, PAGE, at, RNIC_ACCESS_REMOTE_READ), 0);
	assert_int_equal(reg_error(mem, PAGE, at, 1u << 7), -EINVAL);
	assert_int_equal(reg_error(mem, PAGE, at, 1u << 31), -EINVAL);
	munmap(mem, PAGE);
}

FILE_CASE(refuses_what_is_not_mapped)
{
	uint8_t *mem = pages(3 * PAGE, PROT_READ | PROT_WRITE);
	uint64_t at = (uintptr_t)mem;

	munmap(mem + PAGE, PAGE);
	assert_int_equal(reg_error(mem, PAGE, at, 1), 0);
	assert_int_equal(reg_error(mem, PAGE + 1, at, 1), -EFAULT);
	assert_int_equal(reg_error(mem, 3 * PAGE, at, 0), -EFAULT);
	assert_int_equal(reg_error(mem + PAGE - 1, 2, at, 0), -EFAULT);
	assert_int_equal(reg_error(mem + 2 * PAGE, PAGE, at, 1), 0);
	assert_int_equal(reg_error(NULL, 1, 0, 0), -EFAULT);
	munmap(mem, PAGE);
	munmap(mem + 2 * PAGE, PAGE);
}

CASE_WITH(refuses_what_is_not_mapped_on_old_kernels, setup_old, teardown)
{
	refuses_what_is_not_mapped(state);
}

FILE_CASE(refuses_to_write_what_is_read_only)
{
	uint8_t *ro = pages(PAGE, PROT_READ);
	uint8_t *none = pages(PAGE, PROT_NONE);

	assert_int_equal(reg_error(ro, PAGE, 0, 0), 0);
	assert_int_equal(reg_error(ro, PAGE, 0, RNIC_ACCESS_REMOTE_READ), 0);
	assert_int_equal(reg_error(ro, PAGE, 0, RNIC_ACCESS_LOCAL_WRITE),
			 -EFAULT);
	assert_int_equal(reg_error(none, PAGE, 0, 0), -EFAULT);
	munmap(ro, PAGE);
	munmap(none, PAGE);
}

FILE_CASE(addresses_zero_based_regions_from_zero)
{
	struct rnic_pd *pd = pd_new();
	uint8_t *mem = pages(PAGE, PROT_READ | PROT_WRITE);
	struct rnic_mr *mr;
	void *ptr;

	assert_int_equal(rnic_mr_reg(pd, mem, PAGE, (uintptr_t)mem,
				     1 | RNIC_ACCESS_ZERO_BASED, &mr),
			 0);
	assert_int_equal(rnic_mr_resolve(&ctx.mrs, pd, rnic_mr_stag(mr), 0,
					 PAGE, 0, &ptr),
			 RNIC_MR_OK);
	assert_ptr_equal(ptr, mem);
	assert_int_equal(rnic_mr_dereg(mr), 0);
	assert_int_equal(rnic_pd_free(pd), 0);
	munmap(mem, PAGE);
}

FILE_CASE(a_domain_in_use_is_busy)
{
	struct rnic_pd *pd = pd_new();
	struct rnic_mr *mr;
	uint8_t octet;

	assert_int_equal(rnic_mr_reg(pd, &octet, 1, 0, 1, &mr), 0);
	assert_int_equal(rnic_pd_free(pd), -EBUSY);
	assert_int_equal(rnic_mr_dereg(mr), 0);
	assert_int_equal(rnic_pd_free(pd), 0);
}

FILE_CASE(deregistration_hides_then_waits_then_frees)
{
	struct rnic_pd *pd = pd_new();
	uint8_t octets[16];

	assert_int_equal(rnic_mr_reg(pd, octets, 16, 0, 1, &gone_mr), 0);
	gone_pd = pd;
	gone_stag = rnic_mr_stag(gone_mr);
	assert_int_equal(rnic_mr_dereg(gone_mr), 0);
	assert_ptr_equal(gone_addr, octets);
	assert_int_equal(gone_len, 16);
	assert_int_equal(rnic_pd_free(pd), 0);
}

FILE_CASE(invalidation_ends_every_use)
{
	struct rnic_pd *pd = pd_new(), *other = pd_new();
	uint8_t octets[16];
	struct rnic_mr *mr;
	uint32_t stag;
	void *ptr;

	assert_int_equal(rnic_mr_reg(pd, octets, 16, 0, 5, &mr), 0);
	stag = rnic_mr_stag(mr);
	assert_int_equal(rnic_mr_invalidate(&ctx.mrs, other, stag),
			 RNIC_MR_BAD_PD);
	assert_int_equal(rnic_mr_resolve(&ctx.mrs, pd, stag, 0, 1, 4, &ptr),
			 RNIC_MR_OK);
	assert_int_equal(rnic_mr_invalidate(&ctx.mrs, pd, stag), RNIC_MR_OK);
	assert_int_equal(rnic_mr_invalidate(&ctx.mrs, pd, stag),
			 RNIC_MR_BAD_STAG);
	assert_int_equal(rnic_mr_resolve(&ctx.mrs, pd, stag, 0, 1, 0, &ptr),
			 RNIC_MR_BAD_STAG);
	assert_int_equal(rnic_mr_dereg(mr), 0);
	assert_int_equal(rnic_pd_free(pd), 0);
	assert_int_equal(rnic_pd_free(other), 0);
}

/* ---- registration anew ---- */

#define TRANSLATION RNIC_MR_CHANGE_TRANSLATION
#define CHANGE_PD RNIC_MR_CHANGE_PD
#define ACCESS RNIC_MR_CHANGE_ACCESS
#define ZERO RNIC_ACCESS_ZERO_BASED

static struct rnic_mr *mr_of(struct rnic_pd *pd, void *addr, size_t len,
			     uint64_t iova, uint32_t access)
{
	struct rnic_mr *mr;

	assert_int_equal(rnic_mr_reg(pd, addr, len, iova, access, &mr), 0);
	return mr;
}

/* Checks that it is exactly this region for @pd. */
static void assert_region(struct rnic_mr *mr, const struct rnic_pd *pd,
			  const void *addr, size_t len, uint64_t iova,
			  uint32_t access)
{
	uint32_t stag = rnic_mr_stag(mr);
	void *ptr = NULL;

	assert_int_equal(
		rnic_mr_resolve(&ctx.mrs, pd, stag, iova, len, 0, &ptr),
		RNIC_MR_OK);
	assert_ptr_equal(ptr, addr);
	assert_int_equal(
		rnic_mr_resolve(&ctx.mrs, pd, stag, iova, len + 1, 0, &ptr),
		RNIC_MR_BAD_BOUNDS);
	for (uint32_t bit = 1; bit <= RNIC_ACCESS_MW_BIND; bit <<= 1)
		assert_int_equal(rnic_mr_resolve(&ctx.mrs, pd, stag, iova, len,
						 bit, &ptr),
				 access & bit ? RNIC_MR_OK
					      : RNIC_MR_BAD_ACCESS);
}

/* Every flag alone, and all that can be combined; from 64 octets at 0x1000 with
 * write access. */
FILE_CASE(registers_anew)
{
	static const struct {
		uint32_t was, what;
		size_t off, len; /* requested */
		uint32_t access; /* requested */
		size_t is_off, is_len;
		uint32_t is_access;
		bool is_iova_old, is_iova_zero;
	} rows[] = {
		{ 1, CHANGE_PD, 9, 9, 9, 0, 64, 1, true, false },
		{ 1, ACCESS, 9, 9, 7, 0, 64, 7, true, false },
		{ 1, ACCESS, 9, 9, 0, 0, 64, 0, true, false },
		{ 1, TRANSLATION, 32, 96, 9, 32, 96, 1, false, false },
		{ 1, TRANSLATION, 0, 64, 9, 0, 64, 1, false, false },
		{ 1, TRANSLATION | ACCESS, 8, 1, 5, 8, 1, 5, false, false },
		{ 1, TRANSLATION | CHANGE_PD, 8, 1, 9, 8, 1, 1, false, false },
		{ 1, ACCESS | CHANGE_PD, 8, 1, 3, 0, 64, 3, true, false },
		{ 1, RNIC_MR_CHANGE_ALL, 8, 2, 4, 8, 2, 4, false, false },
		/* to zero-based, within it, and from it */
		{ 1, ACCESS, 0, 0, 1 | ZERO, 0, 64, 1 | ZERO, false, true },
		{ 1 | ZERO, TRANSLATION, 8, 2, 0, 8, 2, 1 | ZERO, false, true },
		{ 1 | ZERO, ACCESS, 0, 0, 1, 0, 64, 1, false, false },
	};
	struct rnic_pd *pd = pd_new(), *other = pd_new();
	uint8_t *mem = pages(PAGE, PROT_READ | PROT_WRITE);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rnic_mr *mr = mr_of(pd, mem, 64, 0x1000, rows[i].was);
		struct rnic_mr_change want = {
			.what = rows[i].what,
			.pd = other,
			.addr = mem + rows[i].off,
			.len = rows[i].len,
			.access = rows[i].access,
		};
		const struct rnic_pd *now = rows[i].what & CHANGE_PD ? other
								     : pd;
		uint64_t iova = (uintptr_t)mem + rows[i].is_off;
		uint32_t stag = rnic_mr_stag(mr);

		if (rows[i].is_iova_old)
			iova = 0x1000;
		else if (rows[i].is_iova_zero)
			iova = 0;
		gone_addr = NULL;
		assert_int_equal(rnic_mr_rereg(mr, &want), 0);
		/* the check of work in progress has run */
		assert_ptr_equal(gone_addr, mem);
		assert_int_equal(gone_len, 64);
		assert_int_equal(lead_cnt, 0);
		assert_int_equal(rnic_mr_stag(mr), stag);
		assert_region(mr, now, mem + rows[i].is_off, rows[i].is_len,
			      iova, rows[i].is_access);
		assert_int_equal(rnic_mr_dereg(mr), 0);
	}
	assert_int_equal(rnic_pd_free(pd), 0);
	assert_int_equal(rnic_pd_free(other), 0);
	munmap(mem, PAGE);
}

FILE_CASE(refuses_to_register_anew)
{
	struct rnic_context other = { .res = &ctx_res };
	struct rnic_pd *pd = pd_new(), *foreign;
	uint8_t *mem = pages(2 * PAGE, PROT_READ | PROT_WRITE);
	uint8_t *ro = pages(PAGE, PROT_READ);
	struct rnic_mr *mr = mr_of(pd, mem, 64, 0x1000, 1);

	munmap(mem + PAGE, PAGE);
	assert_int_equal(rnic_pd_alloc(&other, &foreign), 0);
	{
		const struct {
			struct rnic_mr_change want;
			int err;
		} rows[] = {
			{ { .what = 0 }, -EINVAL },
			{ { .what = 8 | ACCESS }, -EINVAL },
			{ { .what = 1u << 31 }, -EINVAL },
			{ { .what = CHANGE_PD, .pd = foreign }, -EINVAL },
			{ { .what = ACCESS, .access = 2 }, -EINVAL },
			{ { .what = ACCESS, .access = 8 }, -EINVAL },
			{ { .what = ACCESS, .access = 1u << 7 }, -EINVAL },
			{ { .what = TRANSLATION, .addr = mem }, -EINVAL },
			{ { .what = TRANSLATION, .addr = mem, .len = SIZE_MAX },
			  -EINVAL },
			{ { .what = TRANSLATION, .addr = mem, .len = PAGE + 1 },
			  -EFAULT },
			{ { .what = TRANSLATION, .addr = ro, .len = PAGE },
			  -EFAULT },
			{ { .what = TRANSLATION | CHANGE_PD,
			    .addr = mem,
			    .len = 1,
			    .pd = foreign },
			  -EINVAL },
		};

		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			if (rnic_mr_rereg(mr, &rows[i].want) != rows[i].err)
				fail_msg("row %zu", i);
			assert_null(gone_addr);
			assert_region(mr, pd, mem, 64, 0x1000, 1);
		}
	}
	assert_int_equal(rnic_pd_free(foreign), 0);
	assert_int_equal(rnic_mr_dereg(mr), 0);
	/* A region without write access may move to read-only memory. */
	mr = mr_of(pd, mem, 64, 0x1000, 1);
	assert_int_equal(rnic_mr_rereg(mr,
				       &(struct rnic_mr_change){
					       .what = TRANSLATION | ACCESS,
					       .addr = ro,
					       .len = PAGE,
					       .access = 4 }),
			 0);
	assert_region(mr, pd, ro, PAGE, (uintptr_t)ro, 4);
	assert_int_equal(rnic_mr_dereg(mr), 0);
	assert_int_equal(rnic_pd_free(pd), 0);
	munmap(mem, PAGE);
	munmap(ro, PAGE);
}

FILE_CASE(a_region_that_failed_to_change_is_as_it_was)
{
	struct rnic_pd *pd = pd_new(), *other = pd_new();
	uint8_t octets[64];
	struct rnic_mr *mr = mr_of(pd, octets, 64, 0, 1);

	assert_int_equal(rnic_mr_rereg(mr,
				       &(struct rnic_mr_change){
					       .what = RNIC_MR_CHANGE_ALL,
					       .pd = other,
					       .access = 1 }),
			 -EINVAL);
	assert_region(mr, pd, octets, 64, 0, 1);
	assert_int_equal(rnic_pd_free(other), 0); /* not counted anywhere */
	assert_int_equal(rnic_mr_dereg(mr), 0);
	assert_int_equal(rnic_pd_free(pd), 0);
}

FILE_CASE(moves_between_domains)
{
	struct rnic_pd *pd = pd_new(), *other = pd_new();
	uint8_t octets[64];
	struct rnic_mr *mr = mr_of(pd, octets, 64, 0, 1);
	struct rnic_mr_change want = { .what = CHANGE_PD, .pd = other };
	void *ptr;

	assert_int_equal(rnic_mr_rereg(mr, &want), 0);
	assert_int_equal(
		rnic_mr_resolve(&ctx.mrs, pd, rnic_mr_stag(mr), 0, 1, 0, &ptr),
		RNIC_MR_BAD_PD);
	assert_int_equal(rnic_pd_free(pd), 0);
	assert_int_equal(rnic_pd_free(other), -EBUSY);
	assert_int_equal(rnic_mr_rereg(mr, &want),
			 0); /* to its present place */
	assert_int_equal(rnic_mr_dereg(mr), 0);
	assert_int_equal(rnic_pd_free(other), 0);
}

FILE_CASE(an_invalidated_region_gets_another_key)
{
	struct rnic_pd *pd = pd_new();
	uint8_t octets[64];
	struct rnic_mr *mr = mr_of(pd, octets, 64, 0, 5);
	struct rnic_mr_change want = { .what = ACCESS, .access = 5 };
	uint32_t stag = rnic_mr_stag(mr);
	void *ptr;

	assert_int_equal(rnic_mr_invalidate(&ctx.mrs, pd, stag), RNIC_MR_OK);
	assert_int_equal(rnic_mr_rereg(mr, &want), 0);
	assert_int_equal(rnic_mr_stag(mr) >> 8, stag >> 8);
	assert_int_not_equal(rnic_mr_stag(mr), stag);
	assert_region(mr, pd, octets, 64, 0, 5);
	assert_int_equal(rnic_mr_resolve(&ctx.mrs, pd, stag, 0, 1, 0, &ptr),
			 RNIC_MR_BAD_STAG);
	assert_int_equal(rnic_mr_dereg(mr), 0);
	assert_int_equal(rnic_pd_free(pd), 0);
}

FILE_CASE(a_region_with_windows_is_busy)
{
	struct rnic_pd *pd = pd_new();
	uint8_t octets[64];
	struct rnic_mr *mr = mr_of(pd, octets, 64, 0, 1);
	struct rnic_mr_change want = { .what = ACCESS, .access = 5 };

	mr->mw_cnt = 1;
	assert_int_equal(rnic_mr_dereg(mr), -EBUSY);
	assert_int_equal(rnic_mr_rereg(mr, &want), -EBUSY);
	assert_int_equal(lead_cnt, 0);
	assert_null(gone_addr);
	assert_region(mr, pd, octets, 64, 0, 1);
	mr->mw_cnt = 0;
	assert_int_equal(rnic_mr_dereg(mr), 0);
	assert_int_equal(rnic_pd_free(pd), 0);
}
