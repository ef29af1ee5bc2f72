/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Immediate data in both directions: what the receiver gets, what is sent on
 * the wire, and what other implementations may send.
 */
#include <string.h>

#include "../../harness/test.h"
#include "engine/engine.h"
#include "qp/object.h"
#include "qp/qp.h"
#include "rawpeer.h"
#include "rnicpair.h"

static const struct rnicpair_options defaults = RNICPAIR_OPTIONS_INIT;

/* Octets that show their order. */
static uint32_t imm_of(uint32_t seed)
{
	uint8_t octets[4] = { 0xf1, (uint8_t)(seed >> 8), (uint8_t)seed, 0x04 };
	uint32_t imm_be;

	memcpy(&imm_be, octets, sizeof(imm_be));
	return imm_be;
}

static const struct kind {
	uint8_t opcode, wc_send, wc_recv;
} kinds[] = {
	{ USIW_WR_WRITE_IMM, USIW_WC_WRITE, USIW_WC_RECV_WITH_IMM },
	{ USIW_WR_SEND_IMM, USIW_WC_SEND, USIW_WC_RECV },
};

#define KIND_CNT (ARRAY_LEN(kinds))

static const size_t lens[] = { 0, 1, 8, 2049, 65536, 100001, 1u << 20 };

#define LEN_CNT (ARRAY_LEN(lens))

/* One message with immediate data from side @from, received completely. */
static void carry_one(struct rnicpair *p, int from, const struct kind *kind,
		      size_t len, uint8_t flags, uint32_t seed)
{
	struct rnicpair_side *a = &p->side[from], *b = &p->side[!from];
	struct usiw_sge src = rnicpair_sge(a, 64, len);
	struct usiw_sge dst = rnicpair_sge(b, 128, len);
	struct rnicpair_wr wr = {
		.wr_id = seed,
		.opcode = kind->opcode,
		.flags = USIW_SQE_SIGNALED | flags,
		.sge = &src,
		.sge_cnt = len ? 1 : 0,
		.remote_addr = rnicpair_addr(b, 128),
		.rkey = b->stag,
		.imm_be = imm_of(seed),
	};
	bool is_write = kind->opcode == USIW_WR_WRITE_IMM;
	struct usiw_cqe cqe;

	rnicpair_fill(a->buf + 64, len, seed);
	memset(b->buf + 128, 0xee, len + 1);
	assert_int_equal(
		rnicpair_post_recv(b, seed + 1, &dst, is_write || !len ? 0 : 1),
		0);
	assert_int_equal(rnicpair_post(a, &wr), 0);
	cqe = rnicpair_take(b, b->rcq);
	assert_int_equal(cqe.status, USIW_WC_SUCCESS);
	assert_int_equal(cqe.wr_id, seed + 1);
	assert_int_equal(cqe.opcode, kind->wc_recv);
	assert_int_equal(cqe.byte_len, len);
	assert_int_equal(cqe.wc_flags,
			 USIW_WC_FLAG_IMM | (flags & USIW_SQE_SOLICITED
						     ? USIW_WC_FLAG_SOLICITED
						     : 0));
	assert_int_equal(cqe.imm_be, imm_of(seed));
	assert_true(rnicpair_is_filled(b->buf + 128, len, seed));
	assert_int_equal(b->buf[128 + len], 0xee);
	cqe = rnicpair_take(a, a->scq);
	assert_int_equal(cqe.status, USIW_WC_SUCCESS);
	assert_int_equal(cqe.wr_id, seed);
	assert_int_equal(cqe.opcode, kind->wc_send);
}

/* U-21: the completion comes when the data is there, and only one comes. */
CASE(carries_every_length)
{
	for (int has_crc = 0; has_crc < 2; has_crc++) {
		struct rnicpair_options opt = defaults;
		struct rnicpair p;

		opt.has_crc = has_crc;
		rnicpair_open(&p, &opt);
		for (size_t i = 0; i < 2 * KIND_CNT * LEN_CNT; i++)
			carry_one(&p, i & 1, &kinds[i / 2 % KIND_CNT],
				  lens[i / 2 / KIND_CNT],
				  i % 3 ? 0 : USIW_SQE_SOLICITED,
				  (uint32_t)i + 1);
		for (int i = 0; i < 2; i++) {
			struct rnicpair_side *s = &p.side[i];

			assert_true(rnicpair_is_quiet(&p, s->scq));
			assert_true(rnicpair_is_quiet(&p, s->rcq));
			assert_false(rnicpair_has_async(s));
			assert_int_equal(usiw_ring_used(rnic_qp_rq(s->qp)), 0);
		}
		rnicpair_close(&p);
	}
}

/* Many at once with other messages in between: each value belongs to its
 * message. */
CASE(values_stay_with_their_messages)
{
	static const uint8_t opcodes[] = { USIW_WR_WRITE_IMM, USIW_WR_SEND,
					   USIW_WR_SEND_IMM, USIW_WR_WRITE,
					   USIW_WR_WRITE_IMM };
	struct rnicpair_options opt = defaults;
	struct rnicpair p;
	struct rnicpair_side *a = &p.side[0], *b = &p.side[1];
	struct usiw_cqe cqe;

	opt.max_wr = 256;
	rnicpair_open(&p, &opt);
	for (uint32_t i = 0; i < 200; i++) {
		uint8_t opcode = opcodes[i % 5];
		size_t len = i % 5 == 4 ? 0 : i % 7 ? i : 40000;
		struct usiw_sge sge = rnicpair_sge(a, 0, len);
		struct usiw_sge to = rnicpair_sge(b, 1u << 20, 40000);
		struct rnicpair_wr wr = {
			.wr_id = i,
			.opcode = opcode,
			.flags = USIW_SQE_SIGNALED,
			.sge = &sge,
			.sge_cnt = 1,
			.remote_addr = rnicpair_addr(b, 0),
			.rkey = b->stag,
			.imm_be = imm_of(i),
		};

		if (opcode != USIW_WR_WRITE)
			assert_int_equal(rnicpair_post_recv(b, i, &to, 1), 0);
		assert_int_equal(rnicpair_post(a, &wr), 0);
	}
	for (uint32_t i = 0; i < 200; i++) {
		size_t len = i % 5 == 4 ? 0 : i % 7 ? i : 40000;

		assert_int_equal(rnicpair_take(a, a->scq).wr_id, i);
		if (opcodes[i % 5] == USIW_WR_WRITE)
			continue;
		cqe = rnicpair_take(b, b->rcq);
		assert_int_equal(cqe.status, USIW_WC_SUCCESS);
		assert_int_equal(cqe.wr_id, i);
		assert_int_equal(cqe.byte_len, len);
		assert_int_equal(cqe.opcode, opcodes[i % 5] == USIW_WR_WRITE_IMM
						     ? USIW_WC_RECV_WITH_IMM
						     : USIW_WC_RECV);
		assert_int_equal(cqe.wc_flags, opcodes[i % 5] == USIW_WR_SEND
						       ? 0
						       : USIW_WC_FLAG_IMM);
		if (cqe.wc_flags)
			assert_int_equal(cqe.imm_be, imm_of(i));
	}
	assert_true(rnicpair_is_quiet(&p, b->rcq));
	rnicpair_close(&p);
}

/* EXT-16, D-32, D-37: message by message. */
static const struct wire_row {
	const char *name;
	uint8_t wr, flags;
	uint8_t opcodes[3]; /* in their order; the last may be missing */
	uint8_t cnt, imm_at;
} wire_rows[] = {
	{ "WRITE", USIW_WR_WRITE_IMM, 0, { SMPA_OP_WRITE, SMPA_OP_IMM }, 2, 1 },
	{ "WRITE, solicited",
	  USIW_WR_WRITE_IMM,
	  USIW_SQE_SOLICITED,
	  { SMPA_OP_WRITE, SMPA_OP_IMM_SE },
	  2,
	  1 },
	{ "SEND",
	  USIW_WR_SEND_IMM,
	  0,
	  { SMPA_OP_WRITE, SMPA_OP_IMM, SMPA_OP_SEND },
	  3,
	  1 },
	{ "SEND, solicited",
	  USIW_WR_SEND_IMM,
	  USIW_SQE_SOLICITED,
	  { SMPA_OP_WRITE, SMPA_OP_IMM, SMPA_OP_SEND_SE },
	  3,
	  1 },
};

static void wire_check(const struct wire_row *row, struct rawpeer *raw,
		       uint32_t len)
{
	struct smpa_event ev[3];

	for (int i = 0; i < row->cnt; i++) {
		ev[i] = rawpeer_event(raw);
		assert_row(row->name, ev[i].type == SMPA_EV_MESSAGE);
		assert_row(row->name, ev[i].msg.opcode == row->opcodes[i]);
	}
	assert_memory_equal(ev[row->imm_at].msg.imm, "\xf1\0\5\4\0\0\0\0", 8);
	if (row->wr == USIW_WR_WRITE_IMM) {
		assert_int_equal(ev[0].msg.len, len);
		return;
	}
	assert_int_equal(ev[0].msg.len, 0);
	assert_int_equal(ev[0].msg.stag, RNIC_IMM_MARK_STAG);
	assert_true(ev[0].msg.to == RNIC_IMM_MARK_TO);
	assert_int_equal(ev[2].msg.len, len);
}

CASE(has_the_layout_of_the_notes)
{
	for (size_t i = 0; i < ARRAY_LEN(wire_rows); i++) {
		for (uint32_t len = 0; len < 9; len += 8) {
			const struct wire_row *row = &wire_rows[i];
			struct rnicpair_wr wr = { .opcode = row->wr,
						  .flags = row->flags,
						  .sge_cnt = 1,
						  .rkey = 77,
						  .imm_be = imm_of(5) };
			struct rawpeer raw;
			struct rnicpair p;
			struct usiw_sge sge;

			rawpeer_open(&raw, &p, &defaults);
			sge = rnicpair_sge(&p.side[0], 0, len);
			wr.sge = &sge;
			assert_int_equal(rnicpair_post(&p.side[0], &wr), 0);
			wire_check(row, &raw, len);
			assert_int_equal(rawpeer_try(&raw).type, SMPA_EV_NONE);
			rawpeer_close_both(&raw, &p);
		}
	}
}

/* Responses that are due are not sent between a Write and its value, however
 * little TCP accepts at a time. */
CASE(nothing_comes_between_write_and_value)
{
	struct rnicpair_options opt = defaults;
	struct rawpeer raw;
	struct rnicpair p;
	uint32_t values = 0, responses = 0;
	bool is_behind_write = false;

	opt.sockbuf = 32768;
	rawpeer_open(&raw, &p, &opt);
	for (uint32_t i = 0; i < 8; i++)
		rawpeer_read(&raw, 1, 0, p.side[0].stag,
			     rnicpair_addr(&p.side[0], 0), 20000 + i);
	for (uint32_t i = 0; i < 40; i++) {
		struct usiw_sge sge =
			rnicpair_sge(&p.side[0], 0, i % 2 ? 60000 : 10);
		struct rnicpair_wr wr = { .opcode = USIW_WR_WRITE_IMM,
					  .sge = &sge,
					  .sge_cnt = 1,
					  .rkey = 9,
					  .imm_be = imm_of(i) };

		assert_int_equal(rnicpair_post(&p.side[0], &wr), 0);
	}
	while (values < 40) {
		struct smpa_event ev = rawpeer_event(&raw);

		assert_int_equal(ev.type, SMPA_EV_MESSAGE);
		assert_int_equal(ev.msg.opcode == SMPA_OP_IMM, is_behind_write);
		is_behind_write = ev.msg.opcode == SMPA_OP_WRITE;
		values += ev.msg.opcode == SMPA_OP_IMM;
		if (ev.msg.opcode != SMPA_OP_READ_RESPONSE)
			continue;
		if (++responses < 40)
			rawpeer_read(&raw, 1, 0, p.side[0].stag,
				     rnicpair_addr(&p.side[0], 0), 20000);
	}
	assert_true(responses > 0);
	rawpeer_close_both(&raw, &p);
}

/* The next connection of the QP has no rest of the last one. */
static void begins_anew(struct rnicpair *p)
{
	static const uint8_t opcodes[] = { SMPA_OP_WRITE, SMPA_OP_IMM,
					   SMPA_OP_SEND };
	struct rnicpair_wr wr = { .opcode = USIW_WR_SEND_IMM };
	struct rawpeer raw;

	assert_int_equal(rnic_qp_modify(p->side[0].qp, RNIC_QPS_IDLE), 0);
	rawpeer_join(&raw, p, 0);
	assert_int_equal(rnicpair_post(&p->side[0], &wr), 0);
	for (size_t i = 0; i < ARRAY_LEN(opcodes); i++) {
		struct smpa_event ev = rawpeer_event(&raw);

		assert_int_equal(ev.type, SMPA_EV_MESSAGE);
		assert_int_equal(ev.msg.opcode, opcodes[i]);
	}
	rawpeer_close(&raw);
}

/* Work that ends between its two messages completes once. */
CASE(half_sent_ones_are_flushed_once)
{
	for (size_t kind = 0; kind < KIND_CNT; kind++) {
		struct rnicpair_options opt = defaults;
		struct rnicpair_side *s;
		struct rawpeer raw;
		struct rnicpair p;
		bool has_failed = false;

		opt.sockbuf = 4096;
		s = rawpeer_open(&raw, &p, &opt);
		for (uint32_t i = 0; i < 60; i++) {
			struct usiw_sge sge =
				rnicpair_sge(s, 0, i % 2 ? 600000 : 0);
			struct rnicpair_wr wr = {
				.wr_id = i,
				.opcode = kinds[kind].opcode,
				.flags = USIW_SQE_SIGNALED,
				.sge = &sge,
				.sge_cnt = 1,
			};

			assert_int_equal(rnicpair_post(s, &wr), 0);
		}
		/* The peer reads nothing: a Write is on its way, and its value
		 * is not. */
		assert_int_equal(
			with_lead(s->ctx->engine, s->qp->sq.imm.is_due),
			kinds[kind].opcode == USIW_WR_WRITE_IMM);
		assert_int_equal(rnic_qp_modify(s->qp, RNIC_QPS_ERROR), 0);
		for (uint32_t i = 0; i < 60; i++) {
			struct usiw_cqe cqe = rnicpair_take(s, s->scq);

			assert_int_equal(cqe.wr_id, i);
			if (cqe.status != USIW_WC_SUCCESS)
				has_failed = true;
			assert_int_equal(cqe.status,
					 has_failed ? USIW_WC_WR_FLUSH_ERR
						    : USIW_WC_SUCCESS);
		}
		assert_true(has_failed);
		assert_true(rnicpair_is_quiet(&p, s->scq));
		rawpeer_close(&raw);
		begins_anew(&p);
		rnicpair_close(&p);
	}
}

static void raw_imm(struct rawpeer *raw, uint8_t opcode, const char *imm)
{
	struct smpa_msg msg = { .opcode = opcode, .quiet = true };

	memcpy(msg.imm, imm, sizeof(msg.imm));
	rawpeer_send(raw, &msg);
}

static void take_value(struct rnicpair_side *s, uint64_t wr_id, uint32_t len,
		       const char *imm, bool is_solicited)
{
	struct usiw_cqe cqe = rnicpair_take(s, s->rcq);

	assert_int_equal(cqe.status, USIW_WC_SUCCESS);
	assert_int_equal(cqe.wr_id, wr_id);
	assert_int_equal(cqe.opcode, USIW_WC_RECV_WITH_IMM);
	assert_int_equal(cqe.byte_len, len);
	assert_int_equal(cqe.wc_flags,
			 USIW_WC_FLAG_IMM |
				 (is_solicited ? USIW_WC_FLAG_SOLICITED : 0));
	assert_memory_equal(&cqe.imm_be, imm, 4);
}

/* Immediate Data as in RFC 7306, from other implementations. */
CASE(takes_what_other_peers_send)
{
	static const uint8_t octets[5000];
	struct rnicpair_side *s;
	struct rawpeer raw;
	struct rnicpair p;

	s = rawpeer_open(&raw, &p, &defaults);
	for (uint64_t i = 0; i < 6; i++)
		assert_int_equal(rnicpair_post_recv(s, i, NULL, 0), 0);
	/* Without a Write. D-32: the last four octets are ignored. */
	raw_imm(&raw, SMPA_OP_IMM, "\1\2\3\4\5\6\7\x8");
	take_value(s, 0, 0, "\1\2\3\4", false);
	raw_imm(&raw, SMPA_OP_IMM_SE, "\0\0\0\0\0\0\0\0");
	take_value(s, 1, 0, "\0\0\0\0", true);
	/* After a Write of many segments: the completion has its length. */
	rawpeer_write(&raw, s->stag, rnicpair_addr(s, 0), octets, 1);
	smpa_conn_set_mulpdu(raw.conn, 128);
	rawpeer_write(&raw, s->stag, rnicpair_addr(s, 0), octets, 5000);
	raw_imm(&raw, SMPA_OP_IMM, "abcdefgh");
	take_value(s, 2, 5000, "abcd", false);
	/* The length is reported once. */
	raw_imm(&raw, SMPA_OP_IMM, "abcdefgh");
	take_value(s, 3, 0, "abcd", false);
	/* A Send in between takes the Write for itself. */
	rawpeer_write(&raw, s->stag, rnicpair_addr(s, 0), octets, 30);
	rawpeer_send_octets(&raw, SMPA_OP_SEND, NULL, 0);
	assert_int_equal(rnicpair_take(s, s->rcq).opcode, USIW_WC_RECV);
	raw_imm(&raw, SMPA_OP_IMM, "abcdefgh");
	take_value(s, 5, 0, "abcd", false);
	assert_true(rnicpair_is_quiet(&p, s->rcq));
	rawpeer_close_both(&raw, &p);
}

/*
 * D-37: only the mark counts as the mark: not octets of the value, not a Write
 * with parts of the mark, not one with octets in between.
 */
static const struct mark_row {
	const char *name;
	uint32_t stag;
	uint64_t to;
	uint32_t between; /* octets of a Write after it; 0: no Write */
	uint8_t opcode;	  /* of the Immediate Data */
	const char *imm;
	bool is_mark;
} mark_rows[] = {
	{ "the mark", RNIC_IMM_MARK_STAG, RNIC_IMM_MARK_TO, 0, SMPA_OP_IMM,
	  "\1\2\3\4\0\0\0\0", true },
	{ "its value is free", RNIC_IMM_MARK_STAG, RNIC_IMM_MARK_TO, 0,
	  SMPA_OP_IMM, "\1\2\3\4SEND", true },
	{ "no mark, SEND in the value", 1, 0, 0, SMPA_OP_IMM, "\1\2\3\4SEND",
	  false },
	{ "another STag", RNIC_IMM_MARK_STAG ^ 1, RNIC_IMM_MARK_TO, 0,
	  SMPA_OP_IMM, "\1\2\3\4\0\0\0\0", false },
	{ "another TO", RNIC_IMM_MARK_STAG, RNIC_IMM_MARK_TO ^ 1, 0,
	  SMPA_OP_IMM, "\1\2\3\4\0\0\0\0", false },
	{ "with solicited event", RNIC_IMM_MARK_STAG, RNIC_IMM_MARK_TO, 0,
	  SMPA_OP_IMM_SE, "\1\2\3\4\0\0\0\0", false },
	{ "a Write between", RNIC_IMM_MARK_STAG, RNIC_IMM_MARK_TO, 8,
	  SMPA_OP_IMM, "\1\2\3\4\0\0\0\0", false },
};

CASE(accepts_only_the_mark)
{
	for (size_t i = 0; i < ARRAY_LEN(mark_rows); i++) {
		const struct mark_row *row = &mark_rows[i];
		struct rnicpair_side *s;
		struct usiw_cqe cqe;
		struct rawpeer raw;
		struct rnicpair p;

		print_message("%s\n", row->name);
		s = rawpeer_open(&raw, &p, &defaults);
		for (uint64_t j = 0; j < 3; j++)
			assert_int_equal(rnicpair_post_recv(s, j, NULL, 0), 0);
		rawpeer_write(&raw, row->stag, row->to, NULL, 0);
		if (row->between)
			rawpeer_write(&raw, s->stag, rnicpair_addr(s, 0),
				      "12345678", row->between);
		raw_imm(&raw, row->opcode, row->imm);
		rawpeer_send_octets(&raw, SMPA_OP_SEND, NULL, 0);
		if (!row->is_mark)
			take_value(s, 0, row->between, "\1\2\3\4",
				   row->opcode == SMPA_OP_IMM_SE);
		cqe = rnicpair_take(s, s->rcq);
		assert_row(row->name, cqe.status == USIW_WC_SUCCESS);
		assert_row(row->name, cqe.wr_id == (row->is_mark ? 0 : 1));
		assert_row(row->name, cqe.opcode == USIW_WC_RECV);
		assert_row(row->name,
			   cqe.wc_flags ==
				   (row->is_mark ? USIW_WC_FLAG_IMM : 0));
		/* It counts once. */
		raw_imm(&raw, SMPA_OP_IMM, "abcdSEND");
		take_value(s, row->is_mark ? 1 : 2, 0, "abcd", false);
		assert_true(rnicpair_is_quiet(&p, s->rcq));
		assert_false(rnicpair_has_async(s));
		rawpeer_close_both(&raw, &p);
	}
}

/* The peer need not grant write access before it may be sent a mark. */
PAIR_CASE(the_mark_needs_no_right_to_write)
{
	struct rnicpair *p = *state;

	for (int i = 0; i < 2; i++)
		assert_int_equal(rnic_qp_set_access(p->side[i].qp, 0), 0);
	carry_one(p, 0, &kinds[1], 8, 0, 3);
	carry_one(p, 1, &kinds[1], 8, 0, 4);
}
