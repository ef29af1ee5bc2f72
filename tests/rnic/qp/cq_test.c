/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* cq.c: completions that fit and those that do not, arming and firing
 * events. */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "cq-fixture.h"
#include "qp/cq.h"
#include "engine/engine.h"
#include "mem/context.h"
#include "qp/object.h"
#include "qp/qp.h"
#include "rawpeer.h"

static const struct rnicpair_options defaults = RNICPAIR_OPTIONS_INIT;

/* ---- creation ---- */

CASE(refuses_sizes_out_of_range)
{
	struct rnic_context *ctx;
	struct rnic_cq *cq = NULL;

	assert_int_equal(
		rnic_context_open(rnic_device_by_name("usiw_lo"), &ctx), 0);
	assert_int_equal(rnic_cq_create(ctx, 0, NULL, 0, NULL, &cq), -EINVAL);
	assert_int_equal(rnic_cq_create(ctx, rnic_limits()->max_cqe + 1, NULL,
					0, NULL, &cq),
			 -EINVAL);
	assert_null(cq);
	rnic_context_close(ctx);
}

/* ---- events ---- */

enum { NOT, SOL, ANY }; /* armed for */

struct firing {
	int first_arm, second_arm;
	bool is_solicited;
	enum usiw_wc_status status;
	uint32_t events;
};

/* U-12 */
static const struct firing firings[] = {
	{ NOT, NOT, true, USIW_WC_SUCCESS, 0 },
	{ NOT, NOT, false, USIW_WC_WR_FLUSH_ERR, 0 },
	{ ANY, NOT, false, USIW_WC_SUCCESS, 1 },
	{ ANY, ANY, false, USIW_WC_SUCCESS, 1 },
	{ SOL, NOT, false, USIW_WC_SUCCESS, 0 },
	{ SOL, NOT, true, USIW_WC_SUCCESS, 1 },
	{ SOL, NOT, false, USIW_WC_LOC_PROT_ERR, 1 },
	{ SOL, ANY, false, USIW_WC_SUCCESS, 1 },
	{ ANY, SOL, false, USIW_WC_SUCCESS, 1 }, /* the wider request applies */
};

static void arm(struct bell *b, int kind)
{
	if (kind != NOT)
		rnic_cq_arm(b->cq, kind == SOL);
}

CASE(fires_as_armed_and_once)
{
	for (size_t i = 0; i < ARRAY_LEN(firings); i++) {
		const struct firing *f = &firings[i];
		struct bell b;

		bell_open(&b, 16);
		/* What is polled already does not fire. */
		assert_int_equal(push(&b, true, USIW_WC_SUCCESS), 0);
		usiw_ring_consume(rnic_cq_ring(b.cq), 1);
		arm(&b, f->first_arm);
		arm(&b, f->second_arm);
		assert_int_equal(events_read(b.chan), 0);
		assert_int_equal(push(&b, f->is_solicited, f->status), 0);
		assert_int_equal(push(&b, f->is_solicited, f->status), 0);
		assert_int_equal(events_read(b.chan), f->events);
		usiw_ring_consume(rnic_cq_ring(b.cq), 2);
		/* After arming again, it fires again. */
		rnic_cq_arm(b.cq, false);
		assert_int_equal(push(&b, false, USIW_WC_SUCCESS), 0);
		assert_int_equal(events_read(b.chan), 1);
		bell_close(&b, f->events + 1, 0);
	}
}

/* A program that arms, polls a part and waits is not left beside the rest. */
CASE(waiting_entries_fire_until_polled)
{
	for (uint32_t at_once = 1; at_once <= 64; at_once *= 2) {
		const struct usiw_ring *ring;
		uint32_t polled = 0, events = 0;
		struct bell b;

		bell_open(&b, 256);
		ring = rnic_cq_ring(b.cq);
		rnic_cq_arm(b.cq, false);
		push_many_quiet(&b, 110);
		/* As perftest: an event, arm, poll a part. */
		while (events_read(b.chan) == 1) {
			uint32_t used = usiw_ring_used(ring);
			uint32_t cnt = used < at_once ? used : at_once;

			events++;
			rnic_cq_arm(b.cq, false);
			usiw_ring_consume(ring, cnt);
			polled += cnt;
		}
		assert_int_equal(polled, 110);
		/* One that polls one entry for each event finds it there; at
		 * most one event is in vain. */
		assert_in_range(events, (110 + at_once - 1) / at_once,
				(110 + at_once - 1) / at_once +
					(at_once > 1 ? 1 : 0));
		bell_close(&b, events, 0);
	}
}

struct waiting {
	int arm;
	bool is_solicited;
	enum usiw_wc_status status;
	uint32_t events;
};

static const struct waiting waitings[] = {
	{ ANY, false, USIW_WC_SUCCESS, 1 },
	{ SOL, false, USIW_WC_SUCCESS, 0 },
	{ SOL, true, USIW_WC_SUCCESS, 1 },
	{ SOL, false, USIW_WC_LOC_PROT_ERR, 1 },
};

CASE(a_waiting_entry_fires_once_if_it_counts)
{
	for (size_t i = 0; i < ARRAY_LEN(waitings); i++) {
		const struct waiting *w = &waitings[i];
		struct bell b;

		bell_open(&b, 16);
		assert_int_equal(push(&b, w->is_solicited, w->status), 0);
		arm(&b, w->arm);
		assert_int_equal(events_read(b.chan), w->events);
		arm(&b, w->arm);
		assert_int_equal(events_read(b.chan), 0);
		bell_close(&b, w->events, 0);
	}
}

/* The entry of another QP is removed, and the solicited one moves up. */
CASE(a_moved_entry_fires)
{
	struct bell b;

	bell_open(&b, 16);
	assert_int_equal(push(&b, true, USIW_WC_SUCCESS), 0);
	assert_int_equal(push(&b, false, USIW_WC_SUCCESS), 0);
	memcpy(usiw_ring_peek(rnic_cq_ring(b.cq), 1),
	       usiw_ring_peek(rnic_cq_ring(b.cq), 0), sizeof(struct usiw_cqe));
	usiw_ring_consume(rnic_cq_ring(b.cq), 1);
	rnic_cq_moved(b.cq);
	rnic_cq_arm(b.cq, true);
	assert_int_equal(events_read(b.chan), 1);
	bell_close(&b, 1, 0);
}

CASE(destruction_takes_unread_events_back)
{
	struct bell b;

	bell_open(&b, 16);
	rnic_cq_arm(b.cq, false);
	assert_int_equal(push(&b, false, USIW_WC_SUCCESS), 0);
	assert_true(is_readable(rnic_chan_fd(b.chan)));
	bell_close(&b, 0, 0);
}

/* ---- flags ---- */

CASE(stamps_are_taken_where_asked_for)
{
	struct usiw_cqe cqe;
	struct bell b;

	for (uint32_t flags = 0; flags < 4; flags++) {
		uint64_t before = rnic_raw_clock_ns(), after;

		bell_open(&b, 4);
		rnic_cq_set_flags(b.cq, flags);
		assert_int_equal(push(&b, false, USIW_WC_SUCCESS), 0);
		after = rnic_raw_clock_ns();
		cqe = *(struct usiw_cqe *)usiw_ring_peek(rnic_cq_ring(b.cq), 0);
		if (flags & RNIC_CQ_TIMESTAMP)
			assert_true(before <= cqe.timestamp_ns &&
				    cqe.timestamp_ns <= after);
		else
			assert_true(cqe.timestamp_ns == 0);
		/* some time after 2020 */
		if (flags & RNIC_CQ_WALLCLOCK)
			assert_true(cqe.wallclock_ns > 1577836800000000000);
		else
			assert_true(cqe.wallclock_ns == 0);
		bell_close(&b, 0, 0);
	}
}

CASE(an_ignored_overrun_makes_no_event)
{
	struct bell b;

	bell_open(&b, 3);
	rnic_cq_set_flags(b.cq, RNIC_CQ_IGNORE_OVERRUN);
	for (int i = 0; i < 6; i++)
		assert_int_equal(push(&b, false, USIW_WC_SUCCESS), 0);
	assert_int_equal(usiw_ring_used(rnic_cq_ring(b.cq)), 3);
	assert_false(is_readable(rnic_context_async_fd(b.ctx)));
	/* There is space again, and it continues. */
	usiw_ring_consume(rnic_cq_ring(b.cq), 1);
	assert_int_equal(push(&b, false, USIW_WC_SUCCESS), 0);
	assert_int_equal(usiw_ring_used(rnic_cq_ring(b.cq)), 3);
	bell_close(&b, 0, 0);
}

/* ---- overrun ---- */

CASE(overrun_is_reported_once)
{
	struct usiw_async_event ev;
	struct rnic_chan *async;
	struct bell b;
	int fd;

	bell_open(&b, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(push(&b, false, USIW_WC_SUCCESS), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(push(&b, false, USIW_WC_SUCCESS), -ENOSPC);
	assert_int_equal(usiw_ring_used(rnic_cq_ring(b.cq)), 3);
	fd = rnic_context_async_fd(b.ctx);
	async = rnic_chan_get_fd(fd);
	assert_true(is_readable(fd));
	assert_int_equal(rnic_chan_read(async, &ev, sizeof(ev)), sizeof(ev));
	assert_int_equal(ev.event_type, USIW_EVENT_CQ_ERR);
	assert_int_equal(ev.element, 0xabc);
	assert_false(is_readable(fd));
	rnic_chan_put(async);
	bell_close(&b, 0, 1);
}

/* A thread in the middle of a pass has reported everything of it. */
static void pass_ends(const struct rnicpair_side *s)
{
	rnic_engine_lead(s->ctx->engine);
	rnic_engine_unlead(s->ctx->engine);
}

/* The QP whose completion did not fit fails, once, and its peer is told. */
static void overrun_fails_the_queue_pair(int is_recv)
{
	struct rnicpair_options opt = defaults;
	struct rnicpair p;
	struct rnicpair_side *a = &p.side[0], *b = &p.side[1], *s;
	uint32_t seen[USIW_EVENT_QP_LAST_WQE_REACHED + 1] = { 0 };

	opt.cqe = 4;
	rnicpair_open(&p, &opt);
	s = is_recv ? b : a;
	for (uint64_t i = 0; i < 20; i++) {
		struct rnicpair_wr wr = {
			.wr_id = i,
			.opcode = USIW_WR_SEND,
			.flags = is_recv ? 0 : USIW_SQE_SIGNALED
		};

		assert_int_equal(rnicpair_post_recv(b, i, NULL, 0), 0);
		assert_int_equal(rnicpair_post(a, &wr), 0);
	}
	/* The CQs are not polled. */
	while (rnic_qp_state(s->qp) == RNIC_QPS_RTS)
		rnic_cq_progress(a->scq);
	assert_int_equal(rnic_qp_state(s->qp), RNIC_QPS_ERROR);
	while (rnic_qp_state(is_recv ? a->qp : b->qp) == RNIC_QPS_RTS)
		rnic_cq_progress(a->scq);
	for (int i = 0; i < 2; i++)
		seen[rnicpair_async(s, NULL)]++;
	pass_ends(s);
	/* The flush overruns the other CQ too. */
	while (rnicpair_has_async(s))
		seen[rnicpair_async(s, NULL)]++;
	assert_in_range(seen[USIW_EVENT_CQ_ERR], 1, 2);
	assert_int_equal(seen[USIW_EVENT_QP_FATAL], 1);
	assert_int_equal(
		usiw_ring_used(rnic_cq_ring(is_recv ? s->rcq : s->scq)), 4);
	rnicpair_close(&p);
}

CASE(overrun_by_sends_fails_the_queue_pair)
{
	overrun_fails_the_queue_pair(0);
}

CASE(overrun_by_receives_fails_the_queue_pair)
{
	overrun_fails_the_queue_pair(1);
}

/* The completion that does not fit belongs to a receive whose message was too
 * long: the QP fails once, for the overrun, which came first. */
CASE(overrun_by_a_bad_message_fails_the_queue_pair)
{
	struct rnicpair_options opt = defaults;
	struct rnicpair p;
	struct rnicpair_side *a = &p.side[0], *b = &p.side[1];
	uint32_t seen[USIW_EVENT_QP_LAST_WQE_REACHED + 1] = { 0 };

	opt.cqe = 4;
	rnicpair_open(&p, &opt);
	for (uint64_t i = 0; i < 5; i++) {
		struct rnicpair_wr wr = { .wr_id = i, .opcode = USIW_WR_SEND };

		if (i == 4) {
			wr.flags = USIW_SQE_INLINE;
			wr.inline_data = "too long";
			wr.inline_len = 8;
		}
		assert_int_equal(rnicpair_post_recv(b, i, NULL, 0), 0);
		assert_int_equal(rnicpair_post(a, &wr), 0);
	}
	while (rnic_qp_state(b->qp) == RNIC_QPS_RTS)
		rnic_cq_progress(a->scq);
	assert_int_equal(rnic_qp_state(b->qp), RNIC_QPS_ERROR);
	while (rnic_qp_state(a->qp) == RNIC_QPS_RTS)
		rnic_cq_progress(a->scq);
	pass_ends(b);
	while (rnicpair_has_async(b))
		seen[rnicpair_async(b, NULL)]++;
	assert_int_equal(seen[USIW_EVENT_CQ_ERR], 1);
	assert_int_equal(seen[USIW_EVENT_QP_FATAL], 1);
	assert_int_equal(seen[USIW_EVENT_QP_REQ_ERR], 0);
	assert_int_equal(usiw_ring_used(rnic_cq_ring(b->rcq)), 4);
	rnicpair_close(&p);
}

/*
 * The CQ overruns in the middle of a pass whose staging holds more messages,
 * while there is something to send: nothing is done twice.
 */
CASE(overrun_among_messages_is_reported_once)
{
	struct rnicpair_options opt = defaults;

	opt.cqe = 2;
	for (int round = 0; round < 20; round++) {
		uint32_t seen[USIW_EVENT_QP_LAST_WQE_REACHED + 1] = { 0 };
		struct rnicpair p;
		struct rnicpair_side *side = &p.side[0];
		struct rawpeer raw;
		struct smpa_event ev;

		rawpeer_open(&raw, &p, &opt);
		for (uint64_t i = 0; i < 20; i++)
			assert_int_equal(rnicpair_post_recv(side, i, NULL, 0),
					 0);
		rnic_engine_lead(side->ctx->engine);
		for (int i = 0; i < 12; i++) {
			rawpeer_send_octets(&raw, SMPA_OP_SEND, NULL, 0);
			rawpeer_read(&raw, 1, 0, side->stag,
				     rnicpair_addr(side, 0), 1000);
			if (i % 6 == 5)
				continue;
		}
		/* Something to send that would be flushed at the end. */
		for (int i = 0; i < 3; i++) {
			const struct usiw_ring *sq = rnic_qp_sq(side->qp);
			struct usiw_sqe *sqe = usiw_ring_reserve(sq, 0);

			*sqe = (struct usiw_sqe){ .wr_id = 9,
						  .opcode = USIW_WR_SEND };
			usiw_ring_commit(sq, 1);
		}
		rnic_engine_unlead(side->ctx->engine);
		while (rnic_qp_state(side->qp) == RNIC_QPS_RTS)
			rnic_cq_progress(side->rcq);
		/* The peer learns that it is over, by TERMINATE. */
		do {
			ev = rawpeer_event(&raw);
		} while (ev.type == SMPA_EV_MESSAGE);
		assert_int_equal(ev.type, SMPA_EV_TERMINATE);
		pass_ends(side);
		while (rnicpair_has_async(side))
			seen[rnicpair_async(side, NULL)]++;
		assert_int_equal(seen[USIW_EVENT_QP_FATAL], 1);
		rawpeer_close_both(&raw, &p);
	}
}

/* Every QP of the CQ fails, also one that has nothing to complete. The
 * completions that fitted are there without a gap, and none follows them. */
CASE(overrun_fails_all_on_the_queue)
{
	struct rnicpair_options opt = defaults;
	uint32_t fatal_cnt = 0, cq_err_cnt = 0;
	struct rnic_qp *more[2];
	struct rnicpair p;
	struct rnicpair_side *a = &p.side[0];
	struct usiw_cqe cqe;
	uint32_t events;

	opt.cqe = 4;
	rnicpair_open(&p, &opt);
	more[0] = rnicpair_qp_new(&p, 0);
	more[1] = rnicpair_qp_new(&p, 1);
	rnicpair_join(&p, more[0], more[1]);
	for (uint64_t i = 0; i < 20; i++) {
		struct rnicpair_wr wr = { .wr_id = i,
					  .opcode = USIW_WR_WRITE,
					  .flags = USIW_SQE_SIGNALED };

		assert_int_equal(rnicpair_post(a, &wr), 0);
	}
	while (rnic_qp_state(more[0]) == RNIC_QPS_RTS)
		rnic_cq_progress(a->rcq);
	pass_ends(a);
	assert_int_equal(rnic_qp_state(a->qp), RNIC_QPS_ERROR);
	assert_int_equal(rnic_qp_state(more[0]), RNIC_QPS_ERROR);
	while (rnicpair_has_async(a)) {
		uint32_t type = rnicpair_async(a, NULL);

		fatal_cnt += type == USIW_EVENT_QP_FATAL;
		cq_err_cnt += type == USIW_EVENT_CQ_ERR;
	}
	assert_int_equal(fatal_cnt, 2);
	assert_int_equal(cq_err_cnt, 1);
	for (uint64_t i = 0; i < 4; i++) {
		assert_true(rnicpair_peek(a, a->scq, &cqe));
		assert_int_equal(cqe.wr_id, i);
		assert_int_equal(cqe.status, USIW_WC_SUCCESS);
	}
	/* There is space now, but a gap would be before it. */
	assert_int_equal(rnicpair_post_qp(a, more[0],
					  &(struct rnicpair_wr){
						  .wr_id = 99,
						  .opcode = USIW_WR_SEND,
						  .flags = USIW_SQE_SIGNALED }),
			 0);
	assert_true(rnicpair_is_quiet(&p, a->scq));
	assert_int_equal(rnic_cq_resize(a->scq, 64, NULL), -EINVAL);
	for (int i = 0; i < 2; i++)
		assert_int_equal(rnic_qp_destroy(more[i], &events), 0);
	rnicpair_close(&p);
}

/* RDMAP-77: a queue pair with other queues, of the same context and engine,
 * continues before, during and after the overrun of one of them. */
CASE(overrun_leaves_other_queues_alone)
{
	struct rnicpair_options opt = defaults;
	struct rnic_cq *scq, *rcq;
	struct rnic_qp *more[2];
	struct rnicpair p;
	struct rnicpair_side *a = &p.side[0], *b = &p.side[1], other;
	uint32_t comp, async, events;
	struct usiw_cqe cqe;

	opt.cqe = 4;
	rnicpair_open(&p, &opt);
	assert_int_equal(rnic_cq_create(a->ctx, 64, NULL, 1, NULL, &scq), 0);
	assert_int_equal(rnic_cq_create(a->ctx, 64, NULL, 2, NULL, &rcq), 0);
	other = *a;
	a->scq = scq;
	a->rcq = rcq;
	more[0] = rnicpair_qp_new(&p, 0);
	*a = other;
	more[1] = rnicpair_qp_new(&p, 1);
	rnicpair_join(&p, more[0], more[1]);
	other.scq = scq;
	other.rcq = rcq;
	for (uint64_t i = 0; i < 20; i++) {
		struct usiw_sge sge = rnicpair_sge(a, 0, 1000);
		struct rnicpair_wr wr = {
			.wr_id = i,
			.opcode = USIW_WR_WRITE,
			.flags = USIW_SQE_SIGNALED,
			.sge = &sge,
			.sge_cnt = 1,
			.rkey = b->stag,
			.remote_addr = rnicpair_addr(b, 0),
		};

		assert_int_equal(rnicpair_post(a, &wr), 0);
		assert_int_equal(rnicpair_post_qp(a, more[0], &wr), 0);
	}
	/* One is polled, the other is not. */
	for (uint64_t i = 0; i < 20; i++) {
		cqe = rnicpair_take(&other, scq);
		assert_int_equal(cqe.wr_id, i);
		assert_int_equal(cqe.status, USIW_WC_SUCCESS);
	}
	rnicpair_wait_state(a, RNIC_QPS_ERROR);
	assert_int_equal(rnic_qp_state(more[0]), RNIC_QPS_RTS);
	for (uint64_t i = 0; i < 20; i++) {
		struct rnicpair_wr wr = { .wr_id = i,
					  .opcode = USIW_WR_READ,
					  .flags = USIW_SQE_SIGNALED };

		assert_int_equal(rnicpair_post_qp(a, more[0], &wr), 0);
		cqe = rnicpair_take(&other, scq);
		assert_int_equal(cqe.wr_id, i);
		assert_int_equal(cqe.status, USIW_WC_SUCCESS);
	}
	assert_int_equal(rnic_qp_state(more[0]), RNIC_QPS_RTS);
	for (int i = 0; i < 2; i++)
		assert_int_equal(rnic_qp_destroy(more[i], &events), 0);
	assert_int_equal(rnic_cq_destroy(scq, &comp, &async), 0);
	assert_int_equal(rnic_cq_destroy(rcq, &comp, &async), 0);
	rnicpair_close(&p);
}

/* ---- resizing ---- */

static int push_id(struct rnic_cq *cq, uint64_t wr_id)
{
	struct usiw_cqe cqe = { .wr_id = wr_id };
	int rc;

	rnic_engine_lead(cq->ctx->engine);
	rc = rnic_cq_push(cq, &cqe, cq->ctx->engine->stat);
	rnic_engine_unlead(cq->ctx->engine);
	return rc;
}

static void take_ids(struct rnic_cq *cq, uint64_t from, uint64_t to)
{
	for (; from < to; from++) {
		const struct usiw_cqe *cqe =
			usiw_ring_peek(rnic_cq_ring(cq), 0);

		assert_non_null(cqe);
		assert_int_equal(cqe->wr_id, from);
		usiw_ring_consume(rnic_cq_ring(cq), 1);
	}
}

static const struct {
	uint32_t from, used, to;
	int rc;
} resizes[] = {
	{ 1, 1, 2, 0 },	      { 3, 3, 7, 0 },
	{ 7, 3, 3, 0 },	      { 7, 4, 3, -EINVAL },
	{ 7, 7, 1, -EINVAL }, { 5, 5, 6, 0 }, /* as many slots as before */
	{ 100, 3, 5000, 0 },  { 5000, 100, 100, 0 },
	{ 5000, 0, 1, 0 },    { 64, 64, 65, 0 },
	{ 4, 4, 0, -EINVAL }, { 4, 4, UINT32_MAX, -EINVAL },
};

/* From each position in the ring, so that entries wrap in every place. */
static void resize_keeps_what_waits(struct rnic_context *ctx, size_t row,
				    uint32_t start)
{
	uint32_t used = resizes[row].used, depth = resizes[row].from;
	struct rnic_cq *cq;
	uint32_t events;

	assert_int_equal(rnic_cq_create(ctx, depth, NULL, 0, NULL, &cq), 0);
	/* Indices that overflow in the middle of the entries. */
	atomic_store(&cq->ring.hdr->prod_idx, (uint32_t)-3 + start);
	atomic_store(&cq->ring.hdr->cons_idx, (uint32_t)-3 + start);
	for (uint64_t i = 0; i < used; i++)
		assert_int_equal(push_id(cq, i), 0);
	assert_int_equal(rnic_cq_resize(cq, resizes[row].to, NULL),
			 resizes[row].rc);
	if (resizes[row].rc == 0)
		depth = resizes[row].to;
	assert_int_equal(rnic_cq_ring(cq)->depth, depth);
	for (uint64_t i = used; i < depth; i++)
		assert_int_equal(push_id(cq, i), 0);
	take_ids(cq, 0, depth);
	assert_int_equal(push_id(cq, depth), 0);
	take_ids(cq, depth, depth + 1);
	/* And back again. */
	assert_int_equal(rnic_cq_resize(cq, 9, NULL), 0);
	assert_int_equal(rnic_cq_ring(cq)->depth, 9);
	for (uint64_t i = 0; i < 9; i++)
		assert_int_equal(push_id(cq, i), 0);
	assert_int_equal(push_id(cq, 9), -ENOSPC);
	take_ids(cq, 0, 9);
	assert_int_equal(rnic_cq_destroy(cq, &events, &events), 0);
	assert_true(rnic_shm_is_empty(&ctx->shm));
}

CASE(resizing_keeps_what_waits)
{
	struct rnic_context *ctx;

	assert_int_equal(
		rnic_context_open(rnic_device_by_name("usiw_lo"), &ctx), 0);
	for (size_t row = 0; row < ARRAY_LEN(resizes); row++)
		for (uint32_t start = 0; start < 8; start++)
			resize_keeps_what_waits(ctx, row, start);
	rnic_context_close(ctx);
}

#define RESIZED_CNT 60000

struct resized {
	struct rnic_cq *cq;
	struct util_lock lock; /* of the consumers */
	uint64_t next;	       /* protected by lock: the next expected id */
	_Atomic bool is_done;
};

static void *push_all(void *arg)
{
	struct resized *r = arg;

	for (uint64_t i = 0; i < RESIZED_CNT; i++) {
		/* Leaves space also after a shrink to the number of entries. */
		while (usiw_ring_used(rnic_cq_ring(r->cq)) >= 8)
			sched_yield();
		must(push_id(r->cq, i) == 0);
	}
	return NULL;
}

/* As the provider does. */
static void *poll_all(void *arg)
{
	struct resized *r = arg;
	bool is_done = false;

	while (!is_done) {
		const struct usiw_ring *ring = rnic_cq_ring(r->cq);
		const struct usiw_cqe *cqe;

		if (usiw_ring_is_empty(ring))
			sched_yield();
		util_lock(&r->lock);
		cqe = usiw_ring_peek(ring, 0);
		if (cqe) {
			must(cqe->wr_id == r->next);
			r->next++;
			usiw_ring_consume(ring, 1);
		}
		is_done = r->next == RESIZED_CNT;
		util_unlock(&r->lock);
	}
	atomic_store(&r->is_done, true);
	return NULL;
}

/* Nothing lost, duplicated, or out of order. */
CASE(resizing_beside_pushes_and_polls)
{
	uint32_t done_cnt = 0, seed = 7, events;
	struct rnic_context *ctx;
	pthread_t threads[3];
	struct resized r = { .next = 0 };

	assert_int_equal(
		rnic_context_open(rnic_device_by_name("usiw_lo"), &ctx), 0);
	assert_int_equal(rnic_cq_create(ctx, 16, NULL, 0, NULL, &r.cq), 0);
	util_lock_init(&r.lock, UTIL_RANK_APP);
	pthread_create(&threads[0], NULL, push_all, &r);
	pthread_create(&threads[1], NULL, poll_all, &r);
	pthread_create(&threads[2], NULL, poll_all, &r);
	while (!atomic_load(&r.is_done)) {
		int rc;

		seed = seed * 1103515245u + 12345u;
		util_lock(&r.lock);
		/* Never below what the pusher needs. */
		rc = rnic_cq_resize(r.cq, 8 + (seed >> 16) % 300, NULL);
		util_unlock(&r.lock);
		assert_int_equal(rc, 0);
		done_cnt++;
		sched_yield();
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(r.next, RESIZED_CNT);
	assert_true(done_cnt > 0);
	assert_int_equal(rnic_cq_destroy(r.cq, &events, &events), 0);
	rnic_context_close(ctx);
}

/* ---- arming beside completions ---- */

#define STRESS_CNT 20000

static struct bell stress;
static _Atomic uint32_t pushed;

static void *push_many(void *arg)
{
	unsigned seed = 1;

	(void)arg;
	for (int i = 0; i < STRESS_CNT; i++) {
		while (push(&stress, i % 3 == 0, USIW_WC_SUCCESS) < 0)
			abort();
		atomic_fetch_add(&pushed, 1);
		seed = seed * 1103515245u + 12345u;
		/* Often just when the consumer arms. */
		while (usiw_ring_used(rnic_cq_ring(stress.cq)) >
		       (seed >> 16) % 8)
			sched_yield();
	}
	return NULL;
}

/* The loop of ibv_get_cq_event(3): arm, drain, wait. A lost event would leave
 * it waiting. Every event read must have been armed. */
CASE(an_event_is_neither_lost_nor_doubled)
{
	struct usiw_comp_event ev;
	uint32_t taken = 0, armed = 1, fired = 0;
	pthread_t thread;
	struct pollfd pfd;

	bell_open(&stress, 64);
	pfd = (struct pollfd){ .fd = rnic_chan_fd(stress.chan),
			       .events = POLLIN };
	rnic_cq_arm(stress.cq, false);
	assert_int_equal(pthread_create(&thread, NULL, push_many, NULL), 0);
	while (taken < STRESS_CNT) {
		const struct usiw_ring *ring = rnic_cq_ring(stress.cq);

		assert_int_equal(poll(&pfd, 1, RNICPAIR_LIMIT_MS), 1);
		assert_int_equal(rnic_chan_read(stress.chan, &ev, sizeof(ev)),
				 sizeof(ev));
		fired++;
		assert_true(fired <= armed);
		/* One arm, one event. */
		assert_int_equal(poll(&pfd, 1, 0), 0);
		armed++;
		rnic_cq_arm(stress.cq, false);
		while (usiw_ring_peek(ring, 0)) {
			usiw_ring_consume(ring, 1);
			taken++;
		}
	}
	pthread_join(thread, NULL);
	fired += events_read(stress.chan);
	assert_true(fired <= armed);
	bell_close(&stress, fired, 0);
}

static _Atomic uint32_t wanted;

static void *push_on_demand(void *arg)
{
	(void)arg;
	for (uint32_t i = 1; i <= STRESS_CNT; i++) {
		while (atomic_load(&wanted) != i)
			sched_yield();
		while (push(&stress, false, USIW_WC_SUCCESS) < 0)
			abort();
		atomic_store(&pushed, i);
	}
	return NULL;
}

/* Some programs take each event for a completion.  So a thread that polls a
 * completion and then arms gets no event for it. */
CASE(a_polled_completion_fires_nothing)
{
	const struct usiw_ring *ring;
	struct usiw_comp_event ev;
	pthread_t thread;

	bell_open(&stress, 64);
	ring = rnic_cq_ring(stress.cq);
	atomic_store(&pushed, 0);
	atomic_store(&wanted, 0);
	assert_int_equal(pthread_create(&thread, NULL, push_on_demand, NULL),
			 0);
	for (uint32_t i = 1; i <= STRESS_CNT; i++) {
		bool is_polled_first = i % 2;

		if (!is_polled_first)
			rnic_cq_arm(stress.cq, false);
		atomic_store(&wanted, i);
		/* At once: the pusher may still look whether it is armed. */
		while (!usiw_ring_peek(ring, 0))
			sched_yield();
		usiw_ring_consume(ring, 1);
		if (is_polled_first)
			rnic_cq_arm(stress.cq, false);
		while (atomic_load(&pushed) != i)
			sched_yield();
		assert_int_equal(is_readable(rnic_chan_fd(stress.chan)),
				 !is_polled_first);
		if (!is_polled_first)
			assert_int_equal(
				rnic_chan_read(stress.chan, &ev, sizeof(ev)),
				sizeof(ev));
	}
	pthread_join(thread, NULL);
	bell_close(&stress, STRESS_CNT / 2, 0);
}
