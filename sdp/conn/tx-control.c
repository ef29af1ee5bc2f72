/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Control messages: completions, cancels, modes, sizes, moves, closes, credit.
 */
#include "conn/tx-control.h"

#include "conn/queue.h"
#include "conn/tx-data.h"
#include "conn/tx.h"
#include "flow/mode.h"

static bool may_control(const struct sdp_conn *conn)
{
	return sdp_credit_allows(&conn->credit, SDP_CREDIT_CONTROL);
}

static bool is_rdma_running(const struct sdp_conn *conn)
{
	return conn->reading.len || conn->reading.is_compl_due ||
	       conn->writing.len;
}

/* ---- completions ---- */

/* For RdmaRdCompl and RdmaWrCompl. A peer that moves gives no more credit. The
 * last credit is reserved for SuspCommAck. */
static bool may_complete(const struct sdp_conn *conn)
{
	return sdp_credit_allows(&conn->credit, conn->moving.is_rcvd
							? SDP_CREDIT_PAYLOAD
							: SDP_CREDIT_CONTROL);
}

static void invalidate(const struct sdp_conn *conn, struct sdp_work *work,
		       uint32_t stag)
{
	work->send.is_invalidating = conn->opt.has_invalidate;
	work->send.inv_stag = stag;
}

/* The Reads that a SrcAvailCancel waited for have completed (SDP-187). */
static void finish_src_cancel(struct sdp_conn *conn)
{
	conn->is_src_cancel_waiting = false;
	sdp_credit_release(&conn->credit);
	if (sdp_sink_finish_src_cancel(&conn->sink))
		conn->due.send_sm_cancel = true;
}

bool sdp_tx_rd_compl(struct sdp_conn *conn, struct sdp_work *work)
{
	const struct sdp_in_advert *a = sdp_sink_head(&conn->sink);
	struct sdp_msg msg = { .mid = SDP_MID_RDMA_RD_COMPL };
	uint32_t stag, len = conn->reading.len;
	struct sdp_recv_entry *e = sdp_conn_recv_at(conn, 0);

	if (!a || (!conn->reading.is_compl_due &&
		   (len || a->done < a->len))) /* C15 */
		return false;
	if (!may_complete(conn))
		return false;
	stag = a->stag;
	msg.flags = sdp_tx_req_pipe(conn);
	msg.compl_len = len;
	sdp_tx_message(conn, &msg, work); /* SDP-144, SDP-146 */
	if (sdp_sink_sent_rd_compl(&conn->sink, len))
		invalidate(conn, work, stag); /* SDP-151 */
	if (len) {
		e->filled += len;
		e->was_read = true;
	}
	conn->reading = (struct sdp_reading){ 0 };
	if (conn->is_src_cancel_waiting)
		finish_src_cancel(conn);
	return true;
}

bool sdp_tx_wr_compl(struct sdp_conn *conn, struct sdp_work *work)
{
	struct sdp_source *s = &conn->source;
	struct sdp_msg msg = { .mid = SDP_MID_RDMA_WR_COMPL };
	struct sdp_send_entry *e;
	uint32_t len = conn->writing.len;

	if (!len || conn->writing.issued < len || !may_complete(conn))
		return false;
	msg.flags = sdp_tx_req_pipe(conn); /* SDP-15 */
	msg.compl_len = len;
	sdp_tx_message(conn, &msg, work); /* SDP-166 */
	invalidate(conn, work, s->snk[s->snk_head].stag);
	e = sdp_queue_send_at(conn, s->data_pos);
	e->last_work = work->id;
	sdp_source_sent_wr_compl(s, len);
	if (conn->is_sink_cancel_waiting &&
	    sdp_source_on_sink_cancel(s, conn->writing.was_cut))
		conn->due.sink_cancel_ack = true; /* SDP-192 */
	conn->is_sink_cancel_waiting = false;
	conn->writing = (struct sdp_writing){ 0 };
	return true;
}

/* ---- cancels ---- */

bool sdp_tx_sink_cancel_ack(struct sdp_conn *conn, struct sdp_work *work)
{
	/* Not with an MSeqAck from before the cancel while it is held back: the
	 * MSeqAck tells the Sink that the message answers the cancel (C14). */
	if (!conn->due.sink_cancel_ack || conn->credit.is_held ||
	    !may_control(conn))
		return false;
	conn->due.sink_cancel_ack = false;
	sdp_tx_plain(conn, SDP_MID_SINK_CANCEL_ACK, work);
	return true;
}

bool sdp_tx_send_sm(struct sdp_conn *conn, struct sdp_work *work)
{
	bool is_reading = conn->reading.len || conn->reading.is_compl_due;

	if (conn->due.send_sm && (!conn->sink.in_cnt || is_reading))
		conn->due.send_sm = false; /* its SrcAvail no longer exists */
	if (conn->due.send_sm_cancel && may_control(conn)) {
		conn->due.send_sm_cancel = false;
		sdp_tx_plain(conn, SDP_MID_SEND_SM, work);
		return true;
	}
	if (!conn->due.send_sm || !sdp_sink_head(&conn->sink) ||
	    !may_control(conn))
		return false;
	conn->due.send_sm = false;
	sdp_tx_plain(conn, SDP_MID_SEND_SM, work);
	sdp_sink_sent_send_sm(&conn->sink);
	return true;
}

bool sdp_tx_src_cancel(struct sdp_conn *conn, struct sdp_work *work)
{
	struct sdp_source *s = &conn->source;

	if (!conn->due.src_cancel || !s->src_cnt || s->is_cancelling)
		conn->due.src_cancel = false;
	if (!conn->due.src_cancel || !may_control(conn))
		return false;
	conn->due.src_cancel = false;
	sdp_source_sent_cancel(
		s, sdp_tx_plain(conn, SDP_MID_SRC_AVAIL_CANCEL, work));
	return true;
}

bool sdp_tx_sink_cancel(struct sdp_conn *conn, struct sdp_work *work)
{
	struct sdp_sink *s = &conn->sink;

	if (!conn->due.sink_cancel || !s->out_cnt || s->is_cancelling)
		conn->due.sink_cancel = false;
	if (!conn->due.sink_cancel || !may_control(conn))
		return false;
	conn->due.sink_cancel = false;
	sdp_sink_sent_cancel(
		s, sdp_tx_plain(conn, SDP_MID_SINK_AVAIL_CANCEL, work));
	return true;
}

/* ---- modes and sizes ---- */

bool sdp_tx_mode(struct sdp_conn *conn, struct sdp_work *work)
{
	struct sdp_source *s = &conn->source;
	struct sdp_msg msg = { .mid = SDP_MID_MODE_CHANGE };

	if (!conn->due.mode)
		return false;
	if (!sdp_mode_may_change(s->mode, conn->want_mode, true)) {
		conn->due.mode = false; /* the mode has changed meanwhile */
		return false;
	}
	/* SDP-222: Writes and their RdmaWrCompl must be complete. */
	if (!sdp_source_may_change(s, conn->want_mode) || conn->writing.len ||
	    !may_control(conn))
		return false;
	conn->due.mode = false;
	conn->sm_streak = 0;
	msg.change.mode = (uint8_t)conn->want_mode;
	sdp_tx_message(conn, &msg, work);
	sdp_source_sent_change(s, conn->want_mode, msg.mseq);
	return true;
}

bool sdp_tx_leave_buffered(struct sdp_conn *conn, struct sdp_work *work)
{
	struct sdp_msg msg = { .mid = SDP_MID_MODE_CHANGE };

	if (conn->sink.mode != SDP_MODE_BUFFERED)
		conn->due.leave_buffered = false;
	if (!conn->due.leave_buffered || !may_control(conn))
		return false;
	conn->due.leave_buffered = false;
	msg.change.mode = SDP_MODE_COMBINED;
	msg.change.is_send_half = true; /* SDP-220 */
	sdp_tx_message(conn, &msg, work);
	sdp_sink_sent_change(&conn->sink);
	return true;
}

bool sdp_tx_ask_size(struct sdp_conn *conn, struct sdp_work *work)
{
	struct sdp_msg msg = { .mid = SDP_MID_CH_RCV_BUF };

	if (conn->due.ask_size &&
	    sdp_resize_may_ask(&conn->resize, conn->want_size))
		conn->due.ask_size = false; /* the peer has asked meanwhile */
	if (!conn->due.ask_size || !may_control(conn))
		return false;
	conn->due.ask_size = false;
	msg.rcv_buf_size = conn->want_size;
	sdp_tx_message(conn, &msg, work);
	sdp_resize_sent_request(&conn->resize, conn->want_size);
	conn->filler_cnt = conn->want_size > conn->resize.peer_size
				   ? conn->credit.peer_bufs + 2u
				   : 0;
	return true;
}

bool sdp_tx_resize_ack(struct sdp_conn *conn, struct sdp_work *work)
{
	struct sdp_msg msg = { .mid = SDP_MID_CH_RCV_BUF_ACK };

	if (!sdp_resize_is_ack_due(&conn->resize) || !may_control(conn))
		return false;
	msg.rcv_buf_size = conn->resize.new_size;
	sdp_tx_message(conn, &msg, work);
	sdp_resize_sent_ack(&conn->resize);
	return true;
}

/* ---- moves ---- */

/* The next carrier needs receives of its own, in addition to those with unread
 * payload. */
static bool is_too_full_to_move(const struct sdp_conn *conn)
{
	return conn->chunk_tail - conn->chunk_free > conn->chunk_cap / 2;
}

/* For RdmaRdCompl, RdmaWrCompl and SuspCommAck. */
#define SPARE_RECEIVES 3u

bool sdp_tx_susp(struct sdp_conn *conn, struct sdp_work *work)
{
	struct sdp_msg msg = { .mid = SDP_MID_SUSP_COMM };
	struct sdp_moving *m = &conn->moving;

	if (!m->is_wanted || m->is_sent || m->is_rcvd ||
	    is_rdma_running(conn) || is_too_full_to_move(conn) ||
	    !may_control(conn))
		return false;
	/* The last credit that the peer gets (SDP-237) is enough for its
	 * completions and for SuspCommAck. */
	if (!m->has_spare) {
		m->has_spare = true;
		conn->credit.pool += SPARE_RECEIVES;
	}
	if (sdp_tx_post(conn, work))
		return true;
	msg.susp_port = m->port;
	sdp_tx_message(conn, &msg, work);
	m->is_sent = true;
	return true;
}

bool sdp_tx_susp_ack(struct sdp_conn *conn, struct sdp_work *work)
{
	struct sdp_moving *m = &conn->moving;

	/* This message may use the last credit because it returns credit: it is
	 * the first to acknowledge SuspComm, and the receive of SuspComm is
	 * posted again. */
	if (!m->is_rcvd || m->is_ack_sent || conn->reading.out_cnt ||
	    is_too_full_to_move(conn) || !sdp_credit_get(&conn->credit))
		return false;
	/* Without credit for RdmaRdCompl and RdmaWrCompl the transfers are
	 * void. Data that is not acknowledged is sent again (SDP-244). */
	conn->reading = (struct sdp_reading){ 0 };
	conn->writing = (struct sdp_writing){ 0 };
	sdp_tx_plain(conn, SDP_MID_SUSP_COMM_ACK, work);
	m->is_ack_sent = true;
	m->work = work->id;
	return true;
}

/* ---- close ---- */

/* Whether everything that the ULP queued was sent (SDP-88). */
static bool is_drained(const struct sdp_conn *conn)
{
	if (conn->source.data_pos != conn->send_end || conn->source.src_cnt ||
	    conn->source.is_cancelling || conn->writing.len)
		return false;
	for (uint16_t i = 0; i < conn->send_cnt; i++) {
		if (!sdp_queue_send_is_idle(conn, sdp_conn_send_at(conn, i)))
			return false;
	}
	return true;
}

bool sdp_tx_discon(struct sdp_conn *conn, struct sdp_work *work)
{
	struct sdp_closing *c = &conn->closing;

	if (!c->is_wanted || c->is_sent || !is_drained(conn) ||
	    !may_control(conn))
		return false;
	c->mseq = sdp_tx_plain(conn, SDP_MID_DISCONN, work); /* SDP-90 */
	c->work = work->id;
	c->is_sent = true;
	return true;
}

bool sdp_tx_abort(struct sdp_conn *conn, struct sdp_work *work)
{
	struct sdp_closing *c = &conn->closing;

	/* With one credit it may be sent only if it gives credit (C21). */
	if (c->is_abort_sent ||
	    !sdp_credit_allows(&conn->credit, SDP_CREDIT_UPDATE))
		return false;
	sdp_tx_plain(conn, SDP_MID_ABORT_CONN, work);
	c->work = work->id;
	c->is_abort_sent = true;
	return true;
}

/* ---- credit ---- */

/* Messages that consume the peer's receives of the old size on an idle link, so
 * that the peer can answer (C25). */
static bool is_filler_due(const struct sdp_conn *conn)
{
	return conn->resize.is_asking && conn->filler_cnt &&
	       sdp_credit_allows(&conn->credit, SDP_CREDIT_PAYLOAD);
}

/*
 * Whether the action is allowed now. The first time it is allowed at once, then
 * after a delay that doubles each time. @is_due: the timer has expired. The
 * Accepting Peer waits longer. If both ends waited equally long, each update
 * could cross the other, and both ends would stay at one credit for ever.
 * @min_ms: the delay is not shorter, not even the first time.
 */
static bool backoff_allows(struct sdp_conn *conn, bool is_wanted,
			   enum sdp_timer timer, uint8_t *cnt, bool *is_due,
			   uint32_t min_ms)
{
	uint32_t ms = SDP_BACKOFF_MS << *cnt >> 1;

	if (ms < min_ms)
		ms = min_ms;
	if (ms > SDP_BACKOFF_MS_MAX)
		ms = SDP_BACKOFF_MS_MAX;
	if (conn->opt.role == SDP_ACCEPTING)
		ms += ms / 2;
	if (is_wanted && (*cnt || min_ms) && !*is_due) {
		if (conn->timers[timer] == SDP_NEVER)
			sdp_conn_arm(conn, timer, ms);
		return false;
	}
	*is_due = false;
	sdp_conn_disarm(conn, timer);
	if (is_wanted && *cnt < 8)
		++*cnt;
	return is_wanted;
}

/* An update that answers only updates is sent at once the first time, then with
 * growing delays. Otherwise two ends that are both short of receives would
 * exchange updates without end. */
static bool takes_turn(struct sdp_conn *conn)
{
	bool is_wanted = sdp_credit_is_update_lazy(&conn->credit) &&
			 sdp_credit_allows(&conn->credit, SDP_CREDIT_UPDATE);

	return backoff_allows(conn, is_wanted, SDP_TIMER_UPDATE,
			      &conn->update_cnt, &conn->due.update, 0);
}

/* A message without content, sent when payload waits for one more credit. The
 * peer must then tell its credit (rule 8). It is sent once, then with growing
 * delays: while the peer's ULP does not read, the answer brings no more
 * credit.
 *
 * The last credit pokes only while MSeqAck 0 is ambiguous: a peer that computes
 * two from it need not tell its credit. A peer like us answers without that. If
 * two such ends used their last credit at a time, neither could send again;
 * hence the long delay, which differs between them. */
static bool pokes(struct sdp_conn *conn)
{
	const struct sdp_credit *c = &conn->credit;
	bool is_last = sdp_credit_get(c) == 1 && sdp_credit_is_ambiguous(c);
	bool is_wanted = (is_last || may_control(conn)) &&
			 !sdp_credit_allows(c, SDP_CREDIT_PAYLOAD) &&
			 sdp_tx_is_starved(conn);

	return backoff_allows(conn, is_wanted, SDP_TIMER_POKE, &conn->poke_cnt,
			      &conn->due.poke,
			      is_last ? SDP_BACKOFF_MS_MAX : 0);
}

bool sdp_tx_update(struct sdp_conn *conn, struct sdp_work *work)
{
	struct sdp_credit *c = &conn->credit;
	bool is_update = (sdp_credit_is_update_due(c) || takes_turn(conn)) &&
			 sdp_credit_allows(c, SDP_CREDIT_UPDATE);

	if (is_update)
		; /* SDP-38, SDP-45 */
	else if (may_control(conn) &&
		 (conn->due.first_data || sdp_tx_pending_oob(conn)))
		; /* C7; SDP-112 */
	else if (is_filler_due(conn))
		conn->filler_cnt--;
	else if (!pokes(conn))
		return false;
	conn->due.first_data = false;
	sdp_tx_plain(conn, SDP_MID_DATA, work);
	return true;
}
