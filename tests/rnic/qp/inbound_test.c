/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * inbound.c: what a peer may do that no QP of usiw would, which error it gets,
 * and the effect of its TERMINATE.
 */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/engine.h"
#include "os/stat.h"
#include "qp/qp.h"
#include "rawpeer.h"

static const struct rnicpair_options defaults = RNICPAIR_OPTIONS_INIT;

/* What an unexpected peer does to side 0, which has these regions and one
 * posted receive of 100 octets. */
struct stage {
	struct rnicpair p;
	struct rawpeer raw;
	struct rnic_mr *read_only, *write_only, *atomic_only, *skewed;
	struct rnic_pd *other_pd;
	struct rnic_mr *other_mr, *local_only;
	uint64_t base;
};

static uint8_t octets[4096];

static void stage_open(struct stage *s, const struct rnicpair_options *opt)
{
	struct rnicpair_side *side;

	memset(s, 0, sizeof(*s));
	rnicpair_open_idle(&s->p, opt);
	side = &s->p.side[0];
	s->base = rnicpair_addr(side, 0);
	assert_int_equal(rnic_mr_reg(side->pd, side->buf, 4096, s->base,
				     RNIC_ACCESS_REMOTE_READ, &s->read_only),
			 0);
	assert_int_equal(
		rnic_mr_reg(side->pd, side->buf, 4096, s->base,
			    RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE,
			    &s->write_only),
		0);
	assert_int_equal(rnic_mr_reg(side->pd, side->buf, 4096, s->base,
				     RNIC_ACCESS_LOCAL_WRITE, &s->local_only),
			 0);
	assert_int_equal(
		rnic_mr_reg(side->pd, side->buf, 4096, s->base,
			    RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_ATOMIC,
			    &s->atomic_only),
		0);
	assert_int_equal(
		rnic_mr_reg(side->pd, side->buf + 201, 100, 0,
			    RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_ATOMIC,
			    &s->skewed),
		0);
	assert_int_equal(rnic_pd_alloc(side->ctx, &s->other_pd), 0);
	assert_int_equal(rnic_mr_reg(s->other_pd, side->buf, 4096, s->base,
				     RNIC_ACCESS_LOCAL_WRITE |
					     RNIC_ACCESS_REMOTE_WRITE |
					     RNIC_ACCESS_REMOTE_READ |
					     RNIC_ACCESS_REMOTE_ATOMIC,
				     &s->other_mr),
			 0);
	rawpeer_join(&s->raw, &s->p, 0);
}

static void stage_close(struct stage *s)
{
	rawpeer_close(&s->raw);
	assert_int_equal(rnic_mr_dereg(s->read_only), 0);
	assert_int_equal(rnic_mr_dereg(s->write_only), 0);
	assert_int_equal(rnic_mr_dereg(s->local_only), 0);
	assert_int_equal(rnic_mr_dereg(s->atomic_only), 0);
	assert_int_equal(rnic_mr_dereg(s->skewed), 0);
	assert_int_equal(rnic_mr_dereg(s->other_mr), 0);
	assert_int_equal(rnic_pd_free(s->other_pd), 0);
	rnicpair_close(&s->p);
}

/* ---- violations ---- */

struct violation {
	const char *name;
	void (*commit)(struct stage *s);
	uint16_t fault; /* in the TERMINATE */
	uint32_t event;
	/* Of the posted receive; -1: none is posted. */
	int recv_status;
};

static void write_to_nowhere(struct stage *s)
{
	rawpeer_write(&s->raw, rnic_mr_stag(s->write_only) ^ 0x100, s->base,
		      octets, 8);
}

static void write_with_old_key(struct stage *s)
{
	rawpeer_write(&s->raw, rnic_mr_stag(s->write_only) ^ 1, s->base, octets,
		      8);
}

static void write_before(struct stage *s)
{
	rawpeer_write(&s->raw, rnic_mr_stag(s->write_only), s->base - 1, octets,
		      8);
}

static void write_behind(struct stage *s)
{
	rawpeer_write(&s->raw, rnic_mr_stag(s->write_only), s->base + 4089,
		      octets, 8);
}

static void write_read_only(struct stage *s)
{
	rawpeer_write(&s->raw, rnic_mr_stag(s->read_only), s->base, octets, 8);
}

static void write_other_pd(struct stage *s)
{
	rawpeer_write(&s->raw, rnic_mr_stag(s->other_mr), s->base, octets, 8);
}

static void write_wrapping(struct stage *s)
{
	rawpeer_write(&s->raw, rnic_mr_stag(s->write_only), UINT64_MAX - 3,
		      octets, 8);
}

static void read_from_nowhere(struct stage *s)
{
	rawpeer_read(&s->raw, 1, 0, rnic_mr_stag(s->read_only) ^ 0x100, s->base,
		     8);
}

static void read_behind(struct stage *s)
{
	rawpeer_read(&s->raw, 1, 0, rnic_mr_stag(s->read_only), s->base + 4089,
		     8);
}

static void read_write_only(struct stage *s)
{
	rawpeer_read(&s->raw, 1, 0, rnic_mr_stag(s->write_only), s->base, 8);
}

static void read_other_pd(struct stage *s)
{
	rawpeer_read(&s->raw, 1, 0, rnic_mr_stag(s->other_mr), s->base, 8);
}

static void read_wrapping(struct stage *s)
{
	rawpeer_read(&s->raw, 1, 0, rnic_mr_stag(s->read_only), UINT64_MAX - 3,
		     8);
}

static void send_without_receive(struct stage *s)
{
	rawpeer_send_octets(&s->raw, SMPA_OP_SEND, octets, 8);
}

static void send_too_long(struct stage *s)
{
	rawpeer_send_octets(&s->raw, SMPA_OP_SEND, octets, 101);
}

static void send_inv(struct stage *s, uint32_t stag)
{
	struct iovec iov = { octets, 8 };
	struct smpa_msg msg = { .opcode = SMPA_OP_SEND_INV,
				.quiet = true,
				.stag = stag,
				.iov = &iov,
				.iovcnt = 1,
				.len = 8 };

	rawpeer_send(&s->raw, &msg);
}

static void invalidate_nothing(struct stage *s)
{
	send_inv(s, rnic_mr_stag(s->read_only) ^ 0x100);
}

static void invalidate_other_pd(struct stage *s)
{
	send_inv(s, rnic_mr_stag(s->other_mr));
}

static void invalidate_local_region(struct stage *s)
{
	send_inv(s, rnic_mr_stag(s->local_only));
}

/* RDMAP-74: other peers of the domain may be using it. */
static void invalidate_open_region(struct stage *s)
{
	send_inv(s, rnic_mr_stag(s->read_only));
}

static void respond_unasked(struct stage *s)
{
	rawpeer_respond(&s->raw, rnic_mr_stag(s->write_only), s->base, octets,
			8);
}

static void respond_nothing_unasked(struct stage *s)
{
	rawpeer_respond(&s->raw, rnic_mr_stag(s->write_only), s->base, octets,
			0);
}

static void immediate(struct stage *s, const char *imm)
{
	struct smpa_msg msg = { .opcode = SMPA_OP_IMM, .quiet = true };

	memcpy(msg.imm, imm, sizeof(msg.imm));
	rawpeer_send(&s->raw, &msg);
}

static void immediate_without_receive(struct stage *s)
{
	immediate(s, "\1\2\3\4\0\0\0");
}

/* D-37: before a Send. */
static void immediate_ahead(struct stage *s)
{
	rawpeer_write(&s->raw, RNIC_IMM_MARK_STAG, RNIC_IMM_MARK_TO, NULL, 0);
	immediate(s, "\1\2\3\4\0\0\0");
}

static void immediate_in_place_of_send(struct stage *s)
{
	immediate_ahead(s);
	immediate(s, "\1\2\3\4\0\0\0");
}

static void immediate_twice_ahead(struct stage *s)
{
	immediate_ahead(s);
	immediate_ahead(s);
}

static void immediate_ahead_of_invalidate(struct stage *s)
{
	immediate_ahead(s);
	send_inv(s, rnic_mr_stag(s->read_only));
}

/* FetchAdd with a visible effect. */
static void atomic_request(struct stage *s, uint32_t stag, uint64_t to)
{
	struct smpa_msg msg = {
		.opcode = SMPA_OP_ATOMIC_REQUEST,
		.quiet = true,
		.atomic = { .op = 0, .stag = stag, .to = to, .add_swap = 1 }
	};

	rawpeer_send(&s->raw, &msg);
}

static void atomic_on_nowhere(struct stage *s)
{
	atomic_request(s, rnic_mr_stag(s->atomic_only) ^ 0x100, s->base + 200);
}

static void atomic_with_old_key(struct stage *s)
{
	atomic_request(s, rnic_mr_stag(s->atomic_only) ^ 1, s->base + 200);
}

static void atomic_behind(struct stage *s)
{
	atomic_request(s, rnic_mr_stag(s->atomic_only), s->base + 4096);
}

static void atomic_half_behind(struct stage *s)
{
	atomic_request(s, rnic_mr_stag(s->atomic_only), s->base + 4092);
}

static void atomic_write_only(struct stage *s)
{
	atomic_request(s, rnic_mr_stag(s->write_only), s->base + 200);
}

static void atomic_read_only(struct stage *s)
{
	atomic_request(s, rnic_mr_stag(s->read_only), s->base + 200);
}

static void atomic_other_pd(struct stage *s)
{
	atomic_request(s, rnic_mr_stag(s->other_mr), s->base + 200);
}

static void atomic_wrapping(struct stage *s)
{
	atomic_request(s, rnic_mr_stag(s->atomic_only), UINT64_MAX - 7);
}

static void atomic_not_aligned(struct stage *s)
{
	atomic_request(s, rnic_mr_stag(s->atomic_only), s->base + 204);
}

/* A region whose offsets and addresses differ in their low bits. */
static void atomic_on_skewed_region(struct stage *s)
{
	atomic_request(s, rnic_mr_stag(s->skewed), 8);
}

static void atomic_without_the_qps_right(struct stage *s)
{
	rnic_qp_set_access(s->p.side[0].qp,
			   RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_REMOTE_WRITE);
	atomic_request(s, rnic_mr_stag(s->atomic_only), s->base + 200);
}

static void read_without_the_qps_right(struct stage *s)
{
	rnic_qp_set_access(s->p.side[0].qp, RNIC_ACCESS_REMOTE_WRITE);
	rawpeer_read(&s->raw, 1, 0, rnic_mr_stag(s->read_only), s->base, 8);
}

static void write_without_the_qps_right(struct stage *s)
{
	rnic_qp_set_access(s->p.side[0].qp, RNIC_ACCESS_REMOTE_READ);
	rawpeer_write(&s->raw, s->p.side[0].stag,
		      rnicpair_addr(&s->p.side[0], 0), octets, 8);
}

/* Reads and atomics share their places; IRD 2. */
static void ask_too_many_atomics(struct stage *s)
{
	struct rnic_qp *qp = s->p.side[0].qp;

	rnic_engine_lead(qp->engine);
	rawpeer_read(&s->raw, 1, 0, rnic_mr_stag(s->read_only), s->base, 8);
	for (int i = 0; i < 2; i++)
		atomic_request(s, rnic_mr_stag(s->atomic_only), s->base);
	rnic_engine_unlead(qp->engine);
}

static void atomic_answer_unasked(struct stage *s)
{
	struct smpa_msg msg = { .opcode = SMPA_OP_ATOMIC_RESPONSE,
				.quiet = true };

	rawpeer_send(&s->raw, &msg);
}

/* One more than IRD 2, before any is answered, in one TCP segment. */
static void ask_too_much(struct stage *s)
{
	struct rnic_qp *qp = s->p.side[0].qp;

	rnic_engine_lead(qp->engine);
	for (int i = 0; i < 3; i++)
		rawpeer_read(&s->raw, 1, 0, rnic_mr_stag(s->read_only), s->base,
			     8);
	rnic_engine_unlead(qp->engine);
}

static const struct violation violations[] = {
	{ "write to no region", write_to_nowhere, SMPA_F_DDP_T_STAG,
	  USIW_EVENT_QP_ACCESS_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "write with another key", write_with_old_key, SMPA_F_DDP_T_STAG,
	  USIW_EVENT_QP_ACCESS_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "write before the region", write_before, SMPA_F_DDP_T_BOUNDS,
	  USIW_EVENT_QP_ACCESS_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "write behind the region", write_behind, SMPA_F_DDP_T_BOUNDS,
	  USIW_EVENT_QP_ACCESS_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "write without the right", write_read_only, SMPA_F_DDP_T_STAG,
	  USIW_EVENT_QP_ACCESS_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "write to another domain", write_other_pd, SMPA_F_DDP_T_STREAM,
	  USIW_EVENT_QP_ACCESS_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "write past 2^64", write_wrapping, SMPA_F_DDP_T_WRAP,
	  USIW_EVENT_QP_ACCESS_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "read from no region", read_from_nowhere, SMPA_F_RDMAP_STAG,
	  USIW_EVENT_QP_ACCESS_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "read behind the region", read_behind, SMPA_F_RDMAP_BOUNDS,
	  USIW_EVENT_QP_ACCESS_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "read without the right", read_write_only, SMPA_F_RDMAP_ACCESS,
	  USIW_EVENT_QP_ACCESS_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "read from another domain", read_other_pd, SMPA_F_RDMAP_STREAM,
	  USIW_EVENT_QP_ACCESS_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "read past 2^64", read_wrapping, SMPA_F_RDMAP_WRAP,
	  USIW_EVENT_QP_ACCESS_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "more reads than IRD", ask_too_much, SMPA_F_DDP_U_NO_BUFFER,
	  USIW_EVENT_QP_REQ_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "send, no receive", send_without_receive, SMPA_F_DDP_U_NO_BUFFER,
	  USIW_EVENT_QP_REQ_ERR, -1 },
	{ "send longer than the receive", send_too_long, SMPA_F_DDP_U_TOO_LONG,
	  USIW_EVENT_QP_REQ_ERR, USIW_WC_LOC_LEN_ERR },
	{ "invalidate no region", invalidate_nothing, SMPA_F_RDMAP_INVALIDATE,
	  USIW_EVENT_QP_REQ_ERR, USIW_WC_LOC_ACCESS_ERR },
	{ "invalidate in another domain", invalidate_other_pd,
	  SMPA_F_RDMAP_INVALIDATE, USIW_EVENT_QP_REQ_ERR,
	  USIW_WC_LOC_ACCESS_ERR },
	{ "invalidate a local region", invalidate_local_region,
	  SMPA_F_RDMAP_INVALIDATE, USIW_EVENT_QP_REQ_ERR,
	  USIW_WC_LOC_ACCESS_ERR },
	{ "invalidate a region with remote access", invalidate_open_region,
	  SMPA_F_RDMAP_INVALIDATE, USIW_EVENT_QP_REQ_ERR,
	  USIW_WC_LOC_ACCESS_ERR },
	{ "response to nothing", respond_unasked, SMPA_F_RDMAP_OPCODE,
	  USIW_EVENT_QP_REQ_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "empty response to nothing", respond_nothing_unasked,
	  SMPA_F_RDMAP_OPCODE, USIW_EVENT_QP_REQ_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "immediate data, no receive", immediate_without_receive,
	  SMPA_F_DDP_U_NO_BUFFER, USIW_EVENT_QP_REQ_ERR, -1 },
	{ "immediate data in place of a send", immediate_in_place_of_send,
	  SMPA_F_RDMAP_OPCODE, USIW_EVENT_QP_REQ_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "immediate data of a send twice", immediate_twice_ahead,
	  SMPA_F_RDMAP_OPCODE, USIW_EVENT_QP_REQ_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "immediate data and invalidation", immediate_ahead_of_invalidate,
	  SMPA_F_RDMAP_OPCODE, USIW_EVENT_QP_REQ_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "the same, no receive", immediate_ahead_of_invalidate,
	  SMPA_F_RDMAP_OPCODE, USIW_EVENT_QP_REQ_ERR, -1 },
	{ "atomic on no region", atomic_on_nowhere, SMPA_F_RDMAP_STAG,
	  USIW_EVENT_QP_ACCESS_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "atomic with another key", atomic_with_old_key, SMPA_F_RDMAP_STAG,
	  USIW_EVENT_QP_ACCESS_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "atomic behind the region", atomic_behind, SMPA_F_RDMAP_BOUNDS,
	  USIW_EVENT_QP_ACCESS_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "atomic half behind the region", atomic_half_behind,
	  SMPA_F_RDMAP_BOUNDS, USIW_EVENT_QP_ACCESS_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "atomic with the right to write", atomic_write_only,
	  SMPA_F_RDMAP_ACCESS, USIW_EVENT_QP_ACCESS_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "atomic with the right to read", atomic_read_only,
	  SMPA_F_RDMAP_ACCESS, USIW_EVENT_QP_ACCESS_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "atomic in another domain", atomic_other_pd, SMPA_F_RDMAP_STREAM,
	  USIW_EVENT_QP_ACCESS_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "atomic past 2^64", atomic_wrapping, SMPA_F_RDMAP_WRAP,
	  USIW_EVENT_QP_ACCESS_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "atomic not aligned", atomic_not_aligned, SMPA_F_RDMAP_STREAM_CATA,
	  USIW_EVENT_QP_REQ_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "atomic aligned on the wire only", atomic_on_skewed_region,
	  SMPA_F_RDMAP_STREAM_CATA, USIW_EVENT_QP_REQ_ERR,
	  USIW_WC_WR_FLUSH_ERR },
	{ "read that the queue pair does not allow", read_without_the_qps_right,
	  SMPA_F_RDMAP_ACCESS, USIW_EVENT_QP_ACCESS_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "write that the queue pair does not allow",
	  write_without_the_qps_right, SMPA_F_DDP_T_STAG,
	  USIW_EVENT_QP_ACCESS_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "atomic that the queue pair does not allow",
	  atomic_without_the_qps_right, SMPA_F_RDMAP_ACCESS,
	  USIW_EVENT_QP_ACCESS_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "more reads and atomics than IRD", ask_too_many_atomics,
	  SMPA_F_DDP_U_NO_BUFFER, USIW_EVENT_QP_REQ_ERR, USIW_WC_WR_FLUSH_ERR },
	{ "atomic answer to nothing", atomic_answer_unasked,
	  SMPA_F_RDMAP_OPCODE, USIW_EVENT_QP_REQ_ERR, USIW_WC_WR_FLUSH_ERR },
};

/* Requests before the violation, in the same burst, are answered before the
 * end. */
CASE(what_was_good_is_answered_first)
{
	static const struct {
		void (*commit)(struct stage *s);
		uint16_t fault;
	} rows[] = {
		{ write_to_nowhere, SMPA_F_DDP_T_STAG },
		{ read_from_nowhere, SMPA_F_RDMAP_STAG },
		{ atomic_behind, SMPA_F_RDMAP_BOUNDS },
		{ send_too_long, SMPA_F_DDP_U_TOO_LONG },
		{ respond_unasked, SMPA_F_RDMAP_OPCODE },
	};

	for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
		struct rnicpair_options opt = defaults;
		struct rnic_engine *engine;
		struct smpa_event ev;
		struct usiw_sge sge;
		struct stage s;

		opt.has_crc = i % 2;
		stage_open(&s, &opt);
		engine = s.p.side[0].qp->engine;
		sge = rnicpair_sge(&s.p.side[0], 0, 100);
		assert_int_equal(rnicpair_post_recv(&s.p.side[0], 1, &sge, 1),
				 0);
		rnic_engine_lead(engine);
		rawpeer_read(&s.raw, 1, 0, rnic_mr_stag(s.read_only), s.base,
			     4096);
		atomic_request(&s, rnic_mr_stag(s.atomic_only), s.base + 8);
		rows[i / 2].commit(&s);
		rnic_engine_unlead(engine);
		ev = rawpeer_event(&s.raw);
		assert_int_equal(ev.type, SMPA_EV_MESSAGE);
		assert_int_equal(ev.msg.opcode, SMPA_OP_READ_RESPONSE);
		assert_int_equal(rawpeer_event(&s.raw).type,
				 SMPA_EV_ATOMIC_DONE);
		ev = rawpeer_event(&s.raw);
		assert_int_equal(ev.type, SMPA_EV_TERMINATE);
		assert_int_equal(ev.term.fault.value, rows[i / 2].fault);
		stage_close(&s);
	}
}

/* Read Responses in transit are ignored here. */
static struct smpa_event event_at_the_end(struct rawpeer *raw)
{
	struct smpa_event ev;

	do {
		ev = rawpeer_event(raw);
	} while (ev.type == SMPA_EV_MESSAGE || ev.type == SMPA_EV_ATOMIC_DONE);
	return ev;
}

static uint64_t terminates_sent(void)
{
	return atomic_load(
		&rnic_stat_memory.page.stat[RNIC_STAT_term_sent].value);
}

static void violate(const struct violation *v, bool has_crc, bool has_spoken)
{
	struct rnicpair_options opt = defaults;
	struct stage s;
	struct rnicpair_side *side = &s.p.side[0];
	struct smpa_event ev;
	struct usiw_cqe cqe;
	struct usiw_sge sge;
	uint64_t element, sent_cnt;

	print_message("%s, CRC %d, spoken %d\n", v->name, has_crc, has_spoken);
	opt.has_crc = has_crc;
	opt.ird = opt.ord = 2;
	stage_open(&s, &opt);
	memset(side->buf, 0x5a, 8192);
	sge = rnicpair_sge(side, 0, 100);
	/* An end that has never sent has other staging than one that has. */
	if (has_spoken) {
		rnicpair_post_wr(side, .opcode = USIW_WR_SEND);
		assert_int_equal(rawpeer_event(&s.raw).type, SMPA_EV_MESSAGE);
	}
	if (v->recv_status >= 0)
		assert_int_equal(rnicpair_post_recv(side, 1, &sge, 1), 0);
	sent_cnt = terminates_sent();
	v->commit(&s);
	ev = event_at_the_end(&s.raw);
	assert_int_equal(ev.type, SMPA_EV_TERMINATE);
	assert_int_equal(ev.term.fault.value, v->fault);
	rnicpair_wait_state(side, RNIC_QPS_TERMINATE);
	assert_int_equal(terminates_sent(), sent_cnt + 1);
	assert_int_equal(rnicpair_async(side, &element), v->event);
	assert_int_equal(element, 0x100);
	assert_false(rnicpair_has_async(side));
	if (v->recv_status >= 0) {
		cqe = rnicpair_take(side, side->rcq);
		assert_int_equal(cqe.wr_id, 1);
		assert_int_equal(cqe.status, v->recv_status);
	}
	assert_true(rnicpair_is_quiet(&s.p, side->rcq));
	assert_true(rnicpair_is_quiet(&s.p, side->scq));
	/* Nothing was placed outside the regions. */
	for (int i = 100; i < 8192; i++)
		assert_int_equal(side->buf[i], 0x5a);
	stage_close(&s);
}

/* U-4, U-6, U-7, U-9 */
CASE(violations_are_answered_by_the_table)
{
	for (size_t i = 0; i < ARRAY_LEN(violations); i++)
		for (int mode = 0; mode < 4; mode++)
			violate(&violations[i], mode & 1, mode & 2);
}

/* ---- responses that do not match the request ---- */

struct bad_response {
	const char *name;
	uint32_t stag_xor;
	int64_t to_off;
	uint32_t want, len;
	uint16_t fault;
};

static const struct bad_response bad_responses[] = {
	{ "another STag", 0x100, 0, 100, 100, SMPA_F_DDP_T_BOUNDS },
	{ "another offset", 0, 1, 100, 99, SMPA_F_DDP_T_BOUNDS },
	{ "too long", 0, 0, 100, 101, SMPA_F_DDP_T_BOUNDS },
	{ "too short", 0, 0, 100, 99, SMPA_F_DDP_T_BOUNDS },
	{ "nothing at all", 0, 0, 100, 0, SMPA_F_DDP_T_BOUNDS },
	/* The first segment fits, and the second one would by itself. */
	{ "too long in all", 0, 0, 150, 200, SMPA_F_DDP_T_BOUNDS },
};

CASE(responses_must_fit_the_request)
{
	for (size_t i = 0; i < sizeof(bad_responses) / sizeof(*bad_responses);
	     i++) {
		const struct bad_response *bad = &bad_responses[i];
		struct rnicpair p;
		struct rawpeer raw;
		struct smpa_event ev;
		struct usiw_cqe cqe;
		struct usiw_sge sge;

		print_message("%s\n", bad->name);
		rawpeer_open(&raw, &p, &defaults);
		sge = rnicpair_sge(&p.side[0], 0, bad->want);
		rnicpair_post_wr(&p.side[0], .wr_id = 3, .opcode = USIW_WR_READ,
				 .sge = &sge, .sge_cnt = 1,
				 .flags = USIW_SQE_SIGNALED);
		ev = rawpeer_event(&raw);
		assert_int_equal(ev.type, SMPA_EV_READ);
		smpa_conn_set_mulpdu(raw.conn, SMPA_MULPDU_MIN);
		rawpeer_respond(&raw, ev.read.sink_stag ^ bad->stag_xor,
				ev.read.sink_to + (uint64_t)bad->to_off, octets,
				bad->len);
		ev = rawpeer_event(&raw);
		assert_int_equal(ev.type, SMPA_EV_TERMINATE);
		assert_int_equal(ev.term.fault.value, bad->fault);
		cqe = rnicpair_take(&p.side[0], p.side[0].scq);
		assert_int_equal(cqe.wr_id, 3);
		assert_int_not_equal(cqe.status, USIW_WC_SUCCESS);
		assert_true(rnicpair_is_quiet(&p, p.side[0].scq));
		rawpeer_close_both(&raw, &p);
	}
}

/* U-8, RDMAP-17: nothing is validated if nothing is read. */
CASE(an_empty_read_needs_no_region)
{
	struct smpa_event ev;
	struct rnicpair p;
	struct rawpeer raw;

	rawpeer_open(&raw, &p, &defaults);
	/* No right is needed either. */
	assert_int_equal(rnic_qp_set_access(p.side[0].qp, 0), 0);
	rawpeer_read(&raw, 5, 77, 0x12345678, 99, 0);
	ev = rawpeer_event(&raw);
	assert_int_equal(ev.type, SMPA_EV_MESSAGE);
	assert_int_equal(ev.msg.opcode, SMPA_OP_READ_RESPONSE);
	assert_int_equal(ev.msg.stag, 5);
	assert_int_equal(ev.msg.to, 77);
	/* Nothing is validated if nothing is written. */
	rawpeer_write(&raw, 0xdeadbeef, 1, octets, 0);
	assert_true(rnicpair_is_quiet(&p, p.side[0].rcq));
	assert_int_equal(rnic_qp_state(p.side[0].qp), RNIC_QPS_RTS);
	rawpeer_close_both(&raw, &p);
}

/* RDMAP-20: responses in the order of the requests, up to IRD at once. */
CASE(answers_reads_in_order)
{
	struct smpa_event ev;
	struct rnicpair p;
	struct rawpeer raw;

	rawpeer_open(&raw, &p, &defaults);
	rnicpair_fill(p.side[0].buf, 1u << 20, 8);
	for (int round = 0; round < 5; round++) {
		for (uint32_t i = 0; i < 8; i++)
			rawpeer_read(&raw, i + 1, i, p.side[0].stag,
				     rnicpair_addr(&p.side[0], i * 1000),
				     i % 2 ? 1u : 900u);
		for (uint32_t i = 0; i < 8; i++) {
			ev = rawpeer_event(&raw);
			assert_int_equal(ev.type, SMPA_EV_MESSAGE);
			assert_int_equal(ev.msg.opcode, SMPA_OP_READ_RESPONSE);
			assert_int_equal(ev.msg.stag, i + 1);
		}
	}
	rawpeer_close_both(&raw, &p);
}

/* ---- the peer's TERMINATE ---- */

static const struct {
	uint16_t fault;
	enum usiw_wc_status status;
} faults[] = {
	{ SMPA_F_DDP_U_NO_BUFFER, USIW_WC_RNR_RETRY_EXC_ERR },
	{ SMPA_F_DDP_U_TOO_LONG, USIW_WC_REM_INV_REQ_ERR },
	{ SMPA_F_RDMAP_OPCODE, USIW_WC_REM_INV_REQ_ERR },
	{ SMPA_F_DDP_T_STAG, USIW_WC_REM_ACCESS_ERR },
	{ SMPA_F_DDP_T_BOUNDS, USIW_WC_REM_ACCESS_ERR },
	{ SMPA_F_RDMAP_ACCESS, USIW_WC_REM_ACCESS_ERR },
	{ SMPA_F_RDMAP_STREAM_CATA, USIW_WC_REM_OP_ERR },
	{ SMPA_F_MPA_CRC, USIW_WC_REM_OP_ERR },
	{ SMPA_F_RDMAP_LOCAL, USIW_WC_REM_OP_ERR },
};

/* U-13 */
CASE(the_oldest_work_fails_with_the_peers_error)
{
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		struct rnicpair p;
		struct rawpeer raw;
		struct usiw_cqe cqe;
		struct usiw_sge sge;

		rawpeer_open(&raw, &p, &defaults);
		sge = rnicpair_sge(&p.side[0], 0, 100);
		for (uint64_t id = 1; id <= 3; id++)
			rnicpair_post_wr(&p.side[0], .wr_id = id,
					 .opcode = USIW_WR_READ, .sge = &sge,
					 .sge_cnt = 1);
		assert_int_equal(rnicpair_post_recv(&p.side[0], 4, NULL, 0), 0);
		assert_int_equal(rawpeer_event(&raw).type, SMPA_EV_READ);
		smpa_conn_terminate(raw.conn,
				    (struct smpa_fault){ faults[i].fault });
		(void)rawpeer_try(&raw);
		for (uint64_t id = 1; id <= 3; id++) {
			cqe = rnicpair_take(&p.side[0], p.side[0].scq);
			assert_int_equal(cqe.wr_id, id);
			assert_int_equal(cqe.status,
					 id == 1 ? faults[i].status
						 : USIW_WC_WR_FLUSH_ERR);
		}
		cqe = rnicpair_take(&p.side[0], p.side[0].rcq);
		assert_int_equal(cqe.wr_id, 4);
		assert_int_equal(cqe.status, USIW_WC_WR_FLUSH_ERR);
		assert_int_equal(rnic_qp_state(p.side[0].qp),
				 RNIC_QPS_TERMINATE);
		assert_int_equal(rnicpair_async(&p.side[0], NULL),
				 USIW_EVENT_QP_FATAL);
		assert_true(rnicpair_is_quiet(&p, p.side[0].scq));
		rawpeer_close_both(&raw, &p);
	}
}

/* The peer names the request that it refuses, however many are outstanding.
 * Those before it are flushed, because it no longer answers them. */
CASE(the_refused_request_gets_the_error)
{
	for (int i = 0; i < 2 * 4; i++) {
		uint8_t opcode = i % 2 ? USIW_WR_READ : USIW_WR_FETCH_ADD;
		uint64_t bad = (uint64_t)i / 2;
		struct rnicpair_options opt = defaults;
		struct rnicpair_side *s;
		struct smpa_event ev[4];
		struct usiw_sge sge;
		struct rawpeer raw;
		struct rnicpair p;

		/* A Read as RTR has the first number. */
		opt.rtr = bad % 2 ? SMPA_RTR_READ : SMPA_RTR_WRITE;
		s = rawpeer_open(&raw, &p, &opt);
		sge = rnicpair_sge(s, 0, 8);
		for (uint64_t id = 0; id < 4; id++)
			rnicpair_post_wr(s, .wr_id = id, .opcode = opcode,
					 .sge = &sge, .sge_cnt = 1);
		for (int j = 0; j < 4; j++)
			ev[j] = rawpeer_event(&raw);
		assert_int_equal(ev[0].type,
				 i % 2 ? SMPA_EV_READ : SMPA_EV_ATOMIC);
		smpa_conn_refuse_read(
			raw.conn, &ev[bad],
			(struct smpa_fault){ SMPA_F_RDMAP_ACCESS });
		(void)rawpeer_try(&raw);
		for (uint64_t id = 0; id < 4; id++) {
			struct usiw_cqe cqe = rnicpair_take(s, s->scq);

			assert_int_equal(cqe.wr_id, id);
			assert_int_equal(cqe.status,
					 id == bad ? USIW_WC_REM_ACCESS_ERR
						   : USIW_WC_WR_FLUSH_ERR);
		}
		assert_true(rnicpair_is_quiet(&p, s->scq));
		rawpeer_close_both(&raw, &p);
	}
}

/* Octets that are not an FPDU. */
CASE(noise_ends_the_stream)
{
	for (int has_crc = 0; has_crc < 2; has_crc++) {
		struct rnicpair_options opt = defaults;
		struct rnicpair p;
		struct rawpeer raw;

		opt.has_crc = has_crc;
		rawpeer_open(&raw, &p, &opt);
		assert_int_equal(rnicpair_post_recv(&p.side[0], 1, NULL, 0), 0);
		memset(octets, 0xff, sizeof(octets));
		for (int i = 0; i < 20; i++)
			if (write(raw.fd, octets, sizeof(octets)) < 0)
				break;
		rnicpair_wait_state(&p.side[0], RNIC_QPS_TERMINATE);
		assert_int_equal(
			rnicpair_take(&p.side[0], p.side[0].rcq).status,
			USIW_WC_WR_FLUSH_ERR);
		assert_int_equal(rnicpair_async(&p.side[0], NULL),
				 USIW_EVENT_QP_FATAL);
		rawpeer_close_both(&raw, &p);
	}
}

static const struct {
	uint16_t fault;
	const char *want, *never;
} terminate_rows[] = {
	/* siw swaps layer and type of a CRC error. */
	{ 0x0202,
	  "TERMINATE 0202 from the peer: unknown error; from a Linux "
	  "siw, which swaps layer and type: MPA: CRC error\n",
	  "\001" },
	{ 0x0207,
	  "TERMINATE from the peer: RDMAP, remote operation: "
	  "catastrophic error, this stream\n",
	  " siw" },
	{ 0x2005, "TERMINATE from the peer: MPA: local catastrophic error\n",
	  " siw" },
};

CASE(what_a_terminate_says_is_logged)
{
	for (size_t i = 0; i < ARRAY_LEN(terminate_rows); i++) {
		char text[2000] = "";
		struct rawpeer raw;
		struct rnicpair p;
		FILE *err = tmpfile();
		int was = dup(2);

		must(err && was >= 0 && dup2(fileno(err), 2) == 2);
		rawpeer_open(&raw, &p, &defaults);
		assert_int_equal(rnicpair_post_recv(&p.side[0], 4, NULL, 0), 0);
		smpa_conn_terminate(
			raw.conn,
			(struct smpa_fault){ terminate_rows[i].fault });
		(void)rawpeer_try(&raw);
		(void)rnicpair_take(&p.side[0], p.side[0].rcq);
		must(dup2(was, 2) == 2);
		must(pread(fileno(err), text, sizeof(text) - 1, 0) > 0);
		assert_non_null(strstr(text, " to 127.0.0.1 port "));
		assert_non_null(strstr(text, terminate_rows[i].want));
		assert_null(strstr(text, terminate_rows[i].never));
		rawpeer_close_both(&raw, &p);
		fclose(err);
		close(was);
	}
}

BEFORE_CASES()
{
	/* A Send without receive is refused at once; rnr_test.c has others. */
	setenv("USIW_RNR_MS", "0", 1);
	setenv("USIW_LOG", "info", 1);
}
