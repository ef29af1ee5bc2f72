/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* dm.c: limits, copies, and regions of device memory that a peer accesses. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mem/context.h"
#include "mem/dm.h"
#include "rnicpair.h"
#include "test.h"

static struct rnic_context *ctx;

static int setup(void **state)
{
	struct rnic_device *const *list;

	if (rnic_device_list(&list) < 1)
		return -1;
	return rnic_context_open(list[0], &ctx);
}

static int teardown(void **state)
{
	rnic_context_close(ctx);
	return 0;
}

static struct rnic_dm *dm_new(size_t len)
{
	struct rnic_dm *dm;

	assert_int_equal(rnic_dm_alloc(ctx, len, 0, &dm), 0);
	return dm;
}

CASE(allocates_within_its_limits)
{
	uint64_t max = rnic_limits()->max_dm_size;
	const struct {
		size_t len;
		uint32_t log_align;
		int err;
	} rows[] = {
		{ 1, 0, 0 },
		{ 4097, 3, 0 },
		{ 64, 12, 0 },
		{ 64, 16, 0 },
		{ 100000, 21, 0 },
		{ max, 0, 0 },
		{ 0, 0, -EINVAL },
		{ 1, 40, -EINVAL },
		{ 1, 64, -EINVAL },
		{ 1, UINT32_MAX, -EINVAL },
		{ max + 1, 0, -ENOMEM },
		{ SIZE_MAX, 0, -ENOMEM },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rnic_dm *dm = NULL;
		struct rnic_pd *pd;
		struct rnic_mr *mr;

		if (rnic_dm_alloc(ctx, rows[i].len, rows[i].log_align, &dm) !=
		    rows[i].err)
			fail_msg("row %zu", i);
		if (rows[i].err) {
			assert_null(dm);
			continue;
		}
		assert_int_equal(rnic_pd_alloc(ctx, &pd), 0);
		assert_int_equal(
			rnic_dm_reg(pd, dm, 0, 1, RNIC_ACCESS_ZERO_BASED, &mr),
			0);
		assert_int_equal(
			(uintptr_t)mr->addr % (1ull << rows[i].log_align), 0);
		assert_int_equal(rnic_mr_dereg(mr), 0);
		assert_int_equal(rnic_pd_free(pd), 0);
		assert_int_equal(rnic_dm_free(dm), 0);
	}
}

CASE(shares_what_there_is)
{
	size_t half = rnic_limits()->max_dm_size / 2;
	struct rnic_dm *a = dm_new(half), *b = dm_new(half), *c;

	assert_int_equal(rnic_dm_alloc(ctx, 1, 0, &c), -ENOMEM);
	assert_int_equal(rnic_dm_free(a), 0);
	c = dm_new(half);
	assert_int_equal(rnic_dm_free(b), 0);
	assert_int_equal(rnic_dm_free(c), 0);
	assert_int_equal(ctx->mrs.dm_used, 0);
	(void)dm_new(64); /* not freed: the context frees it */
}

CASE(copies_whole_words_inside)
{
	static const struct {
		uint64_t off;
		size_t len;
		int err;
	} rows[] = {
		{ 0, 100, 0 },
		{ 96, 4, 0 },
		{ 100, 0, 0 },
		{ 0, 0, 0 },
		{ 100, 4, -EFAULT },
		{ 0, 104, -EFAULT },
		{ 104, 4, -EFAULT },
		{ UINT64_MAX - 3, 8, -EFAULT },
		{ 4, SIZE_MAX, -EFAULT },
		{ 3, 4, -EINVAL },
		{ 4, 3, -EINVAL },
		{ 2, 2, -EINVAL },
	};
	struct rnic_dm *dm = dm_new(100);
	uint8_t out[104], in[104];

	memset(in, 0xee, sizeof(in));
	assert_int_equal(rnic_dm_read(dm, 0, in, 100), 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(in[i],
				 0); /* no octets of another allocation */
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		rnicpair_fill(out, sizeof(out), (uint32_t)i);
		memset(in, 0xee, sizeof(in));
		if (rnic_dm_write(dm, rows[i].off, out, rows[i].len) !=
			    rows[i].err ||
		    rnic_dm_read(dm, rows[i].off, in, rows[i].len) !=
			    rows[i].err)
			fail_msg("row %zu", i);
		if (!rows[i].err)
			assert_memory_equal(in, out, rows[i].len);
		else
			assert_int_equal(in[0], 0xee);
	}
	assert_int_equal(rnic_dm_free(dm), 0);
}

CASE(registers_zero_based_only)
{
	const uint32_t zero = RNIC_ACCESS_ZERO_BASED;
	static const struct {
		uint64_t off;
		size_t len;
		uint32_t access;
		int err;
	} rows[] = {
		{ 0, 100, 32, 0 },
		{ 50, 50, 33, 0 },
		{ 0, 100, 0, -EINVAL },
		{ 0, 100, 7, -EINVAL },
		{ 0, 101, 32, -EINVAL },
		{ 100, 1, 32, -EINVAL },
		{ 0, 0, 32, 0 },
		{ UINT64_MAX, 2, 32, -EINVAL },
		{ 0, 100, 34, -EINVAL }, /* remote write alone */
		{ 0, 100, 32 | 64, -EINVAL },
	};
	struct rnic_dm *dm = dm_new(100);
	struct rnic_context *other;
	struct rnic_pd *pd, *foreign;
	struct rnic_mr *mr;

	assert_int_equal(rnic_pd_alloc(ctx, &pd), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rnic_dm_reg(pd, dm, rows[i].off, rows[i].len,
				rows[i].access, &mr) != rows[i].err)
			fail_msg("row %zu", i);
		if (!rows[i].err)
			assert_int_equal(rnic_mr_dereg(mr), 0);
	}
	assert_int_equal(rnic_context_open(ctx->dev, &other), 0);
	assert_int_equal(rnic_pd_alloc(other, &foreign), 0);
	assert_int_equal(rnic_dm_reg(foreign, dm, 0, 4, zero, &mr), -EINVAL);
	assert_int_equal(rnic_pd_free(foreign), 0);
	rnic_context_close(other);

	assert_int_equal(rnic_dm_reg(pd, dm, 0, 4, zero, &mr), 0);
	assert_int_equal(rnic_dm_free(dm), -EBUSY);
	/* It keeps its memory and has no address. */
	assert_int_equal(
		rnic_mr_rereg(mr,
			      &(struct rnic_mr_change){
				      .what = RNIC_MR_CHANGE_TRANSLATION,
				      .addr = &mr,
				      .len = 4 }),
		-EINVAL);
	assert_int_equal(
		rnic_mr_rereg(
			mr, &(struct rnic_mr_change){ .what = 4, .access = 1 }),
		-EINVAL);
	assert_int_equal(rnic_mr_rereg(mr,
				       &(struct rnic_mr_change){
					       .what = 4, .access = 1 | zero }),
			 0);
	assert_int_equal(rnic_mr_dereg(mr), 0);
	assert_int_equal(rnic_dm_free(dm), 0);
	assert_int_equal(rnic_pd_free(pd), 0);
}

/* As a forked child does, which may not use the parent's memory. */
CASE(a_child_has_memory_of_its_own)
{
	struct rnic_dm *dm, *own;
	uint32_t word = 7;
	int status;
	pid_t pid;

#ifdef __SANITIZE_THREAD__
	skip_because("no threads after a fork under TSan");
#endif
	dm = dm_new(64);
	util_lock(&ctx->mrs.lock); /* held by a thread that does not exist in
				      the child */
	pid = fork();
	if (pid == 0) {
		bool is_good = rnic_dm_write(dm, 0, &word, 4) == -ENODEV &&
			       rnic_dm_free(dm) == -ENODEV &&
			       rnic_context_enter(ctx) == 0 &&
			       rnic_dm_alloc(ctx, 64, 0, &own) == 0 &&
			       rnic_dm_write(own, 0, &word, 4) == 0 &&
			       rnic_dm_read(own, 0, &word, 4) == 0 &&
			       word == 7 && rnic_dm_free(own) == 0;

		_exit(!is_good);
	}
	util_unlock(&ctx->mrs.lock);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(rnic_dm_write(dm, 0, &word, 4), 0);
	assert_int_equal(rnic_dm_free(dm), 0);
}

CASE(peers_reach_it)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	struct rnicpair_wr wr = {
		.opcode = USIW_WR_WRITE,
		.flags = USIW_SQE_SIGNALED,
		.sge_cnt = 1,
	};
	struct rnicpair_side *a, *b;
	struct usiw_sge sge;
	struct rnic_dm *dm;
	struct rnic_mr *mr;
	struct rnicpair p;
	uint8_t copy[4096];

	rnicpair_open(&p, &opt);
	a = &p.side[0];
	b = &p.side[1];
	assert_int_equal(rnic_dm_alloc(b->ctx, 8192, 0, &dm), 0);
	assert_int_equal(rnic_dm_reg(b->pd, dm, 4096, 4096, 7 | 32, &mr), 0);
	rnicpair_fill(a->buf, 4096, 3);
	sge = rnicpair_sge(a, 0, 4096);
	wr.sge = &sge;
	wr.rkey = rnic_mr_stag(mr);
	assert_int_equal(rnicpair_post(a, &wr), 0);
	assert_int_equal(rnicpair_take(a, a->scq).status, USIW_WC_SUCCESS);
	/* and back, after the WRITE */
	sge = rnicpair_sge(a, 4096, 4096);
	wr.opcode = USIW_WR_READ;
	assert_int_equal(rnicpair_post(a, &wr), 0);
	assert_int_equal(rnicpair_take(a, a->scq).status, USIW_WC_SUCCESS);
	assert_true(rnicpair_is_filled(a->buf + 4096, 4096, 3));
	assert_int_equal(rnic_dm_read(dm, 4096, copy, 4096), 0);
	assert_true(rnicpair_is_filled(copy, 4096, 3));
	assert_int_equal(rnic_dm_free(dm), -EBUSY);
	assert_int_equal(rnic_mr_dereg(mr), 0);
	assert_int_equal(rnic_dm_free(dm), 0);
	rnicpair_close(&p);
}

ALL_CASES_WITH(setup, teardown);
