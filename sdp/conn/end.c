/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Graceful close, abortive close, and the end of the carrier.
 */
#include "conn/end.h"

#include <string.h>

#include "conn/queue.h"
#include "tcp-answer.h"

/* The connection has no carrier. All that remains is to return the buffers. */
static void enter_closed(struct sdp_conn *conn)
{
	sdp_conn_disarm_all(conn);
	conn->stage = SDP_STAGE_CLOSED;
	conn->news.closed = true;
	conn->done_id = conn->next_id;
	memset(&conn->reading, 0, sizeof(conn->reading));
	memset(&conn->writing, 0, sizeof(conn->writing));
	memset(&conn->due, 0, sizeof(conn->due));
	sdp_queue_recv_unadvertise(conn);
}

void sdp_end_fail(struct sdp_conn *conn, enum sdp_fault fault)
{
	bool is_carrier_good = fault != SDP_FAULT_LLP &&
			       fault != SDP_FAULT_LLP_LOST;

	if (conn->fault || conn->stage == SDP_STAGE_CLOSED)
		return;
	conn->fault = fault;
	conn->news.failed = true;
	sdp_conn_disarm_all(conn);
	switch (conn->stage) {
	case SDP_STAGE_IDLE:
	case SDP_STAGE_LISTEN:
	case SDP_STAGE_SUSPENDED:
		enter_closed(conn);
		return;
	case SDP_STAGE_OPEN:
		if (fault == SDP_FAULT_PEER_ABORT) {
			conn->stage = SDP_STAGE_DISCONNECT;
		} else if (is_carrier_good && conn->closing.is_sent) {
			conn->stage = SDP_STAGE_ABORTING; /* SDP-103 */
			sdp_conn_arm(conn, SDP_TIMER_ABORT, conn->opt.abort_ms);
		} else {
			conn->stage = SDP_STAGE_TERMINATE; /* SDP-104 */
		}
		return;
	case SDP_STAGE_DISCONNECT:
	case SDP_STAGE_DOWN:
		return;
	default:
		conn->stage = SDP_STAGE_TERMINATE;
	}
}

void sdp_end_on_discon(struct sdp_conn *conn)
{
	struct sdp_closing *c = &conn->closing;

	c->is_rcvd = true;
	conn->news.peer_closed = true;
	conn->news.readable = true;
	if (c->is_sent && !sdp_credit_is_acked(&conn->credit, c->mseq))
		c->has_crossed = true;
	sdp_sink_on_discon(&conn->sink); /* SDP-98 */
	sdp_queue_recv_unadvertise(conn);
	/* The side that closed first waits for the peer to end the carrier. So
	 * does the accepting side if both closes crossed (SDP-101, C19). */
	if (c->is_sent)
		sdp_conn_arm(conn, SDP_TIMER_LLP_END, conn->opt.llp_end_ms);
	sdp_end_check(conn);
}

void sdp_end_check(struct sdp_conn *conn)
{
	const struct sdp_closing *c = &conn->closing;

	if (!sdp_conn_is_open(conn) || !c->is_done || !c->is_rcvd)
		return;
	if (conn->timers[SDP_TIMER_LLP_END] == SDP_NEVER ||
	    (c->has_crossed && conn->opt.role == SDP_CONNECTING)) {
		sdp_conn_disarm_all(conn);
		conn->stage = SDP_STAGE_DISCONNECT;
	}
}

/* ---- calls of the owner ---- */

int sdp_conn_shutdown(struct sdp_conn *conn, uint64_t now)
{
	conn->now = now;
	if (!sdp_conn_is_running(conn))
		return sdp_answer_of(SDP_CALL_SHUTDOWN, SDP_HOLDS_OVER);
	conn->closing.is_wanted = true;
	return 0;
}

int sdp_conn_close(struct sdp_conn *conn, uint64_t now)
{
	int ret = sdp_conn_shutdown(conn, now);

	if (ret)
		return ret;
	conn->closing.is_deaf = true;
	if (sdp_conn_readable(conn))
		sdp_end_fail(conn, SDP_FAULT_LOCAL_ABORT); /* C22 */
	return 0;
}

void sdp_conn_abort(struct sdp_conn *conn, uint64_t now)
{
	conn->now = now;
	sdp_end_fail(conn, SDP_FAULT_LOCAL_ABORT);
}

void sdp_conn_llp_down(struct sdp_conn *conn, uint64_t now)
{
	conn->now = now;
	if (conn->stage == SDP_STAGE_CLOSED)
		return;
	if (conn->stage == SDP_STAGE_SUSPENDED) {
		conn->done_id = conn->next_id;
		conn->moving.is_llp_ending = false;
		sdp_conn_disarm(conn, SDP_TIMER_LLP_END);
		return;
	}
	/* SDP-95, SDP-105 */
	if (!conn->closing.is_rcvd && !conn->fault) {
		conn->fault = SDP_FAULT_LLP_LOST;
		conn->news.failed = true;
	}
	enter_closed(conn);
}

/* ---- time ---- */

/* SDP-160: both ends have data to send, and each waits until the other
 * reads.  A receive that is posted disarms the timer. */
static void break_deadlock(struct sdp_conn *conn)
{
	sdp_conn_disarm(conn, SDP_TIMER_DEADLOCK);
	if (sdp_conn_is_open(conn) && sdp_sink_head(&conn->sink) &&
	    conn->source.src_cnt)
		conn->due.send_sm = true;
}

/* Whether a cancel still needs an answer. What it cancels may have completed
 * before the cancel was sent. */
static bool is_cancel_pending(const struct sdp_conn *conn, enum sdp_timer timer)
{
	if (timer == SDP_TIMER_SRC_CANCEL)
		return conn->source.is_cancelling ||
		       (conn->due.src_cancel && conn->source.src_cnt);
	return conn->sink.is_cancelling ||
	       (conn->due.sink_cancel && conn->sink.out_cnt);
}

static void expire(struct sdp_conn *conn, enum sdp_timer timer)
{
	switch (timer) {
	case SDP_TIMER_DEADLOCK:
		break_deadlock(conn);
		return;
	case SDP_TIMER_UPDATE:
		sdp_conn_disarm(conn, timer);
		conn->due.update = true;
		return;
	case SDP_TIMER_POKE:
		sdp_conn_disarm(conn, timer);
		conn->due.poke = true;
		return;
	case SDP_TIMER_LLP_END:
		sdp_conn_disarm(conn, timer);
		/* After a move the peer has not ended the old carrier. */
		if (conn->stage == SDP_STAGE_SUSPENDED)
			conn->moving.is_llp_ending = true;
		sdp_end_check(conn);
		return;
	case SDP_TIMER_SUSP:
		sdp_end_fail(conn, SDP_FAULT_MOVE);
		return;
	case SDP_TIMER_SRC_CANCEL:
	case SDP_TIMER_SINK_CANCEL:
		sdp_conn_disarm(conn, timer);
		if (is_cancel_pending(conn, timer))
			sdp_end_fail(conn, SDP_FAULT_TIMEOUT);
		return;
	case SDP_TIMER_ABORT:
		/* Not an orderly end: the peer would take it for a graceful
		 * close (C21). */
		sdp_conn_disarm_all(conn);
		conn->stage = SDP_STAGE_TERMINATE;
		return;
	default:
		sdp_end_fail(conn, SDP_FAULT_TIMEOUT);
	}
}

void sdp_conn_tick(struct sdp_conn *conn, uint64_t now)
{
	conn->now = now;
	for (int i = 0; i < SDP_TIMER_CNT; i++) {
		if (conn->timers[i] <= now)
			expire(conn, (enum sdp_timer)i);
	}
}
