/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Control messages: cancels, modes, sizes, credit updates.
 */
#include "test.h"

#include <errno.h>

#include "sdpscript.h"

static void advertise(struct script *s)
{
	struct sdp_msg msg = { .mid = SDP_MID_MODE_CHANGE };

	msg.change.mode = SDP_MODE_PIPELINED;
	script_recv(s, msg);
	script_post(s, 9, 1000, SDP_BUF_RDMA);
	assert_int_equal(script_mid(s), SDP_MID_SINK_AVAIL);
}

/* T71, SDP-188 */
SCRIPT_CASE(revokes_src_avails)
{
	struct sdp_event ev;
	struct script *s = *state;

	script_send(s, 1, 1000, SDP_BUF_RDMA);
	script_send(s, 2, 1000, SDP_BUF_RDMA);
	assert_int_equal(script_mid(s), SDP_MID_SRC_AVAIL);
	assert_int_equal(sdp_conn_cancel_send(s->conn, 1, 0), 0);
	assert_int_equal(script_mid(s), SDP_MID_SRC_AVAIL_CANCEL);
	assert_int_equal(script_mid(s), -1);
	script_plain(s, SDP_MID_SEND_SM);
	script_done(s);
	assert_true(script_event(s, SDP_EV_SENT, &ev));
	assert_int_equal(ev.sent.cookie, 1);
	assert_int_equal(ev.sent.len, 16); /* inline octets were sent */
	assert_int_equal(script_mid(s), SDP_MID_SRC_AVAIL); /* the next */
}

/* T73, SDP-186, SDP-187, SDP-193 */
SCRIPT_CASE(answers_a_cancel_after_the_read)
{
	struct sdp_msg msg = { .mid = SDP_MID_SRC_AVAIL, .payload_len = 1 };
	uint32_t cancel;
	struct script *s = *state;

	msg.avail.len = 1001;
	script_recv(s, msg);
	sdp_conn_consume(s->conn, 1);
	script_post(s, 9, 1000, SDP_BUF_RDMA);
	assert_int_equal(script_work(s), SDP_WORK_READ);
	cancel = s->mseq;
	script_plain(s, SDP_MID_SRC_AVAIL_CANCEL);
	script_plain(s, SDP_MID_DATA);
	assert_int_equal(script_work(s), SDP_WORK_NONE); /* no new Read */
	script_done(s);
	assert_true(script_next(s, &msg));
	assert_int_equal(msg.mid, SDP_MID_RDMA_RD_COMPL);
	assert_int_equal(msg.compl_len, 400);
	assert_true(msg.mseqack == cancel - 1);
	assert_true(script_next(s, &msg));
	assert_int_equal(msg.mid, SDP_MID_SEND_SM);
	assert_true(msg.mseqack == cancel + 1);
	assert_int_equal(script_mid(s), -1); /* exactly one */
}

/* T72: everything had been read. */
SCRIPT_CASE(answers_no_cancel_of_what_is_processed)
{
	struct sdp_msg msg = { .mid = SDP_MID_SRC_AVAIL, .payload_len = 1 };
	struct script *s = *state;

	msg.avail.len = 301;
	script_recv(s, msg);
	sdp_conn_consume(s->conn, 1);
	script_post(s, 9, 1000, SDP_BUF_RDMA);
	assert_int_equal(script_work(s), SDP_WORK_READ);
	script_plain(s, SDP_MID_SRC_AVAIL_CANCEL);
	script_done(s);
	assert_int_equal(script_mid(s), SDP_MID_RDMA_RD_COMPL);
	assert_int_equal(script_mid(s), -1);
}

/* T74, SDP-190, SDP-194 */
SCRIPT_CASE(revokes_sink_avails)
{
	struct sdp_event ev;
	struct script *s = *state;

	advertise(s);
	assert_int_equal(sdp_conn_cancel_recv(s->conn, 9, 0), 0);
	assert_int_equal(script_mid(s), SDP_MID_SINK_AVAIL_CANCEL);
	assert_false(script_event(s, SDP_EV_RECEIVED, &ev));
	script_post(s, 10, 1000, SDP_BUF_RDMA);
	assert_int_equal(script_mid(s), -1);
	script_plain(s, SDP_MID_SINK_CANCEL_ACK);
	assert_true(script_event(s, SDP_EV_RECEIVED, &ev));
	assert_int_equal(ev.received.cookie, 9);
	assert_true(ev.received.is_cancelled);
	assert_int_equal(script_mid(s), SDP_MID_SINK_AVAIL);
}

/* T75 */
SCRIPT_CASE(ends_a_cancel_by_data)
{
	struct sdp_event ev;
	struct script *s = *state;

	advertise(s);
	sdp_conn_cancel_recv(s->conn, 9, 0);
	assert_int_equal(script_mid(s), SDP_MID_SINK_AVAIL_CANCEL);
	assert_int_equal(script_data(s, 7, 0), 1);
	assert_true(script_event(s, SDP_EV_RECEIVED, &ev));
	assert_int_equal(ev.received.len, 7);
	script_plain(s, SDP_MID_SINK_CANCEL_ACK); /* ignored */
	assert_int_equal(sdp_conn_fault(s->conn), 0);
}

/* C14: the Sink recognises its SinkCancelAck by MSeqAck. SDP-193 holds MSeqAck
 * back while a Read runs that the peer has cancelled. */
SCRIPT_CASE(acknowledges_no_cancel_while_mseqack_is_held_back)
{
	struct sdp_msg msg = { .mid = SDP_MID_SINK_AVAIL };
	uint32_t cancel;
	struct script *s = *state;

	assert_int_equal(sdp_conn_set_mode(s->conn, SDP_MODE_PIPELINED), 0);
	assert_int_equal(script_mid(s), SDP_MID_MODE_CHANGE);
	msg.avail.len = 1000;
	script_recv(s, msg);
	msg = (struct sdp_msg){ .mid = SDP_MID_SRC_AVAIL, .payload_len = 1 };
	msg.avail.len = 301;
	script_recv(s, msg);
	sdp_conn_consume(s->conn, 1);
	script_post(s, 9, 1000, SDP_BUF_RDMA);
	assert_int_equal(script_work(s), SDP_WORK_READ);
	script_plain(s, SDP_MID_SRC_AVAIL_CANCEL);
	cancel = s->mseq;
	script_plain(s, SDP_MID_SINK_AVAIL_CANCEL);
	script_send(s, 1, 10, 0);
	assert_int_equal(script_mid(s), -1); /* nor payload before it */
	script_done(s);
	assert_int_equal(script_mid(s), SDP_MID_RDMA_RD_COMPL);
	assert_true(script_next(s, &msg));
	assert_int_equal(msg.mid, SDP_MID_SINK_CANCEL_ACK);
	assert_int_equal(msg.mseqack, cancel);
	assert_int_equal(script_mid(s), SDP_MID_DATA);
}

/* A peer that acknowledges while it holds MSeqAck back: the value is
 * ignored. */
SCRIPT_CASE(takes_an_acknowledgement_while_mseqack_is_held_back)
{
	struct sdp_event ev;
	struct script *s = *state;

	advertise(s);
	script_send(s, 1, 1000, SDP_BUF_RDMA);
	assert_int_equal(script_mid(s), SDP_MID_SRC_AVAIL);
	sdp_conn_cancel_send(s->conn, 1, 0);
	assert_int_equal(script_mid(s), SDP_MID_SRC_AVAIL_CANCEL);
	sdp_conn_cancel_recv(s->conn, 9, 0);
	assert_int_equal(script_mid(s), SDP_MID_SINK_AVAIL_CANCEL);
	s->ack -= 2; /* before SrcAvailCancel */
	script_plain(s, SDP_MID_SINK_CANCEL_ACK);
	assert_true(script_event(s, SDP_EV_RECEIVED, &ev));
	assert_true(ev.received.is_cancelled);
}

/* The peer has read everything before the cancel was sent: no answer is
 * expected. */
SCRIPT_CASE(forgets_a_cancel_that_came_too_late)
{
	struct sdp_event ev;
	struct script *s = *state;

	script_send(s, 1, 1000, SDP_BUF_RDMA);
	assert_int_equal(script_mid(s), SDP_MID_SRC_AVAIL);
	script_done(s);
	assert_int_equal(sdp_conn_cancel_send(s->conn, 1, 0), 0);
	script_recv(s, (struct sdp_msg){ .mid = SDP_MID_RDMA_RD_COMPL,
					 .compl_len = 984 });
	assert_int_equal(script_mid(s), -1);
	assert_true(script_event(s, SDP_EV_SENT, &ev));
	assert_int_equal(ev.sent.len, 1000);
	sdp_conn_tick(s->conn, 5000 * MS);
	assert_int_equal(sdp_conn_fault(s->conn), 0);
	assert_true(sdp_conn_deadline(s->conn) == SDP_NEVER);
}

/* SDP-192: the running Write counts, and the rest of its buffer is
 * cancelled. */
SCRIPT_CASE(completes_a_write_before_it_acknowledges_a_cancel)
{
	struct sdp_msg msg = { .mid = SDP_MID_SINK_AVAIL };
	struct script *s = *state;

	assert_int_equal(sdp_conn_set_mode(s->conn, SDP_MODE_PIPELINED), 0);
	assert_int_equal(script_mid(s), SDP_MID_MODE_CHANGE);
	msg.avail.len = 1000;
	script_recv(s, msg);
	script_recv(s, msg);
	script_send(s, 1, 1000, SDP_BUF_RDMA);
	assert_int_equal(script_work(s), SDP_WORK_WRITE);
	script_plain(s, SDP_MID_SINK_AVAIL_CANCEL);
	assert_true(script_next(s, &msg));
	assert_int_equal(msg.mid, SDP_MID_RDMA_WR_COMPL);
	assert_int_equal(msg.compl_len, 400);
	assert_int_equal(script_mid(s), SDP_MID_SINK_CANCEL_ACK);
	assert_true(script_next(s, &msg)); /* the rest, by another mechanism */
	assert_int_equal(msg.mid, SDP_MID_SRC_AVAIL);
	assert_int_equal(msg.avail.len, 600);
}

/* Part 6: a peer that does not answer a cancel. */
SCRIPT_CASE(gives_up_a_cancel)
{
	struct script *s = *state;

	advertise(s);
	sdp_conn_cancel_recv(s->conn, 9, 0);
	assert_int_equal(script_mid(s), SDP_MID_SINK_AVAIL_CANCEL);
	sdp_conn_tick(s->conn, 5000 * MS);
	assert_int_equal(sdp_conn_fault(s->conn), SDP_FAULT_TIMEOUT);
}

/* T55, T57, SDP-219 to SDP-221 */
SCRIPT_CASE(sends_the_four_mode_changes)
{
	struct sdp_msg msg = { .mid = SDP_MID_MODE_CHANGE };
	struct script *s = *state;

	assert_int_equal(sdp_conn_set_mode(s->conn, SDP_MODE_COMBINED),
			 -EINVAL);
	script_send(s, 1, 1000, SDP_BUF_RDMA);
	assert_int_equal(script_mid(s), SDP_MID_SRC_AVAIL);
	assert_int_equal(sdp_conn_set_mode(s->conn, SDP_MODE_BUFFERED), 0);
	assert_int_equal(script_mid(s), -1); /* its SrcAvail is outstanding */
	script_plain(s, SDP_MID_SEND_SM);
	assert_true(script_next(s, &msg));
	assert_int_equal(s->work.send.header[19], 0x00);
	assert_int_equal(sdp_conn_send_mode(s->conn), SDP_MODE_BUFFERED);
	msg = (struct sdp_msg){ .mid = SDP_MID_MODE_CHANGE,
				.change = { SDP_MODE_COMBINED, true } };
	script_recv(s, msg);
	while (script_mid(s) == SDP_MID_DATA)
		;
	assert_int_equal(sdp_conn_set_mode(s->conn, SDP_MODE_PIPELINED), 0);
	assert_int_equal(script_mid(s), SDP_MID_MODE_CHANGE);
	assert_int_equal(s->work.send.header[19], 0x04);
	assert_int_equal(sdp_conn_set_mode(s->conn, SDP_MODE_COMBINED), 0);
	assert_int_equal(script_mid(s), SDP_MID_MODE_CHANGE);
	assert_int_equal(s->work.send.header[19], 0x02);
	/* T60: not before the last one is acknowledged. */
	assert_int_equal(sdp_conn_set_mode(s->conn, SDP_MODE_PIPELINED), 0);
	assert_int_equal(script_mid(s), -1);
	script_plain(s, SDP_MID_DATA);
	assert_int_equal(script_mid(s), SDP_MID_MODE_CHANGE);
	msg = (struct sdp_msg){ .mid = SDP_MID_MODE_CHANGE,
				.change = { SDP_MODE_BUFFERED, false } };
	script_recv(s, msg);
	s->conn->opt.has_manual_mode = false;
	assert_int_equal(
		script_post(s, 9, s->conn->opt.sink_threshold, SDP_BUF_RDMA),
		0);
	assert_int_equal(script_mid(s), -1);
	assert_int_equal(script_post(s, 9, s->conn->opt.sink_threshold + 1,
				     SDP_BUF_RDMA),
			 0);
	assert_int_equal(script_mid(s), SDP_MID_MODE_CHANGE);
	assert_int_equal(s->work.send.header[19], 0x03);
}

/* SDP-218: hints, if modes change automatically. */
CASE(follows_hints)
{
	struct sdp_options opt = script_options(SDP_CONNECTING);
	struct sdp_msg msg = { .mid = SDP_MID_RDMA_RD_COMPL,
			       .flags = SDP_FLAG_REQ_PIPE,
			       .compl_len = 984 };
	struct script s;

	opt.has_manual_mode = false;
	script_open(&s, &opt, 16);
	script_send(&s, 1, 1000, SDP_BUF_RDMA);
	assert_int_equal(script_mid(&s), SDP_MID_SRC_AVAIL);
	script_recv(&s, msg);
	assert_int_equal(script_mid(&s), SDP_MID_MODE_CHANGE);
	assert_int_equal(sdp_conn_send_mode(s.conn), SDP_MODE_PIPELINED);
	script_send(&s, 2, 1000, SDP_BUF_RDMA);
	assert_int_equal(script_mid(&s), SDP_MID_SRC_AVAIL);
	script_plain(&s, SDP_MID_SEND_SM);
	assert_int_equal(script_mid(&s), SDP_MID_MODE_CHANGE);
	assert_int_equal(sdp_conn_send_mode(s.conn), SDP_MODE_COMBINED);
	script_fini(&s);
}

/* Figure 31: a peer that never reads, and one that does so in between. */
CASE(leaves_combined_when_nothing_is_read)
{
	for (int reads = 0; reads < 2; reads++) {
		struct sdp_options opt = script_options(SDP_CONNECTING);
		struct sdp_msg done = { .mid = SDP_MID_RDMA_RD_COMPL,
					.compl_len = 984 };
		struct script s;
		int cnt = 0;

		opt.has_manual_mode = false;
		script_open(&s, &opt, 64);
		for (uint64_t i = 1; i <= SDP_SEND_SM_STREAK + (uint64_t)reads;
		     i++) {
			script_send(&s, i, 1000, SDP_BUF_RDMA);
			assert_int_equal(script_mid(&s), SDP_MID_SRC_AVAIL);
			if (reads && i == 2)
				script_recv(&s, done);
			else
				script_plain(&s, SDP_MID_SEND_SM);
			for (int mid; (mid = script_mid(&s)) != -1;)
				cnt += mid == SDP_MID_MODE_CHANGE;
			script_done(&s);
		}
		assert_int_equal(cnt, !reads);
		assert_int_equal(sdp_conn_send_mode(s.conn),
				 reads ? SDP_MODE_COMBINED : SDP_MODE_BUFFERED);
		script_fini(&s);
	}
}

/* T42, SDP-128, SDP-135 */
CASE(grows_its_receives)
{
	struct sdp_msg msg = { .mid = SDP_MID_CH_RCV_BUF, .rcv_buf_size = 512 };
	struct sdp_event ev;
	struct sdp_options opt = script_options(SDP_CONNECTING);
	struct script script, *s = &script;

	opt.buf_size_max = 512;
	script_open(s, &opt, 16);
	script_recv(s, msg);
	assert_true(script_event(s, SDP_EV_RESIZE, &ev));
	assert_int_equal(ev.resize.size, 512);
	s->posted = 0;
	assert_int_equal(sdp_conn_resize(s->conn, 512), 0);
	assert_int_equal(script_mid(s), SDP_MID_DATA); /* credit at once */
	assert_int_equal(s->posted, 17);
	assert_int_equal(sdp_conn_resize(s->conn, 512), -EINVAL);
	/* Hello used one receive, and so did the request. */
	for (int i = 0; i < 15; i++) {
		int mid = script_mid(s);

		assert_true(mid == -1 || mid == SDP_MID_DATA);
		script_plain(s, SDP_MID_DATA);
	}
	script_plain(s, SDP_MID_DATA);
	do {
		assert_true(script_next(s, &msg));
	} while (msg.mid == SDP_MID_DATA);
	assert_int_equal(msg.mid, SDP_MID_CH_RCV_BUF_ACK);
	assert_int_equal(msg.rcv_buf_size, 512);
	/* Only now a message of that size is allowed. */
	assert_int_equal(script_data(s, 496, 0), 1);
	script_fini(s);
}

/* T41, SDP-120 */
SCRIPT_CASE(limits_itself_when_it_asks_for_less)
{
	struct sdp_msg msg;
	struct script *s = *state;

	assert_int_equal(sdp_conn_ask_size(s->conn, 100), 0);
	assert_int_equal(script_mid(s), SDP_MID_CH_RCV_BUF);
	script_send(s, 1, 200, 0);
	assert_true(script_next(s, &msg));
	assert_int_equal(msg.payload_len, 84);
	assert_int_equal(sdp_conn_ask_size(s->conn, 50), -EBUSY);
}

/* T20, T21, SDP-38 */
SCRIPT_CASE(updates_credit_of_a_one_way_stream)
{
	struct sdp_msg msg;
	int updates = 0;
	struct sdp_event ev;
	struct script *s = *state;

	for (int i = 0; i < 100; i++) {
		assert_int_equal(script_data(s, 10, 0), 1);
		sdp_conn_consume(s->conn, 10);
		while (sdp_conn_next_event(s->conn, &ev))
			;
		while (script_next(s, &msg)) {
			assert_int_equal(msg.mid, SDP_MID_DATA);
			assert_int_equal(msg.bufs, 16);
			updates++;
		}
		script_done(s);
	}
	assert_in_range(updates, 5, 20);
}
