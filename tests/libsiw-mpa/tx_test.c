/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Sending: what submit accepts, what is sent, and when SENT is reported.
 */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"
#include "siw-mpa.h"
#include "wire.h"

/* An established Initiator of revision 1. */
static void initiator(struct end *e, bool has_crc, uint32_t mulpdu)
{
	struct smpa_options o = test_options(SMPA_INITIATOR);

	o.rev = 1;
	o.no_crc = !has_crc;
	o.mulpdu = mulpdu;
	end_init(e, &o);
	end_establish(e, has_crc ? PEER_REPLY : PEER_REPLY_PLAIN);
	e->event_cnt = 0;
}

CASE(refuses_nonsense)
{
	static uint8_t buf[16];
	struct iovec v = { buf, 16 };
	struct smpa_msg good = {
		.opcode = SMPA_OP_SEND, .iov = &v, .iovcnt = 1, .len = 16
	};
	struct end e;

	initiator(&e, true, 0);
#define refuse(field, value)                                                   \
	do {                                                                   \
		struct smpa_msg m = good;                                      \
		m.field = (value);                                             \
		assert_int_equal(smpa_conn_submit(e.conn, &m), -EINVAL);       \
	} while (0)
	refuse(opcode, SMPA_OP_TERMINATE);
	refuse(opcode, 0xc);
	refuse(opcode, 0xff);
	refuse(opcode, SMPA_OP_READ_REQUEST); /* it has payload */
	refuse(opcode, SMPA_OP_IMM);
	refuse(len, 15);
	refuse(len, 17);
	refuse(iovcnt, 0);
	refuse(iovcnt, -1);
	refuse(iovcnt, SMPA_IOV_MAX + 1);
	good = (struct smpa_msg){ .opcode = SMPA_OP_ATOMIC_REQUEST };
	refuse(atomic.op, 1);
	refuse(atomic.op, 3);
#undef refuse
	assert_int_equal(smpa_conn_tx_pending(e.conn), 0);
	end_fini(&e);
}

CASE(makes_one_iovec_of_many_small_messages)
{
	static uint8_t buf[64];
	struct iovec v = { buf, sizeof(buf) };
	struct smpa_msg msg = { .opcode = SMPA_OP_SEND,
				.iov = &v,
				.iovcnt = 1,
				.len = sizeof(buf) };
	const struct iovec *iov;
	struct end e;

	initiator(&e, true, 0);
	for (uint64_t i = 0; i < 500; i++) {
		msg.cookie = i;
		assert_int_equal(smpa_conn_submit(e.conn, &msg), 0);
	}
	assert_int_equal(smpa_conn_tx_prepare(e.conn, &iov), 1);
	assert_int_equal(iov[0].iov_len, 500 * (2 + 18 + 64 + 4));
	/* copied, so the source is free at once */
	assert_false(smpa_conn_uses(e.conn, buf, sizeof(buf)));
	/* half of it, minus one octet */
	assert_int_equal(smpa_conn_tx_commit(e.conn, 250 * 88 - 1), 0);
	end_pull(&e);
	assert_int_equal(end_count(&e, SMPA_EV_SENT), 249);
	assert_int_equal(smpa_conn_tx_prepare(e.conn, &iov), 1);
	assert_int_equal(smpa_conn_tx_commit(e.conn, 250 * 88 + 2), -EINVAL);
	assert_int_equal(smpa_conn_tx_commit(e.conn, 250 * 88 + 1), 0);
	end_pull(&e);
	for (uint64_t i = 0; i < 500; i++)
		assert_int_equal(end_event(&e, SMPA_EV_SENT, i)->sent.cookie,
				 i);
	assert_true(smpa_conn_tx_is_idle(e.conn));
	assert_int_equal(smpa_conn_counters(e.conn)->tx_copied, 32000);
	end_fini(&e);
}

CASE(sends_long_payload_in_place)
{
	uint8_t *buf = malloc(100000);
	struct iovec v[3] = { { buf, 10 },
			      { buf + 10, 0 },
			      { buf + 20, 60000 } };
	struct smpa_msg msg = {
		.opcode = SMPA_OP_WRITE, .iov = v, .iovcnt = 3, .len = 60010
	};
	const struct iovec *iov;
	struct end e;

	assert_non_null(buf);
	test_fill(buf, 100000, 1);
	initiator(&e, false, SMPA_MULPDU_MAX);
	assert_int_equal(smpa_conn_submit(e.conn, &msg), 0);
	assert_int_equal(smpa_conn_tx_prepare(e.conn, &iov), 4);
	assert_int_equal(iov[0].iov_len, 16);
	assert_ptr_equal(iov[1].iov_base, buf);
	assert_ptr_equal(iov[2].iov_base, buf + 20);
	assert_int_equal(iov[3].iov_len, 2 + 4);
	assert_true(smpa_conn_uses(e.conn, buf + 60019, 1));
	assert_true(smpa_conn_uses(e.conn, buf + 15, 10));
	assert_false(smpa_conn_uses(e.conn, buf + 10, 10));
	assert_false(smpa_conn_uses(e.conn, buf + 60020, 10));
	assert_int_equal(smpa_conn_tx_commit(e.conn, 16 + 10 + 60000), 0);
	assert_false(smpa_conn_uses(e.conn, buf, 100000));
	assert_int_equal(smpa_conn_tx_pending(e.conn), 6);
	assert_int_equal(smpa_conn_counters(e.conn)->tx_inplace, 60010);

	msg.copy = true;
	assert_int_equal(smpa_conn_submit(e.conn, &msg), 0);
	assert_int_equal(smpa_conn_tx_prepare(e.conn, &iov), 1);
	assert_false(smpa_conn_uses(e.conn, buf, 100000));
	assert_int_equal(smpa_conn_counters(e.conn)->tx_copied, 60010);
	free(buf);
	end_fini(&e);
}

/* Octets in staging are not in the owner's memory. */
CASE(uses_what_it_sends_in_place_only)
{
	static uint8_t payload[50000];

	for (int i = 0; i < 4; i++) {
		bool has_crc = i & 1, is_copied = has_crc || i & 2;
		struct iovec v = { payload, sizeof(payload) };
		struct smpa_msg msg = { .opcode = SMPA_OP_WRITE,
					.copy = i & 2,
					.iov = &v,
					.iovcnt = 1,
					.len = sizeof(payload) };
		struct end e;

		initiator(&e, has_crc, SMPA_MULPDU_MAX);
		assert_int_equal(smpa_conn_submit(e.conn, &msg), 0);
		assert_true(smpa_conn_tx_pending(e.conn) > sizeof(payload));
		assert_int_equal(smpa_conn_uses(e.conn, payload, 1),
				 !is_copied);
		assert_int_equal(smpa_conn_uses(e.conn, NULL, SIZE_MAX),
				 !is_copied);
		end_drain(&e);
		assert_false(smpa_conn_uses(e.conn, NULL, SIZE_MAX));
		end_fini(&e);
	}
}

/* ---- a source that changes ---- */

#define SCRIBBLE_LEN 400000u

static const struct scribble_row {
	const char *name;
	uint8_t opcode;
	bool has_crc, has_markers;
	uint32_t mulpdu;
	int sges;
	size_t take_max; /* octets that TCP accepts at once */
} scribble_rows[] = {
	{ "Write", SMPA_OP_WRITE, true, false, 64768, 1, SIZE_MAX },
	{ "Write, in parts", SMPA_OP_WRITE, true, false, 64768, 1, 50001 },
	{ "Send, in small parts", SMPA_OP_SEND, true, false, 64768, 1, 1499 },
	{ "Send, SGE list", SMPA_OP_SEND, true, false, 64768, 7, 100000 },
	{ "Read Response", SMPA_OP_READ_RESPONSE, true, false, 64768, 1,
	  70000 },
	{ "Write, FPDUs of an MTU", SMPA_OP_WRITE, true, false, 1442, 1,
	  10000 },
	{ "Write, markers", SMPA_OP_WRITE, true, true, 64768, 3, 50001 },
	{ "Write, no CRC", SMPA_OP_WRITE, false, false, 64768, 1, 50001 },
};

/* Sets all of it to the next value: octets of the source that were hashed and
 * not sent, and octets that were neither. */
static void scribble(uint8_t *source, uint8_t *value)
{
	*value = (uint8_t)(*value % 255 + 1); /* 0: nothing was received */
	memset(source, *value, SCRIBBLE_LEN);
}

/* What TCP accepts of one tx_prepare, with a change before each part of it. */
static bool scribble_take(struct pair *p, const struct scribble_row *row,
			  uint8_t *source, uint8_t *value)
{
	static uint8_t part[1u << 20];
	const struct iovec *iov;
	int cnt = smpa_conn_tx_prepare(p->a.conn, &iov);
	size_t len = 0;

	assert_row(row->name, cnt >= 0);
	scribble(source, value);
	for (int i = 0; i < cnt && len < row->take_max; i++) {
		size_t piece = iov[i].iov_len;

		if (piece > row->take_max - len)
			piece = row->take_max - len;
		if (piece > sizeof(part) - len)
			piece = sizeof(part) - len;
		memcpy(part + len, iov[i].iov_base, piece);
		len += piece;
	}
	assert_row(row->name, !smpa_conn_tx_commit(p->a.conn, len));
	scribble(source, value);
	end_feed(&p->b, part, len);
	end_pull(&p->a);
	return cnt > 0;
}

/* The peer gets octets that were in the source at some time, and never a wrong
 * CRC. */
CASE(sends_what_it_has_hashed)
{
	uint8_t *source = malloc(SCRIBBLE_LEN);

	assert_non_null(source);
	for (size_t i = 0; i < ARRAY_LEN(scribble_rows); i++) {
		const struct scribble_row *row = &scribble_rows[i];
		struct smpa_options a = test_options(SMPA_INITIATOR);
		struct smpa_options b = test_options(SMPA_RESPONDER);
		struct iovec iov[SMPA_IOV_MAX];
		struct smpa_msg msg = { .opcode = row->opcode,
					.iov = iov,
					.iovcnt = row->sges,
					.len = SCRIBBLE_LEN };
		const uint8_t *got;
		uint8_t value = 0;
		struct pair p;

		a.no_crc = b.no_crc = !row->has_crc;
		b.want_markers = row->has_markers;
		a.mulpdu = row->mulpdu;
		a.rtr = SMPA_RTR_WRITE;
		pair_init(&p, &a, &b);
		pair_start(&p);
		for (int k = 0; k < row->sges; k++) {
			size_t from =
				SCRIBBLE_LEN / (size_t)row->sges * (size_t)k;

			iov[k].iov_base = source + from;
			iov[k].iov_len =
				k + 1 < row->sges
					? SCRIBBLE_LEN / (size_t)row->sges
					: SCRIBBLE_LEN - from;
		}
		scribble(source, &value);
		assert_row(row->name, !smpa_conn_submit(p.a.conn, &msg));
		while (scribble_take(&p, row, source, &value))
			;
		assert_row(row->name, end_count(&p.b, SMPA_EV_FAULT) == 0);
		assert_row(row->name, end_count(&p.a, SMPA_EV_SENT) == 1);
		got = row->opcode == SMPA_OP_SEND ? p.b.recv : p.b.mem;
		/* Never a value that was not written, or not yet. */
		for (size_t k = 0; k < SCRIBBLE_LEN; k++)
			assert_row(row->name, got[k] != 0);
		pair_fini(&p);
	}
	free(source);
}

/* What TCP accepts of one tx_prepare goes to the peer. */
static void take(struct pair *p, size_t max)
{
	static uint8_t part[1u << 20];
	const struct iovec *iov;
	int cnt = smpa_conn_tx_prepare(p->a.conn, &iov);
	size_t len = 0;

	for (int i = 0; i < cnt && len < max; i++) {
		size_t piece = iov[i].iov_len < max - len ? iov[i].iov_len
							  : max - len;

		memcpy(part + len, iov[i].iov_base, piece);
		len += piece;
	}
	assert_int_equal(smpa_conn_tx_commit(p->a.conn, len), 0);
	end_feed(&p->b, part, len);
	end_pull(&p->a);
}

/* TCP never accepts all: what is left of staging moves to its front, and what
 * lies in place between stays where it is. */
CASE(moves_staging_around_payload_in_place)
{
	const uint32_t long_len = 3000, short_len = 500;
	static uint8_t source[200 * 3000];
	struct smpa_options a = test_options(SMPA_INITIATOR);
	struct smpa_options b = test_options(SMPA_RESPONDER);
	struct pair p;

	test_fill(source, sizeof(source), 3);
	a.no_crc = b.no_crc = true;
	a.rtr = SMPA_RTR_WRITE;
	a.copy_max = 1000;
	pair_init(&p, &a, &b);
	pair_start(&p);
	for (uint32_t i = 0; i < 3000; i++) {
		bool is_long = i % 15 == 0;
		uint32_t len = is_long ? long_len : short_len;
		uint32_t at = i / 15 * long_len;
		struct iovec v = { source + at, len };
		struct smpa_msg msg = { .opcode = is_long ? SMPA_OP_WRITE
							  : SMPA_OP_SEND,
					.iov = &v,
					.iovcnt = 1,
					.len = len,
					.stag = 0,
					.to = at };

		/* All but a few kilobytes, each time elsewhere in an FPDU. */
		while (smpa_conn_submit(p.a.conn, &msg) == -EAGAIN)
			take(&p, smpa_conn_tx_pending(p.a.conn) - 9000 - i);
	}
	while (smpa_conn_tx_pending(p.a.conn))
		take(&p, SIZE_MAX);
	assert_int_equal(end_count(&p.b, SMPA_EV_FAULT), 0);
	assert_int_equal(end_count(&p.b, SMPA_EV_MESSAGE), 3000);
	assert_memory_equal(p.b.mem, source, sizeof(source));
	assert_int_equal(smpa_conn_counters(p.a.conn)->tx_inplace,
			 sizeof(source));
	pair_fini(&p);
}

/* DDP-26, U-2: 2048 octets, MULPDU 1500; then another MULPDU. */
CASE(cuts_messages_at_mulpdu)
{
	static uint8_t buf[2048];
	struct iovec v = { buf, sizeof(buf) };
	struct smpa_msg msg = { .opcode = SMPA_OP_SEND,
				.iov = &v,
				.iovcnt = 1,
				.len = sizeof(buf) };
	struct end e;

	initiator(&e, false, 1500);
	assert_int_equal(smpa_conn_submit(e.conn, &msg), 0);
	msg.opcode = SMPA_OP_WRITE;
	msg.to = 16384;
	assert_int_equal(smpa_conn_submit(e.conn, &msg), 0);
	smpa_conn_set_mulpdu(e.conn, 1); /* MPA-68 */
	msg.len = v.iov_len = 200;
	assert_int_equal(smpa_conn_submit(e.conn, &msg), 0);
	end_drain(&e);
	assert_int_equal(wire_get16(e.out), 18 + 1482);
	assert_int_equal(e.out[2], 0x01);
	assert_int_equal(wire_get32(e.out + 16), 0);
	assert_int_equal(wire_get16(e.out + 1508), 18 + 566);
	assert_int_equal(e.out[1508 + 2], 0x41);
	assert_int_equal(wire_get32(e.out + 1508 + 16), 1482);
	assert_int_equal(wire_get16(e.out + 2100), 14 + 1486);
	assert_int_equal(e.out[2100 + 2], 0x81);
	assert_int_equal(wire_get64(e.out + 2100 + 8), 16384);
	assert_int_equal(wire_get16(e.out + 3608), 14 + 562);
	assert_int_equal(e.out[3608 + 2], 0xc1);
	assert_int_equal(wire_get64(e.out + 3608 + 8), 17870);
	assert_int_equal(wire_get16(e.out + 4192), 128);
	end_fini(&e);
}

CASE(keeps_quiet_when_asked)
{
	struct smpa_msg msg = { .opcode = SMPA_OP_READ_RESPONSE,
				.quiet = true };
	struct end e;

	initiator(&e, true, 0);
	assert_int_equal(smpa_conn_submit(e.conn, &msg), 0);
	end_drain(&e);
	end_pull(&e);
	assert_int_equal(e.event_cnt, 0);
	end_fini(&e);
}

/* While TCP accepts no octet, submit fails; later it continues. */
CASE(submit_fails_until_tcp_accepts_octets)
{
	static uint8_t buf[1000];
	struct iovec v = { buf, sizeof(buf) };
	struct smpa_msg msg = { .opcode = SMPA_OP_SEND,
				.iov = &v,
				.iovcnt = 1,
				.len = sizeof(buf) };
	uint64_t n = 0;
	struct end e;

	initiator(&e, false, 0);
	for (;; n++) {
		msg.cookie = n;
		if (smpa_conn_submit(e.conn, &msg) != 0)
			break;
		assert_true(n < 1000);
	}
	assert_int_equal(smpa_conn_submit(e.conn, &msg), -EAGAIN);
	end_drain(&e);
	assert_int_equal(e.out_end, n * 1024);
	assert_int_equal(smpa_conn_submit(e.conn, &msg), 0);
	end_drain(&e);
	end_pull(&e);
	assert_int_equal(end_count(&e, SMPA_EV_SENT), n + 1);
	/* MSNs without gaps */
	for (uint64_t i = 0; i <= n; i++)
		assert_int_equal(wire_get32(e.out + i * 1024 + 12), i + 1);
	end_fini(&e);
}

/* The SENT queue is finite: if the owner takes no event, submit fails, and
 * nothing is lost. */
CASE(stops_when_sent_events_are_not_taken)
{
	struct smpa_msg msg = { .opcode = SMPA_OP_SEND };
	uint64_t n = 0;
	struct end e;

	initiator(&e, false, 0);
	while (smpa_conn_submit(e.conn, &msg) == 0) {
		msg.cookie = ++n;
		end_drain(&e);
		assert_true(n < 5000);
	}
	assert_int_equal(smpa_conn_submit(e.conn, &msg), -EAGAIN);
	assert_false(smpa_conn_tx_is_idle(e.conn));
	assert_int_equal(smpa_conn_tx_lend(e.conn, NULL, 0), -EBUSY);
	end_pull(&e);
	assert_int_equal(end_count(&e, SMPA_EV_SENT), n);
	for (uint64_t i = 0; i < n; i++)
		assert_int_equal(end_event(&e, SMPA_EV_SENT, i)->sent.cookie,
				 i);
	assert_int_equal(smpa_conn_submit(e.conn, &msg), 0);
	end_fini(&e);
}

/* Copying does not run ahead of what TCP accepts, and one sendmsg() sends
 * much. */
CASE(prepares_a_bounded_amount)
{
	uint8_t *buf = calloc(1, 8u << 20);
	void *staging = aligned_alloc(16, SMPA_TX_STAGING_FULL);
	struct iovec v = { buf, 8u << 20 };
	struct smpa_msg msg = {
		.opcode = SMPA_OP_WRITE, .iov = &v, .iovcnt = 1, .len = 8u << 20
	};

	assert_non_null(buf);
	assert_non_null(staging);
	for (int has_crc = 0; has_crc < 2; has_crc++) {
		const struct iovec *iov;
		size_t total = 0;
		struct end e;
		int n;

		initiator(&e, has_crc, SMPA_MULPDU_MAX);
		assert_int_equal(smpa_conn_tx_lend(e.conn, staging,
						   SMPA_TX_STAGING_FULL),
				 0);
		assert_int_equal(smpa_conn_submit(e.conn, &msg), 0);
		n = smpa_conn_tx_prepare(e.conn, &iov);
		for (int i = 0; i < n; i++)
			total += iov[i].iov_len;
		assert_in_range(total, 256u << 10,
				(has_crc ? 256u << 10 : 1u << 20) + 65536);
		assert_true(smpa_conn_tx_pending(e.conn) > 8u << 20);
		assert_true(smpa_conn_uses(e.conn, buf + (8u << 20) - 1, 1));
		end_fini(&e);
	}
	free(buf);
	free(staging);
}

CASE(gives_staging_back_when_idle)
{
	struct smpa_msg msg = { .opcode = SMPA_OP_SEND };
	const struct iovec *iov;
	struct end e;

	initiator(&e, true, 0);
	assert_int_equal(smpa_conn_tx_lend(e.conn, NULL, 0), 0);
	assert_int_equal(smpa_conn_submit(e.conn, &msg), -ENOBUFS);
	assert_int_equal(smpa_conn_tx_prepare(e.conn, &iov), 0);
	assert_int_equal(smpa_conn_tx_lend(e.conn, e.tx_staging, 2048),
			 -EINVAL);
	assert_int_equal(
		smpa_conn_tx_lend(e.conn, e.tx_staging, END_TX_STAGING), 0);
	assert_int_equal(smpa_conn_submit(e.conn, &msg), 0);
	assert_int_equal(smpa_conn_tx_lend(e.conn, NULL, 0), -EBUSY);
	end_drain(&e);
	assert_int_equal(smpa_conn_tx_lend(e.conn, NULL, 0), -EBUSY);
	end_pull(&e); /* SENT */
	assert_int_equal(smpa_conn_tx_lend(e.conn, NULL, 0), 0);
	end_fini(&e);
}

/* TERMINATE must be sent although no staging is lent, and must survive
 * lending. */
CASE(speaks_without_lent_staging)
{
	static const char term[] =
		"00164147000000000000000200000001000000000207";
	uint8_t want[32];
	size_t len = test_unhex(term, want, sizeof(want));

	for (size_t cut = 0; cut < 28; cut++) {
		const struct iovec *iov;
		struct end e;

		initiator(&e, true, 0);
		assert_int_equal(smpa_conn_tx_lend(e.conn, NULL, 0), 0);
		smpa_conn_terminate(e.conn, SMPA_FAULT(0, 2, 7));
		assert_false(smpa_conn_tx_is_idle(e.conn));
		assert_int_equal(smpa_conn_tx_prepare(e.conn, &iov), 1);
		assert_int_equal(iov[0].iov_len, 28);
		if (cut < len)
			assert_memory_equal(iov[0].iov_base, want, len);
		assert_int_equal(smpa_conn_tx_commit(e.conn, cut), 0);
		assert_int_equal(smpa_conn_tx_lend(e.conn, NULL, 0), 0);
		assert_int_equal(
			smpa_conn_tx_lend(e.conn, e.tx_staging, END_TX_STAGING),
			0);
		end_drain(&e);
		assert_int_equal(e.out_end, 28 - cut);
		if (cut < len)
			assert_memory_equal(e.out, want + cut, len - cut);
		assert_true(smpa_conn_tx_is_idle(e.conn));
		end_fini(&e);
	}
}

/* U-3 */
CASE(counts_msn_of_sends)
{
	struct smpa_options a = test_options(SMPA_INITIATOR);
	struct smpa_options b = test_options(SMPA_RESPONDER);
	struct smpa_msg msg = { .opcode = SMPA_OP_SEND, .quiet = true };
	struct pair p;

	pair_init(&p, &a, &b);
	pair_start(&p);
	for (uint32_t i = 1; i <= 3000; i++)
		assert_int_equal(end_submit(&p.a, &msg), 0);
	pair_run(&p);
	assert_int_equal(end_count(&p.b, SMPA_EV_MESSAGE), 3000);
	assert_int_equal(end_event(&p.b, SMPA_EV_MESSAGE, 2999)->msg.msn, 3000);
	pair_fini(&p);
}

/* What comes before it is whole; the peer says which FPDU is not. */
CASE(spoils_the_first_fpdu_of_one_message)
{
	static const uint32_t lens[] = { 0, 1, 100, 2048, 100000 };
	static uint8_t source[100000];
	struct smpa_options a = test_options(SMPA_INITIATOR);
	struct smpa_options b = test_options(SMPA_RESPONDER);
	struct pair p;

	for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
		struct iovec v = { source, lens[i] };
		struct smpa_msg msg = { .opcode = SMPA_OP_WRITE,
					.iov = &v,
					.iovcnt = lens[i] ? 1 : 0,
					.len = lens[i] };

		a.rtr = SMPA_RTR_WRITE;
		pair_init(&p, &a, &b);
		pair_start(&p);
		assert_int_equal(smpa_conn_submit(p.a.conn, &msg), 0);
		pair_run(&p);
		assert_int_equal(end_count(&p.b, SMPA_EV_MESSAGE), 1);
		assert_int_equal(smpa_conn_submit_spoiled(p.a.conn, &msg), 0);
		pair_run(&p);
		assert_int_equal(end_count(&p.b, SMPA_EV_MESSAGE), 1);
		assert_int_equal(
			end_event(&p.b, SMPA_EV_FAULT, 0)->fault.fault.value,
			SMPA_F_MPA_CRC);
		assert_int_equal(
			end_event(&p.a, SMPA_EV_TERMINATE, 0)->term.fault.value,
			SMPA_F_MPA_CRC);
		assert_int_equal(smpa_conn_counters(p.b.conn)->rx_crc_bad, 1);
		pair_fini(&p);
	}
}

CASE(spoils_nothing_without_crc)
{
	struct smpa_msg msg = { .opcode = SMPA_OP_WRITE };
	struct end e;

	initiator(&e, false, 0);
	assert_int_equal(smpa_conn_submit_spoiled(e.conn, &msg), -EOPNOTSUPP);
	assert_int_equal(smpa_conn_tx_pending(e.conn), 0);
	smpa_conn_terminate(e.conn, SMPA_FAULT(0, 2, 7));
	assert_int_equal(smpa_conn_submit_spoiled(e.conn, &msg), -EPIPE);
	end_fini(&e);
}
