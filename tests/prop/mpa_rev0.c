/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Peers with the protocols of the RDMA Consortium: MPA revision 0, DDP and
 * RDMAP version 0 (RFC 5044, Appendix C).
 */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "fpdu.h"
#include "framing.h"
#include "pair.h"

#define KEY_REQUEST "4d504120494420526571204672616d65"
#define KEY_REPLY "4d504120494420526570204672616d65"

/*
 * T-60: the tables of Appendix C (figures 15 to 17), each cell once from either
 * side, against a scripted peer.
 *
 * V < 0: closed. M as in the figures: what the Initiator receives, what the
 * Responder receives.
 */
static const struct {
	bool is_responder; /* the engine's side */
	uint8_t rev0;
	bool markers;	  /* requested by the engine */
	const char *peer; /* octets 16 to 19 of its frame */
	int v;
	bool to_initiator, to_responder;
	const char *reply; /* the engine's, from octet 16 on */
} cells[] = {
	/* an RDMAC Initiator; figure 15, then 16 */
	{ true, 0, false, "c0000000", -1, 0, 0, "60010000" },
	{ true, 0, true, "c0000000", -1, 0, 0, "e0010000" },
	{ true, 1, false, "c0000000", 0, 1, 1, "c0000000" },
	{ true, 1, true, "c0000000", 0, 1, 1, "c0000000" },
	/* an IETF Initiator, either type; figures 15 to 17 */
	{ true, 0, false, "40010000", 1, 0, 0, "40010000" },
	{ true, 0, true, "40010000", 1, 0, 1, "c0010000" },
	{ true, 0, false, "c0010000", 1, 1, 0, "40010000" },
	{ true, 0, true, "c0010000", 1, 1, 1, "c0010000" },
	{ true, 1, false, "40010000", 1, 0, 0, "40010000" },
	{ true, 1, true, "40010000", 1, 0, 1, "c0010000" },
	{ true, 1, false, "c0010000", 1, 1, 0, "40010000" },
	{ true, 1, true, "c0010000", 1, 1, 1, "c0010000" },
	/* an RDMAC Responder; figure 15, then 16 */
	{ false, 0, false, "c0000000", -1, 0, 0, NULL },
	{ false, 0, true, "c0000000", -1, 0, 0, NULL },
	{ false, 1, false, "c0000000", 0, 1, 1, NULL },
	{ false, 1, true, "c0000000", 0, 1, 1, NULL },
	/* an IETF Responder, either type */
	{ false, 0, false, "40010000", 1, 0, 0, NULL },
	{ false, 0, false, "c0010000", 1, 0, 1, NULL },
	{ false, 0, true, "40010000", 1, 1, 0, NULL },
	{ false, 0, true, "c0010000", 1, 1, 1, NULL },
	{ false, 1, false, "40010000", 1, 0, 0, NULL },
	{ false, 1, false, "c0010000", 1, 0, 1, NULL },
	{ false, 1, true, "40010000", 1, 1, 0, NULL },
	{ false, 1, true, "c0010000", 1, 1, 1, NULL },
	/* Not in the figures: C=0 and M=0 with revision 0 have no effect. */
	{ true, 1, false, "00000000", 0, 1, 1, "c0000000" },
	{ false, 1, false, "00000000", 0, 1, 1, NULL },
};

static void start(struct end *e, size_t i)
{
	bool is_responder = cells[i].is_responder;
	struct smpa_options o =
		test_options(is_responder ? SMPA_RESPONDER : SMPA_INITIATOR);

	o.rev = 1;
	o.rev0 = cells[i].rev0;
	o.want_markers = cells[i].markers;
	o.no_crc = cells[i].v == 0; /* ignored there (MPA-181) */
	end_init(e, &o);
	assert_int_equal(smpa_conn_start(e->conn, NULL, 0), 0);
	end_drain(e);
	if (!is_responder)
		e->out_end = 0;
	end_feed_hex(e, is_responder ? KEY_REQUEST : KEY_REPLY);
	end_feed_hex(e, cells[i].peer);
	end_drain(e);
}

CASE(agrees_as_appendix_c_says)
{
	for (size_t i = 0; i < ARRAY_LEN(cells); i++) {
		bool is_responder = cells[i].is_responder;
		const struct smpa_event *ev;
		uint8_t reply[64];
		struct end e;

		start(&e, i);
		if (is_responder) {
			assert_int_equal(e.out_end, 20);
			test_unhex(KEY_REPLY, reply, 16);
			test_unhex(cells[i].reply, reply + 16, 4);
			assert_memory_equal(e.out, reply, 20);
		}
		ev = end_event(&e, SMPA_EV_ESTABLISHED, 0);
		if (cells[i].v < 0) {
			assert_null(ev);
			ev = end_event(&e, SMPA_EV_FAULT, 0);
			assert_non_null(ev);
			assert_int_equal(ev->fault.fault.value,
					 SMPA_F_MPA_START);
			end_fini(&e);
			continue;
		}
		assert_non_null(ev);
		assert_int_equal(ev->start.version, cells[i].v);
		assert_int_equal(ev->start.rev, cells[i].v);
		assert_int_equal(ev->start.has_crc, true);
		assert_int_equal(ev->start.tx_markers,
				 is_responder ? cells[i].to_initiator
					      : cells[i].to_responder);
		assert_int_equal(ev->start.rx_markers,
				 is_responder ? cells[i].to_responder
					      : cells[i].to_initiator);
		end_fini(&e);
	}
}

static const char *vector(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(framing_vectors); i++)
		if (!strcmp(framing_vectors[i].name, name))
			return framing_vectors[i].hex;
	fail_msg("no vector %s", name);
	return NULL;
}

/* The Sends of figures 5 and 6 of the 2002 draft. The engine sends and receives
 * the same octets. */
static void submit_zeros(struct end *e, uint32_t len)
{
	static uint8_t zeros[464];
	struct iovec v = { zeros, len };
	struct smpa_msg msg = {
		.opcode = SMPA_OP_SEND, .iov = &v, .iovcnt = 1, .len = len
	};

	assert_int_equal(end_submit(e, &msg), 0);
	end_drain(e);
}

static void exchange(size_t i)
{
	uint8_t want[64], first[492];
	struct end e;

	start(&e, i);
	if (cells[i].is_responder)
		end_feed_hex(&e, vector("D00-F5"));
	e.out_end = 0;
	submit_zeros(&e, 24);
	assert_int_equal(e.out_end,
			 test_unhex(vector("D00-F5"), want, sizeof(want)));
	assert_memory_equal(e.out, want, e.out_end);
	if (!cells[i].is_responder)
		end_feed_hex(&e, vector("D00-F5"));
	assert_int_equal(end_count(&e, SMPA_EV_MESSAGE), 1);
	assert_int_equal(end_event(&e, SMPA_EV_MESSAGE, 0)->msg.len, 24);
	end_fini(&e);

	/* Figure 6 follows 492 octets. */
	start(&e, 14); /* an Initiator: it may send at once */
	e.out_end = 0;
	submit_zeros(&e, 464);
	submit_zeros(&e, 24);
	assert_int_equal(e.out_end, 492 + 52);
	memcpy(first, e.out, 492);
	assert_int_equal(test_unhex(vector("D00-F6"), want, sizeof(want)), 52);
	assert_memory_equal(e.out + 492, want, 52);
	end_fini(&e);

	start(&e, i);
	end_feed(&e, first, 492);
	end_feed(&e, want, 52);
	assert_int_equal(end_count(&e, SMPA_EV_MESSAGE), 2);
	assert_int_equal(end_event(&e, SMPA_EV_MESSAGE, 0)->msg.len, 464);
	assert_int_equal(end_event(&e, SMPA_EV_MESSAGE, 1)->msg.len, 24);
	assert_int_equal(end_count(&e, SMPA_EV_FAULT), 0);
	end_fini(&e);
}

/* T-2, T-60: D00-F5 and D00-F6 in each cell that has V=0. */
CASE(speaks_version_0)
{
	for (size_t i = 0; i < ARRAY_LEN(cells); i++)
		if (cells[i].v == 0)
			exchange(i);
}

/* D-34: a stream of one version must not carry the other version. */
CASE(refuses_the_other_version)
{
	static const struct {
		const char *name, *ulpdu;
		size_t cell; /* an Initiator, which may always answer */
		uint16_t fault;
		uint8_t ddp, rdmap; /* control octets of the TERMINATE */
	} rows[] = {
		{ "DV 1 with V=0, untagged",
		  "410300000000000000000000000100000000", 15,
		  SMPA_F_DDP_U_VERSION, 0x40, 0x07 },
		{ "DV 1 with V=0, tagged", "c1000000000100000000000010004142",
		  15, SMPA_F_DDP_T_VERSION, 0x40, 0x07 },
		{ "RV 1 with V=0", "404300000000000000000000000100000000", 15,
		  SMPA_F_RDMAP_VERSION, 0x40, 0x07 },
		{ "DV 0 with V=1, untagged",
		  "404300000000000000000000000100000000", 23,
		  SMPA_F_DDP_U_VERSION, 0x41, 0x47 },
		{ "DV 0 with V=1, tagged", "c0400000000100000000000010004142",
		  23, SMPA_F_DDP_T_VERSION, 0x41, 0x47 },
		{ "RV 0 with V=1", "410300000000000000000000000100000000", 23,
		  SMPA_F_RDMAP_VERSION, 0x41, 0x47 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint8_t ulpdu[32], wire[64];
		size_t len = test_unhex(rows[i].ulpdu, ulpdu, sizeof(ulpdu));
		const struct smpa_event *ev;
		struct fpdu_writer w;
		struct end e;

		start(&e, rows[i].cell);
		e.out_end = 0;
		fpdu_writer_begin(&w, wire, 0, (uint32_t)len, true, true);
		fpdu_writer_put(&w, ulpdu, len);
		end_feed(&e, wire, (size_t)(fpdu_writer_end(&w) - wire));
		assert_row(rows[i].name, e.event_cnt == 2);
		ev = end_event(&e, SMPA_EV_FAULT, 0);
		assert_row(rows[i].name,
			   ev && ev->fault.fault.value == rows[i].fault &&
				   ev->fault.has_terminate);
		end_drain(&e);
		/* marker, length, control octets, ..., fault */
		assert_row(rows[i].name, e.out_end > 28);
		assert_row(rows[i].name, e.out[6] == rows[i].ddp);
		assert_row(rows[i].name, e.out[7] == rows[i].rdmap);
		assert_row(rows[i].name,
			   e.out[24] == rows[i].fault >> 8 &&
				   e.out[25] == (rows[i].fault & 0xff));
		end_fini(&e);
	}
}

/* C-31: two ends without start frames. Both may send first. */
CASE(speaks_bare)
{
	static uint8_t data[100000];
	struct smpa_options a = test_options(SMPA_INITIATOR);
	struct smpa_options b = test_options(SMPA_RESPONDER);
	struct iovec v = { data, sizeof(data) };
	struct smpa_msg msg = { .opcode = SMPA_OP_WRITE,
				.iov = &v,
				.iovcnt = 1,
				.len = sizeof(data),
				.to = 77 };
	uint8_t want[64];
	struct pair p;

	test_fill(data, sizeof(data), 31);
	a.bare = b.bare = true;
	pair_init(&p, &a, &b);
	p.is_recording = true;
	p.a.rx_cut = (struct end_cut){ 1, 1000 };
	p.b.rx_cut = (struct end_cut){ 2, 1000 };
	assert_int_equal(smpa_conn_start(p.a.conn, data, 1), -EMSGSIZE);
	pair_start(&p);
	assert_int_equal(p.wire_a_len + p.wire_b_len, 0);
	for (int side = 0; side < 2; side++) {
		const struct smpa_event *ev =
			end_event(side ? &p.b : &p.a, SMPA_EV_ESTABLISHED, 0);

		assert_non_null(ev);
		assert_int_equal(ev->start.version, 0);
		assert_true(ev->start.has_crc && ev->start.tx_markers &&
			    ev->start.rx_markers && !ev->start.is_enhanced);
	}
	assert_false(smpa_conn_tx_is_held(p.b.conn));
	submit_zeros(&p.b, 24); /* the Responder sends first */
	pair_run(&p);
	assert_int_equal(p.wire_b_len,
			 test_unhex(vector("D00-F5"), want, sizeof(want)));
	assert_memory_equal(p.wire_b, want, p.wire_b_len);
	assert_int_equal(end_count(&p.a, SMPA_EV_MESSAGE), 1);
	assert_int_equal(end_submit(&p.a, &msg), 0);
	assert_int_equal(end_submit(&p.b, &msg), 0);
	pair_run(&p);
	assert_memory_equal(p.a.mem + 77, data, sizeof(data));
	assert_memory_equal(p.b.mem + 77, data, sizeof(data));
	/* MPA-45: a marker at each 512th octet of either direction */
	assert_memory_equal(p.wire_a, "\0\0\0\0", 4);
	for (size_t at = 512; at < p.wire_a_len; at += 512)
		assert_memory_equal(p.wire_a + at, "\0\0", 2);
	end_feed_eof(&p.a);
	assert_int_equal(end_count(&p.a, SMPA_EV_CLOSED), 1);
	pair_fini(&p);
}

/* 10.3: an end without start frames meets one that waits for a frame, and vice
 * versa. */
CASE(is_no_match_for_start_frames)
{
	struct smpa_options o = test_options(SMPA_RESPONDER);
	const struct smpa_event *ev;
	struct end e;

	end_init(&e, &o);
	assert_int_equal(smpa_conn_start(e.conn, NULL, 0), 0);
	end_feed_hex(&e, "00");
	ev = end_event(&e, SMPA_EV_FAULT, 0);
	assert_non_null(ev);
	assert_int_equal(ev->fault.fault.value, SMPA_F_MPA_START);
	end_fini(&e);

	o.bare = true;
	end_init(&e, &o);
	assert_int_equal(smpa_conn_start(e.conn, NULL, 0), 0);
	end_feed_hex(&e, PEER_REQUEST); /* the octets "MPA " where a leading
					   marker is expected */
	end_feed_eof(&e);
	ev = end_event(&e, SMPA_EV_FAULT, 0);
	assert_non_null(ev);
	assert_int_equal(end_count(&e, SMPA_EV_SEGMENT), 0);
	end_fini(&e);
}
