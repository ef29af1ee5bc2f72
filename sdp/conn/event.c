/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Events. They are derived from the state when the owner asks for them.
 */
#include <string.h>

#include "conn/queue.h"
#include "conn/state.h"

/* ---- receive events ---- */

static bool take_flag(bool *flag, enum sdp_event_type type,
		      struct sdp_event *ev)
{
	if (!*flag)
		return false;
	*flag = false;
	ev->type = type;
	return true;
}

static bool release_event(struct sdp_conn *conn, struct sdp_event *ev)
{
	const struct sdp_chunk *chunk;

	if (conn->chunk_free == conn->chunk_head)
		return false;
	chunk = sdp_conn_chunk_at(conn, conn->chunk_free++);
	conn->old_held -= chunk->is_old;
	conn->update_cnt =
		0; /* The ULP reads, so the next update carries news. */
	ev->type = SDP_EV_RELEASE;
	ev->release.cookie = chunk->cookie;
	return true;
}

static bool received_event(struct sdp_conn *conn, uint16_t i,
			   struct sdp_event *ev)
{
	const struct sdp_recv_entry *e = sdp_conn_recv_at(conn, i);

	ev->type = SDP_EV_RECEIVED;
	ev->received.cookie = e->cookie;
	ev->received.len = e->filled;
	ev->received.is_oob = e->is_oob;
	ev->received.is_cancelled = e->is_cancelled;
	ev->received.is_eof = conn->closing.is_rcvd &&
			      !sdp_queue_has_chunk(conn);
	conn->cancel_cnt -= e->is_cancelled;
	sdp_queue_recv_remove(conn, i);
	return true;
}

/* Copies payload of the first message into the first receive buffer. */
static bool copy_event(struct sdp_conn *conn, struct sdp_recv_entry *e,
		       struct sdp_event *ev)
{
	struct sdp_chunk *chunk = sdp_conn_chunk_at(conn, conn->chunk_head);
	uint32_t space = e->len - e->filled;
	uint32_t n = chunk->left < space ? chunk->left : space;
	bool is_last = n == chunk->left;

	ev->type = SDP_EV_COPY;
	ev->copy.from = (struct sdp_piece){ chunk->cookie, chunk->off, n };
	ev->copy.to = e->cookie;
	ev->copy.to_off = e->filled;
	e->filled += n;
	e->is_oob = chunk->is_oob && is_last;
	if (e->filled == e->len || e->is_oob || (chunk->is_solo && is_last))
		e->state = SDP_RECV_DONE;
	sdp_queue_chunk_use(conn, n);
	return true;
}

/* Whether more octets will reach the buffer without another call by the ULP. */
static bool waits_for_read(struct sdp_conn *conn,
			   const struct sdp_recv_entry *e)
{
	return sdp_sink_head(&conn->sink) && sdp_conn_is_open(conn) &&
	       !sdp_conn_is_moving(conn) && !conn->is_src_cancel_waiting &&
	       !conn->due.send_sm && e->flags & SDP_BUF_RDMA && !e->was_read;
}

static bool is_over(const struct sdp_conn *conn)
{
	return conn->closing.is_rcvd || conn->stage == SDP_STAGE_CLOSED;
}

static bool deliver(struct sdp_conn *conn, struct sdp_event *ev)
{
	struct sdp_recv_entry *e = sdp_conn_recv_at(conn, 0);

	if (!conn->recv_cnt)
		return false;
	switch ((enum sdp_recv_state)e->state) {
	case SDP_RECV_DONE:
		return received_event(conn, 0, ev);
	case SDP_RECV_ADVERTISED:
		return false;
	case SDP_RECV_SOLO:
		return copy_event(conn, e, ev);
	case SDP_RECV_PLAIN:
		break;
	}
	if (conn->reading.len)
		return false; /* until RdmaRdCompl is sent */
	if (e->filled == e->len || e->is_cancelled)
		return received_event(conn, 0, ev);
	if (sdp_queue_has_chunk(conn))
		return copy_event(conn, e, ev);
	if (is_over(conn))
		return received_event(conn, 0, ev);
	if (!e->filled || e->flags & SDP_BUF_WAITALL || waits_for_read(conn, e))
		return false;
	return received_event(conn, 0, ev);
}

/* Returns cancelled buffers that are not the first one. */
static bool deliver_cancelled(struct sdp_conn *conn, struct sdp_event *ev)
{
	if (!conn->cancel_cnt)
		return false;
	for (uint16_t i = 1; i < conn->recv_cnt; i++) {
		const struct sdp_recv_entry *e = sdp_conn_recv_at(conn, i);

		if (e->is_cancelled && e->state == SDP_RECV_PLAIN)
			return received_event(conn, i, ev);
	}
	return false;
}

/* ---- send events ---- */

/* A cancelled buffer of which nothing was sent comes back at once, because the
 * peer may never accept the octets before it. */
static bool is_cut(const struct sdp_send_entry *e)
{
	return e->is_cancelled && e->start == e->end;
}

/* Index of the first send buffer that can come back, or send_cnt. */
static uint16_t sent_first(struct sdp_conn *conn)
{
	bool is_closed = conn->stage == SDP_STAGE_CLOSED;
	uint16_t i = 0, cnt = conn->send_cancel_cnt ? conn->send_cnt : 1;

	if (!conn->send_cnt)
		return 0;
	for (; i < cnt; i++) {
		const struct sdp_send_entry *e = sdp_conn_send_at(conn, i);

		if (sdp_queue_send_is_idle(conn, e) &&
		    (is_cut(e) ||
		     (i == 0 &&
		      (is_closed || e->end <= conn->source.data_pos))))
			return i;
	}
	return conn->send_cnt;
}

static bool sent_event(struct sdp_conn *conn, struct sdp_event *ev)
{
	uint64_t pos = conn->source.data_pos;
	uint16_t i = sent_first(conn);
	struct sdp_send_entry *e;

	if (i == conn->send_cnt)
		return false;
	e = sdp_conn_send_at(conn, i);
	ev->type = SDP_EV_SENT;
	ev->sent.cookie = e->cookie;
	if (e->end <= pos)
		ev->sent.len = (uint32_t)(e->end - e->start);
	else
		ev->sent.len = pos > e->start ? (uint32_t)(pos - e->start) : 0;
	if (e->flags & SDP_BUF_OOB && !e->is_pend_sent)
		conn->oob_cnt--;
	sdp_queue_send_remove(conn, i);
	return true;
}

/* ---- the next event ---- */

static bool flag_event(struct sdp_conn *conn, struct sdp_event *ev)
{
	struct sdp_news *n = &conn->news;

	if (take_flag(&n->readable, SDP_EV_READABLE, ev) ||
	    take_flag(&n->peer_closed, SDP_EV_PEER_CLOSED, ev))
		return true;
	if (take_flag(&n->resize, SDP_EV_RESIZE, ev)) {
		ev->resize.size = conn->resize.wanted;
		return true;
	}
	if (take_flag(&n->suspended, SDP_EV_SUSPENDED, ev)) {
		ev->suspended.is_initiator = !conn->moving.is_rcvd;
		ev->suspended.port = conn->moving.is_rcvd
					     ? conn->moving.peer_port
					     : conn->moving.port;
		return true;
	}
	if (take_flag(&n->failed, SDP_EV_FAILED, ev)) {
		ev->failed.fault = conn->fault;
		return true;
	}
	return false;
}

int sdp_conn_next_event(struct sdp_conn *conn, struct sdp_event *ret_ev)
{
	memset(ret_ev, 0, sizeof(*ret_ev));
	if (take_flag(&conn->news.connected, SDP_EV_CONNECTED, ret_ev))
		return 1;
	if (conn->news.oob_cnt) {
		conn->news.oob_cnt--;
		ret_ev->type = SDP_EV_OOB_PENDING;
		return 1;
	}
	sdp_queue_cut_cancelled(conn);
	if (deliver(conn, ret_ev) || deliver_cancelled(conn, ret_ev) ||
	    release_event(conn, ret_ev) || sent_event(conn, ret_ev) ||
	    flag_event(conn, ret_ev))
		return 1;
	/* The last event: all buffers of the ULP are back. */
	return take_flag(&conn->news.closed, SDP_EV_CLOSED, ret_ev);
}
