/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Two engines apply what they have negotiated.
 */
#include "test.h"

#include <string.h>

#include "pair.h"

/* T-33, T-53, T-54: CRC is off only if both sides requested that. A direction
 * has markers if its receiver requests them. */
CASE(does_what_was_agreed)
{
	for (int bits = 0; bits < 32; bits++) {
		struct smpa_options a = test_options(SMPA_INITIATOR);
		struct smpa_options b = test_options(SMPA_RESPONDER);
		bool has_crc = !((bits & 1) && (bits & 2));
		struct iovec v = { (char[]){ "ABCD" }, 4 };
		struct smpa_msg msg = {
			.opcode = SMPA_OP_SEND, .iov = &v, .iovcnt = 1, .len = 4
		};
		const struct smpa_event *ev;
		size_t start;
		struct pair p;

		a.no_crc = bits & 1;
		b.no_crc = bits & 2;
		a.want_markers = bits & 4;
		b.want_markers = bits & 8;
		a.rev = bits & 16 ? 1 : 2;
		start = a.rev == 1 ? 20 : 24;
		pair_init(&p, &a, &b);
		p.is_recording = true;
		pair_start(&p);
		for (int side = 0; side < 2; side++) {
			ev = end_event(side ? &p.b : &p.a, SMPA_EV_ESTABLISHED,
				       0);
			assert_non_null(ev);
			assert_int_equal(ev->start.has_crc, has_crc);
			assert_int_equal(ev->start.tx_markers,
					 side ? a.want_markers
					      : b.want_markers);
			assert_int_equal(ev->start.rx_markers,
					 side ? b.want_markers
					      : a.want_markers);
			assert_int_equal(ev->start.rev, a.rev);
			assert_int_equal(ev->start.is_enhanced, a.rev == 2);
			assert_false(ev->start.is_peer_to_peer);
		}
		assert_int_equal(end_submit(&p.a, &msg), 0);
		pair_run(&p);
		assert_int_equal(end_submit(&p.b, &msg), 0);
		pair_run(&p);
		assert_memory_equal(p.a.recv, "ABCD", 4);
		assert_memory_equal(p.b.recv, "ABCD", 4);
		/* 28 octets and a leading marker; MPA-137 */
		assert_int_equal(p.wire_a_len - start,
				 b.want_markers ? 32 : 28);
		assert_int_equal(p.wire_b_len - start,
				 a.want_markers ? 32 : 28);
		assert_int_equal(p.wire_a[start + 1], b.want_markers ? 0 : 22);
		/* C-7: an unused field is zero */
		assert_int_equal(
			!memcmp(p.wire_a + p.wire_a_len - 4, "\0\0\0\0", 4),
			!has_crc);
		/* an FPDU with a wrong CRC */
		p.wire_a[p.wire_a_len - 1] ^= 1;
		if (!b.want_markers) {
			uint8_t *f = p.wire_a + start;

			f[15] = 2; /* MSN */
			end_feed(&p.b, f, 28);
			assert_int_equal(end_count(&p.b, SMPA_EV_MESSAGE),
					 has_crc ? 1 : 2);
			assert_int_equal(end_count(&p.b, SMPA_EV_FAULT),
					 has_crc ? 1 : 0);
		}
		pair_fini(&p);
	}
}

/* U-15: the values that both ends report for their use. */
CASE(reports_ird_and_ord)
{
	static const struct {
		const char *name;
		uint16_t a_ird, a_ord, b_ird, b_ord;
		uint16_t got_a_ird, got_a_ord, got_b_ird, got_b_ord;
		uint16_t reply_ird, reply_ord;
	} rows[] = {
		{ "8/8 against 16/32", 8, 8, 16, 32, 8, 8, 8, 8, 8, 8 },
		{ "4/32 against 16/8", 4, 32, 16, 8, 4, 16, 16, 4, 16, 4 },
		{ "unnegotiated", 0x3fff, 0x3fff, 7, 9, 0x3fff, 0x3fff, 7, 9,
		  0x3fff, 0x3fff },
		{ "nothing", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
		{ "one each", 1, 1, 128, 128, 1, 1, 1, 1, 1, 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct smpa_options a = test_options(SMPA_INITIATOR);
		struct smpa_options b = test_options(SMPA_RESPONDER);
		const struct smpa_event *ev;
		struct pair p;

		a.ird = rows[i].a_ird;
		a.ord = rows[i].a_ord;
		b.ird = rows[i].b_ird;
		b.ord = rows[i].b_ord;
		pair_init(&p, &a, &b);
		pair_start(&p);
		ev = end_event(&p.b, SMPA_EV_REQUEST, 0);
		assert_row(rows[i].name, ev->start.ird == a.ird); /* MPA2-11 */
		assert_row(rows[i].name, ev->start.ord == a.ord);
		ev = end_event(&p.a, SMPA_EV_ESTABLISHED, 0);
		assert_row(rows[i].name, ev->start.ird == rows[i].got_a_ird);
		assert_row(rows[i].name, ev->start.ord == rows[i].got_a_ord);
		assert_row(rows[i].name,
			   ev->start.peer_ird == rows[i].reply_ird);
		assert_row(rows[i].name,
			   ev->start.peer_ord == rows[i].reply_ord);
		ev = end_event(&p.b, SMPA_EV_ESTABLISHED, 0);
		assert_row(rows[i].name, ev->start.peer_ird == a.ird);
		assert_row(rows[i].name, ev->start.peer_ord == a.ord);
		assert_row(rows[i].name, ev->start.ird == rows[i].got_b_ird);
		assert_row(rows[i].name, ev->start.ord == rows[i].got_b_ord);
		pair_fini(&p);
	}
}

/* U-18: Replies as other stacks send them (section 8), and the Initiator's
 * result. */
CASE(accepts_replies_of_other_stacks)
{
	static const struct {
		const char *name, *reply;
		enum smpa_event_type type;
		const char *first; /* FPDU */
	} rows[] = {
		{ "siw: reserved bit echoed, C chosen",
		  "4d504120494420526570204672616d655802000480088008",
		  SMPA_EV_ESTABLISHED,
		  "000ec140000000010000000000000000ebd34c5f" },
		{ "cxgb4: D only",
		  "4d504120494420526570204672616d655002000480084008",
		  SMPA_EV_ESTABLISHED,
		  "002e4141000000000000000100000001000000000000000100000000"
		  "000000000000000000000001000000000000000027dbd7e7" },
		{ "irdma: C and D",
		  "4d504120494420526570204672616d65500200048008c008",
		  SMPA_EV_ESTABLISHED,
		  "000ec140000000010000000000000000ebd34c5f" },
		{ "D-26: D only, no IRD for it",
		  "4d504120494420526570204672616d655002000480004008",
		  SMPA_EV_FAULT,
		  "0016414700000000000000020000000100000000200700001bd2babe" },
		{ "D-26: C and D, no IRD for D",
		  "4d504120494420526570204672616d65500200048000c008",
		  SMPA_EV_ESTABLISHED,
		  "000ec140000000010000000000000000ebd34c5f" },
		{ "D only, IRD not negotiated",
		  "4d504120494420526570204672616d6550020004bfff4008",
		  SMPA_EV_ESTABLISHED,
		  "002e4141000000000000000100000001000000000000000100000000"
		  "000000000000000000000001000000000000000027dbd7e7" },
		{ "B only, not ours",
		  "4d504120494420526570204672616d6550020004c0080008",
		  SMPA_EV_FAULT,
		  "0016414700000000000000020000000100000000200700001bd2babe" },
		{ "A not returned",
		  "4d504120494420526570204672616d655002000400080008",
		  SMPA_EV_FAULT,
		  "0016414700000000000000020000000100000000200700001bd2babe" },
		{ "revision 1", "4d504120494420526570204672616d6540010000",
		  SMPA_EV_FAULT, "" },
		{ "revision 1, rejecting",
		  "4d504120494420526570204672616d6560010000", SMPA_EV_REJECTED,
		  "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct smpa_options o = test_options(SMPA_INITIATOR);
		uint8_t want[64];
		size_t len = test_unhex(rows[i].first, want, sizeof(want));
		struct end e;

		o.rtr = SMPA_RTR_WRITE | SMPA_RTR_READ;
		end_init(&e, &o);
		assert_int_equal(smpa_conn_start(e.conn, NULL, 0), 0);
		end_drain(&e);
		e.out_end = 0;
		end_feed_hex(&e, rows[i].reply);
		end_drain(&e);
		assert_row(rows[i].name, e.event_cnt == 1);
		assert_row(rows[i].name, e.events[0].ev.type == rows[i].type);
		assert_row(rows[i].name,
			   e.out_end == len &&
				   (!len || !memcmp(e.out, want, len)));
		end_fini(&e);
	}
}
