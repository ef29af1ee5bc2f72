/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Dialogues: the mechanisms, every message, credit, urgent octets, advertised
 * memory, modes.
 */
#include "test.h"

#include "sdpdialogue.h"

/* The peer's sending half becomes Pipelined; this end's does, and announces it
 * first. */
#define PEER_PIPELINES IN("00100007 00000014 00000000 00000000 00000004")
#define WE_PIPELINE                                                            \
	MODE(SDP_MODE_PIPELINED),                                              \
		OUT("00100007 00000014 00000000 00000000 00000004")

/* ---- the four mechanisms, started and completed (SDP-77, SDP-78) ---- */

static const struct step copies_out[] = {
	SEND(1, 5, 0), OUT("001000ff 00000015 00000000 00000000"), DONE,
	SENT(1, 5), END
};

static const struct step copies_in[] = {
	IN("001000ff 00000015 00000000 00000000"), THERE(5), CONSUME(5),
	THERE(0), END
};

static const struct step is_read[] = {
	SEND(1, 1000, RDMA),
	OUT("001000fe 00000030 00000000 00000000 000003e8 00005001 "
	    "00000000 00010000"),
	DONE,
	QUIET,
	IN("00100006 00000014 00000000 00000000 000003d8"),
	SENT(1, 1000),
	END,
};

static const struct step reads[] = {
	IN("001000fe 00000021 00000000 00000000 000001f4 11223344 "
	   "00007f00 12345678"),
	POST(9, 1000, RDMA),
	KEPT,
	READ(400),
	READ(99),
	QUIET,
	DONE,
	OUT("00110006 00000014 00000000 00000000 000001f3"),
	RECEIVED(9, 500),
	END,
};

static const struct step writes[] = {
	WE_PIPELINE,
	IN("001000fd 00000024 00000000 00000000 000003e8 aabbccdd "
	   "00000000 00000010 00000000"),
	SEND(1, 700, RDMA),
	WRITE(400),
	WRITE(300),
	OUT("00110005 00000014 00000001 00000000 000002bc"),
	QUIET,
	DONE,
	SENT(1, 700),
	END,
};

static const struct step is_written[] = {
	PEER_PIPELINES,
	POST(9, 1000, RDMA),
	OUT("001100fd 00000024 00000000 00000000 000003e8 00005009 "
	    "00000000 00090000 00000000"),
	KEPT,
	IN("00100005 00000014 00000001 00000000 000002bc"),
	RECEIVED(9, 700),
	END,
};

static const struct step transacts[] = {
	PEER_PIPELINES,
	SEND(1, 50, 0),
	POST(9, 1000, RDMA),
	OUT("001100fd 00000056 00000000 00000000 000003e8 00005009 "
	    "00000000 00090000 00000000"),
	QUIET,
	IN("00100005 00000014 00000001 00000000 000002bc"),
	RECEIVED(9, 700),
	DONE,
	SENT(1, 50),
	END,
};

/* The peer's half is in Combined (SDP-201): the payload belongs to that
 * half. */
static const struct step answers_a_transaction[] = {
	WE_PIPELINE,
	IN("001000fd 00000029 00000000 00000000 000003e8 aabbccdd "
	   "00000000 00000010 00000000"),
	THERE(5),
	SEND(1, 400, RDMA),
	WRITE(400),
	OUT("00100005 00000014 00000001 00000000 00000190"),
	END,
};

/* The counter makes it stale: the advert is dropped, the payload stays
 * (T68). */
static const struct step takes_payload_of_a_stale_advert[] = {
	WE_PIPELINE,
	SEND(1, 10, 0),
	OUT("001000ff 0000001a 00000001 00000000"),
	IN("001000fd 00000029 00000000 00000000 000003e8 aabbccdd "
	   "00000000 00000010 00000000"),
	THERE(5),
	SEND(2, 400, RDMA),
	OUT("001000fe 00000020 00000002 00000000 00000190 00005002 "
	    "00000000 00020000"),
	END,
};

CASE(begins_each_mechanism)
{
	DIALOGUE(copies_out);
	DIALOGUE(is_read);
	DIALOGUE(writes);
	DIALOGUE(transacts);
}

CASE(carries_out_each_mechanism)
{
	DIALOGUE(copies_in);
	DIALOGUE(reads);
	DIALOGUE(is_written);
	DIALOGUE(answers_a_transaction);
	DIALOGUE(takes_payload_of_a_stale_advert);
}

/* In Combined the Sink accepts copies, Reads and Transaction payload, in
 * sequence (SDP-201). */
static const struct step sink_in_combined[] = {
	WE_PIPELINE,
	IN("001000ff 00000015 00000000 00000000"),
	IN("001000fd 00000029 00000001 00000000 000003e8 aabbccdd "
	   "00000000 00000010 00000000"),
	THERE(10),
	CONSUME(10),
	COPIES,
	IN("001000fe 00000021 00000002 00000000 00000065 11223344 "
	   "00000000 00002000"),
	CONSUME(1),
	COPIES,
	POST(9, 100, RDMA),
	READ(100),
	DONE,
	OUT("00100006 00000014 00000001 00000002 00000064"),
	RECEIVED(9, 100),
	END,
};

/* In Pipelined it accepts these, several SrcAvails without payload at a time,
 * and Writes (SDP-203). */
static const struct step sink_in_pipelined[] = {
	WE_PIPELINE,
	PEER_PIPELINES,
	IN("001000ff 00000015 00000001 00000000"),
	IN("001000fd 00000029 00000002 00000000 000003e8 aabbccdd "
	   "00000000 00000010 00000000"),
	THERE(10),
	CONSUME(10),
	COPIES,
	IN("001000fe 00000020 00000003 00000000 00000064 11223344 "
	   "00000000 00002000"),
	IN("001000fe 00000020 00000004 00000000 00000065 11223345 "
	   "00000000 00003000"),
	POST(8, 100, RDMA),
	READ(100),
	DONE,
	OUT("00100006 00000014 00000001 00000004 00000064"),
	RECEIVED(8, 100),
	POST(9, 101, RDMA),
	READ(101),
	DONE,
	OUT("00100006 00000014 00000002 00000004 00000065"),
	RECEIVED(9, 101),
	POST(10, 400, RDMA),
	OUT("001000fd 00000024 00000003 00000004 00000190 0000500a "
	    "00000000 000a0000 00000002"),
	IN("00100005 00000014 00000005 00000003 00000190"),
	RECEIVED(10, 400),
	END,
};

CASE(is_ready_for_all_that_the_mode_has)
{
	DIALOGUE(sink_in_combined);
	DIALOGUE(sink_in_pipelined);
}

/* ---- every message ---- */

static const struct step cancels_src_avail[] = {
	SEND(1, 1000, RDMA),
	OUT("001000fe 00000030 00000000 00000000 000003e8 00005001 "
	    "00000000 00010000"),
	CANCEL_SEND(1),
	OUT("00100008 00000010 00000001 00000000"),
	QUIET,
	END,
};

static const struct step cancels_sink_avail[] = {
	PEER_PIPELINES,
	POST(9, 1000, RDMA),
	OUT("001100fd 00000024 00000000 00000000 000003e8 00005009 "
	    "00000000 00090000 00000000"),
	CANCEL_RECV(9),
	OUT("00110009 00000010 00000001 00000000"),
	QUIET,
	END,
};

static const struct step acknowledges_a_cancel[] = {
	WE_PIPELINE,
	IN("001000fd 00000024 00000000 00000000 000003e8 aabbccdd "
	   "00000000 00000010 00000000"),
	IN("00100009 00000010 00000001 00000000"),
	OUT("0010000a 00000010 00000001 00000001"),
	QUIET,
	END,
};

static const struct step wants_it_sent[] = {
	IN("001000fe 00000021 00000000 00000000 000001f4 11223344 "
	   "00007f00 12345678"),
	CONSUME(1),
	COPIES,
	POST(9, 500, 0),
	OUT("00110004 00000010 00000000 00000000"),
	END,
};

static const struct step asks_for_a_size[] = {
	ASK_SIZE(512), OUT("0010000b 00000014 00000000 00000000 00000200"), END
};

static const struct step answers_about_a_size[] = {
	IN("0010000b 00000014 00000000 00000000 00000064"),
	COPIES,
	GRANT_SIZE(256),
	OUT("0011000c 00000014 00000000 00000000 00000100"),
	END,
};

static const struct step shuts_and_aborts[] = {
	SHUT, OUT("00100002 00000010 00000000 00000000"), ABORT,
	OUT("00100003 00000010 00000001 00000000"), END
};

static const struct step moves[] = {
	SUSPEND(5001),
	OUT("0013000d 00000018 00000000 00000000 00000000 13890001"), QUIET, END
};

static const struct step answers_a_move[] = {
	IN("0010000d 00000018 00000000 00000000 00000000 13890001"),
	OUT("0011000e 00000010 00000000 00000000"), END
};

static const struct {
	const char *name;
	const struct step *steps;
} every[] = {
	{ "Data", copies_out },
	{ "SrcAvail", is_read },
	{ "RdmaRdCompl", reads },
	{ "RdmaWrCompl, ModeChange", writes },
	{ "SinkAvail", is_written },
	{ "SinkAvail with payload", transacts },
	{ "SendSm", wants_it_sent },
	{ "SrcAvailCancel", cancels_src_avail },
	{ "SinkAvailCancel", cancels_sink_avail },
	{ "SinkCancelAck", acknowledges_a_cancel },
	{ "ChRcvBuf", asks_for_a_size },
	{ "ChRcvBufAck", answers_about_a_size },
	{ "DisConn, AbortConn", shuts_and_aborts },
	{ "SuspComm", moves },
	{ "SuspCommAck", answers_a_move },
};

/* SDP-11, SDP-16: REQ_PIPE in RdmaRdCompl and RdmaWrCompl is one or zero
 * according to the preference. In all other messages it is zero. */
CASE(prefers_a_mode_in_completions_only)
{
	static const enum sdp_req_pipe preferences[] = { SDP_REQ_PIPE_NEVER,
							 SDP_REQ_PIPE_ALWAYS };

	for (size_t p = 0; p < ARRAY_LEN(preferences); p++) {
		struct dialogue d = { .flags = 0 };

		for (size_t i = 0; i < ARRAY_LEN(every); i++)
			dialogue_run(&d, every[i].name, every[i].steps,
				     preferences[p]);
		for (unsigned int mid = 0; mid < 256; mid++) {
			/* These two are exchanged before the first message. */
			if (mid != SDP_MID_HELLO && mid != SDP_MID_HELLO_ACK &&
			    sdp_mid_header_size((uint8_t)mid))
				assert_true(d.mids[mid] > 0);
		}
		assert_int_equal(d.flags, p ? SDP_FLAG_REQ_PIPE : 0);
	}
}

/* C28: if another receive is posted, the program prefers that the peer writes
 * more octets. */
static const struct step prefers_by_its_receives[] = {
	IN("001000fe 00000021 00000000 00000000 00000065 11223344 "
	   "00000000 00002000"),
	CONSUME(1),
	COPIES,
	POST(8, 100, RDMA),
	READ(100),
	DONE,
	OUT("00110006 00000014 00000000 00000000 00000064"),
	RECEIVED(8, 100),
	IN("001000fe 00000021 00000001 00000000 00000065 11223344 "
	   "00000000 00002000"),
	CONSUME(1),
	COPIES,
	POST(8, 100, RDMA),
	POST(9, 100, RDMA),
	READ(100),
	DONE,
	OUT("00100406 00000014 00000001 00000001 00000064"),
	END,
};

CASE(prefers_by_the_receives_that_wait)
{
	struct dialogue d = { .flags = 0 };

	dialogue_run(&d, "prefers_by_its_receives", prefers_by_its_receives,
		     SDP_REQ_PIPE_AUTO);
}

/* SDP-23: buffers, advertisements and control messages that are queued at
 * once. */
static const struct step in_order[] = {
	SEND(1, 240, 0),
	SEND(2, 10, 0),
	ASK_SIZE(200),
	SEND(3, 1000, RDMA),
	SHUT,
	OUT("0010000b 00000014 00000000 00000000 000000c8"),
	OUT("001000ff 000000c8 00000001 00000000"),
	OUT("001000ff 00000052 00000002 00000000"),
	OUT("001000fe 00000030 00000003 00000000 000003e8 00005003 "
	    "00000000 00030000"),
	DONE,
	QUIET,
	IN("00100006 00000014 00000000 00000003 000003d8"),
	OUT("00110002 00000010 00000004 00000000"),
	END,
};

CASE(posts_messages_in_the_order_of_their_numbers)
{
	DIALOGUE(in_order);
}

/* ---- credit ---- */

#define DATA_IN(mseq) IN("001000ff 00000011 000000" mseq " 00000000")

/* SDP-46: HelloAck and 14 messages leave the peer one credit. It is told of the
 * receive that HelloAck used, and of each one that is consumed, although it
 * sends nothing more. */
static const struct step gives_credit_unasked[] = {
	DATA_IN("00"),
	DATA_IN("01"),
	DATA_IN("02"),
	DATA_IN("03"),
	DATA_IN("04"),
	DATA_IN("05"),
	DATA_IN("06"),
	DATA_IN("07"),
	DATA_IN("08"),
	DATA_IN("09"),
	DATA_IN("0a"),
	DATA_IN("0b"),
	DATA_IN("0c"),
	DATA_IN("0d"),
	OUT("000200ff 00000010 00000000 0000000d"),
	QUIET,
	CONSUME(1),
	COPIES,
	OUT("000300ff 00000010 00000001 0000000d"),
	QUIET,
	END,
};

CASE(gives_credit_without_being_asked)
{
	DIALOGUE(gives_credit_unasked);
}

/* SDP-34: receives that one connection holds do not reduce the credit of
 * another. */
CASE(counts_the_receives_of_each_connection)
{
	struct script busy, idle;
	struct sdp_msg msg;

	script_open_as(&busy, SDP_CONNECTING, 16);
	script_open_as(&idle, SDP_CONNECTING, 16);
	assert_int_equal(script_work(&idle), SDP_WORK_NONE);
	assert_int_equal(busy.posted, 17);
	assert_int_equal(idle.posted, 18); /* HelloAck used one */
	for (int i = 0; i < 10; i++)
		assert_int_equal(script_data(&busy, 1, 0), 1);
	script_send(&busy, 1, 1, 0);
	script_send(&idle, 1, 1, 0);
	assert_true(script_next(&busy, &msg));
	assert_int_equal(msg.bufs, 6);
	assert_int_equal(busy.posted, 18);
	assert_true(script_next(&idle, &msg));
	assert_int_equal(msg.bufs, 16);
	assert_int_equal(idle.posted, 18);
	script_fini(&busy);
	script_fini(&idle);
}

/* ---- urgent octets ---- */

/* SDP-114: the flag is in the octet's own message, or in an earlier one. */
static const struct step urgent_at_once[] = {
	SEND(1, 3, SDP_BUF_OOB), OUT("001003ff 00000013 00000000 00000000"),
	QUIET, END
};

static const struct step urgent_behind_a_src_avail[] = {
	SEND(1, 1000, RDMA),
	OUT("001000fe 00000030 00000000 00000000 000003e8 00005001 "
	    "00000000 00010000"),
	SEND(2, 1, SDP_BUF_OOB),
	OUT("001002ff 00000010 00000001 00000000"),
	QUIET,
	IN("00100006 00000014 00000000 00000001 000003d8"),
	OUT("001101ff 00000011 00000002 00000000"),
	QUIET,
	END,
};

/* Each of two urgent octets is announced once (T38). */
static const struct step urgent_twice[] = {
	SEND(1, 3, SDP_BUF_OOB),
	SEND(2, 2, SDP_BUF_OOB),
	OUT("001003ff 00000013 00000000 00000000"),
	OUT("001003ff 00000012 00000001 00000000"),
	QUIET,
	END,
};

static const struct step urgent_twice_behind[] = {
	SEND(1, 1000, RDMA),
	OUT("001000fe 00000030 00000000 00000000 000003e8 00005001 "
	    "00000000 00010000"),
	SEND(2, 1, SDP_BUF_OOB),
	SEND(3, 1, SDP_BUF_OOB),
	OUT("001002ff 00000010 00000001 00000000"),
	OUT("001002ff 00000010 00000002 00000000"),
	QUIET,
	IN("00100006 00000014 00000000 00000002 000003d8"),
	OUT("001101ff 00000011 00000003 00000000"),
	OUT("001101ff 00000011 00000004 00000000"),
	QUIET,
	END,
};

/* The octet goes by Data although there is a SinkAvail (T40). */
static const struct step urgent_past_a_sink_avail[] = {
	WE_PIPELINE,
	IN("001000fd 00000024 00000000 00000000 000003e8 aabbccdd "
	   "00000000 00000010 00000000"),
	SEND(1, 1, SDP_BUF_OOB),
	OUT("001103ff 00000011 00000001 00000000"),
	QUIET,
	END,
};

/* The same at the end of a buffer that is written. */
static const struct step urgent_behind_a_write[] = {
	WE_PIPELINE,
	IN("001000fd 00000024 00000000 00000000 000003e8 aabbccdd "
	   "00000000 00000010 00000000"),
	SEND(1, 401, RDMA | SDP_BUF_OOB),
	WRITE(400),
	OUT("00110205 00000014 00000001 00000000 00000190"),
	OUT("001101ff 00000011 00000002 00000000"),
	QUIET,
	END,
};

CASE(tells_of_urgent_octets_in_time)
{
	DIALOGUE(urgent_at_once);
	DIALOGUE(urgent_behind_a_src_avail);
}

CASE(tells_of_each_urgent_octet_once)
{
	DIALOGUE(urgent_twice);
	DIALOGUE(urgent_twice_behind);
}

CASE(sends_urgent_octets_past_a_sink_avail)
{
	DIALOGUE(urgent_past_a_sink_avail);
	DIALOGUE(urgent_behind_a_write);
}

/* ---- advertised memory ---- */

#define ADVERTISES                                                             \
	PEER_PIPELINES, POST(9, 1000, RDMA),                                   \
		OUT("001100fd 00000024 00000000 00000000 000003e8 00005009 "   \
		    "00000000 00090000 00000000"),                             \
		KEPT, DONE, KEPT

/* SDP-170: the buffer belongs to the peer until one of these three has
 * arrived. */
static const struct step until_rdma_wr_compl[] = {
	ADVERTISES, IN("00100005 00000014 00000001 00000000 000003e8"),
	RECEIVED(9, 1000), END
};

/* Of two messages only the first is for the buffer (T65). */
static const struct step until_payload[] = {
	ADVERTISES,
	IN("001000ff 00000017 00000001 00000000"),
	IN("001000ff 00000015 00000002 00000000"),
	RECEIVED(9, 7),
	THERE(5),
	KEPT,
	END,
};

static const struct step until_cancelled[] = {
	ADVERTISES,
	CANCEL_RECV(9),
	KEPT,
	OUT("00110009 00000010 00000001 00000000"),
	DONE,
	KEPT,
	IN("001000ff 00000010 00000001 00000001"), /* without payload */
	KEPT,
	IN("0010000a 00000010 00000002 00000001"),
	RECEIVED(9, 0),
	END,
};

CASE(keeps_what_is_advertised)
{
	DIALOGUE(until_rdma_wr_compl);
	DIALOGUE(until_payload);
	DIALOGUE(until_cancelled);
}

/* T66: the Write replaces it, and what is left is advertised again. */
static const struct step write_wins[] = {
	WE_PIPELINE,
	SEND(1, 1000, RDMA),
	OUT("001000fe 00000020 00000001 00000000 000003e8 00005001 "
	    "00000000 00010000"),
	IN("001000fd 00000024 00000000 00000000 00000190 aabbccdd "
	   "00000000 00000010 00000000"),
	WRITE(400),
	OUT("00110005 00000014 00000002 00000000 00000190"),
	OUT("001100fe 00000020 00000003 00000000 00000258 00005001 "
	    "00000000 00010190"),
	QUIET,
	END,
};

CASE(writes_what_it_had_advertised)
{
	DIALOGUE(write_wins);
}

/* ---- modes ---- */

/* SDP-222: the running Write is completed and reported first. */
static const struct step leaves_pipelined_after_its_writes[] = {
	WE_PIPELINE,
	IN("001000fd 00000024 00000000 00000000 000003e8 aabbccdd "
	   "00000000 00000010 00000000"),
	SEND(1, 700, RDMA),
	WRITE(400),
	MODE(SDP_MODE_COMBINED),
	WRITE(300),
	OUT("00110005 00000014 00000001 00000000 000002bc"),
	OUT("00110007 00000014 00000002 00000000 00000002"),
	QUIET,
	END,
};

/* No Write begins then: the SinkAvail is no longer used, and the octets go by
 * the rules of Combined. */
static const struct step begins_no_write_then[] = {
	WE_PIPELINE,
	IN("001000fd 00000024 00000000 00000000 000003e8 aabbccdd "
	   "00000000 00000010 00000000"),
	MODE(SDP_MODE_COMBINED),
	SEND(1, 700, RDMA),
	OUT("00110007 00000014 00000001 00000000 00000002"),
	OUT("001100fe 00000030 00000002 00000000 000002bc 00005001 "
	    "00000000 00010000"),
	QUIET,
	END,
};

CASE(leaves_pipelined_in_order)
{
	DIALOGUE(leaves_pipelined_after_its_writes);
	DIALOGUE(begins_no_write_then);
}

/* T55: the four transitions, with complete messages. */
static const struct step four_words[] = {
	MODE(SDP_MODE_BUFFERED),
	OUT("00100007 00000014 00000000 00000000 00000000"),
	IN("00100007 00000014 00000000 00000000 00000003"),
	MODE(SDP_MODE_PIPELINED),
	OUT("00110007 00000014 00000001 00000000 00000004"),
	MODE(SDP_MODE_COMBINED),
	OUT("00110007 00000014 00000002 00000000 00000002"),
	IN("00100007 00000014 00000001 00000002 00000000"),
	LEAVE_BUFFERED,
	OUT("00100007 00000014 00000003 00000001 00000003"),
	END,
};

CASE(says_the_four_words)
{
	DIALOGUE(four_words);
}

/* T58: what was advertised in Combined stays advertised, and is completed. */
static const struct step pipelines_with_a_src_avail[] = {
	SEND(1, 1000, RDMA),
	OUT("001000fe 00000030 00000000 00000000 000003e8 00005001 "
	    "00000000 00010000"),
	MODE(SDP_MODE_PIPELINED),
	OUT("00100007 00000014 00000001 00000000 00000004"),
	SEND(2, 1000, RDMA),
	OUT("001000fe 00000020 00000002 00000000 000003e8 00005002 "
	    "00000000 00020000"),
	DONE,
	IN("00100006 00000014 00000000 00000002 000003d8"),
	SENT(1, 1000),
	IN("00100006 00000014 00000001 00000002 000003e8"),
	SENT(2, 1000),
	END,
};

CASE(pipelines_with_a_src_avail_outstanding)
{
	DIALOGUE(pipelines_with_a_src_avail);
}

/* SDP-196: each half has its own mode, and advertises only by that mode. */
CASE(keeps_the_modes_of_both_halves_apart)
{
	for (int send = 0; send < 3; send++) {
		for (int recv = 0; recv < 3; recv++) {
			struct sdp_msg msg = { .mid = SDP_MID_MODE_CHANGE };
			struct script s;
			int mid;

			script_open_as(&s, SDP_CONNECTING, 16);
			if (send != SDP_MODE_COMBINED) {
				sdp_conn_set_mode(s.conn, (enum sdp_mode)send);
				assert_int_equal(script_mid(&s),
						 SDP_MID_MODE_CHANGE);
			}
			msg.change.mode = (uint8_t)recv;
			if (recv != SDP_MODE_COMBINED)
				assert_int_equal(script_recv(&s, msg), 0);
			assert_int_equal(sdp_conn_send_mode(s.conn), send);
			assert_int_equal(sdp_conn_recv_mode(s.conn), recv);
			script_post(&s, 9, 1000, SDP_BUF_RDMA);
			mid = script_mid(&s);
			assert_int_equal(mid, recv == SDP_MODE_PIPELINED
						      ? SDP_MID_SINK_AVAIL
						      : -1);
			script_send(&s, 1, 1000, SDP_BUF_RDMA);
			assert_true(script_next(&s, &msg));
			assert_int_equal(msg.mid, send == SDP_MODE_BUFFERED
							  ? SDP_MID_DATA
							  : SDP_MID_SRC_AVAIL);
			assert_int_equal(!msg.payload_len,
					 send == SDP_MODE_PIPELINED);
			script_fini(&s);
		}
	}
}
