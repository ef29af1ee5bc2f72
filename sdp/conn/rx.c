/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Handling of received messages.
 */
#include <errno.h>

#include "conn/end.h"
#include "conn/move.h"
#include "conn/queue.h"
#include "conn/hello.h"
#include "conn/state.h"
#include "flow/mode.h"
#include "flow/seq.h"

/* A received message while it is handled. */
struct rx {
	const struct sdp_msg *msg;
	const uint32_t *inv_stag;
	uint64_t cookie;
	bool is_old_buf; /* in a receive of the size before a resize */
	bool is_kept;	 /* its payload waits for the ULP */
};

/* Applies the peer's hint to our sending half (SDP-12, SDP-13, SDP-218). */
static void hint(struct sdp_conn *conn, enum sdp_mode from, enum sdp_mode to)
{
	if (conn->opt.has_manual_mode || conn->due.mode ||
	    conn->source.mode != from)
		return;
	conn->due.mode = true;
	conn->want_mode = to;
}

/* ---- payload ---- */

static void keep(struct sdp_conn *conn, struct rx *rx, bool is_solo)
{
	const struct sdp_msg *msg = rx->msg;
	struct sdp_chunk chunk = {
		.cookie = rx->cookie,
		.off = (uint32_t)sdp_mid_header_size(msg->mid),
		.left = msg->payload_len,
		.is_oob = msg->flags & SDP_FLAG_OOB_PRES,
		.is_solo = is_solo,
		.is_old = rx->is_old_buf,
	};

	if (is_solo)
		sdp_queue_recv_first(conn, SDP_RECV_ADVERTISED)->state =
			SDP_RECV_SOLO;
	sdp_queue_chunk_push(conn, &chunk);
	rx->is_kept = true;
	conn->news.readable = true;
}

static enum sdp_fault on_payload(struct sdp_conn *conn, struct rx *rx)
{
	enum sdp_sink_payload kind;
	enum sdp_fault fault;

	if (conn->closing.is_rcvd)
		return SDP_FAULT_CLOSED;
	fault = sdp_sink_on_payload(&conn->sink, rx->msg->payload_len, &kind);
	if (fault)
		return fault;
	keep(conn, rx, kind == SDP_SINK_SOLO);
	return SDP_FAULT_NONE;
}

static enum sdp_fault on_data(struct sdp_conn *conn, struct rx *rx)
{
	return rx->msg->payload_len ? on_payload(conn, rx) : SDP_FAULT_NONE;
}

/* ---- advertisements ---- */

static bool has_too_many_adverts(const struct sdp_conn *conn)
{
	return conn->sink.in_cnt + conn->source.snk_cnt > conn->opt.max_adverts;
}

static enum sdp_fault on_src_avail(struct sdp_conn *conn, struct rx *rx)
{
	enum sdp_fault fault;
	bool is_taken;

	if (conn->closing.is_rcvd)
		return SDP_FAULT_CLOSED;
	fault = sdp_sink_on_src_avail(&conn->sink, rx->msg, &is_taken);
	if (fault)
		return fault;
	if (is_taken && has_too_many_adverts(conn))
		return SDP_FAULT_ADVERTS;
	if (rx->msg->payload_len)
		keep(conn, rx, false);
	conn->news.readable = true;
	return SDP_FAULT_NONE;
}

static enum sdp_fault on_sink_avail(struct sdp_conn *conn, struct rx *rx)
{
	enum sdp_fault fault;

	/* The payload belongs to the opposite half. It is accepted in any case
	 * (3.3). */
	if (rx->msg->payload_len) {
		fault = on_payload(conn, rx);
		if (fault)
			return fault;
	}
	fault = sdp_source_on_sink_avail(&conn->source, rx->msg);
	if (!fault && has_too_many_adverts(conn))
		fault = SDP_FAULT_ADVERTS;
	return fault;
}

static bool is_right_stag(const struct rx *rx, uint32_t stag)
{
	return !rx->inv_stag || *rx->inv_stag == stag; /* SDP-153, SDP-168 */
}

static enum sdp_fault on_rd_compl(struct sdp_conn *conn, struct rx *rx)
{
	enum sdp_fault fault;
	uint32_t stag;

	fault = sdp_source_on_rd_compl(&conn->source, rx->msg->compl_len,
				       &stag);
	if (fault)
		return fault;
	conn->sm_streak = 0;
	if (rx->msg->flags & SDP_FLAG_REQ_PIPE)
		hint(conn, SDP_MODE_COMBINED, SDP_MODE_PIPELINED);
	return is_right_stag(rx, stag) ? SDP_FAULT_NONE : SDP_FAULT_STAG;
}

static enum sdp_fault on_wr_compl(struct sdp_conn *conn, struct rx *rx)
{
	uint32_t stag, len = rx->msg->compl_len;
	struct sdp_recv_entry *e;
	enum sdp_fault fault;

	if (conn->closing.is_rcvd)
		return SDP_FAULT_CLOSED;
	fault = sdp_sink_on_wr_compl(&conn->sink, len, &stag);
	if (fault)
		return fault;
	if (!is_right_stag(rx, stag))
		return SDP_FAULT_STAG;
	if (rx->msg->flags & SDP_FLAG_REQ_PIPE)
		hint(conn, SDP_MODE_COMBINED, SDP_MODE_PIPELINED);
	if (!len) {
		sdp_queue_recv_requeue(conn); /* C9 */
		return SDP_FAULT_NONE;
	}
	e = sdp_queue_recv_first(conn, SDP_RECV_ADVERTISED);
	e->filled = len;
	e->state = SDP_RECV_DONE;
	return SDP_FAULT_NONE;
}

static enum sdp_fault on_send_sm(struct sdp_conn *conn, struct rx *rx)
{
	struct sdp_source *s = &conn->source;
	bool acks = sdp_seq_is_reached(rx->msg->mseqack, s->cancel_mseq);
	bool is_answer = s->is_cancelling && acks;
	enum sdp_fault fault = sdp_source_on_send_sm(s, acks);

	if (fault || is_answer)
		return fault;
	hint(conn, SDP_MODE_PIPELINED, SDP_MODE_COMBINED);
	if (s->mode == SDP_MODE_COMBINED &&
	    ++conn->sm_streak >= SDP_SEND_SM_STREAK)
		hint(conn, SDP_MODE_COMBINED, SDP_MODE_BUFFERED);
	return SDP_FAULT_NONE;
}

/* ---- cancels ---- */

static enum sdp_fault on_src_cancel(struct sdp_conn *conn, struct rx *rx)
{
	struct sdp_reading *r = &conn->reading;

	(void)rx;
	if (r->len && !r->is_compl_due)
		r->len = r->issued; /* SDP-185 */
	if (r->len && !r->out_cnt)
		r->is_compl_due = true;
	switch (sdp_sink_on_src_cancel(&conn->sink, r->len)) {
	case SDP_SINK_CANCEL_IGNORE:
		break;
	case SDP_SINK_CANCEL_NOW:
		conn->due.send_sm_cancel = true;
		break;
	case SDP_SINK_CANCEL_WAIT:
		if (conn->is_src_cancel_waiting)
			break;
		conn->is_src_cancel_waiting = true;
		sdp_credit_hold(&conn->credit); /* SDP-193 */
		break;
	}
	return SDP_FAULT_NONE;
}

static enum sdp_fault on_sink_cancel(struct sdp_conn *conn, struct rx *rx)
{
	struct sdp_writing *w = &conn->writing;

	(void)rx;
	if (w->len && w->issued < w->len) {
		w->len = w->issued;
		w->was_cut = true;
	}
	if (w->len)
		conn->is_sink_cancel_waiting = true;
	else if (sdp_source_on_sink_cancel(&conn->source, false))
		conn->due.sink_cancel_ack = true;
	return SDP_FAULT_NONE;
}

static enum sdp_fault on_sink_cancel_ack(struct sdp_conn *conn, struct rx *rx)
{
	struct sdp_sink *s = &conn->sink;
	const struct sdp_source *source = &conn->source;
	uint32_t ack = rx->msg->mseqack;
	bool was_cancelling = s->is_cancelling;
	/* A peer that holds back its MSeqAck because of our SrcAvailCancel may
	 * answer nevertheless (C14). */
	bool is_held = source->is_cancelling &&
		       !sdp_seq_is_reached(ack, source->cancel_mseq);
	bool is_answer = is_held || sdp_seq_is_reached(ack, s->cancel_mseq);

	sdp_sink_on_cancel_ack(s, is_answer);
	if (was_cancelling && !s->is_cancelling)
		sdp_queue_recv_unadvertise(conn);
	return SDP_FAULT_NONE;
}

/* ---- modes, sizes, moves, ends ---- */

static enum sdp_fault on_mode_change(struct sdp_conn *conn, struct rx *rx)
{
	enum sdp_mode to = (enum sdp_mode)rx->msg->change.mode;
	enum sdp_fault fault;

	if (rx->msg->change.is_send_half)
		return sdp_source_on_change(&conn->source, to);
	fault = sdp_sink_on_change(&conn->sink, to);
	if (!fault && !conn->sink.out_cnt)
		sdp_queue_recv_unadvertise(conn);
	return fault;
}

static enum sdp_fault on_ch_rcv_buf(struct sdp_conn *conn, struct rx *rx)
{
	enum sdp_fault fault =
		sdp_resize_on_request(&conn->resize, rx->msg->rcv_buf_size,
				      conn->opt.role == SDP_ACCEPTING);

	if (!fault && conn->resize.is_wanted)
		conn->news.resize = true;
	return fault;
}

static enum sdp_fault on_ch_rcv_buf_ack(struct sdp_conn *conn, struct rx *rx)
{
	return sdp_resize_on_ack(&conn->resize, rx->msg->rcv_buf_size);
}

static enum sdp_fault on_discon(struct sdp_conn *conn, struct rx *rx)
{
	(void)rx;
	if (conn->closing.is_rcvd)
		return SDP_FAULT_CLOSED;
	sdp_end_on_discon(conn);
	return SDP_FAULT_NONE;
}

static enum sdp_fault on_abort(struct sdp_conn *conn, struct rx *rx)
{
	(void)rx;
	return conn->closing.is_rcvd ? SDP_FAULT_PEER_ABORT : SDP_FAULT_CLOSED;
}

static enum sdp_fault on_susp(struct sdp_conn *conn, struct rx *rx)
{
	struct sdp_moving *m = &conn->moving;

	if (m->is_sent && conn->opt.role == SDP_ACCEPTING) {
		m->has_crossed = true;
		return SDP_FAULT_NONE; /* SDP-245 */
	}
	/* Starts nothing new. */
	conn->reading.len = conn->reading.issued;
	if (conn->reading.len && !conn->reading.out_cnt)
		conn->reading.is_compl_due = true;
	conn->writing.len = conn->writing.issued;
	m->is_rcvd = true;
	m->peer_port = rx->msg->susp_port;
	sdp_conn_arm(conn, SDP_TIMER_SUSP, conn->opt.susp_ms);
	return SDP_FAULT_NONE;
}

static enum sdp_fault on_susp_ack(struct sdp_conn *conn, struct rx *rx)
{
	(void)rx;
	if (!conn->moving.is_sent || conn->moving.is_rcvd)
		return SDP_FAULT_SUSP;
	sdp_move_suspend(conn);
	/* The peer ends the carrier. If it does not, the timer does. */
	sdp_conn_arm(conn, SDP_TIMER_LLP_END, conn->opt.llp_end_ms);
	return SDP_FAULT_NONE;
}

/* ---- dispatch ---- */

typedef enum sdp_fault (*handle_fn)(struct sdp_conn *conn, struct rx *rx);

static handle_fn handler(uint8_t mid)
{
	static const handle_fn low[] = {
		[SDP_MID_DISCONN] = on_discon,
		[SDP_MID_ABORT_CONN] = on_abort,
		[SDP_MID_SEND_SM] = on_send_sm,
		[SDP_MID_RDMA_WR_COMPL] = on_wr_compl,
		[SDP_MID_RDMA_RD_COMPL] = on_rd_compl,
		[SDP_MID_MODE_CHANGE] = on_mode_change,
		[SDP_MID_SRC_AVAIL_CANCEL] = on_src_cancel,
		[SDP_MID_SINK_AVAIL_CANCEL] = on_sink_cancel,
		[SDP_MID_SINK_CANCEL_ACK] = on_sink_cancel_ack,
		[SDP_MID_CH_RCV_BUF] = on_ch_rcv_buf,
		[SDP_MID_CH_RCV_BUF_ACK] = on_ch_rcv_buf_ack,
		[SDP_MID_SUSP_COMM] = on_susp,
		[SDP_MID_SUSP_COMM_ACK] = on_susp_ack,
	};

	switch (mid) {
	case SDP_MID_DATA:
		return on_data;
	case SDP_MID_SRC_AVAIL:
		return on_src_avail;
	case SDP_MID_SINK_AVAIL:
		return on_sink_avail;
	default:
		return mid < sizeof(low) / sizeof(*low) ? low[mid] : NULL;
	}
}

/* Which messages are allowed around SuspComm, and which invalidation (V14,
 * V20). */
static enum sdp_fault check_context(const struct sdp_conn *conn,
				    const struct rx *rx)
{
	const struct sdp_moving *m = &conn->moving;
	uint8_t mid = rx->msg->mid;

	if ((m->is_rcvd || m->has_crossed) && mid != SDP_MID_SUSP_COMM_ACK)
		return SDP_FAULT_SUSP;
	if (rx->inv_stag && mid != SDP_MID_RDMA_RD_COMPL &&
	    mid != SDP_MID_RDMA_WR_COMPL)
		return SDP_FAULT_STAG;
	return SDP_FAULT_NONE;
}

/* Starts or stops the timers that a received message affects. */
static void adjust_timers(struct sdp_conn *conn)
{
	if (!conn->source.is_cancelling && !conn->due.src_cancel)
		sdp_conn_disarm(conn, SDP_TIMER_SRC_CANCEL);
	if (!conn->sink.is_cancelling && !conn->due.sink_cancel)
		sdp_conn_disarm(conn, SDP_TIMER_SINK_CANCEL);
	if (!conn->sink.in_cnt || conn->recv_cnt || !conn->source.src_cnt)
		sdp_conn_disarm(conn, SDP_TIMER_DEADLOCK);
	else if (conn->timers[SDP_TIMER_DEADLOCK] == SDP_NEVER)
		sdp_conn_arm(conn, SDP_TIMER_DEADLOCK, conn->opt.deadlock_ms);
}

static enum sdp_fault handle(struct sdp_conn *conn, struct rx *rx, size_t len)
{
	handle_fn fn = handler(rx->msg->mid);
	enum sdp_fault fault;

	if (!fn) /* Hello, HelloAck (T106) */
		return SDP_FAULT_MID;
	if (len > conn->resize.own_size)
		return SDP_FAULT_CREDIT;
	fault = sdp_credit_recv(&conn->credit, rx->msg);
	if (fault)
		return fault;
	if (rx->msg->mid != SDP_MID_DATA || rx->msg->payload_len)
		conn->update_cnt = 0;
	if (sdp_credit_allows(&conn->credit, SDP_CREDIT_PAYLOAD))
		conn->poke_cnt = 0;
	sdp_conn_disarm(conn, SDP_TIMER_POKE); /* the peer told its credit */
	rx->is_old_buf = conn->resize.old_cnt;
	sdp_resize_used(&conn->resize);
	fault = check_context(conn, rx);
	if (fault)
		return fault;
	if (conn->source.is_switching &&
	    sdp_credit_is_acked(&conn->credit, conn->source.switch_mseq))
		sdp_source_on_change_ack(&conn->source);
	if (rx->msg->flags & SDP_FLAG_OOB_PEND)
		conn->news.oob_cnt++;
	fault = fn(conn, rx);
	if (fault)
		return fault;
	if (conn->closing.is_deaf &&
	    (rx->msg->payload_len || rx->msg->mid == SDP_MID_SRC_AVAIL))
		return SDP_FAULT_LOCAL_ABORT; /* C22 */
	if (sdp_conn_is_open(conn))
		adjust_timers(conn);
	return SDP_FAULT_NONE;
}

/* The first message of the carrier itself. It is not an SDP message (part
 * 5). */
static bool take_rtr(struct sdp_conn *conn, size_t len)
{
	bool was_first = conn->may_be_rtr;

	conn->may_be_rtr = false;
	conn->is_carrier_up = true; /* otherwise nothing could arrive */
	if (len || !was_first || !conn->credit.posted)
		return false;
	conn->credit.posted--;
	return true;
}

int sdp_conn_recv(struct sdp_conn *conn, uint64_t cookie, const void *octets,
		  size_t len, const uint32_t *inv_stag, uint64_t now)
{
	struct rx rx = { .inv_stag = inv_stag, .cookie = cookie };
	struct sdp_msg msg;
	enum sdp_fault fault;

	conn->now = now;
	rx.msg = &msg;
	switch (conn->stage) {
	case SDP_STAGE_HELLO:
		fault = sdp_start_on_hello_ack(conn, octets, len);
		break;
	case SDP_STAGE_ACCEPT:
		/* SDP-55: only the carrier's own message. */
		fault = take_rtr(conn, len) ? SDP_FAULT_NONE : SDP_FAULT_HELLO;
		break;
	case SDP_STAGE_OPEN:
		if (take_rtr(conn, len))
			return 0;
		fault = sdp_msg_decode(octets, len, conn->opt.layout, &msg);
		if (!fault)
			fault = handle(conn, &rx, len);
		break;
	case SDP_STAGE_ABORTING:
		/* Only the credit in the header is used. */
		if (!sdp_msg_decode(octets, len, conn->opt.layout, &msg))
			(void)sdp_credit_recv(&conn->credit, &msg);
		return 0;
	default:
		return -ENOTCONN;
	}
	if (fault)
		sdp_end_fail(conn, fault);
	if (rx.is_kept)
		return 1;
	return fault ? -EPROTO : 0;
}
