/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Framing as seen through a whole engine: what it accepts, the code of each
 * refusal, and what it sends at the limits of lengths and offsets.
 *
 * T-nn: doc/spec/mpa.md, part 12.
 */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "state.h"
#include "fpdu.h"
#include "framing.h"
#include "pair.h"
#include "wire.h"

/* The Initiator: it may answer at once, so a Terminate is never held. */
static void initiator(struct end *e, bool has_markers, bool has_crc)
{
	struct smpa_options o = test_options(SMPA_INITIATOR);

	o.rev = 1;
	o.want_markers = has_markers;
	o.no_crc = !has_crc;
	end_init(e, &o);
	end_establish(e, has_crc ? PEER_REPLY : PEER_REPLY_PLAIN);
	e->event_cnt = 0;
}

static size_t vector(const char *name, uint8_t *out, size_t size)
{
	for (size_t i = 0; i < ARRAY_LEN(framing_vectors); i++)
		if (!strcmp(framing_vectors[i].name, name))
			return test_unhex(framing_vectors[i].hex, out, size);
	fail_msg("no vector %s", name);
	return 0;
}

/* The 492 octets before RFC 5044's figure 6: a Send of 464 zeros. */
static void before_figure_6(uint8_t out[492])
{
	static const uint8_t hdr[18] = { 0x41, 0x43, [13] = 1 };
	static const uint8_t zeros[464];
	struct fpdu_writer w;

	fpdu_writer_begin(&w, out, 0, sizeof(hdr) + sizeof(zeros), true, true);
	fpdu_writer_put(&w, hdr, sizeof(hdr));
	fpdu_writer_put(&w, zeros, sizeof(zeros));
	assert_ptr_equal(fpdu_writer_end(&w), out + 492);
	/* computed separately (doc/spec/mpa.md 9.1) */
	assert_memory_equal(out + 488, "\xa0\x1e\xe4\xfd", 4);
}

/* T-2: a running connection sends figures 5 and 6 of RFC 5044. */
CASE(sends_the_figures)
{
	static uint8_t zeros[464];
	static const uint32_t lens[2][2] = { { 24, 0 }, { 464, 24 } };

	for (int row = 0; row < 2; row++) {
		struct smpa_options o = test_options(SMPA_INITIATOR);
		uint8_t want[492 + 52];
		size_t len = 0;
		struct end e;

		if (row == 1) {
			before_figure_6(want);
			len = 492;
		}
		len += vector(row ? "RFC-F6" : "RFC-F5", want + len, 52);
		o.rev = 1;
		end_init(&e, &o);
		/* M=1: the peer requests markers */
		end_establish(&e, "4d504120494420526570204672616d65c0010000");
		for (int i = 0; i < 2; i++) {
			struct iovec v = { zeros, lens[row][i] };
			struct smpa_msg msg = { .opcode = SMPA_OP_SEND,
						.iov = &v,
						.iovcnt = 1,
						.len = lens[row][i] };

			if (lens[row][i])
				assert_int_equal(end_submit(&e, &msg), 0);
		}
		end_drain(&e);
		assert_int_equal(e.out_end, len);
		assert_memory_equal(e.out, want, len);
		end_fini(&e);
	}
}

/* T-3, T-21 to T-25: FPDUs after the first 492 octets, or alone. */
static const struct {
	const char *name, *vector, *hex;
	bool is_second, has_markers, has_crc;
	uint16_t fault; /* 0: accepted */
} rows[] = {
	{ "RFC-F6", "RFC-F6", NULL, true, true, true, 0 },
	{ "T-21", "V-13", NULL, true, true, true, SMPA_F_MPA_MARKER },
	{ "T-21, no CRC", "V-13", NULL, true, true, false, SMPA_F_MPA_MARKER },
	{ "T-22", "V-14", NULL, true, true, true, 0 },
	{ "T-23: PAD not zero", NULL,
	  "0013414300000000000000000000000100000000aaaaaaaa12345678", false,
	  false, false, 0 },
	{ "T-24, CRC", "V-15", NULL, false, false, true, SMPA_F_MPA_CRC },
	{ "T-24, no CRC", "V-15", NULL, false, false, false, 0 },
	{ "T-25", "V-13 with wrong CRC", NULL, true, true, true,
	  SMPA_F_MPA_CRC },
	{ "T-31", NULL, "ffff", false, false, true, SMPA_F_MPA_MARKER },
	{ "T-30", NULL, "00000000c74b6748", false, false, true,
	  SMPA_F_MPA_MARKER },
};

CASE(checks_fpdus)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint8_t buf[128], first[492];
		size_t len =
			rows[i].vector
				? vector(rows[i].vector, buf, sizeof(buf))
				: test_unhex(rows[i].hex, buf, sizeof(buf));
		const struct smpa_event *ev;
		const struct iovec *iov;
		struct end e;

		initiator(&e, rows[i].has_markers, rows[i].has_crc);
		if (rows[i].is_second) {
			before_figure_6(first);
			end_feed(&e, first, sizeof(first));
			assert_int_equal(end_count(&e, SMPA_EV_MESSAGE), 1);
		}
		e.event_cnt = 0;
		end_feed(&e, buf, len);
		ev = end_event(&e, SMPA_EV_FAULT, 0);
		if (!rows[i].fault) {
			assert_row(rows[i].name, !ev);
			assert_row(rows[i].name,
				   end_count(&e, SMPA_EV_MESSAGE) == 1);
			end_fini(&e);
			continue;
		}
		assert_row(rows[i].name, ev && e.event_cnt == 1);
		assert_row(rows[i].name,
			   ev->fault.fault.value == rows[i].fault);
		/* MPA-167, -168: TCP stays open; only the Terminate is sent */
		assert_row(rows[i].name, ev->fault.has_terminate);
		assert_row(rows[i].name,
			   smpa_conn_tx_prepare(e.conn, &iov) == 1);
		end_fini(&e);
	}
}

/* MPA-163, C-12: an impossible length is an error at once, whatever CRC would
 * follow. With a possible length the engine waits for the whole FPDU. */
static const struct {
	bool has_markers, has_crc;
	uint16_t len;
	bool is_possible;
} lengths[] = {
	{ true, true, SMPA_MULPDU_MAX, true },
	{ true, true, SMPA_MULPDU_MAX + 1, false },
	{ true, false, SMPA_MULPDU_MAX, true },
	{ true, false, SMPA_MULPDU_MAX + 1, false },
	{ false, true, FPDU_PLAIN_MAX, true },
	{ false, true, FPDU_PLAIN_MAX + 1, false },
	{ false, false, FPDU_PLAIN_MAX, true },
	{ false, false, FPDU_PLAIN_MAX + 1, false },
};

CASE(checks_lengths_at_once)
{
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		uint8_t head[6] = { 0 };
		size_t at = lengths[i].has_markers ? 4 : 0;
		const struct smpa_event *ev;
		struct end e;

		initiator(&e, lengths[i].has_markers, lengths[i].has_crc);
		e.event_cnt = 0;
		wire_put16(head + at, lengths[i].len);
		end_feed(&e, head, at + 2);
		ev = end_event(&e, SMPA_EV_FAULT, 0);
		assert_int_equal(ev == NULL, lengths[i].is_possible);
		if (ev)
			assert_int_equal(ev->fault.fault.value,
					 SMPA_F_MPA_MARKER);
		end_fini(&e);
	}
}

/* T-20: flips each bit of figure 5, and appends all octets that the wrong
 * length may require. Code 2, nothing delivered, no memory changed. */
CASE(refuses_each_flipped_bit_of_figure_5)
{
	static const uint8_t zeros[70000];
	uint8_t buf[52];
	size_t len = vector("RFC-F5", buf, sizeof(buf));

	assert_int_equal(len, 52);
	for (size_t bit = 0; bit < 8 * len; bit++) {
		const struct smpa_event *ev;
		struct end e;

		initiator(&e, true, true);
		memset(e.recv, 0x5a, 64);
		buf[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
		end_feed(&e, buf, len);
		end_feed(&e, zeros, sizeof(zeros));
		buf[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
		assert_int_equal(e.event_cnt, 1);
		ev = end_event(&e, SMPA_EV_FAULT, 0);
		assert_non_null(ev);
		assert_int_equal(ev->fault.fault.value, SMPA_F_MPA_CRC);
		for (int i = 0; i < 64; i++)
			assert_int_equal(e.recv[i], 0x5a);
		end_fini(&e);
	}
}

/* With CRC, a flipped STag or TO changes no memory: tests every bit of the
 * header of a Write. */
CASE(places_nothing_with_a_flipped_header)
{
	static const char fpdu[] =
		"0012c1400000000100000000000000004142434492defa32";
	static uint8_t zeros[END_MEM_SIZE], rest[70000];
	uint8_t buf[24];
	size_t len = test_unhex(fpdu, buf, sizeof(buf));

	for (size_t bit = 0; bit < 16 * 8; bit++) {
		struct end e;

		initiator(&e, false, true);
		buf[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
		end_feed(&e, buf, len);
		end_feed(&e, rest, sizeof(rest));
		buf[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
		assert_int_equal(end_count(&e, SMPA_EV_SEGMENT), 0);
		assert_memory_equal(e.mem, zeros, sizeof(zeros));
		end_fini(&e);
	}
}

static void submit_write(struct end *e, const void *mem, uint32_t len)
{
	struct iovec v = { (void *)(uintptr_t)mem, len };
	struct smpa_msg msg = {
		.opcode = SMPA_OP_WRITE, .iov = &v, .iovcnt = 1, .len = len
	};

	assert_int_equal(end_submit(e, &msg), 0);
	end_drain(e);
}

/* T-8, MPA-68: whatever the owner sets, MULPDU is at least 128 and (T-10) at
 * most 64768. */
CASE(keeps_mulpdu_in_its_range)
{
	static const uint8_t data[200000];
	static const uint32_t more[] = { 1442,	64767, 64768,
					 64769, 65535, UINT32_MAX };
	struct end e;

	initiator(&e, false, false);
	for (uint32_t i = 0; i <= 300 + ARRAY_LEN(more); i++) {
		uint32_t mulpdu = i <= 300 ? i : more[i - 301];
		uint32_t want = mulpdu < 128 ? 128 : mulpdu;

		e.out_end = 0;
		smpa_conn_set_mulpdu(e.conn, mulpdu);
		submit_write(&e, data, sizeof(data));
		assert_int_equal(wire_get16(e.out),
				 want > 64768 ? 64768 : want);
		end_pull(&e);
	}
	end_fini(&e);
}

/* T-10: the longest FPDU, with a leading marker and all others. */
CASE(sends_the_longest_fpdu)
{
	static uint8_t data[64768 - 14];
	struct smpa_options o = test_options(SMPA_INITIATOR);
	struct end e;

	o.rev = 1;
	o.mulpdu = 64768;
	end_init(&e, &o);
	end_establish(&e, "4d504120494420526570204672616d65c0010000");
	submit_write(&e, data, sizeof(data));
	assert_int_equal(e.out_end, 65288);
	assert_int_equal(wire_get16(e.out + 4), 64768);
	/* and receives it again */
	{
		struct end b;

		initiator(&b, true, true);
		end_feed(&b, e.out, e.out_end);
		assert_int_equal(end_count(&b, SMPA_EV_MESSAGE), 1);
		end_fini(&b);
	}
	end_fini(&e);
}

/* T-9, MPA-47, MPA-55: markers stay in place at stream offsets beyond 2^32 and
 * with a SeqStart just below it. */
CASE(keeps_markers_beyond_4_gib)
{
	static const uint64_t starts[] = { 0x100000000u - 20,
					   0x100000000u - 512, 0x100000000u - 3,
					   0x300000000u + 12345 };
	static const uint64_t before[] = { 0, 0xfffffe00u, 0x1fffffe00u };
	static uint8_t data[3000];

	test_fill(data, sizeof(data), 9);
	for (size_t i = 0; i < ARRAY_LEN(starts) * ARRAY_LEN(before); i++) {
		struct smpa_options o = test_options(SMPA_INITIATOR);
		struct conn_tx *tx;
		struct end a, b;

		o.rev = 1;
		end_init(&a, &o);
		end_establish(&a, "4d504120494420526570204672616d65c0010000");
		initiator(&b, true, true);
		/* As if this much had been sent: a multiple of 512 from
		 * SeqStart. */
		tx = &a.conn->tx;
		tx->start_end = starts[i / ARRAY_LEN(before)];
		tx->end = tx->start_end + before[i % ARRAY_LEN(before)];
		tx->taken = tx->end;
		submit_write(&a, data, sizeof(data));
		for (size_t at = 0; at < a.out_end; at += 512)
			assert_int_equal(wire_get16(a.out + at), 0);
		end_feed(&b, a.out, a.out_end);
		assert_int_equal(end_count(&b, SMPA_EV_MESSAGE), 1);
		assert_memory_equal(b.mem, data, sizeof(data));
		end_fini(&a);
		end_fini(&b);
	}
}

/* U-3: each queue numbers its messages from 1, Reads and atomics together. The
 * numbers wrap. */
CASE(numbers_messages_by_queue)
{
	static const struct {
		uint8_t opcode;
		uint32_t msn;
	} steps[] = {
		{ SMPA_OP_READ_REQUEST, 1 },   { SMPA_OP_SEND, 1 },
		{ SMPA_OP_ATOMIC_REQUEST, 2 }, { SMPA_OP_IMM, 2 },
		{ SMPA_OP_READ_REQUEST, 3 },   { SMPA_OP_ATOMIC_RESPONSE, 1 },
		{ SMPA_OP_WRITE, 0 },	       { SMPA_OP_SEND_SE, 3 },
	};
	struct end a, b;

	initiator(&a, false, true);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		struct smpa_msg msg = { .opcode = steps[i].opcode };

		a.out_end = 0;
		assert_int_equal(end_submit(&a, &msg), 0);
		end_drain(&a);
		if (steps[i].opcode != SMPA_OP_WRITE)
			assert_int_equal(wire_get32(a.out + 2 + 10),
					 steps[i].msn);
	}
	initiator(&b, false, true);
	a.conn->tx.msn[0] = UINT32_MAX;
	b.conn->rx.order.msn[0] = UINT32_MAX;
	for (uint32_t i = 0; i < 3; i++) {
		struct smpa_msg msg = { .opcode = SMPA_OP_SEND };

		a.out_end = 0;
		assert_int_equal(end_submit(&a, &msg), 0);
		end_drain(&a);
		end_feed(&b, a.out, a.out_end);
		assert_int_equal(end_event(&b, SMPA_EV_MESSAGE, i)->msg.msn,
				 UINT32_MAX + i);
	}
	end_fini(&a);
	end_fini(&b);
}

/* U-21: an Immediate is reported when the Write before it is in memory. */
CASE(places_before_it_delivers)
{
	static uint8_t data[50000];

	test_fill(data, sizeof(data), 21);
	for (int has_crc = 0; has_crc < 2; has_crc++) {
		struct smpa_msg imm = { .opcode = SMPA_OP_IMM, .imm = "now" };
		const struct smpa_event *ev;
		struct smpa_event next;
		struct end a, b;
		size_t at = 0;

		initiator(&a, false, has_crc);
		initiator(&b, false, has_crc);
		submit_write(&a, data, sizeof(data));
		assert_int_equal(end_submit(&a, &imm), 0);
		end_drain(&a);
		/* octet by octet towards the end: never too early */
		end_feed(&b, a.out, a.out_end - 40);
		at = a.out_end - 40;
		while (!(ev = end_event(&b, SMPA_EV_MESSAGE, 1)) &&
		       at < a.out_end)
			end_feed(&b, a.out + at++, 1);
		assert_non_null(ev);
		assert_int_equal(at, a.out_end);
		assert_int_equal(ev->msg.opcode, SMPA_OP_IMM);
		assert_memory_equal(ev->msg.imm, "now\0\0\0\0\0", 8);
		assert_memory_equal(b.mem, data, sizeof(data));
		assert_int_equal(smpa_conn_next_event(b.conn, &next), 0);
		end_fini(&a);
		end_fini(&b);
	}
}
