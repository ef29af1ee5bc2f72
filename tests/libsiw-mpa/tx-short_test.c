/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Short messages: the same octets as other code makes, in the same order.
 */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"
#include "siw-mpa.h"

/* Replies that ask for markers, without and with CRC. */
#define PEER_REPLY_MARKERS "4d504120494420526570204672616d6580010000"
#define PEER_REPLY_BOTH "4d504120494420526570204672616d65c0010000"

/* An Initiator of revision 1 that has got that Reply. */
static void initiator_of(struct end *e, const char *reply, uint32_t mulpdu)
{
	struct smpa_options o = test_options(SMPA_INITIATOR);

	o.rev = 1;
	o.no_crc = true;
	o.mulpdu = mulpdu;
	end_init(e, &o);
	end_establish(e, reply);
	e->event_cnt = 0;
}

static void initiator(struct end *e, bool has_crc, uint32_t mulpdu)
{
	initiator_of(e, has_crc ? PEER_REPLY : PEER_REPLY_PLAIN, mulpdu);
}

/* What the end sends for @msg, with its payload in one or in two pieces. */
static void send_in_pieces(struct end *e, struct smpa_msg msg, uint8_t *buf,
			   int piece_cnt)
{
	struct iovec v[2] = { { buf, msg.len / 2 },
			      { buf + msg.len / 2, msg.len - msg.len / 2 } };

	if (piece_cnt == 1)
		v[0].iov_len = msg.len;
	msg.iov = v;
	msg.iovcnt = piece_cnt == 1 && msg.len == 0 ? 0 : piece_cnt;
	assert_int_equal(smpa_conn_submit(e->conn, &msg), 0);
	end_drain(e);
	end_pull(e);
}

static void assert_sent_alike(const struct end *a, const struct end *b)
{
	const struct smpa_counters *m = smpa_conn_counters(a->conn);
	const struct smpa_counters *n = smpa_conn_counters(b->conn);

	assert_int_equal(a->out_end, b->out_end);
	assert_memory_equal(a->out, b->out, a->out_end);
	assert_int_equal(m->tx_fpdu, n->tx_fpdu);
	assert_int_equal(m->tx_copied, n->tx_copied);
	assert_int_equal(m->tx_inplace, n->tx_inplace);
	assert_int_equal(end_count(a, SMPA_EV_SENT),
			 end_count(b, SMPA_EV_SENT));
}

/* Their SENT events have the same cookies, too. */
static void end_alike(struct end *a, struct end *b)
{
	for (size_t i = 0; i < end_count(a, SMPA_EV_SENT); i++)
		assert_int_equal(end_event(a, SMPA_EV_SENT, i)->sent.cookie,
				 end_event(b, SMPA_EV_SENT, i)->sent.cookie);
	end_fini(a);
	end_fini(b);
}

/*
 * A short message in one piece is encoded by other code than any other message.
 * Both make the same octets, whatever its length, for each opcode with payload.
 */
static void short_messages_are_like_all_others(bool has_crc, bool has_markers,
					       uint32_t mulpdu)
{
	static const uint8_t opcodes[] = {
		SMPA_OP_WRITE,	  SMPA_OP_READ_RESPONSE, SMPA_OP_SEND,
		SMPA_OP_SEND_INV, SMPA_OP_SEND_SE,	 SMPA_OP_SEND_SE_INV,
	};
	static const uint32_t lens[] = {
		0,   1,	  2,	3,   4,	  5,   64,   109,  110,	 111, 113,
		114, 115, 1000, 510, 512, 514, 2047, 2048, 2049, 5000
	};
	static const char *const replies[] = { PEER_REPLY_PLAIN, PEER_REPLY,
					       PEER_REPLY_MARKERS,
					       PEER_REPLY_BOTH };
	static uint8_t buf[5000];
	struct end one, two;

	test_fill(buf, sizeof(buf), 7);
	initiator_of(&one, replies[has_crc + 2 * has_markers], mulpdu);
	initiator_of(&two, replies[has_crc + 2 * has_markers], mulpdu);
	for (size_t i = 0; i < sizeof(opcodes); i++) {
		for (size_t j = 0; j < sizeof(lens) / sizeof(*lens); j++) {
			struct smpa_msg msg = {
				.opcode = opcodes[i],
				.quiet = j % 3 == 0,
				.copy = j % 4 == 0,
				.safe = j % 2 == 0,
				.stag = 0x01020304u + (uint32_t)j,
				.to = 0xf1f2f3f4f5f6f7f8u,
				.len = lens[j],
				.cookie = i << 8 | j,
			};

			send_in_pieces(&one, msg, buf, 1);
			send_in_pieces(&two, msg, buf, 2);
			assert_sent_alike(&one, &two);
		}
	}
	end_alike(&one, &two);
}

CASE(encodes_short_messages_like_all_others)
{
	static const uint32_t mulpdus[] = { 128, 1442, SMPA_MULPDU_MAX };

	for (size_t i = 0; i < sizeof(mulpdus) / sizeof(*mulpdus); i++)
		for (int j = 0; j < 4; j++)
			short_messages_are_like_all_others(j & 1, j & 2,
							   mulpdus[i]);
}

/* Messages without payload: those with a wrong CRC are encoded by the other
 * code. */
CASE(encodes_headers_like_all_others)
{
	static const struct smpa_msg rows[] = {
		{ .opcode = SMPA_OP_READ_REQUEST,
		  .cookie = 1,
		  .read = { 0x01020304, 0x05060708090a0b0c, 77, 0x0d0e0f10,
			    0x1112131415161718 } },
		{ .opcode = SMPA_OP_IMM, .cookie = 2, .imm = { 1, 2, 8 } },
		{ .opcode = SMPA_OP_IMM_SE, .quiet = true, .imm = { 9 } },
		{ .opcode = SMPA_OP_ATOMIC_REQUEST,
		  .cookie = 3,
		  .atomic = { 2, 3, 4, 5, 6, 7, 8, 9, 10 } },
		{ .opcode = SMPA_OP_ATOMIC_RESPONSE,
		  .quiet = true,
		  .atomic = { .id = 11, .value = 12 } },
	};
	struct end one, two;

	initiator(&one, true, 0);
	initiator(&two, true, 0);
	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(*rows); i++) {
		const struct smpa_msg *msg = &rows[i / 2];

		assert_int_equal(smpa_conn_submit(one.conn, msg), 0);
		assert_int_equal(smpa_conn_submit_spoiled(two.conn, msg), 0);
		end_drain(&one);
		end_drain(&two);
		end_pull(&one);
		end_pull(&two);
		two.out[two.out_end - 1] ^= 0xff;
		assert_sent_alike(&one, &two);
	}
	end_alike(&one, &two);
}

/* The engine's own message comes before a short one, and a short one comes
 * behind all octets of a long one. */
CASE(encodes_short_messages_in_their_order)
{
	struct smpa_options a = test_options(SMPA_INITIATOR);
	uint8_t *buf = calloc(1, 4u << 20);
	struct iovec v = { buf, 4u << 20 }, w = { buf, 1 };
	struct smpa_msg msg = {
		.opcode = SMPA_OP_WRITE, .iov = &v, .iovcnt = 1, .len = 4u << 20
	};
	struct smpa_msg brief = {
		.opcode = SMPA_OP_SEND, .iov = &w, .iovcnt = 1, .len = 1
	};
	const struct iovec *iov;
	struct end e;
	int n;

	assert_non_null(buf);
	a.rtr = SMPA_RTR_WRITE;
	end_init(&e, &a);
	assert_int_equal(smpa_conn_start(e.conn, NULL, 0), 0);
	end_drain(&e);
	e.out_end = 0;
	end_feed_hex(&e, "4d504120494420526570204672616d655002000480088040");
	assert_int_equal(smpa_conn_submit(e.conn, &brief), 0);
	end_drain(&e);
	assert_int_equal(e.out_end, (2 + 14 + 4) + (2 + 18 + 1 + 3 + 4));
	assert_int_equal(e.out[2] & 0x80, 0x80); /* tagged: the RTR */
	end_fini(&e);

	initiator(&e, false, 0);
	assert_int_equal(smpa_conn_submit(e.conn, &msg), 0);
	n = smpa_conn_tx_prepare(e.conn, &iov);
	assert_true(n > 0);
	for (int i = 0; i < n; i++)
		msg.len -= (uint32_t)iov[i].iov_len;
	assert_int_equal(smpa_conn_tx_commit(e.conn, (4u << 20) - msg.len), 0);
	assert_int_equal(smpa_conn_submit(e.conn, &brief), -EAGAIN);
	end_fini(&e);
	free(buf);
}

/* Octets wait in staging up to a limit, whatever their messages are. */
CASE(prepares_a_bounded_amount_of_short_messages)
{
	static uint8_t buf[1400];
	void *staging = aligned_alloc(16, 2 * SMPA_TX_STAGING_FULL);
	struct iovec v = { buf, sizeof(buf) };
	struct smpa_msg msg = { .opcode = SMPA_OP_SEND,
				.iov = &v,
				.iovcnt = 1,
				.len = sizeof(buf) };
	struct end e;
	int n = 0;

	assert_non_null(staging);
	initiator(&e, true, 0);
	assert_int_equal(
		smpa_conn_tx_lend(e.conn, staging, 2 * SMPA_TX_STAGING_FULL),
		0);
	while (smpa_conn_submit(e.conn, &msg) == 0)
		n++;
	/* The first one above the limit is not encoded yet. */
	assert_int_equal(n, (256 << 10) / (2 + 18 + 1400 + 4) + 2);
	end_fini(&e);
	free(staging);
}

CASE(copies_no_more_than_copy_max)
{
	struct smpa_options o = test_options(SMPA_INITIATOR);
	static uint8_t buf[65];
	struct iovec v = { buf, sizeof(buf) };
	struct smpa_msg msg = { .opcode = SMPA_OP_SEND,
				.iov = &v,
				.iovcnt = 1 };
	struct end e;

	o.rev = 1;
	o.no_crc = true;
	o.copy_max = 64;
	end_init(&e, &o);
	end_establish(&e, PEER_REPLY_PLAIN);
	for (msg.len = 64; msg.len <= 65; msg.len++) {
		v.iov_len = msg.len;
		assert_int_equal(smpa_conn_submit(e.conn, &msg), 0);
		assert_int_equal(smpa_conn_uses(e.conn, buf, 1), msg.len > 64);
	}
	end_fini(&e);
}
