/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* nudge.c: which CQs get an event without a completion. */
#include <poll.h>
#include <sched.h>
#include <string.h>

#include "../../harness/test.h"
#include "mem/context.h"
#include "dev/device.h"
#include "engine/engine.h"
#include "qp/qp.h"
#include "rnicpair.h"
#include "qp/object.h"
#include "stream/nudge.h"
#include "stream/object.h"

#define CREDIT_LEN 4u

/* Side 1 waits on its send CQ; side 0 writes. */
struct stage {
	struct rnicpair p;
	struct rnicpair_side *s;
	struct rnic_qp *other; /* NULL: none */
};

static void work_one(struct stage *st, uint8_t opcode, uint8_t flags)
{
	struct usiw_sge sge = rnicpair_sge(st->s, 0, 8);
	struct rnicpair_wr wr = {
		.wr_id = opcode,
		.opcode = opcode,
		.flags = flags,
		.sge = &sge,
		.sge_cnt = 1,
		.rkey = st->p.side[0].stag,
		.remote_addr = rnicpair_addr(&st->p.side[0], 4096),
	};

	assert_int_equal(rnicpair_post(st->s, &wr), 0);
	if (flags & USIW_SQE_SIGNALED)
		assert_int_equal(rnicpair_take(st->s, st->s->scq).status,
				 USIW_WC_SUCCESS);
}

static void sends(struct stage *st)
{
	work_one(st, USIW_WR_SEND, USIW_SQE_SIGNALED);
}

/* Every hundredth is signalled, and the last ones are not. */
static void sends_without_completion(struct stage *st)
{
	sends(st);
	work_one(st, USIW_WR_SEND, 0);
}

static void sends_and_writes(struct stage *st)
{
	sends(st);
	work_one(st, USIW_WR_WRITE, USIW_SQE_SIGNALED);
}

static void nothing(struct stage *st)
{
	(void)st;
}

static void writes(struct stage *st)
{
	work_one(st, USIW_WR_WRITE, USIW_SQE_SIGNALED);
}

static void sends_and_reads(struct stage *st)
{
	sends(st);
	work_one(st, USIW_WR_READ, USIW_SQE_SIGNALED);
}

static void sends_and_adds(struct stage *st)
{
	sends(st);
	work_one(st, USIW_WR_FETCH_ADD, USIW_SQE_SIGNALED);
}

/* Other work that may complete into the CQ. */
static void sends_and_has_other_work(struct stage *st)
{
	struct rnicpair_wr wr = { .opcode = USIW_WR_SEND,
				  .flags = USIW_SQE_SIGNALED };

	sends(st);
	st->other = rnicpair_qp_new(&st->p, 1);
	assert_int_equal(rnicpair_post_qp(st->s, st->other, &wr), 0);
}

static void sends_and_has_a_receive(struct stage *st)
{
	sends(st);
	assert_int_equal(rnicpair_post_recv(st->s, 1, NULL, 0), 0);
	rnic_engine_lead(st->s->ctx->engine);
	st->s->qp->recv_cq = st->s->scq;
	rnic_engine_unlead(st->s->ctx->engine);
}

static void has_not_polled(struct stage *st)
{
	struct rnicpair_wr wr = { .opcode = USIW_WR_SEND,
				  .flags = USIW_SQE_SIGNALED };

	sends(st);
	assert_int_equal(rnicpair_post(st->s, &wr), 0);
	while (!usiw_ring_used(rnic_cq_ring(st->s->scq)))
		sched_yield();
}

static const struct row {
	const char *name;
	void (*work)(struct stage *st);
	uint32_t len; /* octets that the peer writes */
	bool is_nudged;
	enum rnic_persona persona;
} rows[] = {
	{ "sends, and gets a credit", sends, .len = CREDIT_LEN,
	  .is_nudged = true },
	{ "not all signalled", sends_without_completion, .len = CREDIT_LEN,
	  .is_nudged = true },
	{ "sends and writes", sends_and_writes, .len = CREDIT_LEN,
	  .is_nudged = true },
	{ "three octets", sends, .len = 3 },
	{ "five octets", sends, .len = 5 },
	{ "eight octets", sends, .len = 8 },
	{ "a page", sends, .len = 4096 },
	{ "has done nothing", nothing, .len = CREDIT_LEN },
	{ "writes only", writes, .len = CREDIT_LEN },
	{ "reads", sends_and_reads, .len = CREDIT_LEN },
	{ "atomics", sends_and_adds, .len = CREDIT_LEN },
	{ "persona ca", sends, .len = CREDIT_LEN, .persona = RNIC_PERSONA_CA },
	{ "work of another QP", sends_and_has_other_work, .len = CREDIT_LEN },
	{ "a receive", sends_and_has_a_receive, .len = CREDIT_LEN },
	{ "a completion is there", has_not_polled, .len = CREDIT_LEN },
};

static void stage_open(struct stage *st, enum rnic_persona persona)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;

	memset(st, 0, sizeof(*st));
	opt.has_chan = true;
	rnicpair_open_idle(&st->p, &opt);
	st->s = &st->p.side[1];
	/* Both sides have one device.  No engine reads it yet. */
	st->s->ctx->dev->persona = persona;
	rnicpair_connect(&st->p);
	for (uint64_t i = 0; i < 8; i++) {
		struct usiw_sge sge = rnicpair_sge(&st->p.side[0], 8192, 64);

		assert_int_equal(rnicpair_post_recv(&st->p.side[0], i, &sge, 1),
				 0);
	}
}

static void stage_close(struct stage *st)
{
	uint32_t events;

	rnic_engine_lead(st->s->ctx->engine);
	st->s->qp->recv_cq = st->s->rcq;
	rnic_engine_unlead(st->s->ctx->engine);
	if (st->other)
		assert_int_equal(rnic_qp_destroy(st->other, &events), 0);
	rnicpair_close(&st->p);
}

static bool has_event(const struct rnicpair_side *s, int ms)
{
	struct pollfd pfd = { .fd = rnic_chan_fd(s->chan), .events = POLLIN };

	return poll(&pfd, 1, ms) == 1;
}

/* The thread that has completed the work checks once more whether the CQ is
 * armed, behind the completion and under the lead. */
static void arm(struct rnicpair_side *s)
{
	struct usiw_comp_event ev;

	rnic_engine_lead(s->ctx->engine);
	rnic_engine_unlead(s->ctx->engine);
	rnic_cq_arm(s->scq, false);
	/* One that is not polled has an event of its own. */
	while (has_event(s, 0)) {
		assert_int_equal(rnic_chan_read(s->chan, &ev, sizeof(ev)),
				 sizeof(ev));
		rnic_cq_arm(s->scq, false);
	}
}

static void write_credit(struct stage *st, uint32_t len)
{
	struct rnicpair_side *from = &st->p.side[0];
	struct usiw_sge sge = rnicpair_sge(from, 0, len);
	struct rnicpair_wr wr = { .opcode = USIW_WR_WRITE,
				  .sge = &sge,
				  .sge_cnt = 1,
				  .rkey = st->s->stag,
				  .remote_addr = rnicpair_addr(st->s, 0) };

	memset(from->buf, 0x5a, len);
	assert_int_equal(rnicpair_post(from, &wr), 0);
}

/* Waits until it is placed, and the CQ was checked this often, or finally. */
static void wait_looks(struct stage *st, uint32_t len, uint32_t looks)
{
	const struct rnic_stream *stream = rnic_qp_stream(st->s->qp);

	wait_until(with_lead(
		st->s->ctx->engine,
		st->s->buf[len - 1] == 0x5a &&
			(!stream->nudge.ns || stream->nudge.cnt > looks)));
}

CASE(only_a_reader_that_would_hang_is_woken)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct usiw_comp_event ev;
		struct stage st;

		print_message("%s\n", rows[i].name);
		stage_open(&st, rows[i].persona);
		rows[i].work(&st);
		arm(st.s);
		write_credit(&st, rows[i].len);
		wait_looks(&st, rows[i].len, UINT8_MAX);
		assert_row(rows[i].name,
			   has_event(st.s, 0) == rows[i].is_nudged);
		if (rows[i].is_nudged)
			assert_int_equal(
				rnic_chan_read(st.s->chan, &ev, sizeof(ev)),
				sizeof(ev));
		stage_close(&st);
	}
}

/* The credit may arrive before the program arms its CQ: the program has polled
 * already, and was then not scheduled. */
CASE(a_cq_that_is_armed_late_is_woken_as_well)
{
	struct usiw_comp_event ev;
	struct stage st;

	stage_open(&st, RNIC_PERSONA_RNIC);
	sends(&st);
	for (uint32_t looks = 1; looks < 4; looks++) {
		st.s->buf[CREDIT_LEN - 1] = 0;
		write_credit(&st, CREDIT_LEN);
		wait_looks(&st, CREDIT_LEN, looks);
		assert_false(has_event(st.s, 0));
		rnic_cq_arm(st.s->scq, false);
		assert_true(has_event(st.s, RNICPAIR_LIMIT_MS));
		assert_int_equal(rnic_chan_read(st.s->chan, &ev, sizeof(ev)),
				 sizeof(ev));
	}
	/* A CQ armed only for solicited events gets none, and the checks
	 * end. */
	rnic_cq_arm(st.s->scq, true);
	st.s->buf[CREDIT_LEN - 1] = 0;
	write_credit(&st, CREDIT_LEN);
	wait_looks(&st, CREDIT_LEN, UINT8_MAX);
	assert_false(has_event(st.s, 0));
	stage_close(&st);
}

/* Opens it, sends, and takes the lead. */
static struct rnic_stream *stage_lead(struct stage *st)
{
	stage_open(st, RNIC_PERSONA_RNIC);
	sends(st);
	rnic_engine_lead(st->s->ctx->engine);
	return rnic_qp_stream(st->s->qp);
}

/* Each credit has all looks: the program works on those before it. */
CASE(each_credit_begins_anew)
{
	struct rnic_stream *stream;
	struct stage st;

	stream = stage_lead(&st);
	for (int i = 0; i < 2; i++) {
		uint64_t due_ns = i ? stream->nudge.ns : 0;

		stream->nudge.cnt = 7;
		stream->nudge.ns = due_ns;
		rnic_nudge_written(stream, CREDIT_LEN);
		/* A look that is to come stays where it is. */
		assert_true(due_ns ? stream->nudge.ns == due_ns
				   : stream->nudge.ns != 0);
		assert_int_equal(stream->nudge.cnt, due_ns ? 0 : 1);
	}
	rnic_engine_unlead(st.s->ctx->engine);
	stage_close(&st);
}

/* A program may be kept from arming for long, and must not be waited for for
 * ever. */
CASE(looks_are_further_and_further_apart)
{
	struct rnic_stream *stream;
	bool are_good = true;
	uint32_t looks = 0;
	struct stage st;

	stream = stage_lead(&st);
	for (;;) {
		uint64_t begin_ns = util_now_ns(), end_ns;
		uint64_t gap_ns = (10 * NS_PER_MS) << looks;

		if (looks == 0)
			rnic_nudge_written(stream, CREDIT_LEN);
		else
			rnic_nudge_fire(stream);
		end_ns = util_now_ns();
		if (!stream->nudge.ns)
			break;
		are_good &= stream->nudge.ns >= begin_ns + gap_ns &&
			    stream->nudge.ns <= end_ns + gap_ns;
		/* A thread serves it then. */
		are_good &= stream->source.due.ns &&
			    stream->source.due.ns <= stream->nudge.ns;
		looks++;
	}
	rnic_engine_unlead(st.s->ctx->engine);
	assert_true(are_good);
	assert_int_equal(looks, 8);
	assert_false(has_event(st.s, 0));
	stage_close(&st);
}
