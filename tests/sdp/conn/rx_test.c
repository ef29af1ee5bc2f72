/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Received messages: a violation ends the connection with the reason. Messages
 * that may cross do not.
 */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "hex.h"
#include "sdpscript.h"

/* ---- every violation (T96 to T107) ---- */

static void none(struct script *s)
{
	(void)s;
}

/* There is a SrcAvail of this end. */
static void has_src(struct script *s)
{
	assert_int_equal(script_send(s, 1, 1000, SDP_BUF_RDMA), 0);
	assert_int_equal(script_mid(s), SDP_MID_SRC_AVAIL);
}

/* There is a SrcAvail of the peer. */
static void has_in(struct script *s)
{
	struct sdp_msg msg = { .mid = SDP_MID_SRC_AVAIL, .payload_len = 1 };

	msg.avail.len = 500;
	assert_int_equal(script_recv(s, msg), 1);
}

static void change(struct script *s, enum sdp_mode mode)
{
	struct sdp_msg msg = { .mid = SDP_MID_MODE_CHANGE };

	msg.change.mode = (uint8_t)mode;
	assert_int_equal(script_recv(s, msg), 0);
}

static void sinks_buffered(struct script *s)
{
	change(s, SDP_MODE_BUFFERED);
}

static void sinks_pipelined(struct script *s)
{
	change(s, SDP_MODE_PIPELINED);
}

static void sources_pipelined(struct script *s)
{
	assert_int_equal(sdp_conn_set_mode(s->conn, SDP_MODE_PIPELINED), 0);
	assert_int_equal(script_mid(s), SDP_MID_MODE_CHANGE);
}

static void sources_buffered(struct script *s)
{
	assert_int_equal(sdp_conn_set_mode(s->conn, SDP_MODE_BUFFERED), 0);
	assert_int_equal(script_mid(s), SDP_MID_MODE_CHANGE);
}

/* There is a SinkAvail of this end. */
static void has_out(struct script *s)
{
	sinks_pipelined(s);
	assert_int_equal(script_post(s, 9, 1000, SDP_BUF_RDMA), 0);
	assert_int_equal(script_mid(s), SDP_MID_SINK_AVAIL);
}

static void four_in(struct script *s)
{
	struct sdp_msg msg = { .mid = SDP_MID_SRC_AVAIL };

	sinks_pipelined(s);
	msg.avail.len = 500;
	for (int i = 0; i < 4; i++)
		assert_int_equal(script_recv(s, msg), 0);
}

/* Three SrcAvails and one SinkAvail of the peer. */
static void mixed_adverts(struct script *s)
{
	struct sdp_msg msg = { .mid = SDP_MID_SRC_AVAIL };

	sources_pipelined(s);
	sinks_pipelined(s);
	msg.avail.len = 500;
	for (int i = 0; i < 3; i++)
		assert_int_equal(script_recv(s, msg), 0);
	msg.mid = SDP_MID_SINK_AVAIL;
	assert_int_equal(script_recv(s, msg), 0);
}

static void has_discon(struct script *s)
{
	assert_int_equal(script_plain(s, SDP_MID_DISCONN), 0);
}

static void asked_once(struct script *s)
{
	struct sdp_msg msg = { .mid = SDP_MID_CH_RCV_BUF };

	msg.rcv_buf_size = 500;
	assert_int_equal(script_recv(s, msg), 0);
}

static void asks_larger(struct script *s)
{
	assert_int_equal(sdp_conn_ask_size(s->conn, 500), 0);
	assert_int_equal(script_mid(s), SDP_MID_CH_RCV_BUF);
}

static void has_susp(struct script *s)
{
	struct sdp_msg msg = { .mid = SDP_MID_SUSP_COMM, .susp_port = 5001 };

	assert_int_equal(script_recv(s, msg), 0);
}

#define MSG(m, ...) ((struct sdp_msg){ .mid = (m), __VA_ARGS__ })

static const struct {
	const char *name;
	void (*prepare)(struct script *s);
	struct sdp_msg msg;
	enum sdp_fault fault;
} violations[] = {
	{ "Hello in the middle", none,
	  MSG(SDP_MID_HELLO, .hello = { 8, 1, 1, 0, 256, 1, 1 }),
	  SDP_FAULT_MID },
	{ "HelloAck in the middle", none,
	  MSG(SDP_MID_HELLO_ACK, .hello = { 8, 1, 1, 0, 256, 1, 1 }),
	  SDP_FAULT_MID },
	{ "larger than the receives", none,
	  MSG(SDP_MID_DATA, .payload_len = 241), SDP_FAULT_CREDIT },
	{ "SrcAvail in Buffered", sinks_buffered,
	  MSG(SDP_MID_SRC_AVAIL, .payload_len = 1, .avail = { .len = 500 }),
	  SDP_FAULT_SRC_AVAIL },
	{ "SrcAvail without payload in Combined", none,
	  MSG(SDP_MID_SRC_AVAIL, .avail = { .len = 500 }),
	  SDP_FAULT_SRC_AVAIL },
	{ "second SrcAvail in Combined", has_in,
	  MSG(SDP_MID_SRC_AVAIL, .payload_len = 1, .avail = { .len = 500 }),
	  SDP_FAULT_SRC_AVAIL },
	{ "SrcAvail with payload in Pipelined", sinks_pipelined,
	  MSG(SDP_MID_SRC_AVAIL, .payload_len = 1, .avail = { .len = 500 }),
	  SDP_FAULT_SRC_AVAIL },
	{ "SinkAvail in Combined", none,
	  MSG(SDP_MID_SINK_AVAIL, .avail = { .len = 500 }),
	  SDP_FAULT_SINK_AVAIL },
	{ "SinkAvail in Buffered", sources_buffered,
	  MSG(SDP_MID_SINK_AVAIL, .avail = { .len = 500 }),
	  SDP_FAULT_SINK_AVAIL },
	{ "SinkAvail ahead", sources_pipelined,
	  MSG(SDP_MID_SINK_AVAIL, .avail = { .len = 500, .non_discards = 1 }),
	  SDP_FAULT_NON_DISCARDS },
	{ "fifth SrcAvail", four_in,
	  MSG(SDP_MID_SRC_AVAIL, .avail = { .len = 500 }), SDP_FAULT_ADVERTS },
	{ "fifth advertisement", mixed_adverts,
	  MSG(SDP_MID_SINK_AVAIL, .avail = { .len = 500 }), SDP_FAULT_ADVERTS },
	{ "RdmaRdCompl without SrcAvail", none,
	  MSG(SDP_MID_RDMA_RD_COMPL, .compl_len = 1), SDP_FAULT_RD_COMPL },
	{ "RdmaRdCompl too long", has_src,
	  MSG(SDP_MID_RDMA_RD_COMPL, .compl_len = 985), SDP_FAULT_RD_COMPL },
	{ "SendSm without SrcAvail", none, MSG(SDP_MID_SEND_SM),
	  SDP_FAULT_RD_COMPL },
	{ "RdmaWrCompl without SinkAvail", none,
	  MSG(SDP_MID_RDMA_WR_COMPL, .compl_len = 1), SDP_FAULT_WR_COMPL },
	{ "RdmaWrCompl too long", has_out,
	  MSG(SDP_MID_RDMA_WR_COMPL, .compl_len = 1001), SDP_FAULT_WR_COMPL },
	{ "Data behind a SrcAvail", has_in, MSG(SDP_MID_DATA, .payload_len = 1),
	  SDP_FAULT_PAYLOAD },
	{ "ModeChange to the same mode", none,
	  MSG(SDP_MID_MODE_CHANGE, .change = { SDP_MODE_COMBINED, false }),
	  SDP_FAULT_MODE },
	{ "ModeChange by the slave", none,
	  MSG(SDP_MID_MODE_CHANGE, .change = { SDP_MODE_PIPELINED, true }),
	  SDP_FAULT_MODE },
	{ "Buffered to Pipelined", sinks_buffered,
	  MSG(SDP_MID_MODE_CHANGE, .change = { SDP_MODE_PIPELINED, false }),
	  SDP_FAULT_MODE },
	{ "Buffered to Combined by the Source", sinks_buffered,
	  MSG(SDP_MID_MODE_CHANGE, .change = { SDP_MODE_COMBINED, false }),
	  SDP_FAULT_MODE },
	{ "to Buffered with a SrcAvail", has_in,
	  MSG(SDP_MID_MODE_CHANGE, .change = { SDP_MODE_BUFFERED, false }),
	  SDP_FAULT_MODE },
	{ "ChRcvBufAck unasked", none,
	  MSG(SDP_MID_CH_RCV_BUF_ACK, .rcv_buf_size = 256), SDP_FAULT_RESIZE },
	{ "ChRcvBufAck out of range", asks_larger,
	  MSG(SDP_MID_CH_RCV_BUF_ACK, .rcv_buf_size = 255), SDP_FAULT_RESIZE },
	{ "second ChRcvBuf", asked_once,
	  MSG(SDP_MID_CH_RCV_BUF, .rcv_buf_size = 500), SDP_FAULT_RESIZE },
	{ "Data after DisConn", has_discon, MSG(SDP_MID_DATA, .payload_len = 1),
	  SDP_FAULT_CLOSED },
	{ "SrcAvail after DisConn", has_discon,
	  MSG(SDP_MID_SRC_AVAIL, .payload_len = 1, .avail = { .len = 500 }),
	  SDP_FAULT_CLOSED },
	{ "second DisConn", has_discon, MSG(SDP_MID_DISCONN),
	  SDP_FAULT_CLOSED },
	{ "AbortConn without DisConn", none, MSG(SDP_MID_ABORT_CONN),
	  SDP_FAULT_CLOSED },
	{ "AbortConn", has_discon, MSG(SDP_MID_ABORT_CONN),
	  SDP_FAULT_PEER_ABORT },
	{ "SuspCommAck without SuspComm", none, MSG(SDP_MID_SUSP_COMM_ACK),
	  SDP_FAULT_SUSP },
	{ "Data after SuspComm", has_susp, MSG(SDP_MID_DATA), SDP_FAULT_SUSP },
};

CASE(ends_on_each_violation)
{
	for (size_t i = 0; i < ARRAY_LEN(violations); i++) {
		struct sdp_options opt = script_options(SDP_CONNECTING);
		struct sdp_event ev;
		struct script s;

		script_open(&s, &opt, 16);
		violations[i].prepare(&s);
		assert_row(violations[i].name, !sdp_conn_fault(s.conn));
		assert_row(violations[i].name,
			   script_recv(&s, violations[i].msg) == -EPROTO);
		assert_row(violations[i].name,
			   sdp_conn_fault(s.conn) == violations[i].fault);
		assert_row(violations[i].name,
			   script_event(&s, SDP_EV_FAILED, &ev) &&
				   ev.failed.fault == violations[i].fault);
		/* No DisConn was sent: the carrier ends at once (SDP-104). */
		assert_row(violations[i].name,
			   script_work(&s) ==
				   (violations[i].fault == SDP_FAULT_PEER_ABORT
					    ? SDP_WORK_DISCONNECT
					    : SDP_WORK_TERMINATE));
		assert_row(violations[i].name,
			   script_plain(&s, SDP_MID_DATA) == -ENOTCONN);
		sdp_conn_llp_down(s.conn, 0);
		assert_row(violations[i].name,
			   script_event(&s, SDP_EV_CLOSED, &ev));
		script_fini(&s);
	}
}

/* Violations that struct sdp_msg cannot express. */
static const struct {
	const char *name;
	const char *hex;
	enum sdp_fault fault;
} octets[] = {
	{ "15 octets", "001000ff 00000010 00000000 000000", SDP_FAULT_LENGTH },
	{ "nothing", "", SDP_FAULT_LENGTH },
	{ "Len more by one", "001000ff 00000011 00000000 00000000",
	  SDP_FAULT_LENGTH },
	{ "Len less by one", "001000ff 0000000f 00000000 00000000",
	  SDP_FAULT_LENGTH },
	{ "Len less by one, with payload",
	  "001000ff 00000010 00000000 00000000 41", SDP_FAULT_LENGTH },
	{ "SendSm with an octet more", "00100004 00000011 00000000 00000000 00",
	  SDP_FAULT_LENGTH },
	{ "MSeq 2 first", "001000ff 00000010 00000002 00000000",
	  SDP_FAULT_MSEQ },
	{ "MSeqAck of nothing sent", "001000ff 00000010 00000000 00000001",
	  SDP_FAULT_MSEQACK },
	{ "OOB_PRES on SendSm", "00100104 00000010 00000000 00000000",
	  SDP_FAULT_OOB },
	{ "SrcAvail of no octets",
	  "001000fe 00000020 00000000 00000000 00000000 00000000 00000000"
	  "00000000",
	  SDP_FAULT_AVAIL },
	{ "SrcAvail of 2^31 and one",
	  "001000fe 00000021 00000000 00000000 80000001 00000000 00000000"
	  "00000000 41",
	  SDP_FAULT_AVAIL },
	{ "SrcAvail cut in its header",
	  "001000fe 0000001f 00000000 00000000 00000100 00000000 00000000"
	  "000000",
	  SDP_FAULT_LENGTH },
	{ "mode 4", "00100007 00000014 00000000 00000000 00000008",
	  SDP_FAULT_MODE },
	{ "mode 5", "00100007 00000014 00000000 00000000 0000000a",
	  SDP_FAULT_MODE },
	{ "mode 6", "00100007 00000014 00000000 00000000 0000000c",
	  SDP_FAULT_MODE },
	{ "mode 7, S", "00100007 00000014 00000000 00000000 0000000f",
	  SDP_FAULT_MODE },
	{ "mode 3", "00100007 00000014 00000000 00000000 00000006",
	  SDP_FAULT_MODE },
	{ "SuspComm's constants",
	  "0010000d 00000018 00000000 00000000 00000000 13890002",
	  SDP_FAULT_SUSP },
};

CASE(ends_on_malformed_octets)
{
	for (size_t i = 0; i < ARRAY_LEN(octets); i++) {
		struct sdp_options opt = script_options(SDP_CONNECTING);
		uint8_t buf[64];
		size_t len = test_unhex(octets[i].hex, buf, sizeof(buf));
		struct script s;

		script_open(&s, &opt, 16);
		assert_row(octets[i].name, script_raw(&s, buf, len) == -EPROTO);
		assert_row(octets[i].name,
			   sdp_conn_fault(s.conn) == octets[i].fault);
		assert_row(octets[i].name,
			   sdp_fault_str(octets[i].fault)[0] != '?');
		script_fini(&s);
	}
}

/* T98: every reserved identifier. */
CASE(ends_on_each_reserved_mid)
{
	unsigned int cnt = 0;

	for (unsigned int mid = 0x0f; mid < 0xfd; mid++) {
		uint8_t buf[] = { 0, 16, 0, (uint8_t)mid,
				  0, 0,	 0, 16,
				  0, 0,	 0, 0,
				  0, 0,	 0, 0 };
		struct script s;

		script_open_as(&s, SDP_CONNECTING, 16);
		assert_int_equal(script_raw(&s, buf, sizeof(buf)), -EPROTO);
		assert_int_equal(sdp_conn_fault(s.conn), SDP_FAULT_MID);
		script_fini(&s);
		cnt++;
	}
	assert_int_equal(cnt, 238);
}

/* T102: messages without payload, one octet longer according to BSDH.Len. */
CASE(ends_on_control_messages_with_more)
{
	unsigned int cnt = 0;

	for (uint8_t mid = SDP_MID_DISCONN; mid <= SDP_MID_SUSP_COMM_ACK;
	     mid++) {
		struct sdp_msg msg = { .mid = mid, .bufs = 16 };
		uint8_t buf[SDP_HEADER_MAX + 1] = { 0 };
		struct script s;
		size_t len;

		if (mid == SDP_MID_MODE_CHANGE)
			msg.change.mode = SDP_MODE_PIPELINED;
		script_open_as(&s, SDP_CONNECTING, 16);
		len = sdp_msg_encode(&msg, SDP_LAYOUT_FIGURE, buf) + 1;
		buf[7] = (uint8_t)len;
		assert_int_equal(script_raw(&s, buf, len), -EPROTO);
		assert_int_equal(sdp_conn_fault(s.conn), SDP_FAULT_LENGTH);
		script_fini(&s);
		cnt++;
	}
	assert_int_equal(cnt, 13);
}

/* T99: the same message twice. */
SCRIPT_CASE(ends_on_a_repeated_message)
{
	struct script *s = *state;

	assert_int_equal(script_data(s, 1, 0), 1);
	assert_int_equal(script_data(s, 1, 0), 1);
	s->mseq--;
	assert_int_equal(script_data(s, 1, 0), -EPROTO);
	assert_int_equal(sdp_conn_fault(s->conn), SDP_FAULT_MSEQ);
}

/* T53, V14 */
CASE(checks_what_was_invalidated)
{
	static const struct {
		uint32_t stag;
		enum sdp_fault fault;
	} rows[] = { { 0x5001, 0 }, { 0x5002, SDP_FAULT_STAG } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sdp_options opt = script_options(SDP_CONNECTING);
		struct sdp_msg msg = { .mid = SDP_MID_RDMA_RD_COMPL,
				       .compl_len = 984,
				       .bufs = 16 };
		uint8_t buf[SDP_HEADER_MAX];
		struct script s;
		size_t len;

		script_open(&s, &opt, 16);
		has_src(&s);
		len = sdp_msg_encode(&msg, opt.layout, buf);
		sdp_conn_recv(s.conn, 0, buf, len, &rows[i].stag, 0);
		assert_int_equal(sdp_conn_fault(s.conn), rows[i].fault);
		script_fini(&s);
	}
}

CASE(checks_what_a_write_invalidated)
{
	static const struct {
		uint8_t mid;
		uint32_t stag;
		enum sdp_fault fault;
	} rows[] = { { SDP_MID_RDMA_WR_COMPL, 0x5009, 0 },
		     { SDP_MID_RDMA_WR_COMPL, 0x5001, SDP_FAULT_STAG },
		     { SDP_MID_DATA, 0x5009, SDP_FAULT_STAG } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sdp_options opt = script_options(SDP_CONNECTING);
		struct sdp_msg msg = { .mid = rows[i].mid, .bufs = 16 };
		uint8_t buf[SDP_HEADER_MAX];
		struct script s;
		size_t len;

		script_open(&s, &opt, 16);
		has_out(&s);
		msg.mseq = s.mseq;
		if (msg.mid == SDP_MID_RDMA_WR_COMPL)
			msg.compl_len = 10;
		len = sdp_msg_encode(&msg, opt.layout, buf);
		sdp_conn_recv(s.conn, 0, buf, len, &rows[i].stag, 0);
		assert_int_equal(sdp_conn_fault(s.conn), rows[i].fault);
		script_fini(&s);
	}
}

/* Part 7: never a violation. */
CASE(accepts_messages_that_may_cross)
{
	static const uint8_t mids[] = { SDP_MID_SRC_AVAIL_CANCEL,
					SDP_MID_SINK_AVAIL_CANCEL,
					SDP_MID_SINK_CANCEL_ACK };
	struct sdp_options opt = script_options(SDP_CONNECTING);
	struct sdp_msg msg = { .mid = SDP_MID_DATA,
			       .flags = SDP_FLAG_REQ_PIPE };
	struct script s;

	script_open(&s, &opt, 16);
	for (size_t i = 0; i < sizeof(mids); i++)
		assert_int_equal(script_plain(&s, mids[i]), 0);
	assert_int_equal(script_mid(&s), -1); /* T76: no answer */
	assert_int_equal(script_recv(&s, msg), 0);
	s.bufs = 5; /* lower than before */
	assert_int_equal(script_plain(&s, SDP_MID_DATA), 0);
	assert_int_equal(sdp_conn_fault(s.conn), 0);
	script_fini(&s);
}

/* T68, SDP-225: the payload of a SinkAvail that is ignored. */
CASE(delivers_payload_of_an_ignored_sink_avail)
{
	struct sdp_options opt = script_options(SDP_CONNECTING);
	struct sdp_msg msg = { .mid = SDP_MID_SINK_AVAIL, .payload_len = 5 };
	struct sdp_piece piece;
	struct script s;
	bool is_oob;

	script_open(&s, &opt, 16);
	sources_pipelined(&s);
	script_plain(&s, SDP_MID_DATA);
	s.ack = 0; /* the peer has not seen what follows yet */
	assert_int_equal(sdp_conn_set_mode(s.conn, SDP_MODE_COMBINED), 0);
	assert_int_equal(script_mid(&s), SDP_MID_MODE_CHANGE);
	s.ack = 0;
	msg.avail.len = 500;
	assert_int_equal(script_recv(&s, msg), 1);
	assert_int_equal(sdp_conn_peek(s.conn, 0, &piece, &is_oob), 1);
	assert_int_equal(piece.len, 5);
	assert_int_equal(piece.off, 36);
	assert_int_equal(s.conn->sink.nd, 1);
	script_fini(&s);
}
