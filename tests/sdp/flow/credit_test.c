/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Send credit: the formula, what it allows, updates, the first messages, MSeq
 * and MSeqAck.
 */
#include "test.h"

#include <stdbool.h>

#include "flow/credit.h"

/* An end after both Hellos, with @bufs receives at its peer. */
static struct sdp_credit open_credit(uint16_t bufs, uint32_t first)
{
	struct sdp_credit c;

	sdp_credit_init(&c, 9, first, 0);
	sdp_credit_post(&c, 9);
	assert_int_equal(sdp_credit_hello_bufs(&c), 8); /* without the spare */
	sdp_credit_on_hello(&c, bufs);
	return c;
}

static uint32_t send_one(struct sdp_credit *c)
{
	struct sdp_msg msg = { .mid = SDP_MID_DATA };

	sdp_credit_send(c, &msg);
	return msg.mseq;
}

static enum sdp_fault recv_one(struct sdp_credit *c, uint32_t mseq,
			       uint32_t ack, uint16_t bufs, uint32_t payload)
{
	struct sdp_msg msg = { .mid = SDP_MID_DATA,
			       .mseq = mseq,
			       .mseqack = ack,
			       .bufs = bufs,
			       .payload_len = payload };

	return sdp_credit_recv(c, &msg);
}

/* T15, T16 */
CASE(counts_messages_and_wraps)
{
	struct sdp_credit c = open_credit(100, 0);
	struct sdp_msg msg = { .mid = SDP_MID_DATA };

	sdp_credit_send(&c, &msg);
	assert_int_equal(msg.mseq, 0);
	assert_int_equal(msg.mseqack, 0);
	assert_int_equal(recv_one(&c, 0, 0, 100, 0), 0);
	assert_int_equal(recv_one(&c, 1, 0, 100, 0), 0);
	sdp_credit_send(&c, &msg);
	assert_int_equal(msg.mseq, 1);
	assert_int_equal(msg.mseqack, 1);
	c = open_credit(100, 0xffffffff);
	assert_int_equal(send_one(&c), 0xffffffff);
	assert_int_equal(send_one(&c), 0);
	assert_int_equal(recv_one(&c, 0, 0xffffffff, 100, 0), 0);
	assert_int_equal(sdp_credit_get(&c), 99);
	assert_true(sdp_credit_is_acked(&c, 0xffffffff));
	assert_false(sdp_credit_is_acked(&c, 0));
}

/* SDP-35, rule 11: before anything was sent the credit is Bufs; MSeqAck 0 means
 * "nothing". */
CASE(computes_the_credit)
{
	struct sdp_credit c = open_credit(5, 0);

	assert_int_equal(sdp_credit_get(&c), 5);
	send_one(&c);
	send_one(&c);
	assert_int_equal(sdp_credit_get(&c), 3);
	assert_int_equal(recv_one(&c, 0, 0, 5, 0), 0);
	assert_int_equal(sdp_credit_get(&c), 3);
	assert_int_equal(recv_one(&c, 1, 1, 4, 0), 0);
	assert_int_equal(sdp_credit_get(&c), 4);
	send_one(&c);
	assert_int_equal(sdp_credit_get(&c), 3);
	/* Bufs may decrease. A negative result counts as 0. */
	assert_int_equal(recv_one(&c, 2, 1, 0, 0), 0);
	assert_int_equal(sdp_credit_get(&c), 0);
}

/* An end that at first only receives. */
CASE(answers_before_it_has_sent)
{
	struct sdp_credit c = open_credit(3, 0);

	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(recv_one(&c, i, 0, 3, 10), 0);
	assert_int_equal(sdp_credit_get(&c), 3);
}

/* Rule 11: a peer's 0 may acknowledge message 0. */
CASE(knows_when_zero_is_ambiguous)
{
	struct sdp_credit c = open_credit(3, 0);

	assert_false(sdp_credit_is_ambiguous(&c));
	send_one(&c);
	assert_false(sdp_credit_is_ambiguous(&c)); /* not heard */
	assert_int_equal(recv_one(&c, 0, 0, 3, 0), 0);
	assert_true(sdp_credit_is_ambiguous(&c));
	send_one(&c);
	assert_int_equal(sdp_credit_get(&c), 1);
	assert_false(sdp_credit_allows(&c, SDP_CREDIT_CONTROL));
	assert_int_equal(recv_one(&c, 1, 1, 3, 0), 0);
	assert_false(sdp_credit_is_ambiguous(&c));
	c = open_credit(3, 0); /* nothing sent that 0 could be */
	assert_int_equal(recv_one(&c, 0, 0, 3, 0), 0);
	assert_false(sdp_credit_is_ambiguous(&c));
}

/* T18 */
CASE(allows_by_the_table)
{
	static const bool want[4][3] = {
		/* update, control, payload */
		{ false, false, false },
		{ true, false, false },
		{ true, true, false },
		{ true, true, true },
	};

	for (uint32_t have = 0; have < 4; have++) {
		struct sdp_credit c = open_credit(10, 0);

		/* Two messages have arrived, and their receives are posted
		 * again. */
		recv_one(&c, 0, 0, 10, 1);
		recv_one(&c, 1, 0, 10, 1);
		sdp_credit_post(&c, 2);
		c.peer_bufs = (uint16_t)have;
		for (int need = 1; need <= 3; need++)
			assert_int_equal(
				sdp_credit_allows(&c,
						  (enum sdp_credit_need)need),
				want[have][need - 1]);
	}
}

CASE(sends_no_update_at_one_credit_without_gain)
{
	struct sdp_credit c = open_credit(1, 0);

	assert_false(sdp_credit_allows(&c, SDP_CREDIT_UPDATE));
	recv_one(&c, 0, 0, 1, 1);
	recv_one(&c, 1, 0, 1, 1); /* still held by the ULP */
	assert_false(sdp_credit_allows(&c, SDP_CREDIT_UPDATE));
	sdp_credit_post(&c, 1);
	assert_true(sdp_credit_allows(&c, SDP_CREDIT_UPDATE));
}

/* T20, SDP-45 */
CASE(is_due_when_the_peer_runs_low)
{
	struct sdp_credit c = open_credit(100, 0);
	uint32_t i;

	for (i = 0; i < 5; i++)
		recv_one(&c, i, 0, 100, 1);
	assert_false(sdp_credit_is_update_due(&c)); /* nothing to give */
	sdp_credit_post(&c, 1);
	assert_false(sdp_credit_is_update_due(&c)); /* it has three */
	recv_one(&c, i++, 0, 100, 1);
	assert_true(sdp_credit_is_update_due(&c)); /* two, and we have one */
	send_one(&c);
	assert_false(sdp_credit_is_update_due(&c));
	sdp_credit_post(&c, 5);
	assert_true(sdp_credit_is_update_due(&c)); /* half the pool */
}

/* T21: receives used by updates are posted again, which needs no update. */
CASE(does_not_answer_updates_for_ever)
{
	struct sdp_credit c;

	sdp_credit_init(&c, 4, 0, 0);
	sdp_credit_post(&c, 4);
	sdp_credit_hello_bufs(&c);
	sdp_credit_on_hello(&c, 3);
	recv_one(&c, 0, 0, 3, 0);
	sdp_credit_post(&c, 1);
	send_one(&c);
	recv_one(&c, 1, 0, 3, 0);
	sdp_credit_post(&c, 1);
	assert_false(sdp_credit_is_update_due(&c));
	assert_false(sdp_credit_is_update_lazy(&c));
	recv_one(&c, 2, 0, 3, 0);
	sdp_credit_post(&c, 1);
	assert_true(sdp_credit_is_update_lazy(&c)); /* one left */
}

/* What updates used up is given back by a message, and counts no more. */
CASE(is_due_behind_updates_that_were_answered)
{
	struct sdp_credit c = open_credit(100, 0);
	uint32_t i = 0;

	for (; i < 2; i++)
		recv_one(&c, i, 0, 100, 0);
	sdp_credit_post(&c, 2);
	send_one(&c);
	for (; i < 8; i++)
		recv_one(&c, i, 0, 100, 1);
	assert_false(sdp_credit_is_update_due(&c)); /* nothing to give */
	sdp_credit_post(&c, 1);
	assert_true(sdp_credit_is_update_due(&c));
}

/* T99, T100, C4 */
CASE(refuses_wrong_numbers)
{
	static const struct {
		const char *name;
		uint32_t mseq, ack;
		enum sdp_fault fault;
	} rows[] = {
		{ "next", 1, 0, SDP_FAULT_NONE },
		{ "next, acknowledges all", 1, 2, SDP_FAULT_NONE },
		{ "repeated", 0, 0, SDP_FAULT_MSEQ },
		{ "gap", 2, 0, SDP_FAULT_MSEQ },
		{ "far behind", 0xffffffff, 0, SDP_FAULT_MSEQ },
		{ "acknowledges what was not sent", 1, 3, SDP_FAULT_MSEQACK },
		{ "acknowledges -1", 1, 0xffffffff, SDP_FAULT_MSEQACK },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sdp_credit c = open_credit(10, 0);

		for (int n = 0; n < 3; n++)
			send_one(&c);
		assert_int_equal(recv_one(&c, 0, 0, 10, 0), 0);
		assert_row(rows[i].name, recv_one(&c, rows[i].mseq, rows[i].ack,
						  10, 0) == rows[i].fault);
	}
}

/* When one has come, another one is between that and what was sent last. */
CASE(refuses_acks_that_cannot_follow)
{
	static const struct {
		const char *name;
		uint32_t ack;
		enum sdp_fault fault;
	} rows[] = {
		{ "the same", 2, SDP_FAULT_NONE },
		{ "all that was sent", 3, SDP_FAULT_NONE },
		{ "goes back", 1, SDP_FAULT_MSEQACK },
		{ "goes back to nothing", 0, SDP_FAULT_MSEQACK },
		{ "one more than was sent", 4, SDP_FAULT_MSEQACK },
		{ "far ahead", 0x80000000, SDP_FAULT_MSEQACK },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sdp_credit c = open_credit(10, 0);

		for (int n = 0; n < 4; n++)
			send_one(&c);
		assert_int_equal(recv_one(&c, 0, 2, 10, 0), 0);
		assert_row(rows[i].name, recv_one(&c, 1, rows[i].ack, 10, 0) ==
						 rows[i].fault);
	}
}

CASE(takes_zero_or_one_for_the_first)
{
	for (uint32_t first = 0; first < 4; first++) {
		struct sdp_credit c = open_credit(10, 0);

		assert_int_equal(recv_one(&c, first, 0, 10, 0),
				 first < 2 ? SDP_FAULT_NONE : SDP_FAULT_MSEQ);
	}
}

/* V5 */
CASE(refuses_more_than_was_posted)
{
	struct sdp_credit c = open_credit(10, 0);

	for (uint32_t i = 0; i < 9; i++)
		assert_int_equal(recv_one(&c, i, 0, 10, 1), 0);
	assert_int_equal(recv_one(&c, 9, 0, 10, 1), SDP_FAULT_CREDIT);
}

/* SDP-193 */
CASE(holds_the_acknowledgement_back)
{
	struct sdp_credit c = open_credit(10, 0);
	struct sdp_msg msg = { .mid = SDP_MID_DATA };

	for (uint32_t i = 0; i < 3; i++)
		recv_one(&c, i, 0, 10, 0);
	sdp_credit_hold(&c);
	recv_one(&c, 3, 0, 10, 0);
	sdp_credit_send(&c, &msg);
	assert_int_equal(msg.mseqack, 1);
	/* Four of nine are in use, one is the spare; two are not
	 * acknowledged. */
	assert_int_equal(msg.bufs, 9 - 4 - 1 + 2);
	sdp_credit_release(&c);
	sdp_credit_send(&c, &msg);
	assert_int_equal(msg.mseqack, 3);
	assert_int_equal(msg.bufs, 9 - 4 - 1);
}
