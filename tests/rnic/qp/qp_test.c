/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* qp.c: creation, the application's transitions, and one completion for each
 * posted WR, whatever ends the QP. */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "engine/engine.h"
#include "mem/context.h"
#include "qp/qp.h"
#include "rnicpair.h"

static const struct rnicpair_options defaults = RNICPAIR_OPTIONS_INIT;

/* ---- creation ---- */

struct bad_option {
	const char *name;
	struct rnic_qp_options opt;
	bool has_cq;
};

IDLE_PAIR_CASE(refuses_options_out_of_range)
{
	const struct rnic_limits *max = rnic_limits();
	const struct bad_option bad[] = {
		{ "no CQ", { .max_send_wr = 1 }, false },
		{ "sends", { .max_send_wr = max->max_qp_wr + 1 }, true },
		{ "receives", { .max_recv_wr = max->max_qp_wr + 1 }, true },
		{ "send pieces", { .max_send_sge = max->max_sge + 1 }, true },
		{ "receive pieces",
		  { .max_recv_sge = max->max_sge + 1 },
		  true },
		{ "inline", { .max_inline = max->max_inline + 1 }, true },
	};
	struct rnicpair *p = *state;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct rnic_qp_options opt = bad[i].opt;
		struct rnic_qp *qp = NULL;

		if (bad[i].has_cq)
			opt.send_cq = opt.recv_cq = p->side[0].scq;
		assert_int_equal(rnic_qp_create(p->side[0].pd, &opt, &qp),
				 -EINVAL);
		assert_null(qp);
	}
}

IDLE_PAIR_CASE(gives_at_least_what_was_asked)
{
	const struct rnic_limits *max = rnic_limits();
	const struct rnic_qp_options asked[] = {
		{ .max_send_wr = 0 },
		{ .max_send_wr = 1, .max_recv_wr = 3, .max_inline = 1 },
		{ .max_send_wr = 100,
		  .max_recv_wr = 100,
		  .max_send_sge = 5,
		  .max_recv_sge = 7,
		  .max_inline = 60 },
		{ .max_send_wr = max->max_qp_wr,
		  .max_send_sge = max->max_sge,
		  .max_recv_sge = max->max_sge,
		  .max_inline = max->max_inline },
	};
	struct rnicpair *p = *state;

	for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
		struct rnic_qp_options opt = asked[i];
		const struct usiw_ring *sq, *rq;
		struct rnic_qp *qp;
		uint32_t events;

		opt.send_cq = opt.recv_cq = p->side[0].scq;
		assert_int_equal(rnic_qp_create(p->side[0].pd, &opt, &qp), 0);
		sq = rnic_qp_sq(qp);
		rq = rnic_qp_rq(qp);
		assert_true(opt.max_send_wr >= asked[i].max_send_wr);
		assert_true(opt.max_recv_wr >= asked[i].max_recv_wr);
		assert_true(opt.max_send_sge >= asked[i].max_send_sge);
		assert_true(opt.max_recv_sge >= asked[i].max_recv_sge);
		assert_true(opt.max_inline >= asked[i].max_inline);
		assert_true(opt.max_inline <= max->max_inline);
		assert_true(opt.max_send_wr >= 1 && opt.max_recv_wr >= 1);
		/* The granted values fit into the slots. */
		assert_true(sq->stride >=
			    sizeof(struct usiw_sqe) + opt.max_inline);
		assert_true(sq->stride >=
			    sizeof(struct usiw_sqe) +
				    opt.max_send_sge * sizeof(struct usiw_sge));
		assert_int_equal(sq->stride % USIW_CACHE_LINE, 0);
		assert_true(rq->stride >=
			    sizeof(struct usiw_rqe) +
				    opt.max_recv_sge * sizeof(struct usiw_sge));
		assert_int_equal(sq->depth, opt.max_send_wr);
		assert_int_equal(rq->depth, opt.max_recv_wr);
		assert_int_equal(rnic_qp_state(qp), RNIC_QPS_IDLE);
		assert_int_equal(rnic_qp_destroy(qp, &events), 0);
		assert_int_equal(events, 0);
	}
}

CASE(keeps_what_it_uses_from_being_destroyed)
{
	struct rnicpair_options opt = defaults;
	struct rnicpair p;
	uint32_t comp, async;

	opt.srq_wr = 4;
	rnicpair_open_idle(&p, &opt);
	assert_int_equal(rnic_cq_destroy(p.side[1].scq, &comp, &async), -EBUSY);
	assert_int_equal(rnic_cq_destroy(p.side[1].rcq, &comp, &async), -EBUSY);
	assert_int_equal(rnic_srq_destroy(p.side[1].srq, &async), -EBUSY);
	assert_int_equal(rnic_pd_free(p.side[1].pd), -EBUSY);
	assert_null(rnic_qp_rq(p.side[1].qp));
	rnicpair_close(&p);
}

/* ---- transitions ---- */

struct transition {
	enum rnic_qp_state from, to;
	int rc;
	enum rnic_qp_state after;
};

static const struct transition transitions[] = {
	{ RNIC_QPS_IDLE, RNIC_QPS_IDLE, 0, RNIC_QPS_IDLE },
	{ RNIC_QPS_IDLE, RNIC_QPS_RTS, -EINVAL, RNIC_QPS_IDLE },
	{ RNIC_QPS_IDLE, RNIC_QPS_CLOSING, -EINVAL, RNIC_QPS_IDLE },
	{ RNIC_QPS_IDLE, RNIC_QPS_TERMINATE, -EINVAL, RNIC_QPS_IDLE },
	{ RNIC_QPS_IDLE, RNIC_QPS_ERROR, 0, RNIC_QPS_ERROR },
	{ RNIC_QPS_RTS, RNIC_QPS_RTS, 0, RNIC_QPS_RTS },
	{ RNIC_QPS_RTS, RNIC_QPS_TERMINATE, -EINVAL, RNIC_QPS_RTS },
	{ RNIC_QPS_RTS, RNIC_QPS_ERROR, 0, RNIC_QPS_ERROR },
	{ RNIC_QPS_ERROR, RNIC_QPS_ERROR, 0, RNIC_QPS_ERROR },
	{ RNIC_QPS_ERROR, RNIC_QPS_RTS, -EINVAL, RNIC_QPS_ERROR },
	{ RNIC_QPS_ERROR, RNIC_QPS_CLOSING, 0, RNIC_QPS_ERROR },
	{ RNIC_QPS_ERROR, RNIC_QPS_IDLE, 0, RNIC_QPS_IDLE },
};

CASE(allows_the_transitions_of_the_model)
{
	for (size_t i = 0; i < ARRAY_LEN(transitions); i++) {
		const struct transition *t = &transitions[i];
		struct rnicpair p;

		rnicpair_open_idle(&p, &defaults);
		if (t->from == RNIC_QPS_RTS)
			rnicpair_connect(&p);
		if (t->from == RNIC_QPS_ERROR)
			assert_int_equal(
				rnic_qp_modify(p.side[0].qp, RNIC_QPS_ERROR),
				0);
		assert_int_equal(rnic_qp_state(p.side[0].qp), t->from);
		assert_int_equal(rnic_qp_modify(p.side[0].qp, t->to), t->rc);
		assert_int_equal(rnic_qp_state(p.side[0].qp), t->after);
		rnicpair_close(&p);
	}
}

/* librdmacm moves from INIT to INIT after the application has posted
 * receives. */
IDLE_PAIR_CASE(idle_to_idle_changes_nothing)
{
	struct rnic_qp_attr attr;
	struct rnicpair *p = *state;
	struct usiw_sge sge;

	sge = rnicpair_sge(&p->side[1], 0, 8);
	assert_int_equal(rnicpair_post_recv(&p->side[1], 5, &sge, 1), 0);
	assert_int_equal(
		rnic_qp_set_access(p->side[1].qp, RNIC_ACCESS_REMOTE_READ), 0);
	assert_int_equal(rnic_qp_modify(p->side[1].qp, RNIC_QPS_IDLE), 0);
	assert_int_equal(usiw_ring_used(rnic_qp_rq(p->side[1].qp)), 1);
	rnicpair_connect(p);
	rnicpair_post_wr(&p->side[0], .opcode = USIW_WR_SEND);
	assert_int_equal(rnicpair_take(&p->side[1], p->side[1].rcq).wr_id, 5);
	rnic_qp_query(p->side[1].qp, &attr);
	assert_int_equal(attr.access, RNIC_ACCESS_REMOTE_READ);
	/* It takes effect: no remote write. */
	rnicpair_post_wr(
		&p->side[0], .opcode = USIW_WR_WRITE,
		.sge = &(struct usiw_sge){ rnicpair_addr(&p->side[0], 0), 8,
					   p->side[0].stag },
		.sge_cnt = 1, .rkey = p->side[1].stag,
		.remote_addr = rnicpair_addr(&p->side[1], 0));
	rnicpair_wait_state(&p->side[1], RNIC_QPS_TERMINATE);
}

IDLE_PAIR_CASE(query_tells_state_and_addresses)
{
	struct rnic_qp_attr a, b;
	struct rnicpair *p = *state;

	rnic_qp_query(p->side[0].qp, &a);
	assert_int_equal(a.state, RNIC_QPS_IDLE);
	assert_int_equal(a.local.ss_family, 0);
	rnicpair_connect(p);
	rnic_qp_query(p->side[0].qp, &a);
	rnic_qp_query(p->side[1].qp, &b);
	assert_int_equal(a.state, RNIC_QPS_RTS);
	assert_int_equal(a.ird, 8);
	assert_int_equal(a.ord, 8);
	assert_memory_equal(&a.local, &b.peer, sizeof(struct sockaddr_in));
	assert_memory_equal(&a.peer, &b.local, sizeof(struct sockaddr_in));
}

/* ---- flushes ---- */

/* wr_id i with that status, and nothing more. */
static void expect_flushed(struct rnicpair *p, struct rnicpair_side *s,
			   struct rnic_cq *cq, uint64_t first, uint64_t cnt)
{
	for (uint64_t i = first; i < first + cnt; i++) {
		struct usiw_cqe cqe = rnicpair_take(s, cq);

		assert_int_equal(cqe.wr_id, i);
		assert_int_equal(cqe.status, USIW_WC_WR_FLUSH_ERR);
		assert_int_equal(cqe.qp_num, rnic_qp_num(s->qp));
	}
	assert_true(rnicpair_is_quiet(p, cq));
}

IDLE_PAIR_CASE(error_flushes_what_was_posted_before_any_stream)
{
	struct rnicpair *p = *state;

	for (uint64_t i = 0; i < 10; i++) {
		struct rnicpair_wr wr = { .wr_id = i, .opcode = USIW_WR_SEND };

		assert_int_equal(rnicpair_post(&p->side[0], &wr), 0);
		assert_int_equal(rnicpair_post_recv(&p->side[0], i, NULL, 0),
				 0);
	}
	assert_int_equal(rnic_qp_modify(p->side[0].qp, RNIC_QPS_ERROR), 0);
	expect_flushed(p, &p->side[0], p->side[0].scq, 0, 10);
	expect_flushed(p, &p->side[0], p->side[0].rcq, 0, 10);
	/* What is posted after the end is flushed too. */
	assert_int_equal(rnicpair_post_recv(&p->side[0], 10, NULL, 0), 0);
	expect_flushed(p, &p->side[0], p->side[0].rcq, 10, 1);
	rnicpair_post_wr(&p->side[0], .wr_id = 10, .opcode = USIW_WR_READ);
	expect_flushed(p, &p->side[0], p->side[0].scq, 10, 1);
	assert_false(rnicpair_has_async(&p->side[0]));
}

PAIR_CASE(error_ends_both_sides)
{
	struct rnicpair *p = *state;

	for (uint64_t i = 0; i < 10; i++) {
		assert_int_equal(rnicpair_post_recv(&p->side[0], i, NULL, 0),
				 0);
		assert_int_equal(rnicpair_post_recv(&p->side[1], i, NULL, 0),
				 0);
	}
	assert_int_equal(rnic_qp_modify(p->side[0].qp, RNIC_QPS_ERROR), 0);
	expect_flushed(p, &p->side[0], p->side[0].rcq, 0, 10);
	rnicpair_wait_state(&p->side[1], RNIC_QPS_ERROR);
	expect_flushed(p, &p->side[1], p->side[1].rcq, 0, 10);
}

/* Everything posted arrives, then both ends are told. */
PAIR_CASE(closing_carries_what_was_posted)
{
	enum { CNT = 60, LEN = 60000 };
	struct rnicpair *p = *state;

	rnicpair_fill(p->side[0].buf, LEN * CNT, 3);
	for (uint64_t i = 0; i < CNT; i++) {
		struct usiw_sge to = rnicpair_sge(&p->side[1], i * LEN, LEN);
		struct usiw_sge from = rnicpair_sge(&p->side[0], i * LEN, LEN);
		struct rnicpair_wr wr = { .wr_id = i,
					  .opcode = USIW_WR_SEND,
					  .flags = USIW_SQE_SIGNALED,
					  .sge = &from,
					  .sge_cnt = 1 };

		assert_int_equal(rnicpair_post_recv(&p->side[1], i, &to, 1), 0);
		assert_int_equal(rnicpair_post(&p->side[0], &wr), 0);
	}
	assert_int_equal(rnicpair_post_recv(&p->side[1], CNT, NULL, 0), 0);
	assert_int_equal(rnic_qp_modify(p->side[0].qp, RNIC_QPS_CLOSING), 0);
	for (uint64_t i = 0; i < CNT; i++) {
		struct usiw_cqe cqe =
			rnicpair_take(&p->side[1], p->side[1].rcq);

		assert_int_equal(cqe.wr_id, i);
		assert_int_equal(cqe.status, USIW_WC_SUCCESS);
		assert_int_equal(cqe.byte_len, LEN);
		cqe = rnicpair_take(&p->side[0], p->side[0].scq);
		assert_int_equal(cqe.wr_id, i);
		assert_int_equal(cqe.status, USIW_WC_SUCCESS);
	}
	assert_true(rnicpair_is_filled(p->side[1].buf, LEN * CNT, 3));
	expect_flushed(p, &p->side[1], p->side[1].rcq, CNT, 1);
	rnicpair_wait_state(&p->side[0], RNIC_QPS_ERROR);
	assert_int_equal(rnic_qp_state(p->side[1].qp), RNIC_QPS_ERROR);
	assert_false(rnicpair_has_async(&p->side[0]));
	assert_false(rnicpair_has_async(&p->side[1]));
}

PAIR_CASE(closing_waits_for_reads)
{
	struct rnicpair *p = *state;
	struct usiw_sge sge;

	sge = rnicpair_sge(&p->side[0], 0, 2u << 20);
	rnicpair_fill(p->side[1].buf, 2u << 20, 9);
	rnicpair_post_wr(&p->side[0], .wr_id = 4, .opcode = USIW_WR_READ,
			 .flags = USIW_SQE_SIGNALED, .sge = &sge, .sge_cnt = 1,
			 .rkey = p->side[1].stag,
			 .remote_addr = rnicpair_addr(&p->side[1], 0));
	assert_int_equal(rnic_qp_modify(p->side[0].qp, RNIC_QPS_CLOSING), 0);
	assert_int_equal(rnicpair_take(&p->side[0], p->side[0].scq).status,
			 USIW_WC_SUCCESS);
	assert_true(rnicpair_is_filled(p->side[0].buf, 2u << 20, 9));
	rnicpair_wait_state(&p->side[0], RNIC_QPS_ERROR);
}

/* ---- life after the end ---- */

PAIR_CASE(a_reset_queue_connects_again)
{
	struct rnicpair *p = *state;

	for (uint32_t round = 0; round < 5; round++) {
		struct usiw_sge from = rnicpair_sge(&p->side[0], 0, 3000);
		struct usiw_sge to = rnicpair_sge(&p->side[1], 0, 3000);
		struct rnicpair_wr wr = { .wr_id = round,
					  .opcode = USIW_WR_SEND,
					  .flags = USIW_SQE_SIGNALED,
					  .sge = &from,
					  .sge_cnt = 1 };
		struct usiw_cqe cqe;

		rnicpair_fill(p->side[0].buf, 3000, round);
		assert_int_equal(rnicpair_post_recv(&p->side[1], round, &to, 1),
				 0);
		assert_int_equal(rnicpair_post(&p->side[0], &wr), 0);
		cqe = rnicpair_take(&p->side[1], p->side[1].rcq);
		assert_int_equal(cqe.status, USIW_WC_SUCCESS);
		assert_int_equal(cqe.wr_id, round);
		assert_true(rnicpair_is_filled(p->side[1].buf, 3000, round));
		assert_int_equal(
			rnicpair_take(&p->side[0], p->side[0].scq).wr_id,
			round);
		/* Left in the queues: removed by the reset, or flushed. */
		assert_int_equal(rnicpair_post_recv(&p->side[1], 77, &to, 1),
				 0);
		assert_int_equal(rnic_qp_modify(p->side[0].qp, RNIC_QPS_ERROR),
				 0);
		rnicpair_wait_state(&p->side[1], RNIC_QPS_ERROR);
		assert_int_equal(
			rnicpair_take(&p->side[1], p->side[1].rcq).wr_id, 77);
		assert_int_equal(rnic_qp_modify(p->side[0].qp, RNIC_QPS_IDLE),
				 0);
		assert_int_equal(rnic_qp_modify(p->side[1].qp, RNIC_QPS_IDLE),
				 0);
		assert_true(rnicpair_is_quiet(p, p->side[1].rcq));
		rnicpair_connect(p);
	}
}

/* Rights belong to a connection: the next one begins like a new QP. */
PAIR_CASE(a_reset_queue_has_all_rights_again)
{
	struct rnicpair *p = *state;
	struct rnicpair_side *a = &p->side[0], *b = &p->side[1];
	struct usiw_sge sge;
	struct rnicpair_wr wr = { .opcode = USIW_WR_READ,
				  .flags = USIW_SQE_SIGNALED,
				  .sge = &sge,
				  .sge_cnt = 1 };

	sge = rnicpair_sge(a, 0, 64);
	wr.rkey = b->stag;
	wr.remote_addr = rnicpair_addr(b, 0);
	assert_int_equal(rnic_qp_set_access(b->qp, 0), 0);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(rnicpair_post(a, &wr), 0);
		assert_int_equal(rnicpair_take(a, a->scq).status,
				 round ? USIW_WC_SUCCESS
				       : USIW_WC_REM_ACCESS_ERR);
		for (int i = 0; i < 2 && !round; i++) {
			struct rnic_qp *qp = p->side[i].qp;

			assert_int_equal(rnic_qp_modify(qp, RNIC_QPS_ERROR), 0);
			assert_int_equal(rnic_qp_modify(qp, RNIC_QPS_IDLE), 0);
		}
		if (!round)
			rnicpair_connect(p);
	}
}

/* Leads an engine for as long as the test says: it receives nothing then. */
struct stopped {
	struct rnic_engine *engine;
	pthread_t thread;
	pthread_barrier_t is_led, may_end;
};

static void *lead_engine(void *arg)
{
	struct stopped *s = arg;

	rnic_engine_lead(s->engine);
	pthread_barrier_wait(&s->is_led);
	pthread_barrier_wait(&s->may_end);
	rnic_engine_unlead(s->engine);
	return NULL;
}

static void engine_stop(struct stopped *s, struct rnic_engine *engine)
{
	s->engine = engine;
	must(!pthread_barrier_init(&s->is_led, NULL, 2));
	must(!pthread_barrier_init(&s->may_end, NULL, 2));
	must(!pthread_create(&s->thread, NULL, lead_engine, s));
	pthread_barrier_wait(&s->is_led);
}

static void engine_go_on(struct stopped *s)
{
	pthread_barrier_wait(&s->may_end);
	must(!pthread_join(s->thread, NULL));
	pthread_barrier_destroy(&s->is_led);
	pthread_barrier_destroy(&s->may_end);
}

/* Pending work of a destroyed QP is dropped and not accessed. */
CASE(destroy_leaves_no_completion_behind)
{
	struct rnicpair_options opt = defaults;
	struct rnicpair p;
	uint32_t events;

	opt.sockbuf = 16384;
	opt.has_crc = false;
	for (int round = 0; round < 3; round++) {
		struct stopped peer;
		struct usiw_cqe cqe;
		uint32_t done;

		rnicpair_open(&p, &opt);
		engine_stop(&peer, p.side[1].ctx->engine);
		for (uint64_t i = 0; i < 20; i++) {
			struct usiw_sge sge =
				rnicpair_sge(&p.side[0], 0, 1u << 20);
			struct rnicpair_wr wr = {
				.wr_id = i,
				.opcode = round ? USIW_WR_WRITE : USIW_WR_READ,
				.flags = USIW_SQE_SIGNALED,
				.sge = &sge,
				.sge_cnt = 1,
				.rkey = p.side[1].stag,
				.remote_addr = rnicpair_addr(&p.side[1], 0),
			};

			assert_int_equal(rnicpair_post(&p.side[0], &wr), 0);
			assert_int_equal(
				rnicpair_post_recv(&p.side[0], i, NULL, 0), 0);
		}
		assert_int_equal(rnic_qp_destroy(p.side[0].qp, &events), 0);
		assert_int_equal(events, 0);
		p.side[0].qp = NULL;
		/* Earlier completions may be there, and nothing follows. */
		for (done = 0; rnicpair_peek(&p.side[0], p.side[0].scq, &cqe);
		     done++)
			assert_int_equal(cqe.status, USIW_WC_SUCCESS);
		assert_true(done < 20);
		engine_go_on(&peer);
		assert_true(rnicpair_is_quiet(&p, p.side[0].scq));
		assert_false(rnicpair_peek(&p.side[0], p.side[0].rcq, &cqe));
		/* The peer notices. */
		while (rnic_qp_state(p.side[1].qp) == RNIC_QPS_RTS)
			rnic_cq_progress(p.side[1].scq);
		rnicpair_close(&p);
	}
}

/* Until it is destroyed, so that its completions can be distinguished: the
 * number assigned next is the one freed last. */
CASE(a_retired_queue_pair_keeps_its_number)
{
	struct rnicpair_options opt = defaults;
	struct rnicpair p;
	struct rnic_qp *old, *other, *next;
	struct usiw_cqe cqe;
	uint32_t num, events;

	rnicpair_open_idle(&p, &opt);
	old = rnicpair_qp_new(&p, 0);
	num = rnic_qp_num(old);
	assert_int_equal(rnicpair_post_recv_qp(&p.side[0], old, 1, NULL, 0), 0);
	assert_int_equal(rnicpair_post_recv_qp(&p.side[0], old, 2, NULL, 0), 0);
	assert_int_equal(rnic_qp_modify(old, RNIC_QPS_ERROR), 0);
	rnic_qp_retire(old);
	other = rnicpair_qp_new(&p, 0);
	assert_int_not_equal(rnic_qp_num(other), num);
	/* Earlier completions stay and can be found by the number. */
	for (uint64_t id = 1; id <= 2; id++) {
		rnicpair_poll(&p.side[0], p.side[0].rcq, &cqe);
		assert_int_equal(cqe.wr_id, id);
		assert_int_equal(cqe.qp_num, num);
	}
	assert_int_equal(rnic_qp_destroy(old, &events), 0);
	next = rnicpair_qp_new(&p, 0);
	assert_int_equal(rnic_qp_num(next), num);
	assert_int_equal(rnic_qp_destroy(next, &events), 0);
	assert_int_equal(rnic_qp_destroy(other, &events), 0);
	rnicpair_close(&p);
}

/* ---- posts concurrent with the end ---- */

static struct rnicpair racing;
static _Atomic uint64_t posted_cnt, done_cnt;
static _Atomic bool is_over;

static void *post_receives(void *arg)
{
	(void)arg;
	while (!atomic_load(&is_over))
		/* Never more than fit into the CQ. */
		if (atomic_load(&posted_cnt) - atomic_load(&done_cnt) < 1000 &&
		    rnicpair_post_recv(&racing.side[0], 1, NULL, 0) == 0)
			atomic_fetch_add(&posted_cnt, 1);
		else
			sched_yield();
	return NULL;
}

/* In either order of post and end: one completion each. */
CASE(receives_posted_beside_the_end_complete)
{
	struct rnicpair_options opt = defaults;
	struct usiw_cqe cqe;

	opt.buf_len = 4096;
	opt.max_wr = 16;
	opt.cqe = 4096;
	rnicpair_open_idle(&racing, &opt);
	for (int round = 0; round < 200; round++) {
		pthread_t thread;

		atomic_store(&is_over, false);
		assert_int_equal(
			pthread_create(&thread, NULL, post_receives, NULL), 0);
		while (usiw_ring_used(rnic_qp_rq(racing.side[0].qp)) == 0)
			sched_yield();
		assert_int_equal(
			rnic_qp_modify(racing.side[0].qp, RNIC_QPS_ERROR), 0);
		for (int i = 0; i < 50; i++)
			if (rnicpair_peek(&racing.side[0], racing.side[0].rcq,
					  &cqe))
				atomic_fetch_add(&done_cnt, 1);
		atomic_store(&is_over, true);
		pthread_join(thread, NULL);
		for (; done_cnt < posted_cnt; done_cnt++)
			wait_until(rnicpair_peek(&racing.side[0],
						 racing.side[0].rcq, &cqe));
		assert_false(rnicpair_peek(&racing.side[0], racing.side[0].rcq,
					   &cqe));
		assert_int_equal(
			rnic_qp_modify(racing.side[0].qp, RNIC_QPS_IDLE), 0);
	}
	rnicpair_close(&racing);
}
