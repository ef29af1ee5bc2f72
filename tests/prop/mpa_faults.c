/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Each violation by a peer is answered with the right TERMINATE, once, and then
 * nothing is sent. Invalid data never reaches memory.
 */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "faults.h"
#include "pair.h"

static void responder(struct end *e)
{
	struct smpa_options o = test_options(SMPA_RESPONDER);

	end_init(e, &o);
	end_establish(e, PEER_REQUEST);
	end_feed_hex(e, PEER_EMPTY_WRITE);
	e->event_cnt = 0;
}

static void check_row(const struct fault_vector *v, size_t max_piece)
{
	struct smpa_msg msg = { .opcode = SMPA_OP_SEND };
	uint8_t want[128];
	size_t len = test_unhex(v->terminate, want, sizeof(want));
	const struct smpa_event *ev;
	struct end e;

	responder(&e);
	e.rx_cut = (struct end_cut){ 1, max_piece };
	e.tx_cut = (struct end_cut){ 2, max_piece };
	e.refuse_type = v->refuse;
	e.refuse_fault = v->fault;
	end_feed_hex(&e, v->peer);
	ev = end_event(&e, SMPA_EV_FAULT, 0);
	if (v->refuse == SMPA_EV_NONE) {
		assert_row(v->name, ev);
		assert_row(v->name, ev->fault.fault.value == v->fault);
		assert_row(v->name, ev->fault.has_terminate);
		assert_row(v->name, !ev->fault.is_truncated);
	} else {
		assert_row(v->name, !ev); /* the owner refuses it */
		assert_row(v->name, end_count(&e, v->refuse) == 1);
	}
	/* what follows is dropped: no second fault, no message */
	e.event_cnt = 0;
	end_feed_hex(&e, PEER_EMPTY_WRITE);
	end_feed_hex(&e, v->peer);
	assert_row(v->name, smpa_conn_submit(e.conn, &msg) == -EPIPE);
	end_drain(&e);
	assert_row(v->name, e.out_end == len && !memcmp(e.out, want, len));
	assert_row(v->name, e.event_cnt == 0);
	assert_row(v->name, smpa_conn_tx_is_idle(e.conn));
	end_fini(&e);
}

/* U-4, U-20, U-21, T-30, T-31: exact Terminates, and nothing after them */
CASE(answers_each_fault)
{
	for (size_t i = 0; i < ARRAY_LEN(fault_vectors); i++) {
		check_row(&fault_vectors[i], 0);
		check_row(&fault_vectors[i], 1);
		check_row(&fault_vectors[i], 13);
	}
}

/* The peer decodes the Terminate to its original values. */
CASE(understands_its_own_terminates)
{
	for (size_t i = 0; i < ARRAY_LEN(fault_vectors); i++) {
		const struct smpa_event *ev;
		struct end e;

		responder(&e);
		end_feed_hex(&e, fault_vectors[i].terminate);
		assert_row(fault_vectors[i].name, e.event_cnt == 1);
		ev = &e.events[0].ev;
		assert_row(fault_vectors[i].name,
			   ev->type == SMPA_EV_TERMINATE);
		assert_row(fault_vectors[i].name,
			   ev->term.fault.value == fault_vectors[i].fault);
		end_drain(&e);
		assert_row(fault_vectors[i].name, e.out_end == 0);
		end_fini(&e);
	}
}

/* Markers that are announced but absent, wrong, or present without being
 * announced (T-29). */
CASE(finds_wrong_markers)
{
	static const struct {
		const char *name;
		bool has_markers, has_crc;
		const char *hex;
		uint16_t fault;
	} rows[] = {
		{ "absent, CRC", true, true,
		  "002a414300000000000000000000000100000000000000000000000000"
		  "000000000000000000000000000000b7243ec3",
		  SMPA_F_MPA_CRC },
		{ "absent, no CRC", true, false,
		  "002a414300000000000000000000000100000000000000000000000000"
		  "000000000000000000000000000000b7243ec3",
		  SMPA_F_MPA_MARKER },
		{ "unasked, CRC", false, true,
		  "00000000002a4143000000000000000000000001000000000000000000"
		  "00000000000000000000000000000000000000"
		  "52239983",
		  SMPA_F_MPA_CRC },
		{ "unasked, no CRC", false, false,
		  "00000000002a4143000000000000000000000001000000000000000000"
		  "00000000000000000000000000000000000000"
		  "52239983",
		  SMPA_F_MPA_MARKER },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct smpa_options o = test_options(SMPA_RESPONDER);
		const struct smpa_event *ev;
		struct end e;

		o.want_markers = rows[i].has_markers;
		o.no_crc = !rows[i].has_crc;
		end_init(&e, &o);
		end_establish(&e, rows[i].has_crc ? PEER_REQUEST
						  : PEER_REQUEST_PLAIN);
		end_feed_hex(&e, rows[i].hex);
		ev = end_event(&e, SMPA_EV_FAULT, 0);
		assert_row(rows[i].name, ev);
		assert_row(rows[i].name,
			   ev->fault.fault.value == rows[i].fault);
		assert_row(rows[i].name, end_count(&e, SMPA_EV_SEGMENT) == 0);
		end_fini(&e);
	}
}

/* T-26: a good, a bad and a good FPDU: only the first is delivered. */
CASE(stops_at_the_first_bad_fpdu)
{
	static const char good[] =
		"0012c1400000000100000000000000004142434492defa32";
	static const char bad[] = "0012c14000000001000000000000000861424344";
	struct smpa_options o = test_options(SMPA_RESPONDER);
	struct end e;

	end_init(&e, &o);
	end_establish(&e, PEER_REQUEST);
	end_feed_hex(&e, PEER_EMPTY_WRITE);
	end_feed_hex(&e, good);
	end_feed_hex(&e, bad);
	end_feed_hex(&e, "00000000");
	end_feed_hex(&e, good);
	assert_int_equal(end_count(&e, SMPA_EV_SEGMENT), 1);
	assert_int_equal(end_count(&e, SMPA_EV_FAULT), 1);
	assert_memory_equal(e.mem, "ABCD\0\0\0\0\0\0\0\0", 12);
	assert_int_equal(smpa_conn_counters(e.conn)->rx_crc_bad, 1);
	end_fini(&e);
}
