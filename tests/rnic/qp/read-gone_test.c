/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The source of the peer's RDMA Reads is deregistered, registered anew,
 * invalidated, or a closed window, or the QP loses the right to be read, before
 * all Reads are answered (U-14).
 */
#include "test.h"

#include "qp/qp.h"
#include "engine/engine.h"
#include "rawpeer.h"

#define READ_LEN 3000000u

static void deregister(struct rnicpair_side *s)
{
	assert_int_equal(rnic_mr_dereg(s->mr), 0);
	s->mr = NULL;
}

static void register_anew(struct rnicpair_side *s)
{
	struct rnic_mr_change want = {
		.what = RNIC_MR_CHANGE_ACCESS,
		.access = RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_READ,
	};

	assert_int_equal(rnic_mr_rereg(s->mr, &want), 0);
}

static void take_the_right(struct rnicpair_side *s)
{
	assert_int_equal(rnic_qp_set_access(s->qp, RNIC_ACCESS_REMOTE_WRITE),
			 0);
}

/* ---- windows ---- */

static struct rnic_mw *mw;
static struct rnic_mr *mw_mr;

static void post_local(struct rnicpair_side *s, uint8_t opcode, uint32_t stag)
{
	const struct rnicpair_wr wr = { .opcode = opcode, .rkey = stag };
	struct usiw_cqe cqe;

	assert_int_equal(rnicpair_post(s, &wr), 0);
	/* It completes, and the end that it causes is not its error. */
	cqe = rnicpair_take(s, s->scq);
	assert_int_equal(cqe.status, USIW_WC_WR_FLUSH_ERR);
}

/* Opens a window on the whole buffer. Return: the STag. */
static uint32_t window_open(struct rnicpair_side *s, enum rnic_mw_type type)
{
	assert_int_equal(rnic_mr_reg(s->pd, s->buf, s->buf_len,
				     rnicpair_addr(s, 0), RNIC_ACCESS_MW_BIND,
				     &mw_mr),
			 0);
	mw = rnicpair_window_open(s, s->qp, mw_mr, type,
				  RNIC_ACCESS_REMOTE_READ);
	return rnic_mw_stag(mw);
}

static void window_dealloc(struct rnicpair_side *s)
{
	(void)s;
	assert_int_equal(rnic_mw_dealloc(mw), 0);
	mw = NULL;
}

/* By a work request, which is in the queue of the stream that ends. */
static void window_unbind(struct rnicpair_side *s)
{
	post_local(s, USIW_WR_BIND_MW, rnic_mw_stag(mw));
}

static void window_invalidate(struct rnicpair_side *s)
{
	post_local(s, USIW_WR_LOCAL_INV, rnic_mw_stag(mw));
}

static void region_invalidate(struct rnicpair_side *s)
{
	post_local(s, USIW_WR_LOCAL_INV, s->stag);
}

/* Work with other memory waits after the answer. It did not cause the error. */
static void waits_behind_the_answer(struct rnicpair_side *s)
{
	static uint8_t own[8192];
	struct rnic_mr *mr;
	struct usiw_cqe cqe;

	assert_int_equal(rnic_mr_reg(s->pd, own, sizeof(own), (uintptr_t)own,
				     RNIC_ACCESS_LOCAL_WRITE, &mr),
			 0);
	for (uint64_t id = 1; id <= 2; id++) {
		struct usiw_sge sge = { .addr = (uintptr_t)own,
					.len = sizeof(own),
					.lkey = rnic_mr_stag(mr) };
		struct rnicpair_wr wr = { .wr_id = id,
					  .opcode = USIW_WR_SEND,
					  .flags = USIW_SQE_SIGNALED,
					  .sge = &sge,
					  .sge_cnt = 1 };

		assert_int_equal(rnicpair_post(s, &wr), 0);
	}
	deregister(s);
	for (uint64_t id = 1; id <= 2; id++) {
		cqe = rnicpair_take(s, s->scq);
		assert_int_equal(cqe.wr_id, id);
		assert_int_equal(cqe.status, USIW_WC_WR_FLUSH_ERR);
	}
	assert_int_equal(rnic_mr_dereg(mr), 0);
}

/* @before: Reads of one octet before the long one. */
static void lose_the_source(uint32_t before,
			    void (*lose)(struct rnicpair_side *s),
			    enum rnic_mw_type type)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	const struct smpa_counters *cnt;
	struct smpa_event ev;
	struct rnicpair p;
	struct rawpeer raw;
	uint64_t base;
	uint32_t stag, placed;

	opt.sockbuf = 16384;
	rawpeer_open(&raw, &p, &opt);
	stag = type ? window_open(&p.side[0], type) : p.side[0].stag;
	base = rnicpair_addr(&p.side[0], 100);
	for (uint32_t i = 0; i < before; i++)
		rawpeer_read(&raw, 7, 0, stag, base, 1);
	rawpeer_read(&raw, 0x1234, 0x1000, stag, base, READ_LEN);
	/* The first part of the answer; then the peer stops reading. */
	for (uint32_t i = 0; i < before; i++)
		assert_int_equal(rawpeer_event(&raw).type, SMPA_EV_MESSAGE);
	cnt = smpa_conn_counters(raw.conn);
	while (cnt->rx_staged + cnt->rx_direct <= before)
		assert_int_equal(rawpeer_try(&raw).type, SMPA_EV_NONE);
	lose(&p.side[0]);
	/* The peer's Read has ended, and this side made no error. */
	assert_int_equal(rnicpair_async(&p.side[0], NULL),
			 USIW_EVENT_QP_ACCESS_ERR);

	ev = rawpeer_event(&raw);
	assert_int_equal(ev.type, SMPA_EV_TERMINATE);
	assert_int_equal(ev.term.fault.value, lose == take_the_right
						      ? SMPA_F_RDMAP_ACCESS
						      : SMPA_F_RDMAP_STAG);
	assert_true(ev.term.has_ddp && ev.term.has_read);
	assert_int_equal(ev.term.qn, 1);
	assert_int_equal(ev.term.msn, before + 1);
	/* Everything sent has arrived, and the rest is missing. */
	placed = (uint32_t)(cnt->rx_staged + cnt->rx_direct) - before;
	assert_true(placed > 0 && placed < READ_LEN);
	assert_int_equal(ev.term.read.sink_stag, 0x1234);
	assert_int_equal(ev.term.read.sink_to, 0x1000 + placed);
	assert_int_equal(ev.term.read.src_stag, stag);
	assert_true(ev.term.read.src_to == base + placed);
	assert_int_equal(ev.term.read.len, READ_LEN - placed);
	assert_int_equal(rnic_qp_state(p.side[0].qp), RNIC_QPS_TERMINATE);
	rawpeer_close(&raw);
	if (mw)
		window_dealloc(NULL);
	if (mw_mr)
		assert_int_equal(rnic_mr_dereg(mw_mr), 0);
	mw_mr = NULL;
	rnicpair_close(&p);
}

CASE(reports_how_many_octets_the_read_moved)
{
	lose_the_source(0, deregister, 0);
}

CASE(fails_no_local_work)
{
	lose_the_source(0, waits_behind_the_answer, 0);
}

/* ---- memory of local work ---- */

/* A Read without an answer, followed by WRITEs from other memory, of which TCP
 * accepts a part: the one whose memory is removed gets the error. */
CASE(fails_the_work_of_the_lost_memory)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	struct rnic_mr *mr;
	struct rnicpair_side *s;
	struct rawpeer raw;
	struct rnicpair p;

	opt.sockbuf = 16384;
	s = rawpeer_open(&raw, &p, &opt);
	assert_int_equal(rnic_mr_reg(s->pd, s->buf, s->buf_len,
				     rnicpair_addr(s, 0), 0, &mr),
			 0);
	for (uint64_t id = 0; id < 4; id++) {
		struct usiw_sge sge = rnicpair_sge(s, 0, READ_LEN);
		struct rnicpair_wr wr = {
			.wr_id = id,
			.opcode = id ? USIW_WR_WRITE : USIW_WR_READ,
			.flags = USIW_SQE_SIGNALED,
			.sge = &sge,
			.sge_cnt = 1,
		};

		if (id)
			sge.lkey = rnic_mr_stag(mr);
		assert_int_equal(rnicpair_post(s, &wr), 0);
	}
	assert_int_equal(rnic_mr_dereg(mr), 0);
	for (uint64_t id = 0; id < 4; id++) {
		struct usiw_cqe cqe = rnicpair_take(s, s->scq);

		assert_int_equal(cqe.wr_id, id);
		assert_int_equal(cqe.status, id == 1 ? USIW_WC_LOC_PROT_ERR
						     : USIW_WC_WR_FLUSH_ERR);
	}
	rawpeer_close_both(&raw, &p);
}

CASE(names_the_read_among_many)
{
	lose_the_source(3, deregister, 0);
}

CASE(ends_what_meets_a_new_registration)
{
	lose_the_source(0, register_anew, 0);
}

CASE(ends_reads_through_a_closed_window)
{
	lose_the_source(0, window_dealloc, RNIC_MW_TYPE_1);
	lose_the_source(1, window_dealloc, RNIC_MW_TYPE_2);
	lose_the_source(0, window_unbind, RNIC_MW_TYPE_1);
	lose_the_source(2, window_invalidate, RNIC_MW_TYPE_2);
}

CASE(ends_what_reads_an_invalidated_region)
{
	lose_the_source(0, region_invalidate, 0);
	lose_the_source(2, region_invalidate, 0);
}

CASE(ends_reads_that_the_qp_allows_no_more)
{
	lose_the_source(0, take_the_right, 0);
	lose_the_source(2, take_the_right, 0);
}

/* How many of the peer's requests wait, and how many of the answers are being
 * sent. */
static void irq_look(struct rnic_qp *qp, uint32_t *ret_cnt,
		     uint32_t *ret_submitted)
{
	rnic_engine_lead(qp->engine);
	*ret_cnt = qp->irq.cnt;
	*ret_submitted = qp->irq.submitted_cnt;
	rnic_engine_unlead(qp->engine);
}

/*
 * A Read after @before long ones of another region. If no part of its answer is
 * submitted, the region would not be checked before dereg returns. Return: how
 * many wait when the region is removed.
 */
static uint32_t lose_what_waits(uint32_t before)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	uint64_t end_ms = until_ms() + RNICPAIR_LIMIT_MS;
	uint32_t cnt, submitted, stag;
	struct rnicpair_side *s;
	struct smpa_event ev;
	struct rnicpair p;
	struct rawpeer raw;
	struct rnic_mr *mr;

	opt.sockbuf = 16384;
	s = rawpeer_open(&raw, &p, &opt);
	assert_int_equal(rnic_mr_reg(s->pd, s->buf + READ_LEN + 4096, 4096, 0,
				     RNIC_ACCESS_REMOTE_READ, &mr),
			 0);
	stag = rnic_mr_stag(mr);
	for (uint32_t i = 0; i < before; i++)
		rawpeer_read(&raw, 7, 0, s->stag, rnicpair_addr(s, 0),
			     READ_LEN);
	rawpeer_read(&raw, 8, 0, stag, 0, 100);
	do {
		must(until_ms() < end_ms);
		irq_look(s->qp, &cnt, &submitted);
	} while (cnt < before + 1);
	assert_int_equal(rnic_mr_dereg(mr), 0);
	if (submitted < cnt) {
		assert_int_equal(rnic_qp_state(s->qp), RNIC_QPS_TERMINATE);
		do {
			ev = rawpeer_event(&raw);
		} while (ev.type == SMPA_EV_MESSAGE);
		assert_int_equal(ev.type, SMPA_EV_TERMINATE);
		assert_int_equal(ev.term.fault.value, SMPA_F_RDMAP_STAG);
		assert_int_equal(ev.term.msn, before + 1);
		assert_int_equal(ev.term.read.src_stag, stag);
	}
	rawpeer_close_both(&raw, &p);
	return cnt - submitted;
}

CASE(ends_waiting_responses)
{
	uint32_t next_cnt = 0, later_cnt = 0;

	for (uint32_t before = 1; before < 5; before++) {
		uint32_t waiting = lose_what_waits(before);

		next_cnt += waiting == 1;
		later_cnt += waiting > 1;
	}
	assert_true(next_cnt > 0 && later_cnt > 0);
}
