/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Moves: SuspComm, its answer, the time between two carriers, and what another
 * address space takes over.
 */
#include "test.h"

#include <errno.h>

#include "sdpscript.h"

/* T79, 3.4: Remote Peer. */
SCRIPT_CASE(answers_a_move)
{
	struct sdp_msg msg = { .mid = SDP_MID_SUSP_COMM, .susp_port = 5001 };
	struct sdp_event ev;
	struct script *s = *state;

	script_send(s, 1, 10, 0);
	script_recv(s, msg);
	assert_true(script_next(s, &msg));
	assert_int_equal(msg.mid, SDP_MID_SUSP_COMM_ACK);
	assert_true(s->work.send.is_solicited);
	assert_int_equal(script_work(s), SDP_WORK_NONE);
	assert_false(script_event(s, SDP_EV_SUSPENDED, &ev));
	script_done(s);
	assert_true(script_event(s, SDP_EV_SUSPENDED, &ev));
	assert_int_equal(ev.suspended.port, 5001);
	assert_false(ev.suspended.is_initiator);
	assert_int_equal(script_work(s), SDP_WORK_DISCONNECT);
	sdp_conn_llp_down(s->conn, 0);
	assert_false(script_event(s, SDP_EV_CLOSED, &ev));
	assert_int_equal(sdp_conn_move(s->conn, SDP_CONNECTING, SDP_CM_SEND, 0),
			 0);
	assert_int_equal(script_work(s), SDP_WORK_HELLO);
	/* T82 */
	sdp_conn_llp_down(s->conn, 0);
	assert_int_equal(sdp_conn_fault(s->conn), SDP_FAULT_LLP_LOST);
}

/* T80, SDP-237, SDP-245 */
CASE(moves_and_resolves_crossing_by_role)
{
	for (int role = 0; role < 2; role++) {
		struct sdp_msg msg = { .mid = SDP_MID_SUSP_COMM };
		struct sdp_event ev;
		struct script s;

		script_open_as(&s, (enum sdp_role)role, 16);
		assert_int_equal(sdp_conn_suspend(s.conn, 5002, 0), 0);
		assert_int_equal(sdp_conn_suspend(s.conn, 5002, 0), -EINVAL);
		assert_int_equal(script_mid(&s), SDP_MID_SUSP_COMM);
		script_send(&s, 1, 10, 0);
		assert_int_equal(script_mid(&s), -1);
		msg.susp_port = 5001;
		assert_int_equal(script_recv(&s, msg), 0);
		assert_int_equal(script_mid(&s),
				 role == SDP_ACCEPTING ? -1
						       : SDP_MID_SUSP_COMM_ACK);
		if (role == SDP_ACCEPTING)
			script_plain(&s, SDP_MID_SUSP_COMM_ACK);
		else
			script_done(&s);
		assert_true(script_event(&s, SDP_EV_SUSPENDED, &ev));
		assert_int_equal(ev.suspended.is_initiator,
				 role == SDP_ACCEPTING);
		script_fini(&s);
	}
}

/* The connection has answered SuspComm, and its old carrier has ended. */
static void open_and_suspend(struct script *s, struct sdp_options *opt)
{
	struct sdp_msg msg = { .mid = SDP_MID_SUSP_COMM, .susp_port = 5001 };
	struct sdp_event ev;

	script_open(s, opt, 16);
	script_recv(s, msg);
	assert_int_equal(script_mid(s), SDP_MID_SUSP_COMM_ACK);
	script_done(s);
	assert_true(script_event(s, SDP_EV_SUSPENDED, &ev));
	assert_int_equal(script_work(s), SDP_WORK_DISCONNECT);
	sdp_conn_llp_down(s->conn, 0);
}

/* The connection itself sends SuspComm. */
static void suspend(struct script *s)
{
	assert_int_equal(sdp_conn_suspend(s->conn, 5002, 0), 0);
	assert_int_equal(script_mid(s), SDP_MID_SUSP_COMM);
}

/* The same, and the peer answers it. */
static void suspend_and_answer(struct script *s)
{
	struct sdp_event ev;

	suspend(s);
	script_plain(s, SDP_MID_SUSP_COMM_ACK);
	assert_true(script_event(s, SDP_EV_SUSPENDED, &ev));
}

static void carry_hello_ack(struct script *s)
{
	struct sdp_msg ack = script_hello(SDP_MID_HELLO_ACK, 16);
	uint8_t octets[SDP_HEADER_MAX];
	size_t len = sdp_msg_encode(&ack, SDP_LAYOUT_FIGURE, octets);

	assert_int_equal(script_work(s), SDP_WORK_HELLO);
	assert_int_equal(sdp_conn_carrier_up(s->conn, octets, len, 0, 0), 0);
	s->mseq = 0;
	s->ack = 0;
}

/* Calls of the ULP between two carriers, and before HelloAck, take effect on
 * the next one. */
CASE(goes_on_between_carriers)
{
	struct sdp_options opt = script_options(SDP_CONNECTING);
	struct sdp_event ev;
	struct sdp_msg msg;
	struct script s;

	open_and_suspend(&s, &opt);
	assert_true(sdp_conn_send_room(s.conn) > 0);
	assert_int_equal(script_send(&s, 1, 10, 0), 0);
	assert_int_equal(script_mid(&s), -1);
	assert_int_equal(sdp_conn_move(s.conn, SDP_CONNECTING, SDP_CM_PRIV, 0),
			 0);
	assert_true(sdp_conn_send_room(s.conn) > 0);
	assert_int_equal(script_send(&s, 2, 10, 0), 0);
	assert_int_equal(script_post(&s, 3, 1000, 0), 0);
	assert_int_equal(sdp_conn_shutdown(s.conn, 0), 0);
	carry_hello_ack(&s);
	assert_true(script_event(&s, SDP_EV_CONNECTED, &ev));
	assert_true(script_next(&s, &msg));
	assert_int_equal(msg.mid, SDP_MID_DATA);
	assert_int_equal(msg.mseq, 0);
	assert_int_equal(msg.payload_len, 20);
	script_done(&s);
	do {
		assert_true(script_next(&s, &msg));
	} while (msg.mid == SDP_MID_DATA);
	assert_int_equal(msg.mid, SDP_MID_DISCONN);
	script_fini(&s);
}

/* A SinkAvailCancel waits for the Write, whose completion needs credit that the
 * old carrier does not give any more.  The next one begins without a cancel. */
SCRIPT_CASE(writes_on_behind_a_cancel_of_the_old_carrier)
{
	struct sdp_msg avail = { .mid = SDP_MID_SINK_AVAIL };
	struct script *s = *state;
	struct sdp_event ev;

	avail.avail.len = 1000;
	for (int carrier = 0; carrier < 2; carrier++) {
		assert_int_equal(sdp_conn_set_mode(s->conn, SDP_MODE_PIPELINED),
				 0);
		assert_int_equal(script_mid(s), SDP_MID_MODE_CHANGE);
		script_recv(s, avail);
		script_send(s, (uint64_t)carrier, 1000, SDP_BUF_RDMA);
		assert_int_equal(script_work(s), SDP_WORK_WRITE);
		if (carrier == 1)
			break;
		script_plain(s, SDP_MID_SINK_AVAIL_CANCEL);
		s->bufs = 3;
		script_plain(s, SDP_MID_SUSP_COMM);
		assert_int_equal(sdp_conn_credit(s->conn), 2);
		assert_int_equal(script_mid(s), SDP_MID_SUSP_COMM_ACK);
		script_done(s);
		assert_true(script_event(s, SDP_EV_SUSPENDED, &ev));
		assert_int_equal(sdp_conn_cancel_send(s->conn, 0, 0), 0);
		assert_int_equal(script_work(s), SDP_WORK_DISCONNECT);
		sdp_conn_llp_down(s->conn, 0);
		s->bufs = 16;
		assert_int_equal(
			sdp_conn_move(s->conn, SDP_CONNECTING, SDP_CM_PRIV, 0),
			0);
		carry_hello_ack(s);
	}
}

/* SDP-245: the peer's SuspComm came first, and ours is sent again. */
SCRIPT_CASE(moves_again_behind_the_peers_move)
{
	struct script *s = *state;
	struct sdp_event ev;

	suspend(s);
	script_plain(s, SDP_MID_SUSP_COMM);
	assert_int_equal(script_mid(s), SDP_MID_SUSP_COMM_ACK);
	script_done(s);
	assert_true(script_event(s, SDP_EV_SUSPENDED, &ev));
	assert_int_equal(script_work(s), SDP_WORK_DISCONNECT);
	sdp_conn_llp_down(s->conn, 0);
	assert_int_equal(sdp_conn_move(s->conn, SDP_CONNECTING, SDP_CM_PRIV, 0),
			 0);
	carry_hello_ack(s);
	assert_int_equal(script_mid(s), SDP_MID_SUSP_COMM);
}

/* No advertisement is left, so a cancel does not wait. */
CASE(cancels_between_carriers)
{
	struct sdp_options opt = script_options(SDP_ACCEPTING);
	struct sdp_event ev;
	struct script s;

	script_open(&s, &opt, 16);
	script_send(&s, 1, 1000, SDP_BUF_RDMA);
	assert_int_equal(script_mid(&s), SDP_MID_SRC_AVAIL);
	suspend_and_answer(&s);
	sdp_conn_llp_down(s.conn, 0);
	assert_int_equal(sdp_conn_cancel_send(s.conn, 1, 0), 0);
	assert_true(script_event(&s, SDP_EV_SENT, &ev));
	assert_int_equal(ev.sent.len, 16); /* inline octets were sent */
	assert_int_equal(script_post(&s, 2, 1000, SDP_BUF_RDMA), 0);
	assert_int_equal(sdp_conn_cancel_recv(s.conn, 2, 0), 0);
	assert_true(script_event(&s, SDP_EV_RECEIVED, &ev));
	assert_true(ev.received.is_cancelled);
	assert_true(sdp_conn_deadline(s.conn) == SDP_NEVER);
	script_fini(&s);
}

/* SDP-237: the last credit that the peer gets is enough for its answer, however
 * much data is unread here. */
CASE(gives_credit_for_the_answer)
{
	struct sdp_options opt = script_options(SDP_ACCEPTING);
	struct sdp_msg msg;
	struct script s;

	script_open(&s, &opt, 16);
	for (uint32_t i = 0; i < opt.bufs; i++)
		assert_int_equal(script_data(&s, 1, 0), 1);
	assert_int_equal(sdp_conn_suspend(s.conn, 5002, 0), 0);
	do {
		assert_true(script_next(&s, &msg));
	} while (msg.mid != SDP_MID_SUSP_COMM);
	assert_in_range(msg.bufs, 3, 8);
	script_fini(&s);
}

/* A peer that does not do its part (SDP-239) does not block the other end. */
CASE(gives_up_without_an_answer)
{
	struct sdp_options opt = script_options(SDP_ACCEPTING);
	struct script s;

	opt.susp_ms = 7;
	script_open(&s, &opt, 16);
	suspend(&s);
	sdp_conn_tick(s.conn, 7 * MS);
	assert_int_equal(sdp_conn_fault(s.conn), SDP_FAULT_MOVE);
	assert_int_equal(script_work(&s), SDP_WORK_TERMINATE);
	script_fini(&s);
}

CASE(ends_a_carrier_that_the_peer_leaves)
{
	struct sdp_options opt = script_options(SDP_ACCEPTING);
	struct script s;

	opt.llp_end_ms = 5;
	script_open(&s, &opt, 16);
	suspend_and_answer(&s);
	assert_int_equal(script_work(&s), SDP_WORK_NONE);
	sdp_conn_tick(s.conn, 5 * MS);
	assert_int_equal(script_work(&s), SDP_WORK_DISCONNECT);
	script_fini(&s);
}

/* T82: the owner finds no carrier. */
CASE(fails_without_a_next_carrier)
{
	struct sdp_options opt = script_options(SDP_ACCEPTING);
	struct sdp_event ev;
	struct script s;

	open_and_suspend(&s, &opt);
	sdp_conn_give_up_move(s.conn, 0);
	assert_true(script_event(&s, SDP_EV_FAILED, &ev));
	assert_int_equal(ev.failed.fault, SDP_FAULT_MOVE);
	assert_true(script_event(&s, SDP_EV_CLOSED, &ev));
	script_fini(&s);
}

/* DisConn is not repeated on the next carrier (C18), and a close that waited
 * for the move follows it. */
CASE(closes_after_a_move)
{
	struct sdp_options opt = script_options(SDP_ACCEPTING);
	struct sdp_msg hello = script_hello(SDP_MID_HELLO, 16);
	uint8_t octets[SDP_HEADER_MAX];
	size_t len = sdp_msg_encode(&hello, SDP_LAYOUT_FIGURE, octets);
	struct script s;

	script_open(&s, &opt, 16);
	assert_int_equal(sdp_conn_shutdown(s.conn, 0), 0);
	assert_int_equal(script_mid(&s), SDP_MID_DISCONN);
	suspend_and_answer(&s); /* before any completion */
	sdp_conn_llp_down(s.conn, 0);
	assert_true(sdp_conn_has_shut(s.conn));
	assert_int_equal(sdp_conn_move(s.conn, SDP_ACCEPTING, SDP_CM_PRIV, 0),
			 0);
	assert_int_equal(sdp_conn_hello(s.conn, octets, len, 0), 0);
	assert_int_equal(script_work(&s), SDP_WORK_HELLO);
	assert_int_equal(sdp_conn_carrier_up(s.conn, NULL, 0, 0, 0), 0);
	s.mseq = s.ack = 0;
	assert_int_equal(script_mid(&s), -1);
	assert_int_equal(script_data(&s, 5, 0), 1);
	assert_int_equal(script_mid(&s), -1); /* not even DisConn */
	script_plain(&s, SDP_MID_DISCONN);
	sdp_conn_tick(s.conn, 10000 * MS);
	assert_int_equal(script_work(&s), SDP_WORK_DISCONNECT);
	assert_int_equal(sdp_conn_fault(s.conn), SDP_FAULT_NONE);
	script_fini(&s);
}

/* SDP-240: T83 */
CASE(hands_over_what_has_not_gone)
{
	struct sdp_piece piece;
	struct sdp_msg msg;
	struct script s;
	uint8_t flags;

	script_open_as(&s, SDP_ACCEPTING, 16);
	script_send(&s, 1, 1000, SDP_BUF_RDMA);
	assert_int_equal(script_mid(&s), SDP_MID_SRC_AVAIL);
	script_send(&s, 2, 3, SDP_BUF_OOB);
	assert_true(script_next(&s, &msg));
	assert_true(msg.flags & SDP_FLAG_OOB_PEND);
	suspend_and_answer(&s);
	assert_int_equal(sdp_conn_unsent(s.conn, 0, &piece, &flags), 1);
	assert_int_equal(piece.cookie, 1);
	assert_int_equal(piece.off, 16);
	assert_int_equal(piece.len, 984);
	assert_int_equal(flags, 0);
	assert_int_equal(sdp_conn_unsent(s.conn, 1, &piece, &flags), 1);
	assert_int_equal(piece.len, 3);
	assert_int_equal(flags, SDP_BUF_OOB | SDP_BUF_PEND_SENT);
	assert_int_equal(sdp_conn_unsent(s.conn, 2, &piece, &flags), 0);
	sdp_conn_abort(s.conn, 0);
	script_fini(&s);
}

CASE(inherits_nothing_behind_the_start)
{
	struct sdp_piece piece = { 5, 1, 3 };
	struct script s;

	script_open_as(&s, SDP_ACCEPTING, 16);
	assert_int_equal(sdp_conn_inherit(s.conn, true, true), -EINVAL);
	assert_int_equal(sdp_conn_inherit_octets(s.conn, &piece, false),
			 -EINVAL);
	script_fini(&s);
}

/* SDP-242: T83 */
CASE(inherits_what_lies_unread)
{
	struct sdp_options opt = script_options(SDP_ACCEPTING);
	struct sdp_piece piece = { 5, 1, 3 };
	struct script s;
	bool is_oob;

	assert_int_equal(sdp_conn_new(&s.conn, &opt), 0);
	assert_int_equal(sdp_conn_inherit(s.conn, true, false), 0);
	assert_int_equal(sdp_conn_inherit_octets(s.conn, &piece, true), 0);
	assert_int_equal(sdp_conn_start(s.conn, 0), 0);
	assert_int_equal(sdp_conn_buffered(s.conn), 3);
	assert_int_equal(sdp_conn_peek(s.conn, 0, &piece, &is_oob), 1);
	assert_int_equal(piece.cookie, 5);
	assert_int_equal(piece.off, 1);
	assert_true(is_oob);
	assert_true(sdp_conn_has_shut(s.conn));
	sdp_conn_free(s.conn);
}

/* An urgent octet that is handed over was already announced to the peer. */
CASE(tells_of_an_urgent_octet_once)
{
	struct sdp_msg msg;
	struct script s;

	script_open_as(&s, SDP_ACCEPTING, 16);
	script_send(&s, 1, 3, SDP_BUF_OOB | SDP_BUF_PEND_SENT);
	assert_true(script_next(&s, &msg));
	assert_int_equal(msg.flags, SDP_FLAG_OOB_PRES);
	assert_int_equal(script_mid(&s), -1);
	script_fini(&s);
}
