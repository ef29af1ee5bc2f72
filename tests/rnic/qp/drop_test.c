/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the responder of a QP that may lose messages drops without a word, and
 * what it does not. */
#include "lossy.h"
#include "qp/object.h"

#define LONG_LEN 200000u /* several segments */

static uint8_t octets[LONG_LEN];

/* ---- what a raw peer sends to side 0 ------------------------------------- */

static void send_octets(struct rawpeer *raw, struct rnicpair_side *s)
{
	(void)s;
	rawpeer_send_octets(raw, SMPA_OP_SEND, octets, 101);
}

static void send_long(struct rawpeer *raw, struct rnicpair_side *s)
{
	(void)s;
	rawpeer_send_octets(raw, SMPA_OP_SEND, octets, LONG_LEN);
}

static void send_nothing(struct rawpeer *raw, struct rnicpair_side *s)
{
	(void)s;
	rawpeer_send_octets(raw, SMPA_OP_SEND, octets, 0);
}

static void send_inv(struct rawpeer *raw, struct rnicpair_side *s)
{
	const struct smpa_msg msg = { .opcode = SMPA_OP_SEND_INV,
				      .quiet = true,
				      .stag = s->stag ^ 0x100 };

	rawpeer_send(raw, &msg);
}

static void immediate(struct rawpeer *raw)
{
	const struct smpa_msg msg = { .opcode = SMPA_OP_IMM,
				      .quiet = true,
				      .imm = { 1, 2, 3, 4 } };

	rawpeer_send(raw, &msg);
}

static void send_imm(struct rawpeer *raw, struct rnicpair_side *s)
{
	rawpeer_write(raw, RNIC_IMM_MARK_STAG, RNIC_IMM_MARK_TO, NULL, 0);
	immediate(raw);
	send_octets(raw, s);
}

static void write_imm(struct rawpeer *raw, struct rnicpair_side *s)
{
	rawpeer_write(raw, s->stag, rnicpair_addr(s, 0), octets, 10);
	immediate(raw);
}

static void write_to_nowhere(struct rawpeer *raw, struct rnicpair_side *s)
{
	rawpeer_write(raw, s->stag ^ 0x100, rnicpair_addr(s, 0), octets, 10);
}

static void write_to_nowhere_imm(struct rawpeer *raw, struct rnicpair_side *s)
{
	write_to_nowhere(raw, s);
	immediate(raw);
}

static void write_behind(struct rawpeer *raw, struct rnicpair_side *s)
{
	rawpeer_write(raw, s->stag, rnicpair_addr(s, s->buf_len - 9), octets,
		      10);
}

static void write_across_the_end(struct rawpeer *raw, struct rnicpair_side *s)
{
	rawpeer_write(raw, s->stag, rnicpair_addr(s, s->buf_len - LONG_LEN + 1),
		      octets, LONG_LEN);
}

static const struct drop {
	const char *name;
	void (*commit)(struct rawpeer *raw, struct rnicpair_side *s);
	bool has_recv;	/* of 100 octets; it is left for the next message */
	uint8_t status; /* of that receive, if it is an SRQ's; 0: it is left */
} drops[] = {
	{ "a Send without a receive", send_octets, false, 0 },
	{ "a long Send without a receive", send_long, false, 0 },
	{ "a Send of nothing without a receive", send_nothing, false, 0 },
	{ "a Send with immediate data without a receive", send_imm, false, 0 },
	{ "immediate data of a Write without a receive", write_imm, false, 0 },
	{ "a Send longer than its receive", send_octets, true,
	  USIW_WC_LOC_LEN_ERR },
	{ "a long Send longer than its receive", send_long, true,
	  USIW_WC_LOC_LEN_ERR },
	{ "a Send with immediate data longer than its receive", send_imm, true,
	  USIW_WC_LOC_LEN_ERR },
	{ "a Send that invalidates what is not there", send_inv, true,
	  USIW_WC_LOC_ACCESS_ERR },
	{ "a Write to no region", write_to_nowhere, true, 0 },
	{ "with its immediate data", write_to_nowhere_imm, true, 0 },
	{ "a Write behind its region", write_behind, true, 0 },
	{ "a Write across the end of its region", write_across_the_end, true,
	  0 },
};

/* The next message is as any other. */
static void expect_send(struct rawpeer *raw, struct rnicpair_side *s)
{
	struct usiw_cqe cqe;

	rnicpair_fill(octets, 99, 5);
	rawpeer_send_octets(raw, SMPA_OP_SEND, octets, 99);
	cqe = rnicpair_take(s, s->rcq);
	assert_int_equal(cqe.wr_id, 7);
	assert_int_equal(cqe.status, USIW_WC_SUCCESS);
	assert_int_equal(cqe.opcode, USIW_WC_RECV);
	assert_int_equal(cqe.byte_len, 99);
	assert_int_equal(cqe.wc_flags, 0);
	assert_true(rnicpair_is_filled(s->buf + AT, 99, 5));
	/* Immediate data of a Write of nothing has no Write before it that was
	 * dropped. */
	post_recv(s);
	rawpeer_write(raw, 1, 0, NULL, 0);
	immediate(raw);
	cqe = rnicpair_take(s, s->rcq);
	assert_int_equal(cqe.opcode, USIW_WC_RECV_WITH_IMM);
	assert_int_equal(cqe.byte_len, 0);
}

static void drop_run(const struct drop *drop, bool has_crc, uint32_t srq_wr)
{
	struct rnicpair_options opt = lossy;
	uint64_t dropped = test_stat(RNIC_STAT_recv_dropped);
	struct rnicpair p;
	struct rnicpair_side *s = &p.side[1];
	struct rawpeer raw;
	struct usiw_cqe cqe;

	print_message("%s\n", drop->name);
	opt.has_crc = has_crc;
	opt.srq_wr = srq_wr;
	rnicpair_open_idle(&p, &opt);
	rawpeer_join(&raw, &p, 1);
	if (drop->has_recv)
		post_recv(s);
	drop->commit(&raw, s);
	wait_until((rnic_cq_progress(s->rcq),
		    test_stat(RNIC_STAT_recv_dropped) == dropped + 1));
	if (srq_wr && drop->status) {
		cqe = rnicpair_take(s, s->rcq);
		assert_int_equal(cqe.status, drop->status);
		assert_int_equal(cqe.wr_id, 7);
	}
	if (!drop->has_recv || (srq_wr && drop->status))
		post_recv(s);
	expect_send(&raw, s);
	assert_int_equal(test_stat(RNIC_STAT_recv_dropped), dropped + 1);
	assert_false(rnicpair_peek(s, s->rcq, &cqe));
	assert_int_equal(rnic_qp_state(s->qp), RNIC_QPS_RTS);
	assert_false(rnicpair_has_async(s));
	assert_int_equal(rawpeer_try(&raw).type, SMPA_EV_NONE);
	rawpeer_close(&raw);
	rnicpair_close(&p);
}

CASE(what_cannot_be_taken_is_dropped)
{
	for (size_t i = 0; i < 3 * ARRAY_LEN(drops); i++)
		drop_run(&drops[i / 3], i % 3 > 0, i % 3 > 1 ? 8 : 0);
}

/* Nothing of it reaches memory. */
CASE(a_dropped_write_changes_nothing)
{
	struct rnicpair p;
	struct rnicpair_side *s = &p.side[0];
	struct rawpeer raw;

	rawpeer_open(&raw, &p, &lossy);
	memset(s->buf, 0xee, 100);
	memset(octets, 1, 100);
	post_recv(s);
	assert_int_equal(rnic_qp_set_access(s->qp, RNIC_ACCESS_LOCAL_WRITE), 0);
	write_imm(&raw, s);
	expect_send(&raw, s);
	for (int i = 0; i < 100; i++)
		assert_int_equal(s->buf[i], 0xee);
	rawpeer_close_both(&raw, &p);
}

/* ---- errors of its own --------------------------------------------------- */

/* The receive is the responder's own mistake: it ends the responder's QP. */
CASE(a_receive_without_memory_ends_the_queue_pair)
{
	struct rnicpair p;
	struct rnicpair_side *s = &p.side[0];
	struct usiw_sge sge;
	struct rawpeer raw;

	rawpeer_open(&raw, &p, &lossy);
	sge = rnicpair_sge(s, AT, 200);
	sge.lkey ^= 0x100;
	must(!rnicpair_post_recv(s, 7, &sge, 1));
	send_octets(&raw, s);
	assert_int_equal(rnicpair_take(s, s->rcq).status, USIW_WC_LOC_PROT_ERR);
	rnicpair_wait_state(s, RNIC_QPS_TERMINATE);
	rawpeer_close_both(&raw, &p);
}
