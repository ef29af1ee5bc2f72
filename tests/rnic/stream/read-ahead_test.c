/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* read-ahead.c: how much of what has come a poll reads. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../harness/test.h"
#include "engine/engine.h"
#include "mem/context.h"
#include "qp/object.h"
#include "qp/qp.h"
#include "rnicpair.h"
#include "stream/object.h"
#include "stream/read-ahead.h"
#include "stream/ring.h"
#include "stream/tcp.h"

#define DEPTH 64u
#define FPDU_LEN 88u
#define NO_LIMIT SIZE_MAX

/* ---- one question ---- */

struct stage {
	struct rnic_engine engine;
	struct rnic_qp qp;
	struct rnic_cq cq;
	struct rnic_stream stream;
	void *rq_mem, *cq_mem;
};

static void *ring_new(struct usiw_ring *ring, uint32_t stride, uint32_t cnt)
{
	void *mem = aligned_alloc(64, usiw_ring_size(DEPTH, stride));

	assert_non_null(mem);
	memset(mem, 0, usiw_ring_size(DEPTH, stride));
	usiw_ring_init(ring, mem, DEPTH, stride);
	assert_true(cnt <= DEPTH);
	usiw_ring_commit(ring, cnt);
	return mem;
}

/* A program that has not taken @unread_cnt completions, and whose peer is
 * ahead: the fifth poll of the engine looks. */
static void stage_open(struct stage *st, uint32_t posted_cnt,
		       uint32_t unread_cnt)
{
	memset(st, 0, sizeof(*st));
	st->rq_mem =
		ring_new(&st->qp.rq.ring, sizeof(struct usiw_rqe), posted_cnt);
	st->cq_mem =
		ring_new(&st->cq.ring, sizeof(struct usiw_cqe), unread_cnt);
	st->qp.recv_cq = &st->cq;
	atomic_init(&st->qp.rq.told_idx, unread_cnt);
	st->qp.arrival.is_received = true;
	st->engine.turn.may_leave = true;
	st->engine.turn.poll_no = 5;
	st->stream.engine = &st->engine;
	st->stream.qp = &st->qp;
	st->stream.carrier = &rnic_ring_carrier;
	st->stream.ahead.fpdu_len = FPDU_LEN;
}

static void stage_close(struct stage *st)
{
	free(st->rq_mem);
	free(st->cq_mem);
}

static bool has_left(const struct stage *st)
{
	return atomic_load_explicit(&st->engine.sched.polls.has_left,
				    memory_order_relaxed);
}

static void not_ahead(struct stage *st)
{
	st->stream.ahead.fpdu_len = 0;
}

static void led_by_the_thread(struct stage *st)
{
	st->engine.turn.may_leave = false;
}

static void writes_only(struct stage *st)
{
	st->qp.arrival.is_received = false;
}

static void amid_a_message(struct stage *st)
{
	st->qp.rq.current.is_open = true;
}

static void a_send_has_failed(struct stage *st)
{
	st->stream.send_error = -ECONNRESET;
}

static void three_held(struct stage *st)
{
	st->qp.held_out_idx = UINT32_MAX;
	st->qp.held_in_idx = 2;
}

static void posts(struct stage *st)
{
	st->engine.turn.poll_no = 0;
}

static void left_by_this_poll(struct stage *st)
{
	st->stream.ahead.left_turn = 5;
}

static void left_by_the_last_poll(struct stage *st)
{
	st->stream.ahead.left_turn = 3;
	st->stream.ahead.taken_idx = 0;
}

static void left_before_some_were_taken(struct stage *st)
{
	left_by_the_last_poll(st);
	usiw_ring_consume(&st->cq.ring, 1);
}

static void over_tcp(struct stage *st)
{
	st->stream.carrier = &rnic_tcp_carrier;
}

static const struct row {
	const char *name;
	uint32_t posted_cnt, unread_cnt;
	void (*change)(struct stage *st); /* NULL: nothing */
	size_t limit;
} rows[] = {
	{ "a receive", 1, 0, NULL, FPDU_LEN },
	{ "many receives", 64, 0, NULL, 64 * FPDU_LEN },
	{ "some for held Sends", 5, 0, three_held, 2 * FPDU_LEN },
	{ "the peer is not ahead", 1, 9, not_ahead, NO_LIMIT },
	{ "the completion thread", 1, 9, led_by_the_thread, NO_LIMIT },
	{ "Writes", 1, 9, writes_only, NO_LIMIT },
	{ "amid a message", 1, 9, amid_a_message, NO_LIMIT },
	{ "after a failed send", 1, 9, a_send_has_failed, NO_LIMIT },
	{ "no receive, all taken", 0, 0, NULL, NO_LIMIT },
	{ "no receive, some not taken", 0, 9, NULL, 0 },
	{ "all for held Sends", 3, 9, three_held, 0 },
	{ "no receive, a post", 0, 9, posts, 0 },
	{ "a second look", 0, 9, left_by_this_poll, 0 },
	{ "left before, and none taken", 0, 9, left_by_the_last_poll,
	  NO_LIMIT },
	{ "left before, and some taken", 0, 9, left_before_some_were_taken, 0 },
	{ "TCP", 1, 9, over_tcp, NO_LIMIT },
};

CASE(the_limit_is_what_receives_are_posted_for)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct stage st;

		stage_open(&st, rows[i].posted_cnt, rows[i].unread_cnt);
		if (rows[i].change)
			rows[i].change(&st);
		assert_row(rows[i].name,
			   rnic_read_ahead_limit(&st.stream) == rows[i].limit);
		assert_row(rows[i].name, has_left(&st) == !rows[i].limit);
		stage_close(&st);
	}
}

/* ---- what a read tells ---- */

static const struct read_row {
	const char *name;
	uint32_t before;
	size_t len;
	uint64_t fpdu_cnt;
	size_t limit;
	uint32_t after;
} reads[] = {
	{ "one FPDU", 0, 88, 1, NO_LIMIT, 0 },
	{ "some", 0, 7 * 88, 7, NO_LIMIT, 0 },
	{ "many", 0, 8 * 88, 8, NO_LIMIT, 88 },
	{ "many of another length", 88, 10 * 600, 10, NO_LIMIT, 600 },
	{ "few: that was all", 88, 88, 1, NO_LIMIT, 0 },
	{ "few: fewer than the limit", 88, 176, 2, 5 * 88, 0 },
	{ "few: the limit", 88, 176, 2, 176, 88 },
	{ "a part of one", 88, 176, 0, 176, 0 },
};

CASE(a_peer_is_ahead_whose_fpdus_come_in_numbers)
{
	for (size_t i = 0; i < ARRAY_LEN(reads); i++) {
		struct rnic_stream stream = {
			.ahead = { .fpdu_len = reads[i].before }
		};

		rnic_read_ahead_note(&stream, reads[i].len, reads[i].fpdu_cnt,
				     reads[i].limit);
		assert_row(reads[i].name,
			   stream.ahead.fpdu_len == reads[i].after);
	}
}

/* ---- a whole RNIC ---- */

#define MSG_LEN 64u
#define BURST 32u

static void post_recvs(struct rnicpair_side *s, uint32_t cnt)
{
	struct usiw_sge sge = rnicpair_sge(s, 0, MSG_LEN);

	for (uint32_t i = 0; i < cnt; i++)
		assert_int_equal(rnicpair_post_recv(s, i, &sge, 1), 0);
}

static void post_sends(struct rnicpair_side *s, uint32_t cnt)
{
	struct usiw_sge sge = rnicpair_sge(s, 4096, MSG_LEN);

	for (uint32_t i = 0; i < cnt; i++)
		rnicpair_post_wr(s, .opcode = USIW_WR_SEND, .sge = &sge,
				 .sge_cnt = 1,
				 .flags = i + 1 == cnt ? USIW_SQE_SIGNALED : 0);
}

/* Receives lie in the CQ, and the peer is taken to be ahead. */
static void fall_behind(struct rnicpair *p)
{
	struct rnicpair_side *s = &p->side[0];

	post_recvs(s, BURST);
	post_sends(&p->side[1], BURST);
	(void)rnicpair_take(&p->side[1], p->side[1].scq);
	wait_until((rnic_cq_progress(s->rcq),
		    usiw_ring_used(rnic_cq_ring(s->rcq)) == BURST));
	rnic_engine_lead(s->qp->engine);
	rnic_qp_stream(s->qp)->ahead.fpdu_len = MSG_LEN + 24;
	rnic_engine_unlead(s->qp->engine);
}

/* The answer lies behind Sends that have no receive, and the program does not
 * take the completions before them. */
PAIR_CASE(an_answer_behind_sends_is_read)
{
	struct rnicpair *p = *state;

	fall_behind(p);
	post_sends(&p->side[1], BURST);
	rnicpair_post_read(p, 0, 7, MSG_LEN);
	assert_int_equal(rnicpair_take(&p->side[0], p->side[0].scq).wr_id, 7);
}

PAIR_CASE(sends_that_were_left_come_in_order)
{
	struct rnicpair *p = *state;
	struct rnicpair_side *s = &p->side[0];
	uint32_t taken_cnt = 0;
	struct usiw_cqe cqe;

	fall_behind(p);
	post_sends(&p->side[1], BURST);
	/* Takes one, posts one, and polls again before the next. */
	while (taken_cnt < 2 * BURST) {
		if (rnicpair_poll(s, s->rcq, &cqe)) {
			assert_int_equal(cqe.status, USIW_WC_SUCCESS);
			assert_int_equal(cqe.wr_id,
					 taken_cnt < BURST ? taken_cnt : 0);
			taken_cnt++;
			if (taken_cnt <= BURST)
				post_recvs(s, 1);
		}
		if (rnic_cq_wants_progress(s->rcq))
			rnic_cq_progress(s->rcq);
	}
	assert_true(rnicpair_is_quiet(p, s->rcq));
}
