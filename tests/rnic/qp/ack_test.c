/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Without rdma_cm, complete means placed, and each error belongs to its WR. */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>

#include "../../harness/test.h"
#include "qp/qp.h"
#include "rnicpair.h"
#include "qp/object.h"
#include "engine/engine.h"
#include "qp/inbound.h"
#include "qp/sq.h"
#include "stream/object.h"
#include "stream/pass.h"

static const struct rnicpair_options defaults = RNICPAIR_OPTIONS_INIT;

static void rtr(struct rnic_qp *qp, uint32_t peer_num, uint8_t ird)
{
	struct rnic_oob_options opt = rnicpair_to(RNICPAIR_LO4, peer_num);

	opt.ird = ird;
	must(!rnic_qp_oob(qp, &opt));
}

static void open_pair(struct rnicpair *p, const struct rnicpair_options *opt,
		      uint8_t reads)
{
	struct rnic_oob_send_options send = { .ord = reads, .rnr_retry = 7 };

	rnicpair_open_idle(p, opt);
	for (int i = 0; i < 2; i++)
		rtr(p->side[i].qp, rnic_qp_num(p->side[!i].qp), reads);
	for (int i = 0; i < 2; i++) {
		rnic_qp_oob_send(p->side[i].qp, &send);
		rnicpair_wait_state(&p->side[i], RNIC_QPS_RTS);
	}
}

static int setup(void **state)
{
	static struct rnicpair p;

	open_pair(&p, &defaults, 1);
	*state = &p;
	return 0;
}

#define ACK_CASE(name) CASE_WITH(name, setup, rnicpair_teardown)

static void post(struct rnicpair *p, int i, uint8_t opcode, uint8_t flags,
		 uint64_t wr_id, size_t off, uint32_t len, uint32_t rkey)
{
	struct rnicpair_side *s = &p->side[i];
	struct usiw_sge sge = rnicpair_sge(s, off, len);

	rnicpair_post_wr(s, .wr_id = wr_id, .opcode = opcode, .flags = flags,
			 .sge = &sge, .sge_cnt = 1, .rkey = rkey,
			 .remote_addr = rnicpair_addr(&p->side[!i], off));
}

static void expect(struct rnicpair_side *s, struct rnic_cq *cq, uint64_t wr_id,
		   enum usiw_wc_status status)
{
	struct usiw_cqe cqe = rnicpair_take(s, cq);

	assert_int_equal(cqe.wr_id, wr_id);
	assert_int_equal(cqe.status, status);
}

#define SIGNALED USIW_SQE_SIGNALED

/* The target does not poll: its memory is checked when the WRITE is done. */
ACK_CASE(a_completed_write_is_placed)
{
	struct rnicpair_side *a, *b;
	struct rnicpair *p = *state;

	a = &p->side[0];
	b = &p->side[1];
	for (uint32_t i = 0; i < 50; i++) {
		uint32_t len = i % 3 ? 64 : 1u << 20;

		rnicpair_fill(a->buf, len, i + 7);
		post(p, 0, USIW_WR_WRITE, SIGNALED, i, 0, len, b->stag);
		expect(a, a->scq, i, USIW_WC_SUCCESS);
		assert_true(rnicpair_is_filled(b->buf, len, i + 7));
	}
}

/* No siw connects out of band: a silent peer is not probed. */
ACK_CASE(nobody_is_probed)
{
	struct rnicpair *p = *state;

	for (int i = 0; i < 2; i++) {
		struct rnic_qp *qp = p->side[i].qp;

		assert_true(with_lead(qp->engine,
				      !rnic_qp_stream(qp)->probe.ns &&
					      !rnic_qp_stream(qp)->probe.cnt));
	}
}

/* Waits until all posted work is submitted, and the peer owes no answer. */
static void wait_answered(struct rnicpair_side *s)
{
	wait_until((rnic_cq_progress(s->scq),
		    with_lead(s->qp->engine, !rnic_sq_is_waiting(s->qp) &&
						     !s->qp->sq.ack.is_out)));
}

/* Waits until this side has noticed the end of the peer. */
static void wait_orphan(struct rnicpair_side *s)
{
	wait_until(with_lead(s->qp->engine, !rnic_qp_stream(s->qp)));
}

/* A queue full of WRs of which none, or one, is signalled. */
ACK_CASE(places_of_unsignalled_ones_come_back)
{
	struct rnicpair_side *a;
	struct rnicpair *p = *state;
	uint32_t posted = 0;
	uint64_t end_ms = until_ms() + RNICPAIR_LIMIT_MS;
	struct usiw_sge sge;

	a = &p->side[0];
	sge = rnicpair_sge(a, 0, 8);
	while (posted < 10 * defaults.max_wr) {
		struct rnicpair_wr wr = {
			.opcode = USIW_WR_WRITE,
			.sge = &sge,
			.sge_cnt = 1,
			.rkey = p->side[1].stag,
			.remote_addr = rnicpair_addr(&p->side[1], 0),
		};

		assert_true(until_ms() < end_ms);
		if (rnicpair_post(a, &wr) == 0)
			posted++;
		else
			rnic_cq_progress(a->scq);
	}
	/* ... and then all of them. */
	wait_answered(a);
	post(p, 0, USIW_WR_WRITE, SIGNALED, 5, 0, 8, p->side[1].stag);
	expect(a, a->scq, 5, USIW_WC_SUCCESS);
}

/* perftest's latency programs have a queue with one entry, and a CQ with one
 * entry. */
CASE(one_place_will_do)
{
	struct rnicpair_options opt = defaults;
	struct rnicpair_side *a, *b;
	struct rnicpair p;

	opt.max_wr = 1;
	opt.cqe = 1;
	open_pair(&p, &opt, 1);
	a = &p.side[0];
	b = &p.side[1];
	for (uint64_t i = 0; i < 200; i++) {
		struct usiw_sge sge = rnicpair_sge(b, 0, 64);

		assert_int_equal(rnicpair_post_recv(b, i, &sge, 1), 0);
		post(&p, 0, USIW_WR_SEND, SIGNALED, i, 0, 64, 0);
		if (i & 1)
			expect(b, b->rcq, i, USIW_WC_SUCCESS);
		expect(a, a->scq, i, USIW_WC_SUCCESS);
		if (!(i & 1))
			expect(b, b->rcq, i, USIW_WC_SUCCESS);
	}
	assert_true(rnicpair_is_quiet(&p, a->scq));
	rnicpair_close(&p);
}

/* The application may have as many READs as negotiated, beside those of the
 * engine. */
ACK_CASE(reads_beside_do_not_starve)
{
	struct rnicpair_side *a;
	struct rnicpair *p = *state;

	a = &p->side[0];
	for (uint64_t i = 0; i < 60; i += 3) {
		post(p, 0, USIW_WR_WRITE, SIGNALED, i, 0, 64, p->side[1].stag);
		post(p, 0, USIW_WR_READ, SIGNALED, i + 1, 4096, 64,
		     p->side[1].stag);
		post(p, 0, USIW_WR_READ, SIGNALED, i + 2, 8192, 64,
		     p->side[1].stag);
		for (uint64_t j = i; j < i + 3; j++)
			expect(a, a->scq, j, USIW_WC_SUCCESS);
	}
}

/* Work that needs no peer completes in its turn, and not later. */
ACK_CASE(local_work_is_complete_in_its_turn)
{
	struct rnicpair_side *a;
	struct rnic_mr *mr;
	struct rnicpair *p = *state;

	a = &p->side[0];
	for (uint64_t i = 0; i < 3; i++) {
		must(!rnic_mr_reg(
			a->pd, a->buf, 64, (uint64_t)(uintptr_t)a->buf,
			RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE,
			&mr));
		if (i)
			post(p, 0, USIW_WR_WRITE, i == 2 ? SIGNALED : 0, i, 0,
			     1u << 20, p->side[1].stag);
		rnicpair_post_wr(a, .wr_id = 10 + i,
				 .opcode = USIW_WR_LOCAL_INV, .flags = SIGNALED,
				 .rkey = rnic_mr_stag(mr));
		if (i == 2)
			expect(a, a->scq, 2, USIW_WC_SUCCESS);
		expect(a, a->scq, 10 + i, USIW_WC_SUCCESS);
		must(!rnic_mr_dereg(mr));
	}
}

/* ---- errors ---- */

/* Bindings in sequence while queries to the peer are in progress, and
 * invalidation after unsignalled work. */
CASE(local_work_overtakes_no_answer)
{
	struct rnicpair_wr bind = { .opcode = USIW_WR_BIND_MW,
				    .flags = SIGNALED,
				    .swap = RNIC_ACCESS_REMOTE_READ };
	struct rnicpair_wr inv = { .opcode = USIW_WR_LOCAL_INV,
				   .flags = SIGNALED };
	struct rnicpair_side *a;
	struct rnic_mw *mw[2];
	struct rnic_mr *mr;
	struct rnicpair p;

	open_pair(&p, &defaults, 2);
	a = &p.side[0];
	assert_int_equal(rnic_mr_reg(a->pd, a->buf, 64, (uintptr_t)a->buf,
				     RNIC_ACCESS_MW_BIND, &mr),
			 0);
	assert_int_equal(rnic_mw_alloc(a->pd, RNIC_MW_TYPE_1, &mw[0]), 0);
	assert_int_equal(rnic_mw_alloc(a->pd, RNIC_MW_TYPE_2, &mw[1]), 0);
	bind.imm_be = rnic_mr_stag(mr);
	bind.remote_addr = (uintptr_t)a->buf;
	bind.compare_add = 64;
	for (uint64_t i = 0; i < 200; i += 4) {
		/* every second one after a WRITE that needs a query */
		post(&p, 0, USIW_WR_WRITE, i % 8 ? SIGNALED : 0, i, 0, 64,
		     p.side[1].stag);
		bind.rkey = rnic_mw_stag(mw[0]);
		bind.wr_id = i + 1;
		assert_int_equal(rnicpair_post(a, &bind), 0);
		bind.rkey = rnic_mw_stag(mw[1]);
		bind.wr_id = i + 2;
		assert_int_equal(rnicpair_post(a, &bind), 0);
		inv.rkey = bind.rkey;
		inv.wr_id = i + 3;
		assert_int_equal(rnicpair_post(a, &inv), 0);
		for (uint64_t k = i % 8 ? 0 : 1; k < 4; k++)
			expect(a, a->scq, i + k, USIW_WC_SUCCESS);
	}
	/* nothing before it: complete at once, and no query */
	for (uint64_t i = 0; i < 50; i++) {
		bind.rkey = rnic_mw_stag(mw[0]);
		bind.wr_id = i;
		assert_int_equal(rnicpair_post(a, &bind), 0);
		if (i % 5)
			post(&p, 0, USIW_WR_WRITE, SIGNALED, 100, 0, 64,
			     p.side[1].stag);
		expect(a, a->scq, i, USIW_WC_SUCCESS);
		assert_false(i % 5 == 0 && a->qp->sq.ack.is_out);
		if (i % 5)
			expect(a, a->scq, 100, USIW_WC_SUCCESS);
	}
	assert_int_equal(rnic_mw_dealloc(mw[0]), 0);
	assert_int_equal(rnic_mw_dealloc(mw[1]), 0);
	assert_int_equal(rnic_mr_dereg(mr), 0);
	rnicpair_close(&p);
}

CASE(the_wr_that_the_peer_refused_fails)
{
	for (uint64_t bad = 0; bad < 6; bad++) {
		struct rnicpair_side *a, *b;
		struct rnicpair p;

		open_pair(&p, &defaults, 1);
		a = &p.side[0];
		b = &p.side[1];
		for (uint64_t i = 0; i < 6; i++)
			post(&p, 0, USIW_WR_WRITE, SIGNALED, i, i * 256, 64,
			     i == bad ? b->stag ^ 0x5500 : b->stag);
		for (uint64_t i = 0; i < 6; i++)
			expect(a, a->scq, i,
			       i < bad	  ? USIW_WC_SUCCESS
			       : i == bad ? USIW_WC_REM_ACCESS_ERR
					  : USIW_WC_WR_FLUSH_ERR);
		rnicpair_close(&p);
	}
}

#define BLAME_MAX 4
#define PART 64u /* octets of a WR in the table below */

/* One WR of a list is invalid: that WR gets the error, however it is
 * refused. */
static const struct blame_row {
	const char *name;
	uint8_t opcode[BLAME_MAX];
	int bad;
} blame_rows[] = {
	{ "WRITE, bad READ",
	  { USIW_WR_WRITE, USIW_WR_READ, USIW_WR_WRITE, USIW_WR_SEND },
	  1 },
	{ "SEND, bad READ",
	  { USIW_WR_SEND, USIW_WR_READ, USIW_WR_WRITE, USIW_WR_SEND },
	  1 },
	{ "WRITE, bad atomic",
	  { USIW_WR_WRITE, USIW_WR_FETCH_ADD, USIW_WR_READ, USIW_WR_WRITE },
	  1 },
	{ "SEND, WRITE, bad atomic",
	  { USIW_WR_SEND, USIW_WR_WRITE, USIW_WR_CMP_SWP, USIW_WR_WRITE },
	  2 },
	{ "SEND, READ, WRITE, bad READ",
	  { USIW_WR_SEND, USIW_WR_READ, USIW_WR_WRITE, USIW_WR_READ },
	  3 },
	{ "atomic, READ, bad READ",
	  { USIW_WR_FETCH_ADD, USIW_WR_READ, USIW_WR_READ, USIW_WR_READ },
	  2 },
	{ "READ, WRITE, bad WRITE",
	  { USIW_WR_READ, USIW_WR_WRITE, USIW_WR_WRITE, USIW_WR_WRITE },
	  2 },
};

static void blame_check(const struct blame_row *row, struct rnicpair_side *a)
{
	for (int i = 0; i < BLAME_MAX; i++) {
		struct usiw_cqe cqe = rnicpair_take(a, a->scq);

		assert_row(row->name, cqe.wr_id == (uint64_t)i);
		assert_row(row->name,
			   cqe.status == (i < row->bad ? USIW_WC_SUCCESS
					  : i == row->bad
						  ? USIW_WC_REM_ACCESS_ERR
						  : USIW_WC_WR_FLUSH_ERR));
	}
}

CASE(the_refused_one_of_several_kinds_fails)
{
	for (size_t row = 0; row < ARRAY_LEN(blame_rows); row++) {
		const struct blame_row *r = &blame_rows[row];
		struct rnicpair_side *a, *b;
		struct usiw_sge sge;
		struct rnicpair p;

		print_message("%s\n", r->name);
		open_pair(&p, &defaults, 4);
		a = &p.side[0];
		b = &p.side[1];
		for (uint64_t i = 0; i < BLAME_MAX; i++) {
			sge = rnicpair_sge(b, i * 256, PART);
			assert_int_equal(rnicpair_post_recv(b, i, &sge, 1), 0);
		}
		for (int i = 0; i < BLAME_MAX; i++)
			post(&p, 0, r->opcode[i], SIGNALED, (uint64_t)i, 4096,
			     r->opcode[i] == USIW_WR_FETCH_ADD ||
					     r->opcode[i] == USIW_WR_CMP_SWP
				     ? 8
				     : PART,
			     i == r->bad ? b->stag ^ 0x5500 : b->stag);
		blame_check(r, a);
		assert_true(rnicpair_is_quiet(&p, a->scq));
		rnicpair_close(&p);
	}
}

/* It begins where a valid one ends, or its second segment is invalid. */
CASE(a_write_out_of_bounds_fails_itself)
{
	static const struct {
		uint32_t good, bad; /* octets before the region's end */
		uint32_t len;	    /* of the invalid one */
		uint8_t flags;
	} rows[] = { { PART, 0, PART, 0 },
		     { PART, 0, PART, USIW_SQE_INLINE },
		     { 2u << 20, 1u << 20, (1u << 20) + 1, 0 },
		     { 2u << 20, 1, 2, USIW_SQE_INLINE } };

	for (size_t row = 0; row < ARRAY_LEN(rows); row++) {
		struct rnicpair_side *a, *b;
		struct rnicpair p;

		open_pair(&p, &defaults, 1);
		a = &p.side[0];
		b = &p.side[1];
		/* It would be a long length if it were taken for one. */
		memset(a->buf, 0xff, PART);
		for (uint64_t i = 0; i < 3; i++) {
			size_t off = b->buf_len -
				     (i == 1 ? rows[row].bad : rows[row].good);
			uint32_t len = i == 1 ? rows[row].len : PART;
			struct usiw_sge sge = rnicpair_sge(a, 0, len);
			struct rnicpair_wr wr = {
				.wr_id = i,
				.opcode = USIW_WR_WRITE,
				.flags = SIGNALED | rows[row].flags,
				.sge = &sge,
				.sge_cnt = 1,
				.inline_data = a->buf,
				.inline_len = rows[row].flags ? len : 0,
				.rkey = b->stag,
				.remote_addr = rnicpair_addr(b, off),
			};

			assert_int_equal(rnicpair_post(a, &wr), 0);
		}
		expect(a, a->scq, 0, USIW_WC_SUCCESS);
		expect(a, a->scq, 1, USIW_WC_REM_ACCESS_ERR);
		expect(a, a->scq, 2, USIW_WC_WR_FLUSH_ERR);
		rnicpair_close(&p);
	}
}

ACK_CASE(a_send_that_is_too_long_fails_itself)
{
	struct rnicpair_side *a, *b;
	struct usiw_sge sge;
	struct rnicpair *p = *state;

	a = &p->side[0];
	b = &p->side[1];
	for (uint64_t i = 0; i < 3; i++) {
		sge = rnicpair_sge(b, i * 256, i == 1 ? 8 : 128);
		assert_int_equal(rnicpair_post_recv(b, i, &sge, 1), 0);
	}
	post(p, 0, USIW_WR_SEND, SIGNALED, 0, 0, 64, 0);
	post(p, 0, USIW_WR_WRITE, SIGNALED, 1, 4096, 64, b->stag);
	post(p, 0, USIW_WR_SEND, SIGNALED, 2, 0, 64, 0);
	post(p, 0, USIW_WR_SEND, SIGNALED, 3, 0, 64, 0);
	expect(a, a->scq, 0, USIW_WC_SUCCESS);
	expect(a, a->scq, 1, USIW_WC_SUCCESS);
	expect(a, a->scq, 2, USIW_WC_REM_INV_REQ_ERR);
	expect(a, a->scq, 3, USIW_WC_WR_FLUSH_ERR);
	expect(b, b->rcq, 0, USIW_WC_SUCCESS);
	expect(b, b->rcq, 1, USIW_WC_LOC_LEN_ERR);
	expect(b, b->rcq, 2, USIW_WC_WR_FLUSH_ERR);
}

ACK_CASE(own_mistakes_wait_for_what_is_before)
{
	struct rnicpair_side *a;
	struct usiw_sge sge;
	struct rnicpair *p = *state;

	a = &p->side[0];
	for (uint64_t i = 0; i < 3; i++)
		post(p, 0, USIW_WR_WRITE, SIGNALED, i, 0, 1u << 20,
		     p->side[1].stag);
	sge = rnicpair_sge(a, 0, 64);
	sge.lkey ^= 0x5500;
	rnicpair_post_wr(a, .wr_id = 3, .opcode = USIW_WR_WRITE,
			 .flags = SIGNALED, .sge = &sge, .sge_cnt = 1,
			 .rkey = p->side[1].stag,
			 .remote_addr = rnicpair_addr(&p->side[1], 0));
	for (uint64_t i = 0; i < 3; i++)
		expect(a, a->scq, i, USIW_WC_SUCCESS);
	expect(a, a->scq, 3, USIW_WC_LOC_PROT_ERR);
}

/* A Send that waits for a receive is not delivered yet. */
CASE(a_send_without_receive_is_not_complete)
{
	struct rnicpair_side *a, *b;
	struct usiw_sge sge;
	struct rnicpair p;

	for (int with_srq = 0; with_srq < 2; with_srq++) {
		struct rnicpair_options opt = defaults;

		if (with_srq)
			opt.srq_wr = 8;
		open_pair(&p, &opt, 1);
		a = &p.side[0];
		b = &p.side[1];
		post(&p, 0, USIW_WR_SEND, SIGNALED, 1, 0, 64, 0);
		assert_true(rnicpair_is_quiet(&p, a->scq));
		sge = rnicpair_sge(b, 0, 64);
		assert_int_equal(rnicpair_post_recv(b, 2, &sge, 1), 0);
		expect(a, a->scq, 1, USIW_WC_SUCCESS);
		expect(b, b->rcq, 2, USIW_WC_SUCCESS);
		rnicpair_close(&p);
	}
}

/*
 * What stands before the WR that is refused is complete, however long that
 * takes: answers that TCP does not take at once, and a Send that waits for a
 * receive.
 */
CASE(what_stands_before_the_refused_one_is_complete)
{
	enum { READ_CNT = 16 };
	struct rnicpair_side *a, *b;
	struct rnicpair p;

	open_pair(&p, &defaults, READ_CNT);
	a = &p.side[0];
	b = &p.side[1];
	for (uint64_t i = 0; i < READ_CNT; i++)
		post(&p, 0, USIW_WR_READ, SIGNALED, i, 0, 1u << 20, b->stag);
	post(&p, 0, USIW_WR_READ, SIGNALED, READ_CNT, 0, 64, b->stag ^ 0x5500);
	post(&p, 0, USIW_WR_WRITE, SIGNALED, READ_CNT + 1, 0, 64, b->stag);
	for (uint64_t i = 0; i < READ_CNT; i++)
		expect(a, a->scq, i, USIW_WC_SUCCESS);
	expect(a, a->scq, READ_CNT, USIW_WC_REM_ACCESS_ERR);
	expect(a, a->scq, READ_CNT + 1, USIW_WC_WR_FLUSH_ERR);
	rnicpair_close(&p);
}

CASE(a_refusal_waits_for_held_sends)
{
	static const uint8_t refused[] = { USIW_WR_READ, USIW_WR_WRITE,
					   USIW_WR_FETCH_ADD };

	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		struct rnicpair_side *a, *b;
		struct usiw_sge sge;
		struct rnicpair p;

		open_pair(&p, &defaults, 2);
		a = &p.side[0];
		b = &p.side[1];
		post(&p, 0, USIW_WR_SEND, SIGNALED, 1, 0, 64, 0);
		post(&p, 0, refused[i], SIGNALED, 2, 0, 8, b->stag ^ 0x5500);
		assert_true(rnicpair_is_quiet(&p, a->scq));
		sge = rnicpair_sge(b, 0, 64);
		assert_int_equal(rnicpair_post_recv(b, 3, &sge, 1), 0);
		expect(b, b->rcq, 3, USIW_WC_SUCCESS);
		expect(a, a->scq, 1, USIW_WC_SUCCESS);
		expect(a, a->scq, 2, USIW_WC_REM_ACCESS_ERR);
		rnicpair_close(&p);
	}
}

/* Without a receive the Send is what fails, even if it may wait for ever. */
ACK_CASE(a_held_send_fails_before_the_refused_one)
{
	struct rnicpair_side *a, *b;
	struct rnicpair *p = *state;

	a = &p->side[0];
	b = &p->side[1];
	post(p, 0, USIW_WR_SEND, SIGNALED, 1, 0, 64, 0);
	post(p, 0, USIW_WR_READ, SIGNALED, 2, 0, 64, b->stag ^ 0x5500);
	expect(a, a->scq, 1, USIW_WC_RNR_RETRY_EXC_ERR);
	expect(a, a->scq, 2, USIW_WC_WR_FLUSH_ERR);
}

static void wait_asked(struct rnicpair_side *s)
{
	wait_until((rnic_cq_progress(s->scq),
		    with_lead(s->qp->engine, s->qp->sq.ack.is_out)));
}

/* A peer that refuses the query READ has not confirmed what is before it. */
ACK_CASE(a_refused_query_confirms_nothing)
{
	struct smpa_event ev = { .type = SMPA_EV_TERMINATE };
	struct rnicpair_side *a;
	struct rnicpair *p = *state;

	a = &p->side[0];
	/* Without a receive the peer does not answer either. */
	post(p, 0, USIW_WR_SEND, SIGNALED, 1, 0, 64, 0);
	wait_asked(a);
	ev.term.fault.value = SMPA_F_RDMAP_ACCESS;
	ev.term.has_ddp = true;
	ev.term.qn = 1;
	rnic_engine_lead(a->qp->engine);
	assert_int_equal(rnic_inbound_event(a->qp, &ev), -EPROTO);
	rnic_stream_pass(rnic_qp_stream(a->qp), 0);
	rnic_engine_unlead(a->qp->engine);
	expect(a, a->scq, 1, USIW_WC_REM_ACCESS_ERR);
}

/* ---- a peer that leaves ---- */

/* It has received the last message and closed: no error for either, receives
 * stay posted. */
CASE(a_peer_with_all_octets_may_leave)
{
	for (int round = 0; round < 20; round++) {
		struct rnicpair_side *a, *b;
		uint32_t events;
		struct rnicpair p;
		struct usiw_sge sge;

		open_pair(&p, &defaults, 1);
		a = &p.side[0];
		b = &p.side[1];
		sge = rnicpair_sge(b, 0, 64);
		assert_int_equal(rnicpair_post_recv(b, 1, &sge, 1), 0);
		sge = rnicpair_sge(a, 0, 64);
		assert_int_equal(rnicpair_post_recv(a, 2, &sge, 1), 0);
		post(&p, 0, USIW_WR_SEND, SIGNALED, 3, 0, 64, 0);
		expect(b, b->rcq, 1, USIW_WC_SUCCESS);
		assert_int_equal(rnic_qp_destroy(b->qp, &events), 0);
		b->qp = NULL;
		expect(a, a->scq, 3, USIW_WC_SUCCESS);
		assert_true(rnicpair_is_quiet(&p, a->rcq));
		wait_orphan(a);
		assert_int_equal(rnic_qp_state(a->qp), RNIC_QPS_RTS);
		/* The next send fails. */
		post(&p, 0, USIW_WR_SEND, SIGNALED, 4, 0, 64, 0);
		expect(a, a->scq, 4, USIW_WC_RETRY_EXC_ERR);
		expect(a, a->rcq, 2, USIW_WC_WR_FLUSH_ERR);
		rnicpair_close(&p);
	}
}

/* A broken connection does not tell what has arrived, unlike a FIN. */
ACK_CASE(what_a_broken_connection_leaves_open_fails)
{
	const struct sockaddr nobody = { .sa_family = AF_UNSPEC };
	struct rnicpair_side *a, *b;
	struct rnicpair *p = *state;

	a = &p->side[0];
	b = &p->side[1];
	/* TCP has accepted it and keeps it: the peer does not answer it. */
	post(p, 0, USIW_WR_SEND, SIGNALED, 3, 0, 64, 0);
	wait_until((rnic_cq_progress(a->scq), atomic_load(&b->qp->is_rnr)));
	assert_int_equal(usiw_ring_used(rnic_cq_ring(a->scq)), 0);
	/* RST */
	rnic_engine_lead(b->qp->engine);
	must(!connect(rnic_qp_stream(b->qp)->source.fd, &nobody,
		      sizeof(nobody)));
	rnic_engine_unlead(b->qp->engine);
	expect(a, a->scq, 3, USIW_WC_RETRY_EXC_ERR);
	rnicpair_wait_state(a, RNIC_QPS_ERROR);
}

CASE(an_orphan_may_be_closed_and_reset)
{
	static const enum rnic_qp_state ways[] = { RNIC_QPS_CLOSING,
						   RNIC_QPS_ERROR,
						   RNIC_QPS_IDLE };

	for (int i = 0; i < 3; i++) {
		uint32_t events;
		struct rnicpair p;

		open_pair(&p, &defaults, 1);
		assert_int_equal(rnic_qp_destroy(p.side[1].qp, &events), 0);
		p.side[1].qp = NULL;
		wait_orphan(&p.side[0]);
		assert_int_equal(rnic_qp_modify(p.side[0].qp, ways[i]), 0);
		rnicpair_close(&p);
	}
}
