/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * direct.c: Writes of a QP that go into the peer's memory directly.  Their
 * order with all else, and that every way to end a right ends them.
 */
#define _GNU_SOURCE
#include "child.h"
#include "must.h"
#include "test.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engine/engine.h"
#include "local/local.h"
#include "os/stat.h"
#include "os/write-if.h"
#include "qp/object.h"
#include "rnicpair.h"
#include "stream/modify.h"
#include "stream/object.h"

#define FAR (1u << 20) /* of the buffers: not where the Writes go */

static uint64_t direct_cnt(void)
{
	const struct usiw_stat_page *page = rnic_stat_page_now();
	uint64_t cnt = atomic_load(&page->stat[RNIC_STAT_local_direct].value);

	for (uint32_t i = 0; i < page->part_cnt; i++)
		cnt += atomic_load(
			&page->part[i].value[RNIC_STAT_local_direct]);
	return cnt;
}

static struct rnic_engine *engine_of(struct rnicpair *p, int side)
{
	return p->side[side].ctx->engine;
}

/*
 * The peer has placed all, and sleeps.  The indices of the ring tell so, but
 * each side has a mapping of its own, and TSan does not see their order.  It
 * sees that of the lead under which the octets were placed.
 */
static bool is_drained(struct rnicpair *p, int from)
{
	struct rnic_stream *stream = p->side[from].qp->stream;

	return with_lead(engine_of(p, from),
			 stream->local && rnic_local_sends(stream->local) &&
				 rnic_local_is_drained(stream->local)) &&
	       with_lead(engine_of(p, !from), true);
}

struct target {
	uint32_t stag;
	uint64_t to;
};

static struct target buf_of(struct rnicpair *p, int side)
{
	return (struct target){ p->side[side].stag,
				rnicpair_addr(&p->side[side], 0) };
}

static enum usiw_wc_status write_to(struct rnicpair *p, int from,
				    const struct target *target, size_t len)
{
	struct rnicpair_side *s = &p->side[from];
	struct usiw_sge sge = rnicpair_sge(s, FAR, len);

	rnicpair_post_wr(s, .wr_id = 1, .opcode = USIW_WR_WRITE,
			 .flags = USIW_SQE_SIGNALED, .sge = &sge, .sge_cnt = 1,
			 .rkey = target->stag, .remote_addr = target->to);
	return rnicpair_take(s, s->scq).status;
}

/* Messages to and fro until the octets go by the rings. */
static void begin_local(struct rnicpair *p, int from)
{
	for (uint32_t i = 0; i < 1000; i++) {
		const struct rnic_stream *stream = p->side[from].qp->stream;

		rnicpair_post_echo(p, (int)(i & 1), 8);
		must(rnicpair_take(&p->side[!(i & 1)], p->side[!(i & 1)].rcq)
			     .status == USIW_WC_SUCCESS);
		must(rnicpair_take(&p->side[i & 1], p->side[i & 1].scq)
			     .status == USIW_WC_SUCCESS);
		if (with_lead(engine_of(p, from),
			      stream->local && rnic_local_sends(stream->local)))
			break;
	}
}

/* Writes of that length until one has gone directly. */
static void write_directly(struct rnicpair *p, int from,
			   const struct target *target, size_t len)
{
	uint64_t before = direct_cnt();

	for (int i = 0; i < 1000 && direct_cnt() == before; i++) {
		must(write_to(p, from, target, len) == USIW_WC_SUCCESS);
		wait_until(is_drained(p, from));
	}
	must(direct_cnt() > before);
}

static void begin(struct rnicpair *p, int from, const struct target *target)
{
	begin_local(p, from);
	write_directly(p, from, target, 8);
}

/* ---- what goes there ---- */

static const struct {
	size_t len;
	bool is_direct;
} lens[] = {
	{ 1, true },	   { 8, true },
	{ 4096, true },	   { RNIC_DIRECT_MAX, true },
	{ 0, false },	   { RNIC_DIRECT_MAX + 1, false },
	{ 300000, false },
};

static void short_writes_to_a_sleeper_go_directly(void **state)
{
	struct rnicpair *p = *state;
	struct rnicpair_side *b = &p->side[1];

	for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
		struct target target = buf_of(p, 1);
		size_t len = lens[i].len;
		uint64_t before;

		begin(p, 0, &target);
		before = direct_cnt();
		rnicpair_fill(p->side[0].buf + FAR, len, (uint32_t)i);
		memset(b->buf, 0xee, len + 1);
		assert_int_equal(write_to(p, 0, &target, len), USIW_WC_SUCCESS);
		wait_until(is_drained(p, 0));
		assert_true(rnicpair_is_filled(b->buf, len, (uint32_t)i));
		assert_int_equal(b->buf[len], 0xee);
		if (!lens[i].is_direct) {
			assert_int_equal(direct_cnt(), before);
			continue;
		}
		/* The one before may have gone by the ring. */
		memset(b->buf, 0xee, len + 1);
		write_directly(p, 0, &target, len);
		assert_true(rnicpair_is_filled(b->buf, len, (uint32_t)i));
		assert_int_equal(b->buf[len], 0xee);
	}
}

static void inline_octets_go_directly(void **state)
{
	struct rnicpair *p = *state;
	struct rnicpair_side *a = &p->side[0];
	struct target target = buf_of(p, 1);
	uint64_t before;

	begin(p, 0, &target);
	before = direct_cnt();
	for (int i = 0; i < 1000 && direct_cnt() == before; i++) {
		rnicpair_post_wr(a, .wr_id = 1, .opcode = USIW_WR_WRITE,
				 .flags = USIW_SQE_SIGNALED | USIW_SQE_INLINE,
				 .inline_data = "inline", .inline_len = 6,
				 .rkey = target.stag, .remote_addr = target.to);
		assert_int_equal(rnicpair_take(a, a->scq).status,
				 USIW_WC_SUCCESS);
		wait_until(is_drained(p, 0));
	}
	assert_true(direct_cnt() > before);
	assert_memory_equal(p->side[1].buf, "inline", 6);
}

/* ---- order ---- */

/* Each value is written over the one before, directly or by the ring, alone or
 * behind other messages: at the end of each round the last one stands. */
static void no_write_passes_another_message(void **state)
{
	struct rnicpair *p = *state;
	struct rnicpair_side *a = &p->side[0], *b = &p->side[1];
	struct target target = buf_of(p, 1);
	uint32_t seed = 1;

	begin(p, 0, &target);
	for (uint32_t round = 0; round < 3000; round++) {
		struct usiw_sge sge = rnicpair_sge(a, FAR, 8);
		struct usiw_sge back = rnicpair_sge(a, 0, 8);
		uint64_t value = round + 1;
		uint32_t cnt;

		seed = seed * 1103515245u + 12345u;
		cnt = 1 + (seed >> 16) % 3;
		memcpy(a->buf + FAR, &value, 8);
		for (uint32_t i = 0; i < cnt; i++)
			rnicpair_post_wr(
				a, .opcode = USIW_WR_WRITE, .sge = &sge,
				.sge_cnt = 1,
				.flags = i + 1 == cnt ? USIW_SQE_SIGNALED : 0,
				.rkey = target.stag, .remote_addr = target.to);
		assert_int_equal(rnicpair_take(a, a->scq).status,
				 USIW_WC_SUCCESS);
		if (seed >> 20 & 1) {
			rnicpair_post_wr(a, .opcode = USIW_WR_READ,
					 .flags = USIW_SQE_SIGNALED,
					 .sge = &back, .sge_cnt = 1,
					 .rkey = target.stag,
					 .remote_addr = target.to);
			assert_int_equal(rnicpair_take(a, a->scq).status,
					 USIW_WC_SUCCESS);
			assert_memory_equal(a->buf, &value, 8);
		}
		if (seed >> 21 & 1)
			wait_until(is_drained(p, 0));
	}
	wait_until(is_drained(p, 0));
	assert_memory_equal(b->buf, a->buf + FAR, 8);
}

/* ---- rights that end ---- */

struct right {
	struct rnicpair *p;
	struct rnic_mr *mr; /* of side 1; its own */
	struct rnic_mw *mw;
	uint8_t *mem;
	struct target target;
};

#define MEM_LEN 8192u
#define ALL                                                                    \
	(RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE |                  \
	 RNIC_ACCESS_MW_BIND)

static void by_dereg(struct right *r)
{
	assert_int_equal(rnic_mr_dereg(r->mr), 0);
	r->mr = NULL;
}

static void by_rereg(struct right *r)
{
	struct rnic_mr_change change = {
		.what = RNIC_MR_CHANGE_ACCESS,
		.access = RNIC_ACCESS_LOCAL_WRITE,
	};

	assert_int_equal(rnic_mr_rereg(r->mr, &change), 0);
}

static void by_the_qps_access(struct right *r)
{
	assert_int_equal(
		rnic_qp_set_access(r->p->side[1].qp, RNIC_ACCESS_REMOTE_READ),
		0);
}

static void by_local_inv(struct right *r)
{
	struct rnicpair_side *b = &r->p->side[1];

	rnicpair_post_wr(b, .opcode = USIW_WR_LOCAL_INV,
			 .flags = USIW_SQE_SIGNALED, .rkey = r->target.stag);
	assert_int_equal(rnicpair_take(b, b->scq).status, USIW_WC_SUCCESS);
}

static void by_error(struct right *r)
{
	assert_int_equal(rnic_qp_change(r->p->side[1].qp, RNIC_QPS_ERROR), 0);
}

static void by_window_dealloc(struct right *r)
{
	assert_int_equal(rnic_mw_dealloc(r->mw), 0);
	r->mw = NULL;
}

static const struct {
	const char *name;
	void (*end)(struct right *r);
	enum rnic_mw_type window; /* 0: the region itself */
	enum usiw_wc_status status;
} rights[] = {
	{ "deregistration", by_dereg, 0, USIW_WC_REM_ACCESS_ERR },
	{ "registration anew", by_rereg, 0, USIW_WC_REM_ACCESS_ERR },
	{ "the QP's access", by_the_qps_access, 0, USIW_WC_REM_ACCESS_ERR },
	{ "LOCAL_INV of a region", by_local_inv, 0, USIW_WC_REM_ACCESS_ERR },
	{ "LOCAL_INV of a window", by_local_inv, RNIC_MW_TYPE_2,
	  USIW_WC_REM_ACCESS_ERR },
	{ "the end of a window", by_window_dealloc, RNIC_MW_TYPE_1,
	  USIW_WC_REM_ACCESS_ERR },
	{ "the error state", by_error, 0, USIW_WC_WR_FLUSH_ERR },
};

static void right_open(struct right *r, struct rnicpair *p,
		       enum rnic_mw_type window)
{
	struct rnicpair_side *b = &p->side[1];

	*r = (struct right){ .p = p };
	r->mem = mmap(NULL, MEM_LEN, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(r->mem != MAP_FAILED);
	must(rnic_mr_reg(b->pd, r->mem, MEM_LEN, (uintptr_t)r->mem, ALL,
			 &r->mr) == 0);
	r->target = (struct target){ rnic_mr_stag(r->mr), (uintptr_t)r->mem };
	if (window) {
		r->mw = rnicpair_window_open(b, b->qp, r->mr, window,
					     RNIC_ACCESS_REMOTE_WRITE);
		r->target.stag = rnic_mw_stag(r->mw);
	}
}

static void right_close(struct right *r)
{
	if (r->mw)
		must(rnic_mw_dealloc(r->mw) == 0);
	if (r->mr)
		must(rnic_mr_dereg(r->mr) == 0);
	munmap(r->mem, MEM_LEN);
}

static void nothing_is_written_without_the_right(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rights); i++) {
		struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
		enum usiw_wc_status status = USIW_WC_SUCCESS;
		struct rnicpair p;
		struct right r;

		rnicpair_open(&p, &opt);
		right_open(&r, &p, rights[i].window);
		begin(&p, 0, &r.target);
		rights[i].end(&r);
		memset(r.mem, 0xee, 8);
		memset(p.side[0].buf + FAR, 0x11, 8);
		/* A Write completes when the ring has it, and the next ones
		 * fail. */
		while (status == USIW_WC_SUCCESS) {
			status = write_to(&p, 0, &r.target, 8);
			if (status == USIW_WC_SUCCESS)
				assert_row(rights[i].name, r.mem[0] == 0xee);
		}
		assert_row(rights[i].name, r.mem[0] == 0xee);
		assert_row(rights[i].name,
			   status == rights[i].status ||
				   status == USIW_WC_WR_FLUSH_ERR);
		right_close(&r);
		rnicpair_close(&p);
	}
}

/* The region is there, and its memory is not: the peer says so.  In a child, as
 * cmocka has handlers of its own for the fault. */
static int write_to_what_is_gone(void)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	enum usiw_wc_status status = USIW_WC_SUCCESS;
	struct rnicpair p;
	struct right r;

	signal(SIGSEGV, SIG_DFL);
	rnicpair_open(&p, &opt);
	right_open(&r, &p, 0);
	begin(&p, 0, &r.target);
	CHECK(munmap(r.mem, MEM_LEN) == 0);
	while (status == USIW_WC_SUCCESS)
		status = write_to(&p, 0, &r.target, 8);
	right_close(&r);
	rnicpair_close(&p);
	return 0;
}

static void memory_that_is_gone_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(in_child(write_to_what_is_gone), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* First: its child has no connections of its parent. */
		cmocka_unit_test(memory_that_is_gone_is_an_error),
		PAIR_TEST(short_writes_to_a_sleeper_go_directly),
		PAIR_TEST(inline_octets_go_directly),
		PAIR_TEST(no_write_passes_another_message),
		cmocka_unit_test(nothing_is_written_without_the_right),
	};

	/* The tests of rnic/ use the wire unless they say otherwise. */
	setenv("USIW_LOCAL", "auto", 1);
	setenv("USIW_LOCAL_AFTER", "0", 1);
	if (!rnic_write_if_works()) {
		print_message("skipped: threads have no restartable "
			      "sequences here\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
