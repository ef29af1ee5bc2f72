/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Hello and HelloAck: what is sent, what is refused, the three carriers.
 */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "sdpscript.h"

static void version(struct sdp_msg *m)
{
	m->hello.maj_v = 2;
}
static void minor0(struct sdp_msg *m)
{
	m->hello.min_v = 0;
}
static void minor2(struct sdp_msg *m)
{
	m->hello.min_v = 2;
}
static void major0(struct sdp_msg *m)
{
	m->hello.maj_v = 0;
}
static void minor15(struct sdp_msg *m)
{
	m->hello.min_v = 15;
}
static void no_adverts(struct sdp_msg *m)
{
	m->hello.max_adverts = 0;
}
static void no_ird(struct sdp_msg *m)
{
	m->hello.ird = 0;
}
static void no_ord(struct sdp_msg *m)
{
	m->hello.ord = 0;
}
static void two_bufs(struct sdp_msg *m)
{
	m->bufs = 2;
}
static void small_bufs(struct sdp_msg *m)
{
	m->hello.rcv_sz = 36;
}
static void large_bufs(struct sdp_msg *m)
{
	m->hello.rcv_sz = 0x80000001;
}
static void flagged(struct sdp_msg *m)
{
	m->flags = SDP_FLAG_OOB_PEND;
}
static void numbered(struct sdp_msg *m)
{
	m->mseq = m->mseqack = 77;
}
static void other_mid(struct sdp_msg *m)
{
	m->mid = m->mid == SDP_MID_HELLO ? SDP_MID_HELLO_ACK : SDP_MID_HELLO;
}
static void nothing(struct sdp_msg *m)
{
	(void)m;
}

/* T9, T10, T11, T13, V21 */
static const struct {
	const char *name;
	void (*spoil)(struct sdp_msg *msg);
	bool is_good;
} hellos[] = {
	{ "good", nothing, true },
	{ "MajV 2", version, false },
	{ "MinV 0", minor0, true },
	{ "MajV 0", major0, false },
	{ "MinV 2", minor2, true },
	{ "MinV 15", minor15, true },
	{ "MaxAdverts 0", no_adverts, false },
	{ "LocIRD 0", no_ird, false },
	{ "LocORD 0", no_ord, false },
	{ "Bufs 2", two_bufs, false },
	{ "size 36", small_bufs, false },
	{ "size 2^31+1", large_bufs, false },
	{ "OOB_PEND", flagged, false },
	{ "MSeq and MSeqAck", numbered, true },
	{ "the other MID", other_mid, false },
};

CASE(checks_hello)
{
	for (size_t i = 0; i < ARRAY_LEN(hellos); i++) {
		struct sdp_options opt = script_options(SDP_ACCEPTING);
		struct sdp_msg msg = script_hello(SDP_MID_HELLO, 8);
		uint8_t buf[SDP_HEADER_MAX];
		struct sdp_conn *conn;
		size_t len;

		hellos[i].spoil(&msg);
		len = sdp_msg_encode(&msg, opt.layout, buf);
		assert_int_equal(sdp_conn_new(&conn, &opt), 0);
		assert_int_equal(sdp_conn_start(conn, 0), 0);
		assert_row(hellos[i].name,
			   sdp_conn_hello(conn, buf, len, 0) ==
				   (hellos[i].is_good ? 0 : -EPROTO));
		assert_row(hellos[i].name,
			   sdp_conn_fault(conn) ==
				   (hellos[i].is_good ? 0 : SDP_FAULT_HELLO));
		if (hellos[i].is_good) /* SDP-61 */
			assert_row(hellos[i].name,
				   conn->minor == (msg.hello.min_v ? 1 : 0));
		sdp_conn_free(conn);
	}
}

/* T13: of another length, or truncated. */
CASE(refuses_a_hello_of_another_length)
{
	for (uint8_t len = 0; len < 34; len++) {
		struct sdp_options opt = script_options(SDP_ACCEPTING);
		struct sdp_msg msg = script_hello(SDP_MID_HELLO, 8);
		uint8_t buf[SDP_HEADER_MAX] = { 0 };
		struct sdp_conn *conn;
		int want = len == 32 ? 0 : -EPROTO;

		for (int is_said = 0; is_said < 2; is_said++) {
			sdp_msg_encode(&msg, opt.layout, buf);
			if (is_said)
				buf[7] = len;
			assert_int_equal(sdp_conn_new(&conn, &opt), 0);
			assert_int_equal(sdp_conn_start(conn, 0), 0);
			/* A zero after the 32 octets is padding (part 5). */
			assert_int_equal(sdp_conn_hello(conn, buf, len, 0),
					 len == 33 && !is_said ? 0 : want);
			sdp_conn_free(conn);
		}
	}
}

CASE(checks_hello_ack)
{
	for (size_t i = 0; i < 2 * ARRAY_LEN(hellos); i++) {
		struct sdp_options opt = script_options(SDP_CONNECTING);
		struct sdp_msg msg = script_hello(SDP_MID_HELLO_ACK, 8);
		bool is_private = i % 2;
		struct script s = { 0 };
		uint8_t buf[SDP_HEADER_MAX];
		bool is_good = hellos[i / 2].is_good;
		size_t len;
		int ret;

		hellos[i / 2].spoil(&msg);
		len = sdp_msg_encode(&msg, opt.layout, buf);
		assert_int_equal(sdp_conn_new(&s.conn, &opt), 0);
		sdp_conn_start(s.conn, 0);
		assert_int_equal(script_work(&s), SDP_WORK_HELLO);
		if (is_private) {
			ret = sdp_conn_carrier_up(s.conn, buf, len, 0, 0);
		} else {
			sdp_conn_carrier_up(s.conn, NULL, 0, 0, 0);
			ret = script_raw(&s, buf, len);
		}
		assert_row(hellos[i / 2].name, ret == (is_good ? 0 : -EPROTO));
		assert_row(hellos[i / 2].name, (sdp_conn_fault(s.conn) ==
						SDP_FAULT_NONE) == is_good);
		script_fini(&s);
	}
}

/* Octets in a Reply are a HelloAck and its padding, or they are refused at
 * once. Nothing but padding is no HelloAck: it comes as a message. */
CASE(refuses_a_hello_ack_of_another_length)
{
	for (uint8_t i = 0; i < 3 * 31; i++) {
		struct sdp_options opt = script_options(SDP_CONNECTING);
		struct sdp_msg msg = script_hello(SDP_MID_HELLO_ACK, 8);
		uint8_t buf[SDP_HEADER_MAX] = { 0 };
		uint8_t len = i % 31;
		bool is_said = i / 31 == 1;
		bool is_zero = i / 31 == 2 || len < 2; /* its first is 0 */
		bool is_good = is_zero || len == 28 || (len > 28 && !is_said);
		struct script s = { 0 };

		if (!is_zero)
			sdp_msg_encode(&msg, opt.layout, buf);
		if (is_said)
			buf[7] = len;
		assert_int_equal(sdp_conn_new(&s.conn, &opt), 0);
		sdp_conn_start(s.conn, 0);
		assert_int_equal(script_work(&s), SDP_WORK_HELLO);
		assert_int_equal(sdp_conn_carrier_up(s.conn, buf, len, 0, 0),
				 is_good ? 0 : -EPROTO);
		assert_int_equal(sdp_conn_fault(s.conn),
				 is_good ? SDP_FAULT_NONE : SDP_FAULT_HELLO);
		assert_int_equal(sdp_conn_is_open(s.conn), is_good && !is_zero);
		script_fini(&s);
	}
}

/* T5, SDP-50 to SDP-53 */
CASE(says_hello)
{
	struct sdp_options opt = script_options(SDP_CONNECTING);
	struct script s = { 0 };
	struct sdp_msg msg;

	opt.wish_size = 1000;
	assert_int_equal(sdp_conn_new(&s.conn, &opt), 0);
	sdp_conn_start(s.conn, 0);
	assert_int_equal(script_work(&s), SDP_WORK_HELLO);
	assert_int_equal(s.posted, 17); /* one is the spare */
	assert_int_equal(s.work.hello.len, 32);
	assert_int_equal(
		sdp_msg_decode(s.work.hello.octets, 32, opt.layout, &msg), 0);
	assert_int_equal(msg.mid, SDP_MID_HELLO);
	assert_int_equal(msg.bufs, 16);
	assert_int_equal(msg.flags | msg.mseq | msg.mseqack, 0);
	assert_int_equal(s.work.hello.octets[19], 0x11);
	assert_int_equal(msg.hello.rcv_sz, 256);
	assert_int_equal(msg.hello.des_rem_rcv_sz, 1000);
	assert_int_equal(msg.hello.max_adverts, 4);
	/* T7: nothing else before HelloAck. */
	sdp_conn_carrier_up(s.conn, NULL, 0, 0, 0);
	assert_int_equal(script_work(&s), SDP_WORK_NONE);
	script_fini(&s);
}

/* The accepting side after it has received a Hello. */
static void open_with_hello(struct script *s, const struct sdp_options *opt)
{
	struct sdp_msg msg = script_hello(SDP_MID_HELLO, 8);
	uint8_t buf[SDP_HEADER_MAX];
	size_t len = sdp_msg_encode(&msg, opt->layout, buf);

	memset(s, 0, sizeof(*s));
	assert_int_equal(sdp_conn_new(&s->conn, opt), 0);
	sdp_conn_start(s->conn, 0);
	assert_int_equal(sdp_conn_hello(s->conn, buf, len, 0), 0);
}

/* T6, SDP-67, C24: a Send with SE is the first message, and only when the
 * carrier is up. */
CASE(answers_by_a_send)
{
	struct sdp_options opt = script_options(SDP_ACCEPTING);
	struct sdp_msg msg;
	struct script s;

	opt.ord = 5;
	open_with_hello(&s, &opt);
	assert_int_equal(script_work(&s), SDP_WORK_NONE);
	assert_int_equal(s.posted, 17);
	assert_int_equal(sdp_conn_carrier_up(s.conn, NULL, 0, 0, 0), 0);
	assert_true(script_next(&s, &msg));
	assert_int_equal(msg.mid, SDP_MID_HELLO_ACK);
	assert_true(s.work.send.is_solicited);
	assert_int_equal(s.work.send.header_len, 28);
	assert_int_equal(msg.hello.ord, 2);
	assert_int_equal(msg.hello.min_v << 4 | msg.hello.maj_v, 0x11);
	/* C6 */
	assert_int_equal(sdp_credit_get(&s.conn->credit), 8);
	script_fini(&s);
}

/* T8, SDP-74: data directly after HelloAck, before the owner has handled
 * anything; both halves are in Combined (T54). */
CASE(takes_data_right_behind_its_hello_ack)
{
	struct sdp_options opt = script_options(SDP_CONNECTING);
	struct sdp_msg msg = script_hello(SDP_MID_HELLO_ACK, 8);
	struct script s = { .bufs = 8 };
	uint8_t buf[SDP_HEADER_MAX];
	struct sdp_event ev;
	size_t len = sdp_msg_encode(&msg, opt.layout, buf);

	assert_int_equal(sdp_conn_new(&s.conn, &opt), 0);
	sdp_conn_start(s.conn, 0);
	assert_int_equal(script_work(&s), SDP_WORK_HELLO);
	sdp_conn_carrier_up(s.conn, NULL, 0, 0, 0);
	assert_int_equal(script_raw(&s, buf, len), 0);
	assert_int_equal(script_data(&s, 10, 0), 1);
	assert_int_equal(script_data(&s, 5, 0), 1);
	assert_int_equal(sdp_conn_fault(s.conn), 0);
	assert_int_equal(sdp_conn_buffered(s.conn), 15);
	assert_true(script_event(&s, SDP_EV_CONNECTED, &ev));
	assert_true(script_event(&s, SDP_EV_READABLE, &ev));
	assert_int_equal(sdp_conn_send_mode(s.conn), SDP_MODE_COMBINED);
	assert_int_equal(sdp_conn_recv_mode(s.conn), SDP_MODE_COMBINED);
	script_fini(&s);
}

/* SDP-69: the accepting side sends such data at once. */
CASE(sends_data_right_behind_its_hello_ack)
{
	struct sdp_options opt = script_options(SDP_ACCEPTING);
	struct script s;

	open_with_hello(&s, &opt);
	assert_int_equal(script_work(&s), SDP_WORK_NONE);
	assert_int_equal(sdp_conn_carrier_up(s.conn, NULL, 0, 0, 0), 0);
	assert_int_equal(script_mid(&s), SDP_MID_HELLO_ACK);
	assert_int_equal(sdp_conn_send_mode(s.conn), SDP_MODE_COMBINED);
	assert_int_equal(sdp_conn_recv_mode(s.conn), SDP_MODE_COMBINED);
	assert_int_equal(script_send(&s, 1, 10, 0), 0);
	assert_int_equal(script_mid(&s), SDP_MID_DATA);
	script_fini(&s);
}

/* C7: CM-PRIV; nothing is sent before the connecting side's first message. */
CASE(answers_by_private_data)
{
	struct sdp_options opt = script_options(SDP_ACCEPTING);
	struct script s;

	opt.carrier = SDP_CM_PRIV;
	open_with_hello(&s, &opt);
	s.bufs = 8;
	assert_int_equal(script_work(&s), SDP_WORK_HELLO);
	assert_int_equal(s.work.hello.len, 28);
	assert_int_equal(script_send(&s, 1, 10, 0), 0);
	assert_int_equal(script_work(&s), SDP_WORK_NONE);
	assert_int_equal(sdp_conn_carrier_up(s.conn, NULL, 0, 0, 0), 0);
	assert_int_equal(script_work(&s), SDP_WORK_NONE);
	assert_int_equal(script_data(&s, 0, 0), 0);
	assert_int_equal(script_mid(&s), SDP_MID_DATA);
	script_fini(&s);
}

/* C7: with CM-PRIV the connecting side sends the first FPDU. */
CASE(speaks_first_after_private_data)
{
	struct sdp_options opt = script_options(SDP_CONNECTING);
	struct sdp_msg msg = script_hello(SDP_MID_HELLO_ACK, 8);
	struct script s = { 0 };
	uint8_t buf[196] = { 0 };

	sdp_msg_encode(&msg, opt.layout, buf);
	assert_int_equal(sdp_conn_new(&s.conn, &opt), 0);
	sdp_conn_start(s.conn, 0);
	assert_int_equal(script_work(&s), SDP_WORK_HELLO);
	assert_int_equal(sdp_conn_carrier_up(s.conn, buf, sizeof(buf), 1, 0),
			 0);
	assert_true(script_next(&s, &msg));
	assert_int_equal(msg.mid, SDP_MID_DATA);
	assert_int_equal(msg.payload_len, 0);
	assert_int_equal(msg.mseq, 0);
	assert_int_equal(s.conn->ord, 1); /* negotiated by the carrier */
	script_fini(&s);
}

/* T8 and part 5: data directly after HelloAck; a zero-length Send first. */
CASE(takes_an_rtr_once)
{
	struct sdp_options opt = script_options(SDP_ACCEPTING);
	struct script s;

	script_open(&s, &opt, 16);
	assert_int_equal(script_raw(&s, "", 0), 0);
	assert_int_equal(sdp_conn_fault(s.conn), 0);
	assert_int_equal(script_work(&s), SDP_WORK_NONE);
	assert_int_equal(s.posted, 18);
	assert_int_equal(script_data(&s, 10, 0), 1);
	assert_int_equal(script_raw(&s, "", 0), -EPROTO);
	assert_int_equal(sdp_conn_fault(s.conn), SDP_FAULT_LENGTH);
	script_fini(&s);
}

/* SDP-55: before HelloAck the peer may send its RTR, and no SDP message. */
CASE(takes_nothing_before_its_hello_ack)
{
	for (int has_rtr = 0; has_rtr < 2; has_rtr++) {
		struct sdp_options opt = script_options(SDP_ACCEPTING);
		struct script s;

		open_with_hello(&s, &opt);
		assert_int_equal(script_work(&s), SDP_WORK_NONE);
		if (has_rtr)
			assert_int_equal(script_raw(&s, "", 0), 0);
		assert_int_equal(script_plain(&s, SDP_MID_DATA), -EPROTO);
		assert_int_equal(sdp_conn_fault(s.conn), SDP_FAULT_HELLO);
		script_fini(&s);
	}
}

/* T14 */
CASE(ends_when_nothing_comes)
{
	struct sdp_options opt = script_options(SDP_CONNECTING);
	struct script s = { 0 };
	struct sdp_event ev;

	assert_int_equal(sdp_conn_new(&s.conn, &opt), 0);
	sdp_conn_start(s.conn, 5 * MS);
	assert_true(sdp_conn_deadline(s.conn) == 10005 * MS);
	sdp_conn_tick(s.conn, 10005 * MS);
	assert_int_equal(sdp_conn_fault(s.conn), SDP_FAULT_TIMEOUT);
	assert_int_equal(script_work(&s), SDP_WORK_TERMINATE);
	sdp_conn_llp_down(s.conn, 10005 * MS);
	assert_true(script_event(&s, SDP_EV_CLOSED, &ev));
	script_fini(&s);
	assert_int_equal(sdp_conn_new(&s.conn, &opt), 0);
	sdp_conn_start(s.conn, 0);
	assert_int_equal(script_work(&s), SDP_WORK_HELLO);
	sdp_conn_llp_down(s.conn, 0);
	assert_int_equal(sdp_conn_fault(s.conn), SDP_FAULT_LLP_LOST);
	assert_true(script_event(&s, SDP_EV_FAILED, &ev));
	assert_int_equal(ev.failed.fault, SDP_FAULT_LLP_LOST);
	assert_true(script_event(&s, SDP_EV_CLOSED, &ev));
	assert_int_equal(script_work(&s), SDP_WORK_NONE);
	script_fini(&s);
}
