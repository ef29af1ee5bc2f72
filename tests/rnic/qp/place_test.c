/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * place.c, engine/engines.c: QPs spread over four engines. Which engine a QP
 * gets, what threads with QPs of their own share, and what concerns all
 * engines: memory that is changed, a CQ of several engines, an engine that
 * breaks, the end.
 */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "engine/engine.h"
#include "engine/wake.h"
#include "mem/context.h"
#include "mem/mw.h"
#include "qp/object.h"
#include "qp/place.h"
#include "rnicpair.h"

#define ENGINE_CNT 4
#define LANE_CNT 4
#define BUF_LEN 4096u

static const struct rnicpair_options usual = RNICPAIR_OPTIONS_INIT;

/* ---- locks that test threads take ---- */

#define LOCKS_SEEN_MAX 64

/* What one thread took; NULL: it does not record. */
struct seen {
	const struct util_lock *lock[LOCKS_SEEN_MAX];
	size_t cnt;
};

static _Thread_local struct seen *seen;

void __real_util_lock(struct util_lock *lock);
void __wrap_util_lock(struct util_lock *lock);
void __real_util_lock_beside(struct util_lock *lock);
void __wrap_util_lock_beside(struct util_lock *lock);
bool __real_util_trylock(struct util_lock *lock);
bool __wrap_util_trylock(struct util_lock *lock);

static void seen_note(const struct util_lock *lock)
{
	for (size_t i = 0; seen && i < seen->cnt; i++)
		if (seen->lock[i] == lock)
			return;
	if (!seen)
		return;
	must(seen->cnt < LOCKS_SEEN_MAX);
	seen->lock[seen->cnt++] = lock;
}

void __wrap_util_lock(struct util_lock *lock)
{
	seen_note(lock);
	__real_util_lock(lock);
}

void __wrap_util_lock_beside(struct util_lock *lock)
{
	seen_note(lock);
	__real_util_lock_beside(lock);
}

bool __wrap_util_trylock(struct util_lock *lock)
{
	seen_note(lock);
	return __real_util_trylock(lock);
}

static size_t seen_common(const struct seen *a, const struct seen *b)
{
	size_t cnt = 0;

	for (size_t i = 0; i < a->cnt; i++)
		for (size_t k = 0; k < b->cnt; k++)
			cnt += a->lock[i] == b->lock[k];
	return cnt;
}

/* ---- lanes: a connection with CQs of its own ---- */

struct lane_end {
	struct rnicpair_side side; /* its context, domain, memory; own locks */
	struct rnic_cq *cq;
	struct rnic_qp *qp;
};

struct lane {
	struct lane_end end[2];
	struct seen seen;
	pthread_t thread;
	_Atomic int round_cnt;
};

static struct rnic_cq *cq_new(struct rnic_context *ctx)
{
	struct rnic_cq *cq;

	must(!rnic_cq_create(ctx, 64, NULL, 0x600, NULL, &cq));
	return cq;
}

static struct rnic_qp *qp_new(struct rnic_pd *pd, struct rnic_cq *scq,
			      struct rnic_cq *rcq, struct rnic_srq *srq)
{
	struct rnic_qp_options opt = {
		.send_cq = scq,
		.recv_cq = rcq,
		.srq = srq,
		.max_send_wr = 16,
		.max_recv_wr = 16,
		.max_send_sge = 1,
		.max_recv_sge = 1,
	};
	struct rnic_qp *qp;

	must(!rnic_qp_create(pd, &opt, &qp));
	return qp;
}

static void qp_gone(struct rnic_qp *qp)
{
	uint32_t events;

	if (qp)
		must(!rnic_qp_destroy(qp, &events));
}

static void cq_gone(struct rnic_cq *cq)
{
	uint32_t comp, async;

	must(!rnic_cq_destroy(cq, &comp, &async));
}

/* @to: the side of the far end. */
static void lane_open(struct rnicpair *p, struct lane *lane, int to)
{
	memset(lane, 0, sizeof(*lane));
	for (int i = 0; i < 2; i++) {
		struct lane_end *end = &lane->end[i];

		end->side = p->side[i ? to : 0];
		pthread_mutex_init(&end->side.sq_lock, NULL);
		pthread_mutex_init(&end->side.rq_lock, NULL);
		pthread_mutex_init(&end->side.cq_lock, NULL);
		end->cq = cq_new(end->side.ctx);
		end->qp = qp_new(end->side.pd, end->cq, end->cq, NULL);
	}
	rnicpair_join(p, lane->end[0].qp, lane->end[1].qp);
}

static void lane_close(struct lane *lane)
{
	for (int i = 0; i < 2; i++) {
		qp_gone(lane->end[i].qp);
		cq_gone(lane->end[i].cq);
	}
}

static struct usiw_cqe lane_take(struct lane *lane, int end)
{
	return rnicpair_take(&lane->end[end].side, lane->end[end].cq);
}

/* Posts one signalled WR of the near end's octets at @off. */
static void lane_post(struct lane *lane, uint8_t opcode, uint32_t off)
{
	struct lane_end *a = &lane->end[0], *b = &lane->end[1];
	struct usiw_sge sge = rnicpair_sge(&a->side, off, BUF_LEN);
	struct rnicpair_wr wr = {
		.opcode = opcode,
		.flags = USIW_SQE_SIGNALED,
		.sge = &sge,
		.sge_cnt = 1,
		.rkey = b->side.stag,
		.remote_addr = rnicpair_addr(&b->side, off),
	};

	must(!rnicpair_post_qp(&a->side, a->qp, &wr));
}

/* A Send with its receive, a Write and a READ; polled at both ends. */
static void lane_round(struct lane *lane, uint32_t off)
{
	struct lane_end *b = &lane->end[1];
	struct usiw_sge dst =
		rnicpair_sge(&b->side, off + 2 * BUF_LEN, BUF_LEN);

	must(!rnicpair_post_recv_qp(&b->side, b->qp, 7, &dst, 1));
	lane_post(lane, USIW_WR_SEND, off);
	must(lane_take(lane, 1).status == USIW_WC_SUCCESS);
	must(lane_take(lane, 0).status == USIW_WC_SUCCESS);
	lane_post(lane, USIW_WR_WRITE, off);
	must(lane_take(lane, 0).status == USIW_WC_SUCCESS);
	lane_post(lane, USIW_WR_READ, off + BUF_LEN);
	must(lane_take(lane, 0).status == USIW_WC_SUCCESS);
	/* The completion thread may have been faster each time. */
	rnic_cq_progress(b->cq);
}

static uint32_t lane_off(const struct lane *lane, const struct lane *first)
{
	return (uint32_t)(lane - first) * 8 * BUF_LEN;
}

static struct lane lanes[LANE_CNT];

static void *lane_rounds(void *arg)
{
	struct lane *lane = arg;

	for (int i = 0; i < lane->round_cnt; i++) {
		/* What happens once, such as memory for staging, is over. */
		if (i == lane->round_cnt / 2)
			seen = &lane->seen;
		lane_round(lane, lane_off(lane, lanes));
	}
	seen = NULL;
	return NULL;
}

static void lanes_start(int cnt, void *(*run)(void *))
{
	for (int i = 0; i < cnt; i++)
		must(!pthread_create(&lanes[i].thread, NULL, run, &lanes[i]));
}

static void lanes_join(int cnt)
{
	for (int i = 0; i < cnt; i++)
		pthread_join(lanes[i].thread, NULL);
}

static int lanes_setup(void **state)
{
	static struct rnicpair pair;

	*state = &pair;
	rnicpair_open(&pair, &usual);
	for (int i = 0; i < LANE_CNT; i++)
		lane_open(&pair, &lanes[i], 1);
	return 0;
}

static int lanes_teardown(void **state)
{
	for (int i = 0; i < LANE_CNT; i++)
		lane_close(&lanes[i]);
	rnicpair_close(*state);
	return 0;
}

#define LANES_CASE(name) CASE_WITH(name, lanes_setup, lanes_teardown)

/* ---- which engine ---- */

/* The pair's own QPs have the first engine. */
LANES_CASE(spreads_qps_with_cqs_of_their_own)
{
	struct rnicpair *p = *state;

	for (int i = 0; i < 2; i++) {
		struct rnic_engines *all = &p->side[i].ctx->engines;

		assert_int_equal(rnic_engines_cnt(all), ENGINE_CNT);
		assert_ptr_equal(p->side[i].qp->engine, p->side[i].ctx->engine);
		for (int k = 0; k < 3; k++)
			assert_ptr_equal(lanes[k].end[i].qp->engine,
					 rnic_engines_at(all, (uint32_t)k + 1));
		/* All have one: the first again. */
		assert_ptr_equal(lanes[3].end[i].qp->engine,
				 rnic_engines_at(all, 0));
		/* They count where nobody else does. */
		for (uint32_t k = 0; k < ENGINE_CNT; k++)
			for (uint32_t m = 0; m < k; m++)
				assert_int_not_equal(
					rnic_engines_at(all, k)->stat.num,
					rnic_engines_at(all, m)->stat.num);
	}
}

PAIR_CASE(one_cq_needs_one_engine)
{
	struct rnicpair *p = *state;
	struct rnic_qp *qp[8];

	for (int i = 0; i < 8; i++) {
		qp[i] = rnicpair_qp_new(p, 0);
		assert_ptr_equal(qp[i]->engine, p->side[0].ctx->engine);
	}
	assert_int_equal(rnic_engines_cnt(&p->side[0].ctx->engines), 1);
	for (int i = 0; i < 8; i++)
		qp_gone(qp[i]);
}

/* One after another: no need for a second engine. */
IDLE_PAIR_CASE(takes_an_engine_that_is_free)
{
	struct rnicpair *p = *state;
	struct rnic_context *ctx = p->side[0].ctx;

	qp_gone(p->side[0].qp);
	p->side[0].qp = NULL;
	for (int i = 0; i < 8; i++) {
		struct rnic_cq *cq = cq_new(ctx);
		struct rnic_qp *qp = qp_new(p->side[0].pd, cq, cq, NULL);

		assert_ptr_equal(qp->engine, ctx->engine);
		qp_gone(qp);
		cq_gone(cq);
	}
	assert_int_equal(rnic_engines_cnt(&ctx->engines), 1);
}

/* Queues by letter: the QPs are made in order, each with its send CQ, receive
 * CQ and SRQ ('-': none).  The engine of each, and CQs that are shared. */
CASE(queues_keep_qps_together)
{
	static const struct {
		const char *name;
		struct {
			char scq, rcq, srq;
			int engine; /* 0: of the pair's own QP */
		} qp[4];
		const char *shared;
	} rows[] = {
		{ "two CQs", { { 'a', 'b', '-', 1 } }, "" },
		{ "one send CQ",
		  { { 'a', 'b', '-', 1 }, { 'a', 'c', '-', 1 } },
		  "" },
		{ "one receive CQ",
		  { { 'a', 'b', '-', 1 }, { 'c', 'b', '-', 1 } },
		  "" },
		{ "a chain",
		  { { 'a', 'b', '-', 1 },
		    { 'b', 'c', '-', 1 },
		    { 'c', 'd', '-', 1 } },
		  "" },
		{ "an SRQ",
		  { { 'a', 'a', 'x', 1 },
		    { 'b', 'b', 'x', 1 },
		    { 'c', 'c', '-', 2 } },
		  "" },
		{ "the send CQ decides",
		  { { 'a', 'a', '-', 1 },
		    { 'b', 'b', '-', 2 },
		    { 'b', 'a', '-', 2 } },
		  "a" },
		{ "the SRQ decides",
		  { { 'a', 'a', 'x', 1 },
		    { 'b', 'b', '-', 2 },
		    { 'b', 'c', 'x', 1 } },
		  "b" },
	};

	for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
		struct rnic_cq *cq[4] = { NULL };
		struct rnic_srq *srq = NULL;
		struct rnic_srq_options opt = { .max_wr = 8, .max_sge = 1 };
		struct rnic_qp *qp[4] = { NULL };
		struct rnicpair p;
		uint32_t events;

		rnicpair_open_idle(&p, &usual);
		must(!rnic_srq_create(p.side[0].pd, &opt, &srq));
		for (int i = 0; i < 4; i++)
			cq[i] = cq_new(p.side[0].ctx);
		for (int i = 0; i < 4 && rows[r].qp[i].scq; i++) {
			qp[i] = qp_new(p.side[0].pd,
				       cq[rows[r].qp[i].scq - 'a'],
				       cq[rows[r].qp[i].rcq - 'a'],
				       rows[r].qp[i].srq == 'x' ? srq : NULL);
			assert_row(
				rows[r].name,
				qp[i]->engine ==
					rnic_engines_at(&p.side[0].ctx->engines,
							(uint32_t)rows[r]
								.qp[i]
								.engine));
		}
		for (int i = 0; i < 4; i++)
			assert_row(rows[r].name,
				   rnic_cq_is_shared(cq[i]) ==
					   (strchr(rows[r].shared, 'a' + i) &&
					    rows[r].shared[0]));
		for (int i = 0; i < 4; i++)
			qp_gone(qp[i]);
		for (int i = 0; i < 4; i++)
			cq_gone(cq[i]);
		must(!rnic_srq_destroy(srq, &events));
		rnicpair_close(&p);
	}
}

/* ---- what threads share ---- */

LANES_CASE(threads_share_no_lock)
{
	uint64_t before =
		atomic_load(&rnic_stat_memory.page.stat[RNIC_STAT_cqe].value);

	for (int i = 0; i < 2; i++)
		lanes[i].round_cnt = 400;
	lanes_start(2, lane_rounds);
	lanes_join(2);
	for (int i = 0; i < 2; i++) {
		/* The lead of each end at least. */
		assert_true(lanes[i].seen.cnt >= 2);
		assert_int_equal(seen_common(&lanes[i].seen, &lanes[i].seen),
				 lanes[i].seen.cnt);
	}
	assert_int_equal(seen_common(&lanes[0].seen, &lanes[1].seen), 0);
	/* Nor the counters that all may write to. */
	assert_int_equal(
		atomic_load(&rnic_stat_memory.page.stat[RNIC_STAT_cqe].value),
		before);
}

LANES_CASE(all_lanes_move_data)
{
	for (int i = 0; i < LANE_CNT; i++)
		lanes[i].round_cnt = 100;
	lanes_start(LANE_CNT, lane_rounds);
	lanes_join(LANE_CNT);
}

/* ---- a CQ of several engines ---- */

LANES_CASE(a_shared_cq_gets_the_completions_of_all)
{
	struct rnicpair *p = *state;
	struct lane mixed = lanes[0];
	struct lane_end *near = &mixed.end[0];

	/* Sends complete as lane 0's, receives as lane 1's. */
	near->qp = qp_new(near->side.pd, lanes[0].end[0].cq, lanes[1].end[0].cq,
			  NULL);
	mixed.end[1].qp = qp_new(mixed.end[1].side.pd, mixed.end[1].cq,
				 mixed.end[1].cq, NULL);
	rnicpair_join(p, near->qp, mixed.end[1].qp);
	assert_true(rnic_cq_is_shared(lanes[1].end[0].cq));
	assert_false(rnic_cq_is_shared(lanes[0].end[0].cq));
	assert_int_equal(rnic_cq_sleep_begin(lanes[1].end[0].cq), -EOPNOTSUPP);
	for (int i = 0; i < 50; i++) {
		struct usiw_sge dst =
			rnicpair_sge(&near->side, 64 * BUF_LEN, BUF_LEN);
		struct usiw_sge src =
			rnicpair_sge(&mixed.end[1].side, 64 * BUF_LEN, BUF_LEN);
		struct rnicpair_wr wr = { .opcode = USIW_WR_SEND,
					  .sge = &src,
					  .sge_cnt = 1 };
		int seen_cnt[2] = { 0, 0 };

		must(!rnicpair_post_recv_qp(&near->side, near->qp, 5, &dst, 1));
		lane_post(&lanes[1], USIW_WR_WRITE, 0);
		must(!rnicpair_post_qp(&mixed.end[1].side, mixed.end[1].qp,
				       &wr));
		for (int k = 0; k < 2; k++) {
			struct usiw_cqe cqe = lane_take(&lanes[1], 0);

			assert_int_equal(cqe.status, USIW_WC_SUCCESS);
			seen_cnt[cqe.qp_num == rnic_qp_num(near->qp)]++;
		}
		assert_int_equal(seen_cnt[0], 1);
		assert_int_equal(seen_cnt[1], 1);
	}
	qp_gone(near->qp);
	qp_gone(mixed.end[1].qp);
}

LANES_CASE(its_overrun_ends_the_qps_of_all)
{
	struct lane_end *a = &lanes[0].end[0], *b = &lanes[1].end[0];
	struct rnic_qp *qp = qp_new(a->side.pd, a->cq, b->cq, NULL);

	assert_true(rnic_cq_is_shared(b->cq));
	/* Nobody polls: 64 fit.  The far ends make it happen. */
	for (int i = 0; i < 80 && rnic_qp_state(b->qp) == RNIC_QPS_RTS; i++) {
		uint32_t used = usiw_ring_used(rnic_cq_ring(b->cq));

		lane_post(&lanes[1], USIW_WR_WRITE, 0);
		wait_until(usiw_ring_used(rnic_cq_ring(b->cq)) > used ||
			   used == 64);
	}
	wait_until(rnic_qp_state(b->qp) != RNIC_QPS_RTS);
	/* The one that completes there only what it receives. */
	assert_ptr_not_equal(qp->engine, b->qp->engine);
	assert_true(atomic_load(&qp->is_cq_gone));
	qp_gone(qp);
}

/* ---- memory ---- */

static void *write_until_refused(void *arg)
{
	struct lane *lane = arg;
	struct usiw_cqe cqe;

	do {
		lane_post(lane, USIW_WR_WRITE, lane_off(lane, lanes));
		cqe = lane_take(lane, 0);
		lane->round_cnt++;
	} while (cqe.status == USIW_WC_SUCCESS);
	return NULL;
}

static bool lanes_are_writing(void)
{
	for (int i = 0; i < LANE_CNT; i++)
		if (atomic_load(&lanes[i].round_cnt) < 20)
			return false;
	return true;
}

/* The memory that all lanes write to, and how it is taken from them. */
enum taking { DEREG, LOCAL_INV, REREG };

static void take_away(struct rnicpair *p, enum taking how)
{
	struct rnicpair_side *s = &p->side[1];
	struct rnicpair_wr inv = { .opcode = USIW_WR_LOCAL_INV,
				   .flags = USIW_SQE_SIGNALED,
				   .rkey = s->stag };
	const struct rnic_mr_change change = {
		.what = RNIC_MR_CHANGE_ACCESS,
		.access = RNIC_ACCESS_LOCAL_WRITE,
	};

	switch (how) {
	case DEREG:
		must(!rnic_mr_dereg(s->mr));
		s->mr = NULL;
		break;
	case LOCAL_INV:
		must(!rnicpair_post(s, &inv));
		must(rnicpair_take(s, s->scq).status == USIW_WC_SUCCESS);
		break;
	case REREG:
		must(!rnic_mr_rereg(s->mr, &change));
		break;
	}
}

/* When it has been taken away, no engine writes there. */
CASE(memory_is_taken_from_all)
{
	static const enum taking rows[] = { DEREG, LOCAL_INV, REREG };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rnicpair *p;

		must(!lanes_setup(state));
		p = *state;
		lanes_start(LANE_CNT, write_until_refused);
		wait_until(lanes_are_writing());
		take_away(p, rows[i]);
		memset(p->side[1].buf, 0xa5, LANE_CNT * 8 * BUF_LEN);
		lanes_join(LANE_CNT);
		for (size_t k = 0; k < LANE_CNT * 8 * BUF_LEN; k++)
			if (p->side[1].buf[k] != 0xa5)
				fail_msg("row %zu: octet %zu", i, k);
		must(!lanes_teardown(state));
	}
}

/* Two QPs of one context, with different engines, open and close windows all
 * the time. */
static void *windows_open_and_close(void *arg)
{
	struct lane *lane = arg;
	struct lane_end *e = &lane->end[0];
	struct rnic_mw *mw[2];
	struct rnic_mr *mr;

	must(!rnic_mr_reg(e->side.pd, e->side.buf, BUF_LEN,
			  (uint64_t)(uintptr_t)e->side.buf,
			  RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_MW_BIND, &mr));
	for (int i = 0; i < lane->round_cnt; i++) {
		for (int type = 0; type < 2; type++) {
			struct rnicpair_wr wr = {
				.opcode = USIW_WR_BIND_MW,
				.flags = USIW_SQE_SIGNALED,
				.imm_be = rnic_mr_stag(mr),
				.remote_addr = (uint64_t)(uintptr_t)e->side.buf,
				.compare_add = 64,
				.swap = RNIC_ACCESS_REMOTE_READ,
			};

			must(!rnic_mw_alloc(e->side.pd,
					    type ? RNIC_MW_TYPE_2
						 : RNIC_MW_TYPE_1,
					    &mw[type]));
			wr.rkey = rnic_mw_stag(mw[type]);
			must(!rnicpair_post_qp(&e->side, e->qp, &wr));
			must(lane_take(lane, 0).status == USIW_WC_SUCCESS);
			wr.opcode = USIW_WR_LOCAL_INV;
			if (type) {
				must(!rnicpair_post_qp(&e->side, e->qp, &wr));
				must(lane_take(lane, 0).status ==
				     USIW_WC_SUCCESS);
			}
			lane_round(lane, lane_off(lane, lanes));
			must(!rnic_mw_dealloc(mw[type]));
		}
	}
	must(!rnic_mr_dereg(mr));
	return NULL;
}

LANES_CASE(windows_of_several_engines)
{
	for (int i = 0; i < LANE_CNT; i++)
		lanes[i].round_cnt = 50;
	lanes_start(LANE_CNT, windows_open_and_close);
	lanes_join(LANE_CNT);
}

/* What waits for all leads is served before the QP has gone. */
LANES_CASE(a_qp_leaves_with_a_change_under_way)
{
	for (int i = 0; i < 100; i++) {
		struct lane_end *e = &lanes[i % LANE_CNT].end[0];
		struct rnicpair_wr inv = { .opcode = USIW_WR_LOCAL_INV,
					   .rkey = 0x12345678 };
		struct rnic_qp *qp = qp_new(e->side.pd, e->cq, e->cq, NULL);
		struct rnic_qp *far = qp_new(lanes[0].end[1].side.pd,
					     lanes[0].end[1].cq,
					     lanes[0].end[1].cq, NULL);

		rnicpair_join(*state, qp, far);
		must(!rnicpair_post_qp(&e->side, qp, &inv));
		qp_gone(qp);
		qp_gone(far);
	}
}

/* ---- ends ---- */

static bool engine_rests(struct rnic_engine *engine)
{
	return !rnic_burst_is_watched(&engine->sched.burst) &&
	       with_lead(engine, !engine->due);
}

/* No completion thread serves bells by chance: it looks for posts while it
 * watches, and wakes up when an Initiator would probe its peer. */
static void lanes_rest(void)
{
	for (int i = 0; i < LANE_CNT; i++)
		lane_round(&lanes[i], lane_off(&lanes[i], lanes));
	for (int i = 0; i < LANE_CNT; i++)
		wait_until(engine_rests(lanes[i].end[0].qp->engine));
}

LANES_CASE(a_broken_engine_ends_all_qps)
{
	struct rnicpair *p = *state;
	struct rnic_engine *engine = lanes[1].end[0].qp->engine;

	lanes_rest();
	rnic_engine_lead(engine);
	rnic_engine_break(engine, -EBADF);
	rnic_engine_unlead(engine);
	for (int i = 0; i < LANE_CNT; i++)
		wait_until(rnic_qp_state(lanes[i].end[0].qp) == RNIC_QPS_ERROR);
	wait_until(rnic_qp_state(p->side[0].qp) == RNIC_QPS_ERROR);
	assert_int_equal(rnicpair_async(&p->side[0], NULL),
			 USIW_EVENT_DEVICE_FATAL);
}

/* QPs of one context with different engines are each other's peers. */
CASE(engines_of_one_context_end_together)
{
	uint64_t begin_ms;
	struct rnicpair p;
	struct lane lane;

	rnicpair_open(&p, &usual);
	lane_open(&p, &lane, 0);
	assert_ptr_not_equal(lane.end[0].qp->engine, lane.end[1].qp->engine);
	lane_round(&lane, 0);
	begin_ms = until_ms();
	assert_true(rnic_engines_drain(&p.side[0].ctx->engines));
	/* The time limit is 20 s: see main(). */
	assert_true(until_ms() - begin_ms < 10000);
	lane_close(&lane);
	rnicpair_close(&p);
}

BEFORE_CASES()
{
	/* Settings are read once. */
	setenv("USIW_ENGINES", "4", 1);
	setenv("USIW_DRAIN_MS", "20000", 1);
}
