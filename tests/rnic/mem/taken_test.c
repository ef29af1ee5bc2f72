/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Regions and rights that are taken away while peers use them. */
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "engine/engine.h"
#include "mem/context.h"
#include "mem/mw.h"
#include "qp/object.h"
#include "rawpeer.h"
#include "stream/object.h"

static const struct rnicpair_options defaults = RNICPAIR_OPTIONS_INIT;

static struct {
	struct rnicpair p;
	_Atomic uint32_t stag;
	struct rnic_mr *mr;
	struct rnic_mw *mw; /* NULL: none is bound */
} gone;

static void take_region(void)
{
	must(!rnic_mr_dereg(gone.mr));
	gone.mr = NULL;
}

static void take_regions_right(void)
{
	const struct rnic_mr_change want = {
		.what = RNIC_MR_CHANGE_ACCESS,
		.access = RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_READ,
	};

	must(!rnic_mr_rereg(gone.mr, &want));
}

static void take_qps_right(void)
{
	must(!rnic_qp_set_access(gone.p.side[1].qp, RNIC_ACCESS_REMOTE_READ));
}

static void take_window(void)
{
	must(!rnic_mw_dealloc(gone.mw));
	gone.mw = NULL;
}

static const struct take {
	void (*take)(void);
	enum rnic_mw_type type; /* 0: the peer uses the region */
} takes[] = {
	{ .take = take_region },	 { .take = take_regions_right },
	{ .take = take_qps_right },	 { take_window, RNIC_MW_TYPE_1 },
	{ take_window, RNIC_MW_TYPE_2 },
};

/* The peer uses a window over the whole region. */
static void bind_window(enum rnic_mw_type type)
{
	struct rnicpair_side *b = &gone.p.side[1];

	must(!rnic_mw_alloc(b->pd, type, &gone.mw));
	rnicpair_post_wr(
		b, .opcode = USIW_WR_BIND_MW, .flags = USIW_SQE_SIGNALED,
		.rkey = rnic_mw_stag(gone.mw) ^ 1,
		.imm_be = rnic_mr_stag(gone.mr),
		.remote_addr = rnicpair_addr(b, 0), .compare_add = 300000,
		.swap = RNIC_ACCESS_REMOTE_WRITE);
	assert_int_equal(rnicpair_take(b, b->scq).status, USIW_WC_SUCCESS);
	atomic_store(&gone.stag, rnic_mw_stag(gone.mw));
}

static void *gone_write(void *arg)
{
	struct rnicpair_side *a = &gone.p.side[0], *b = &gone.p.side[1];

	(void)arg;
	while (rnic_qp_state(a->qp) == RNIC_QPS_RTS) {
		struct usiw_sge sge = rnicpair_sge(a, 0, 300000);
		struct rnicpair_wr wr = {
			.opcode = USIW_WR_WRITE,
			.flags = USIW_SQE_SIGNALED,
			.sge = &sge,
			.sge_cnt = 1,
			.rkey = atomic_load(&gone.stag),
			.remote_addr = rnicpair_addr(b, 0),
		};
		struct usiw_cqe cqe;

		if (rnicpair_post(a, &wr))
			sched_yield();
		while (rnicpair_poll(a, a->scq, &cqe))
			continue;
	}
	return NULL;
}

static uint64_t received_fpdus(struct rnic_qp *qp)
{
	return with_lead(qp->engine,
			 smpa_conn_counters(rnic_qp_stream(qp)->conn)->rx_fpdu);
}

static void untouched_after(const struct take *take, int round)
{
	static const uint8_t zero[300000];
	struct rnicpair_options opt = defaults;
	struct rnicpair_side *b = &gone.p.side[1];
	pthread_t thread;

	opt.has_crc = round & 1;
	rnicpair_open(&gone.p, &opt);
	must(!rnic_mr_dereg(b->mr));
	b->mr = NULL;
	must(!rnic_mr_reg(b->pd, b->buf, 300000, rnicpair_addr(b, 0),
			  RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE |
				  RNIC_ACCESS_MW_BIND,
			  &gone.mr));
	atomic_store(&gone.stag, rnic_mr_stag(gone.mr));
	if (take->type)
		bind_window(take->type);
	memset(gone.p.side[0].buf, 0xff, 300000);
	must(!pthread_create(&thread, NULL, gone_write, NULL));
	wait_until(received_fpdus(b->qp) >= (uint64_t)round);
	take->take();
	memset(b->buf, 0, 300000);
	/* The writer continues until it has received the Terminate, which
	 * follows everything that could still be placed. */
	rnicpair_wait_state(b, RNIC_QPS_TERMINATE);
	pthread_join(thread, NULL);
	assert_memory_equal(zero, b->buf, sizeof(zero));
	if (gone.mr)
		must(!rnic_mr_dereg(gone.mr));
	rnicpair_close(&gone.p);
}

/* No octet changes after the call that took the region, a window, or a right,
 * has returned. */
CASE(memory_is_untouched_once_it_is_taken)
{
	for (size_t i = 0; i < ARRAY_LEN(takes); i++)
		for (int round = 0; round < 12; round++)
			untouched_after(&takes[i], round);
}

/* One of two regions over the same memory is deregistered. Work with the other
 * key is not affected. */
CASE(deregistering_a_region_leaves_the_other)
{
	for (int mode = 0; mode < 2; mode++) {
		struct rnicpair_options opt = defaults;
		struct rnicpair p;
		struct rawpeer raw;
		struct rnicpair_side *a = &p.side[0];
		struct usiw_sge sge;
		struct rnic_mr *twin;

		opt.sockbuf = 16384;
		opt.has_crc = mode;
		rawpeer_open(&raw, &p, &opt);
		must(!rnic_mr_reg(
			a->pd, a->buf, a->buf_len, rnicpair_addr(a, 0),
			RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_READ,
			&twin));
		/* In flight with the first key, and a response too. */
		sge = rnicpair_sge(a, 0, 1u << 20);
		rnicpair_post_wr(a, .wr_id = 1, .opcode = USIW_WR_SEND,
				 .flags = USIW_SQE_SIGNALED, .sge = &sge,
				 .sge_cnt = 1);
		rawpeer_read(&raw, 1, 0, a->stag, rnicpair_addr(a, 0),
			     1u << 20);
		assert_true(rnicpair_is_quiet(&p, a->scq));
		must(!rnic_mr_dereg(twin));
		assert_int_equal(rawpeer_event(&raw).type, SMPA_EV_MESSAGE);
		assert_int_equal(rawpeer_event(&raw).type, SMPA_EV_MESSAGE);
		assert_int_equal(rnicpair_take(a, a->scq).status,
				 USIW_WC_SUCCESS);
		assert_int_equal(rnic_qp_state(a->qp), RNIC_QPS_RTS);
		rawpeer_close_both(&raw, &p);
	}
}
