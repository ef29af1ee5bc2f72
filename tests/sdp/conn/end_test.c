/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Close: graceful, crossing, abortive, and the end of the carrier.
 */
#include "test.h"

#include <errno.h>

#include "sdpscript.h"

/* T26, SDP-86, SDP-88 */
SCRIPT_CASE(sends_discon_behind_the_data)
{
	struct sdp_event ev;
	struct script *s = *state;

	assert_int_equal(script_send(s, 1, 10, 0), 0);
	assert_int_equal(sdp_conn_shutdown(s->conn, 0), 0);
	assert_int_equal(script_send(s, 2, 10, 0), -EPIPE);
	assert_int_equal(script_mid(s), SDP_MID_DATA);
	assert_int_equal(script_mid(s), -1); /* not before it completed */
	script_done(s);
	assert_int_equal(script_mid(s), SDP_MID_DISCONN);
	assert_false(s->work.send.is_solicited);
	/* The other half continues. */
	assert_int_equal(script_data(s, 5, 0), 1);
	assert_true(script_event(s, SDP_EV_READABLE, &ev));
}

/* SDP-88: waits for advertised data, and for a cancel. */
SCRIPT_CASE(waits_for_the_peer_to_read)
{
	struct sdp_msg msg = { .mid = SDP_MID_RDMA_RD_COMPL, .compl_len = 984 };
	struct script *s = *state;

	assert_int_equal(script_send(s, 1, 1000, SDP_BUF_RDMA), 0);
	sdp_conn_shutdown(s->conn, 0);
	assert_int_equal(script_mid(s), SDP_MID_SRC_AVAIL);
	script_done(s);
	assert_int_equal(script_mid(s), -1);
	script_recv(s, msg);
	assert_int_equal(script_mid(s), SDP_MID_DISCONN);
}

/* T27, SDP-101 */
CASE(ends_the_carrier_as_second_closer)
{
	struct sdp_event ev;
	struct script s;

	script_open_as(&s, SDP_ACCEPTING, 16);
	script_plain(&s, SDP_MID_DISCONN);
	assert_true(script_event(&s, SDP_EV_PEER_CLOSED, &ev));
	assert_int_equal(script_send(&s, 1, 10, 0), 0); /* SDP-99 */
	sdp_conn_shutdown(s.conn, 0);
	assert_int_equal(script_mid(&s), SDP_MID_DATA);
	script_done(&s);
	assert_int_equal(script_mid(&s), SDP_MID_DISCONN);
	assert_int_equal(script_work(&s), SDP_WORK_NONE);
	script_done(&s);
	assert_int_equal(script_work(&s), SDP_WORK_DISCONNECT);
	sdp_conn_llp_down(s.conn, 0);
	assert_true(script_event(&s, SDP_EV_CLOSED, &ev));
	assert_int_equal(sdp_conn_fault(s.conn), 0);
	script_fini(&s);
}

/* SDP-93: the first closer waits for the second, with a time limit. */
SCRIPT_CASE(leaves_the_end_to_the_second_closer)
{
	struct script *s = *state;

	/* Otherwise DisConn would have MSeq 0, which is ambiguous. */
	assert_int_equal(script_send(s, 1, 10, 0), 0);
	assert_int_equal(script_mid(s), SDP_MID_DATA);
	script_done(s);
	sdp_conn_shutdown(s->conn, 0);
	assert_int_equal(script_mid(s), SDP_MID_DISCONN);
	script_done(s);
	script_plain(s, SDP_MID_DISCONN); /* acknowledges ours */
	assert_int_equal(script_work(s), SDP_WORK_NONE);
	assert_true(sdp_conn_deadline(s->conn) == 2000 * MS);
	sdp_conn_tick(s->conn, 2000 * MS);
	assert_int_equal(script_work(s), SDP_WORK_DISCONNECT);
	assert_int_equal(sdp_conn_fault(s->conn), 0);
}

/* T28, C19 */
CASE(resolves_crossing_discons_by_role)
{
	for (int role = 0; role < 2; role++) {
		struct sdp_event ev;
		struct script s;

		script_open_as(&s, (enum sdp_role)role, 16);
		assert_int_equal(script_send(&s, 1, 10, 0), 0);
		assert_int_equal(script_mid(&s), SDP_MID_DATA);
		script_done(&s);
		sdp_conn_shutdown(s.conn, 0);
		assert_int_equal(script_mid(&s), SDP_MID_DISCONN);
		s.ack = 0;
		script_plain(&s, SDP_MID_DISCONN);
		script_done(&s);
		assert_int_equal(script_work(&s), role == SDP_CONNECTING
							  ? SDP_WORK_DISCONNECT
							  : SDP_WORK_NONE);
		sdp_conn_llp_down(s.conn, 0);
		assert_int_equal(sdp_conn_fault(s.conn), SDP_FAULT_NONE);
		assert_true(script_event(&s, SDP_EV_PEER_CLOSED, &ev));
		assert_true(script_event(&s, SDP_EV_CLOSED, &ev));
		script_fini(&s);
	}
}

/* T29, SDP-104 */
SCRIPT_CASE(aborts_without_a_word_before_discon)
{
	struct sdp_event ev;
	struct script *s = *state;

	assert_int_equal(script_send(s, 1, 10, 0), 0);
	sdp_conn_abort(s->conn, 0);
	assert_int_equal(script_work(s), SDP_WORK_TERMINATE);
	assert_true(script_event(s, SDP_EV_FAILED, &ev));
	sdp_conn_llp_down(s->conn, 0);
	assert_true(script_event(s, SDP_EV_SENT, &ev)); /* SDP-106 */
	assert_int_equal(ev.sent.len, 0);
	assert_true(script_event(s, SDP_EV_CLOSED, &ev));
}

/* T30, SDP-103 */
SCRIPT_CASE(aborts_by_message_after_discon)
{
	struct script *s = *state;

	sdp_conn_shutdown(s->conn, 0);
	assert_int_equal(script_mid(s), SDP_MID_DISCONN);
	sdp_conn_abort(s->conn, 0);
	assert_int_equal(script_mid(s), SDP_MID_ABORT_CONN);
	assert_true(s->work.send.is_solicited && s->work.is_signaled);
	assert_int_equal(script_work(s), SDP_WORK_NONE);
	script_done(s);
	assert_int_equal(script_work(s), SDP_WORK_DISCONNECT);
}

/* After an orderly end, with a message of the peer and no credit. */
static void abort_without_credit(struct script *s)
{
	sdp_conn_shutdown(s->conn, 0);
	assert_int_equal(script_mid(s), SDP_MID_DISCONN);
	s->bufs = 0;
	script_plain(s, SDP_MID_DATA);
	sdp_conn_abort(s->conn, 0);
	assert_int_equal(script_work(s), SDP_WORK_NONE);
}

/* C21: without credit it does not go, and the end must not look orderly. */
SCRIPT_CASE(gives_up_an_abort_without_credit)
{
	struct script *s = *state;

	abort_without_credit(s);
	sdp_conn_tick(s->conn, sdp_conn_deadline(s->conn));
	assert_int_equal(script_work(s), SDP_WORK_TERMINATE);
}

/* C21: messages that arrive meanwhile count only for their credit. */
SCRIPT_CASE(aborts_once_credit_comes)
{
	struct script *s = *state;

	abort_without_credit(s);
	s->bufs = 5;
	assert_int_equal(script_data(s, 10, 0), 0);
	assert_int_equal(script_mid(s), SDP_MID_ABORT_CONN);
	/* Its completion failed: this is not an orderly end either. */
	assert_int_equal(sdp_conn_work_done(s->conn, s->work.id, false, 0), 0);
	assert_int_equal(script_work(s), SDP_WORK_TERMINATE);
}

/* T31, T33, SDP-95, SDP-96 */
CASE(checks_the_carriers_end)
{
	for (int has_discon = 0; has_discon < 2; has_discon++) {
		struct sdp_event ev;
		struct script s;

		script_open_as(&s, SDP_CONNECTING, 16);
		assert_int_equal(script_post(&s, 9, 100, SDP_BUF_WAITALL), 0);
		assert_int_equal(script_data(&s, 5, 0), 1);
		assert_true(script_event(&s, SDP_EV_COPY, &ev));
		assert_false(script_event(&s, SDP_EV_RECEIVED, &ev));
		if (has_discon)
			script_plain(&s, SDP_MID_DISCONN);
		sdp_conn_llp_down(s.conn, 0);
		assert_int_equal(sdp_conn_fault(s.conn),
				 has_discon ? SDP_FAULT_NONE
					    : SDP_FAULT_LLP_LOST);
		assert_true(script_event(&s, SDP_EV_RECEIVED, &ev));
		assert_int_equal(ev.received.len, 5);
		assert_int_equal(ev.received.is_eof, has_discon);
		assert_true(script_event(&s, SDP_EV_CLOSED, &ev));
		script_fini(&s);
	}
}

/* SDP-89, V22 */
SCRIPT_CASE(aborts_when_work_fails)
{
	struct script *s = *state;

	assert_int_equal(script_send(s, 1, 10, 0), 0);
	assert_int_equal(script_mid(s), SDP_MID_DATA);
	assert_int_equal(sdp_conn_work_done(s->conn, s->work.id, false, 0), 0);
	assert_int_equal(sdp_conn_fault(s->conn), SDP_FAULT_LLP);
	assert_int_equal(script_work(s), SDP_WORK_TERMINATE);
}

/* C22 */
CASE(aborts_when_closed_with_data_to_come)
{
	struct script s;

	script_open_as(&s, SDP_CONNECTING, 16);
	assert_int_equal(sdp_conn_close(s.conn, 0), 0);
	assert_int_equal(sdp_conn_fault(s.conn), 0);
	script_data(&s, 1, 0);
	assert_int_equal(sdp_conn_fault(s.conn), SDP_FAULT_LOCAL_ABORT);
	script_fini(&s);
	script_open_as(&s, SDP_CONNECTING, 16);
	script_data(&s, 1, 0);
	assert_int_equal(sdp_conn_close(s.conn, 0), 0);
	assert_int_equal(sdp_conn_fault(s.conn), SDP_FAULT_LOCAL_ABORT);
	script_fini(&s);
}

/* SDP-98: no Write comes for it any more. */
SCRIPT_CASE(gives_back_what_was_advertised)
{
	struct sdp_msg msg = { .mid = SDP_MID_MODE_CHANGE };
	struct script *s = *state;
	struct sdp_event ev;

	msg.change.mode = SDP_MODE_PIPELINED;
	script_recv(s, msg);
	script_post(s, 9, 1000, SDP_BUF_RDMA);
	assert_int_equal(script_mid(s), SDP_MID_SINK_AVAIL);
	assert_false(script_event(s, SDP_EV_RECEIVED, &ev));
	script_plain(s, SDP_MID_DISCONN);
	assert_true(script_event(s, SDP_EV_RECEIVED, &ev));
	assert_int_equal(ev.received.cookie, 9);
	assert_int_equal(ev.received.len, 0);
}

/* SDP-160, T52 */
SCRIPT_CASE(breaks_the_deadlock_of_two_readers)
{
	struct sdp_msg msg = { .mid = SDP_MID_SRC_AVAIL, .payload_len = 1 };
	struct script *s = *state;

	assert_int_equal(script_send(s, 1, 1000, SDP_BUF_RDMA), 0);
	assert_int_equal(script_mid(s), SDP_MID_SRC_AVAIL);
	msg.avail.len = 500;
	script_recv(s, msg);
	assert_int_equal(script_mid(s), -1);
	assert_true(sdp_conn_deadline(s->conn) == 10 * MS);
	sdp_conn_tick(s->conn, 10 * MS);
	assert_int_equal(script_mid(s), SDP_MID_SEND_SM);
}
