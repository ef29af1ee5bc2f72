/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which mechanism carries which octets, and in which steps.
 */
#include "test.h"

#include <errno.h>

#include "sdpscript.h"

static void change_sink(struct script *s, enum sdp_mode mode)
{
	struct sdp_msg msg = { .mid = SDP_MID_MODE_CHANGE };

	msg.change.mode = (uint8_t)mode;
	assert_int_equal(script_recv(s, msg), 0);
}

static void pipeline_source(struct script *s)
{
	assert_int_equal(sdp_conn_set_mode(s->conn, SDP_MODE_PIPELINED), 0);
	assert_int_equal(script_mid(s), SDP_MID_MODE_CHANGE);
}

/* T22, T23, SDP-80: small buffers share messages, and no message is too
 * large. */
SCRIPT_CASE(gathers_small_buffers)
{
	struct script *s = *state;
	struct sdp_msg msg;

	for (uint64_t i = 1; i <= 3; i++)
		assert_int_equal(script_send(s, i, 100, 0), 0);
	assert_true(script_next(s, &msg));
	assert_int_equal(msg.payload_len, 240);
	assert_int_equal(s->work.send.piece_cnt, 3);
	assert_int_equal(s->work.send.pieces[2].cookie, 3);
	assert_int_equal(s->work.send.pieces[2].len, 40);
	assert_true(script_next(s, &msg));
	assert_int_equal(msg.payload_len, 60);
	assert_int_equal(s->work.send.pieces[0].off, 40);
}

/* T17, T18 */
CASE(stops_payload_at_two_credits)
{
	struct script s;
	struct sdp_msg msg;

	for (int role = 0; role < 2; role++) {
		script_open_as(&s, (enum sdp_role)role, 3);
		for (uint64_t i = 1; i <= 3; i++)
			assert_int_equal(script_send(&s, i, 240, 0), 0);
		assert_true(script_next(&s, &msg));
		assert_int_equal(msg.payload_len, 240);
		/* Rule 8: one message without content tells that more payload
		 * waits. */
		assert_true(script_next(&s, &msg));
		assert_int_equal(msg.payload_len, 0);
		assert_int_equal(script_mid(&s), -1);
		script_plain(&s, SDP_MID_DATA);
		assert_true(script_next(&s, &msg));
		assert_int_equal(msg.payload_len, 240);
		script_fini(&s);
	}
}

#define LETTER_CNT 50u

/* Sends what the script lets it. The peer has @bufs receives and posts each
 * again at once. It gives credit only when the document demands it (SDP-45).
 * @is_early: it answers the first message, so that its MSeqAck 0 is ambiguous.
 * Return: number of messages with payload. */
static uint32_t send_to_the_letter(struct script *s, uint16_t bufs,
				   bool is_early)
{
	uint32_t payload_cnt = 0, since = 0;
	struct sdp_event ev;
	struct sdp_msg msg;

	for (uint64_t i = 1; i <= LETTER_CNT + 9; i++) {
		if (i <= LETTER_CNT)
			assert_int_equal(script_send(s, i, 240, 0), 0);
		while (script_next(s, &msg)) {
			payload_cnt += msg.payload_len > 0;
			/* The peer computes the same credit. */
			assert_true(++since < bufs);
			if (bufs - since > 1 && !is_early)
				continue;
			is_early = false;
			assert_int_equal(script_plain(s, SDP_MID_DATA), 0);
			since = 0;
		}
		script_done(s);
		while (sdp_conn_next_event(s->conn, &ev))
			;	     /* the buffers that were sent */
		s->now += 2000 * MS; /* a poke waits */
		sdp_conn_tick(s->conn, s->now);
	}
	return payload_cnt;
}

/* HelloAck as a Send has no number, and counts for neither end (C6). */
CASE(peers_by_the_letter_get_everything)
{
	for (uint16_t bufs = 3; bufs < 10; bufs++) {
		for (int i = 0; i < 4; i++) {
			struct script s;

			script_open_as(&s, (enum sdp_role)(i / 2), bufs);
			assert_int_equal(send_to_the_letter(&s, bufs, i % 2),
					 LETTER_CNT);
			script_fini(&s);
		}
	}
}

/* T46, T47, SDP-138, SDP-139 */
SCRIPT_CASE(advertises_in_combined)
{
	struct script *s = *state;
	struct sdp_msg msg;

	assert_int_equal(script_send(s, 1, 301, SDP_BUF_RDMA), 0);
	assert_int_equal(script_send(s, 2, 10, 0), 0);
	assert_true(script_next(s, &msg));
	assert_int_equal(msg.mid, SDP_MID_SRC_AVAIL);
	assert_int_equal(msg.payload_len, 16);
	assert_int_equal(msg.avail.len, 301);
	assert_int_equal(msg.avail.stag, 0x5001);
	assert_true(msg.avail.va == 0x10000);
	assert_int_equal(script_mid(s), -1);
	msg = (struct sdp_msg){ .mid = SDP_MID_RDMA_RD_COMPL,
				.compl_len = 285 };
	script_recv(s, msg);
	assert_true(script_next(s, &msg));
	assert_int_equal(msg.mid, SDP_MID_DATA);
	assert_int_equal(msg.payload_len, 10);
}

/* SDP-82, SDP-83: at the threshold, without STag, in Buffered. */
CASE(copies_what_it_may_not_advertise)
{
	static const struct {
		const char *name;
		uint32_t len;
		uint8_t flags;
		bool is_buffered;
		int mid;
	} rows[] = {
		{ "threshold", 300, SDP_BUF_RDMA, false, SDP_MID_DATA },
		{ "one more", 301, SDP_BUF_RDMA, false, SDP_MID_SRC_AVAIL },
		{ "no STag", 301, 0, false, SDP_MID_DATA },
		{ "Buffered", 301, SDP_BUF_RDMA, true, SDP_MID_DATA },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct script s;

		script_open_as(&s, SDP_CONNECTING, 16);
		if (rows[i].is_buffered) {
			sdp_conn_set_mode(s.conn, SDP_MODE_BUFFERED);
			assert_int_equal(script_mid(&s), SDP_MID_MODE_CHANGE);
		}
		script_send(&s, 1, rows[i].len, rows[i].flags);
		assert_row(rows[i].name, script_mid(&s) == rows[i].mid);
		script_fini(&s);
	}
}

/* T50 */
SCRIPT_CASE(sends_what_was_refused)
{
	uint32_t total = 0;
	struct script *s = *state;
	struct sdp_msg msg;

	script_send(s, 1, 1000, SDP_BUF_RDMA);
	assert_int_equal(script_mid(s), SDP_MID_SRC_AVAIL);
	script_plain(s, SDP_MID_SEND_SM);
	while (script_next(s, &msg)) {
		assert_int_equal(msg.mid, SDP_MID_DATA);
		total += msg.payload_len;
	}
	assert_int_equal(total, 984);
}

/* T12, T48, T49, SDP-141, SDP-144 */
SCRIPT_CASE(reads_within_its_limits)
{
	struct sdp_msg msg = { .mid = SDP_MID_SRC_AVAIL, .payload_len = 10 };
	struct sdp_event ev;
	struct script *s = *state;

	msg.avail.len = 1510;
	msg.avail.stag = 0x77;
	msg.avail.va = 0x1000;
	assert_int_equal(script_recv(s, msg), 1);
	script_post(s, 9, 2000, SDP_BUF_RDMA);
	assert_int_equal(script_work(s), SDP_WORK_NONE);
	assert_true(script_event(s, SDP_EV_COPY, &ev));
	for (uint32_t i = 0; i < 2; i++) { /* the peer's LocIRD */
		assert_int_equal(script_work(s), SDP_WORK_READ);
		assert_int_equal(s->work.rdma.stag, 0x77);
		assert_true(s->work.rdma.va == 0x100a + 400 * i);
		assert_int_equal(s->work.rdma.piece.off, 10 + 400 * i);
		assert_int_equal(s->work.rdma.piece.len, 400);
	}
	assert_int_equal(script_work(s), SDP_WORK_NONE);
	script_done(s);
	assert_int_equal(script_work(s), SDP_WORK_READ);
	assert_int_equal(script_work(s), SDP_WORK_READ);
	assert_int_equal(s->work.rdma.piece.len, 300);
	assert_int_equal(script_work(s), SDP_WORK_NONE);
	assert_false(script_event(s, SDP_EV_RECEIVED, &ev));
	script_done(s);
	assert_true(script_next(s, &msg));
	assert_int_equal(msg.mid, SDP_MID_RDMA_RD_COMPL);
	assert_int_equal(msg.compl_len, 1500);
	assert_true(script_event(s, SDP_EV_RECEIVED, &ev));
	assert_int_equal(ev.received.len, 1510);
}

/* Linux's siw completes a Send before a Read that was posted earlier. */
SCRIPT_CASE(a_read_is_not_done_with_a_later_send)
{
	struct sdp_msg msg = { .mid = SDP_MID_SRC_AVAIL,
			       .payload_len = 10,
			       .avail.len = 410 };
	struct sdp_event ev;
	struct script *s = *state;
	uint32_t read, send;

	script_recv(s, msg);
	script_post(s, 9, 2000, SDP_BUF_RDMA);
	assert_true(script_event(s, SDP_EV_COPY, &ev));
	assert_int_equal(script_work(s), SDP_WORK_READ);
	assert_true(s->work.is_signaled);
	read = s->work.id;
	script_send(s, 1, 16, 0);
	assert_int_equal(script_mid(s), SDP_MID_DATA);
	send = s->work.id;
	assert_int_equal(sdp_conn_work_done(s->conn, send, true, s->now), 0);
	assert_true(script_event(s, SDP_EV_SENT, &ev));
	assert_int_equal(script_mid(s), -1);
	assert_false(script_event(s, SDP_EV_RECEIVED, &ev));
	assert_int_equal(sdp_conn_work_done(s->conn, send, true, s->now),
			 -EINVAL);
	assert_int_equal(sdp_conn_work_done(s->conn, read, true, s->now), 0);
	assert_int_equal(script_mid(s), SDP_MID_RDMA_RD_COMPL);
	assert_true(script_event(s, SDP_EV_RECEIVED, &ev));
	assert_int_equal(ev.received.len, 410);
}

/* SDP-142, SDP-161, C15 */
CASE(answers_what_does_not_suit)
{
	static const struct {
		const char *name;
		uint32_t inlined, len, buf;
		uint8_t flags;
		int mid;
	} rows[] = {
		{ "no STag", 1, 500, 500, 0, SDP_MID_SEND_SM },
		{ "too small a buffer", 1, 500, 63, SDP_BUF_RDMA,
		  SDP_MID_SEND_SM },
		{ "all inline", 100, 100, 500, SDP_BUF_RDMA,
		  SDP_MID_RDMA_RD_COMPL },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sdp_msg msg = { .mid = SDP_MID_SRC_AVAIL,
				       .payload_len = rows[i].inlined };
		struct sdp_event ev;
		struct script s;

		script_open_as(&s, SDP_CONNECTING, 16);
		msg.avail.len = rows[i].len;
		script_recv(&s, msg);
		sdp_conn_consume(s.conn, rows[i].inlined);
		script_post(&s, 9, rows[i].buf, rows[i].flags);
		while (sdp_conn_next_event(s.conn, &ev))
			;
		assert_row(rows[i].name, script_mid(&s) == rows[i].mid);
		script_fini(&s);
	}
}

/* T62, SDP-171 to SDP-173, SDP-212 */
CASE(advertises_receive_buffers)
{
	static const struct {
		const char *name;
		uint32_t len;
		uint8_t flags;
		bool has_advert;
	} rows[] = {
		{ "large", 301, SDP_BUF_RDMA, true },
		{ "threshold", 300, SDP_BUF_RDMA, false },
		{ "no STag", 301, 0, false },
		{ "MSG_WAITALL", 301, SDP_BUF_RDMA | SDP_BUF_WAITALL, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sdp_msg msg;
		struct script s;

		script_open_as(&s, SDP_CONNECTING, 16);
		script_post(&s, 1, rows[i].len, rows[i].flags);
		assert_row(rows[i].name, script_mid(&s) == -1); /* Combined */
		change_sink(&s, SDP_MODE_PIPELINED);
		assert_row(rows[i].name,
			   script_next(&s, &msg) == rows[i].has_advert);
		if (rows[i].has_advert) {
			assert_int_equal(msg.mid, SDP_MID_SINK_AVAIL);
			assert_int_equal(msg.avail.len, 301);
			for (uint64_t n = 2; n < 7; n++)
				script_post(&s, n, 400, SDP_BUF_RDMA);
			for (int n = 0; n < 3; n++)
				assert_int_equal(script_mid(&s),
						 SDP_MID_SINK_AVAIL);
			assert_int_equal(script_mid(&s), -1); /* MaxAdverts */
		}
		script_fini(&s);
	}
}

/* T62, SDP-32, SDP-130: whatever the threshold, not below the size that the
 * receives may grow to. */
CASE(advertises_what_is_larger_than_a_message)
{
	for (uint32_t more = 0; more < 2; more++) {
		struct sdp_options opt = script_options(SDP_CONNECTING);
		struct script s;

		opt.sink_threshold = 1;
		script_open(&s, &opt, 16);
		change_sink(&s, SDP_MODE_PIPELINED);
		script_post(&s, 1, opt.buf_size_max + more, SDP_BUF_RDMA);
		assert_int_equal(script_mid(&s),
				 more ? SDP_MID_SINK_AVAIL : -1);
		script_fini(&s);
	}
}

/* T68, SDP-179 */
SCRIPT_CASE(sends_a_transaction)
{
	struct sdp_msg msg;
	struct script *s = *state;

	change_sink(s, SDP_MODE_PIPELINED);
	script_send(s, 1, 50, 0);
	script_post(s, 2, 500, SDP_BUF_RDMA);
	assert_true(script_next(s, &msg));
	assert_int_equal(msg.mid, SDP_MID_SINK_AVAIL);
	assert_int_equal(msg.payload_len, 50);
	assert_int_equal(msg.avail.len, 500);
	assert_int_equal(script_mid(s), -1);
}

/* Also behind an urgent octet that was cancelled before it was announced. */
SCRIPT_CASE(sends_a_transaction_behind_a_cancel)
{
	struct sdp_msg msg;
	struct script *s = *state;

	change_sink(s, SDP_MODE_PIPELINED);
	script_send(s, 1, 10, SDP_BUF_OOB);
	assert_int_equal(sdp_conn_cancel_send(s->conn, 1, 0), 0);
	script_send(s, 2, 50, 0);
	script_post(s, 3, 500, SDP_BUF_RDMA);
	assert_true(script_next(s, &msg));
	assert_int_equal(msg.mid, SDP_MID_SINK_AVAIL);
	assert_int_equal(msg.payload_len, 50);
	assert_int_equal(msg.flags & SDP_FLAG_OOB_PEND, 0);
}

/* T63, SDP-164 to SDP-167 */
SCRIPT_CASE(writes_into_what_is_advertised)
{
	struct sdp_msg msg = { .mid = SDP_MID_SINK_AVAIL };
	struct sdp_event ev;
	struct script *s = *state;

	pipeline_source(s);
	msg.avail.len = 1000;
	msg.avail.stag = 0x99;
	msg.avail.va = 0x2000;
	script_recv(s, msg);
	script_send(s, 1, 700, SDP_BUF_RDMA);
	assert_int_equal(script_work(s), SDP_WORK_WRITE);
	assert_int_equal(s->work.rdma.stag, 0x99);
	assert_int_equal(s->work.rdma.piece.len, 400);
	assert_int_equal(script_work(s), SDP_WORK_WRITE);
	assert_true(s->work.rdma.va == 0x2000 + 400);
	assert_int_equal(s->work.rdma.piece.len, 300);
	assert_true(script_next(s, &msg));
	assert_int_equal(msg.mid, SDP_MID_RDMA_WR_COMPL);
	assert_int_equal(msg.compl_len, 700);
	assert_int_equal(script_work(s), SDP_WORK_NONE); /* exactly one */
	assert_false(script_event(s, SDP_EV_SENT, &ev));
	script_done(s);
	assert_true(script_event(s, SDP_EV_SENT, &ev));
	assert_int_equal(ev.sent.len, 700);
}

/* C23: a small buffer goes by Data although there is a SinkAvail. */
SCRIPT_CASE(copies_small_buffers_past_a_sink_avail)
{
	struct sdp_msg msg = { .mid = SDP_MID_SINK_AVAIL };
	struct script *s = *state;

	pipeline_source(s);
	msg.avail.len = 1000;
	script_recv(s, msg);
	script_send(s, 1, 300, SDP_BUF_RDMA);
	assert_int_equal(script_mid(s), SDP_MID_DATA);
	assert_int_equal(s->conn->source.snk_cnt, 0);
}

/* T34 to T37, T39, SDP-110 to SDP-117 */
SCRIPT_CASE(flags_urgent_octets)
{
	struct sdp_msg msg;
	struct script *s = *state;

	script_send(s, 1, 50, SDP_BUF_OOB);
	script_send(s, 2, 50, 0);
	assert_true(script_next(s, &msg));
	assert_int_equal(msg.payload_len, 50); /* the octet is the last one */
	assert_int_equal(msg.flags, SDP_FLAG_OOB_PRES | SDP_FLAG_OOB_PEND);
	assert_true(s->work.send.is_solicited);
	assert_true(script_next(s, &msg));
	assert_int_equal(msg.flags, 0);
	/* After a SrcAvail the flag is sent at once, and the octet waits. */
	script_send(s, 3, 1000, SDP_BUF_RDMA);
	assert_int_equal(script_mid(s), SDP_MID_SRC_AVAIL);
	script_send(s, 4, 1, SDP_BUF_OOB);
	assert_true(script_next(s, &msg));
	assert_int_equal(msg.flags, SDP_FLAG_OOB_PEND);
	assert_int_equal(msg.payload_len, 0);
	assert_int_equal(script_mid(s), -1);
}

/* T36, SDP-115 */
CASE(flags_urgent_octets_not_too_early)
{
	uint64_t before = 0, flagged_at = UINT64_MAX, total = 100000;
	struct sdp_msg msg;
	struct script s;

	script_open_as(&s, SDP_CONNECTING, 3000);
	script_send(&s, 1, (uint32_t)total, 0);
	script_send(&s, 2, 1, SDP_BUF_OOB);
	while (before < total + 1) {
		assert_true(script_next(&s, &msg));
		if (msg.flags & SDP_FLAG_OOB_PEND) {
			assert_true(flagged_at == UINT64_MAX);
			flagged_at = before;
		}
		before += msg.payload_len;
		script_done(&s);
	}
	assert_true(total - flagged_at <= 65535);
	assert_true(total - flagged_at > 65000); /* soon, too (SDP-112) */
	script_fini(&s);
}

/* SDP-116: if payload must wait, the announcement does not. */
CASE(flags_urgent_octets_by_a_reserved_credit)
{
	struct sdp_msg msg;
	struct script s;

	script_open_as(&s, SDP_CONNECTING, 3);
	script_send(&s, 1, 10, 0);
	assert_true(script_next(&s, &msg));
	assert_int_equal(msg.payload_len, 10);
	assert_int_equal(sdp_conn_credit(s.conn), 2);
	script_send(&s, 2, 1, SDP_BUF_OOB);
	assert_true(script_next(&s, &msg));
	assert_int_equal(msg.mid, SDP_MID_DATA);
	assert_int_equal(msg.flags, SDP_FLAG_OOB_PEND);
	assert_int_equal(msg.payload_len, 0);
	assert_int_equal(script_mid(&s), -1);
	script_fini(&s);
}

/* The urgent octet of a large buffer never goes by RDMA. */
SCRIPT_CASE(keeps_the_urgent_octet_out_of_adverts)
{
	struct sdp_msg msg;
	struct script *s = *state;

	script_send(s, 1, 1000, SDP_BUF_RDMA | SDP_BUF_OOB);
	assert_true(script_next(s, &msg));
	assert_int_equal(msg.mid, SDP_MID_SRC_AVAIL);
	assert_int_equal(msg.avail.len, 999);
	msg = (struct sdp_msg){ .mid = SDP_MID_RDMA_RD_COMPL,
				.compl_len = 983 };
	script_recv(s, msg);
	assert_true(script_next(s, &msg));
	assert_int_equal(msg.payload_len, 1);
	assert_true(msg.flags & SDP_FLAG_OOB_PRES);
}
