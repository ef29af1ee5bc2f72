/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Bcopy, Read Zcopy, Write Zcopy, Transaction.
 */
#include "conn/tx-data.h"

#include <string.h>

#include "conn/queue.h"
#include "conn/tx.h"
#include "flow/mode.h"

static uint32_t min32(uint64_t a, uint64_t b)
{
	return (uint32_t)(a < b ? a : b);
}

/* ---- RDMA Read ---- */

/* The first receive buffer, if RDMA Reads into it may start now. */
static struct sdp_recv_entry *read_target(struct sdp_conn *conn)
{
	struct sdp_recv_entry *e = sdp_conn_recv_at(conn, 0);

	if (!conn->recv_cnt || sdp_queue_has_chunk(conn) ||
	    e->state != SDP_RECV_PLAIN || e->is_cancelled)
		return NULL;
	if (e->was_read && !(e->flags & SDP_BUF_WAITALL))
		return NULL;
	return e->filled < e->len ? e : NULL;
}

/* Reads as much of the oldest SrcAvail as the buffer can take. If the buffer is
 * unsuitable, asks the peer to send instead (SDP-142). */
static void start_reading(struct sdp_conn *conn)
{
	const struct sdp_in_advert *a = sdp_sink_head(&conn->sink);
	struct sdp_recv_entry *e = read_target(conn);
	uint32_t rest, space;

	if (!a || !e || sdp_conn_is_moving(conn) ||
	    conn->is_src_cancel_waiting || conn->due.send_sm ||
	    conn->reading.is_compl_due)
		return;
	rest = a->len - a->done;
	space = e->len - e->filled;
	if (!rest)
		return; /* all was inline: only RdmaRdCompl is due (C15) */
	if (!(e->flags & SDP_BUF_RDMA) ||
	    (space < rest && space < conn->opt.read_min && !e->filled)) {
		conn->due.send_sm = true;
		return;
	}
	conn->reading.len = min32(rest, space);
	conn->reading.issued = 0;
}

bool sdp_tx_read(struct sdp_conn *conn, struct sdp_work *work)
{
	struct sdp_reading *r = &conn->reading;
	const struct sdp_recv_entry *e = sdp_conn_recv_at(conn, 0);
	const struct sdp_in_advert *a;
	struct sdp_piece piece;

	if (!r->len)
		start_reading(conn);
	if (!r->len || r->issued == r->len || r->out_cnt >= conn->ord)
		return false;
	a = sdp_sink_head(&conn->sink);
	piece.cookie = e->cookie;
	piece.off = e->filled + r->issued;
	piece.len = min32(r->len - r->issued, conn->opt.rdma_max);
	sdp_tx_rdma(conn, SDP_WORK_READ, a->stag, a->va + a->done + r->issued,
		    &piece, work); /* SDP-141 */
	r->issued += piece.len;
	r->out_cnt++;
	return true;
}

/* ---- choice of the mechanism ---- */

/* The first octet of @e that RDMA must not transfer: the urgent one
 * (SDP-117). */
static uint64_t rdma_end(const struct sdp_send_entry *e)
{
	return e->flags & SDP_BUF_OOB ? e->end - 1 : e->end;
}

static bool may_advertise_more(const struct sdp_conn *conn)
{
	uint16_t max = conn->peer_max_adverts;

	/* SDP-212, C16 */
	return conn->source.src_cnt + conn->sink.out_cnt < max;
}

/* Whether RDMA transfers the octets of @e from @pos on (SDP-82, 199, 202). */
static bool is_zcopy(const struct sdp_conn *conn,
		     const struct sdp_send_entry *e, uint64_t pos)
{
	const struct sdp_source *s = &conn->source;

	if (!(e->flags & SDP_BUF_RDMA) || pos >= rdma_end(e) ||
	    rdma_end(e) - pos <= conn->opt.src_threshold ||
	    rdma_end(e) - pos < 2 || pos < s->owed_end)
		return false;
	if (!sdp_mode_src_avail_max(s->mode) ||
	    (conn->due.mode && conn->want_mode == SDP_MODE_BUFFERED))
		return false;
	/* All advertisements are receives of ours. Waiting for one of them may
	 * mean waiting for an answer to these octets. */
	return s->src_cnt || s->snk_cnt || may_advertise_more(conn);
}

/* ---- RDMA Write ---- */

static void start_writing(struct sdp_conn *conn)
{
	struct sdp_source *s = &conn->source;
	const struct sdp_snk_advert *t = sdp_source_target(s);
	const struct sdp_send_entry *e = sdp_queue_send_at(conn, s->data_pos);

	if (!t || !e || sdp_conn_is_moving(conn) ||
	    conn->is_sink_cancel_waiting || e->is_cancelled || s->src_cnt ||
	    (conn->due.mode && conn->want_mode != s->mode) ||
	    !is_zcopy(conn, e, s->data_pos)) /* C23 */
		return;
	if (!sdp_credit_allows(&conn->credit, SDP_CREDIT_CONTROL))
		return; /* RdmaWrCompl could not be sent either */
	conn->writing.len = min32(rdma_end(e) - s->data_pos, t->len);
	conn->writing.issued = 0;
}

bool sdp_tx_write(struct sdp_conn *conn, struct sdp_work *work)
{
	struct sdp_writing *w = &conn->writing;
	const struct sdp_snk_advert *t;
	struct sdp_send_entry *e;
	struct sdp_piece piece;

	if (!w->len)
		start_writing(conn);
	if (!w->len || w->issued == w->len)
		return false;
	t = &conn->source.snk[conn->source.snk_head];
	e = sdp_queue_send_at(conn, conn->source.data_pos);
	piece.cookie = e->cookie;
	piece.off = (uint32_t)(conn->source.data_pos - e->start) + w->issued;
	piece.len = min32(w->len - w->issued, conn->opt.rdma_max);
	sdp_tx_rdma(conn, SDP_WORK_WRITE, t->stag, t->va + w->issued, &piece,
		    work); /* SDP-164 */
	w->issued += piece.len;
	e->has_work = true;
	e->last_work = work->id;
	return true;
}

/* ---- payload of messages ---- */

/* Adds the octets to copy from data_pos on to @work, up to @end and at most
 * @max. Returns their number and the flags of the message. */
static uint32_t gather(struct sdp_conn *conn, uint64_t end, uint32_t max,
		       struct sdp_work *work, uint8_t *ret_flags)
{
	uint64_t pos = conn->source.data_pos;
	uint32_t n = 0;

	work->send.piece_cnt = 0;
	*ret_flags = 0;
	while (pos < end && n < max && work->send.piece_cnt < SDP_PIECES_MAX) {
		struct sdp_send_entry *e = sdp_queue_send_at(conn, pos);
		struct sdp_piece *p = &work->send.pieces[work->send.piece_cnt];
		uint64_t stop;

		if (!e || is_zcopy(conn, e, pos))
			break;
		stop = e->end < end ? e->end : end;
		p->cookie = e->cookie;
		p->off = (uint32_t)(pos - e->start);
		p->len = min32(stop - pos, max - n);
		work->send.piece_cnt++;
		e->has_work = true;
		e->last_work = conn->next_id; /* the work of the message */
		pos += p->len;
		n += p->len;
		if (e->flags & SDP_BUF_OOB && pos == e->end) {
			*ret_flags = SDP_FLAG_OOB_PRES;
			break;
		}
	}
	return n;
}

/* Whether a Data Message can carry octets now. */
static bool has_copy(struct sdp_conn *conn)
{
	struct sdp_source *s = &conn->source;
	const struct sdp_send_entry *e = sdp_queue_send_at(conn, s->data_pos);

	return e && s->data_pos < sdp_source_data_end(s, conn->send_end) &&
	       !is_zcopy(conn, e, s->data_pos);
}

static bool send_data(struct sdp_conn *conn, struct sdp_work *work)
{
	struct sdp_source *s = &conn->source;
	struct sdp_msg msg = { .mid = SDP_MID_DATA };
	uint32_t max = sdp_resize_payload_max(&conn->resize, SDP_MID_DATA);
	uint64_t end = sdp_source_data_end(s, conn->send_end);

	if (!sdp_credit_allows(&conn->credit, SDP_CREDIT_PAYLOAD))
		return false;
	msg.payload_len = gather(conn, end, max, work, &msg.flags);
	sdp_tx_message(conn, &msg, work);
	sdp_source_sent_payload(s, msg.payload_len);
	return true;
}

/* The buffer that the next SrcAvail advertises, or NULL. */
static struct sdp_send_entry *next_src(struct sdp_conn *conn)
{
	struct sdp_source *s = &conn->source;
	uint64_t pos = sdp_source_next_pos(s);
	struct sdp_send_entry *e = sdp_queue_send_at(conn, pos);

	if (!e || e->is_cancelled || !sdp_source_may_advertise(s) ||
	    !may_advertise_more(conn) || !is_zcopy(conn, e, pos))
		return NULL;
	return e;
}

static enum sdp_credit_need src_avail_need(const struct sdp_conn *conn)
{
	return sdp_mode_has_inline(conn->source.mode) ? SDP_CREDIT_PAYLOAD
						      : SDP_CREDIT_CONTROL;
}

static bool send_src_avail(struct sdp_conn *conn, struct sdp_send_entry *e,
			   struct sdp_work *work)
{
	struct sdp_source *s = &conn->source;
	uint64_t pos = sdp_source_next_pos(s);
	uint32_t off = (uint32_t)(pos - e->start);
	struct sdp_msg msg = { .mid = SDP_MID_SRC_AVAIL };
	uint32_t max = sdp_resize_payload_max(&conn->resize, msg.mid);

	if (!sdp_credit_allows(&conn->credit, src_avail_need(conn)))
		return false;
	msg.avail.len = (uint32_t)(rdma_end(e) - pos);
	msg.avail.stag = e->stag;
	msg.avail.va = e->va + off;
	if (sdp_mode_has_inline(s->mode)) { /* SDP-138, C15 */
		msg.payload_len = min32(conn->opt.inline_max, max);
		msg.payload_len = min32(msg.payload_len, msg.avail.len - 1);
		work->send.piece_cnt = 1;
		work->send.pieces[0] =
			(struct sdp_piece){ e->cookie, off, msg.payload_len };
		e->has_work = true;
		e->last_work = conn->next_id;
	}
	sdp_tx_message(conn, &msg, work);
	sdp_source_sent_src_avail(s, msg.mseq, e->stag, msg.avail.len,
				  msg.payload_len);
	return true;
}

/* A Write needs its RdmaWrCompl first. SinkCancelAck must precede payload too:
 * otherwise the Sink would put the payload into the cancelled buffer (3.5). */
static bool is_payload_barred(const struct sdp_conn *conn)
{
	return conn->writing.len || conn->due.sink_cancel_ack ||
	       sdp_conn_is_moving(conn);
}

bool sdp_tx_payload(struct sdp_conn *conn, struct sdp_work *work)
{
	struct sdp_send_entry *e;

	if (is_payload_barred(conn))
		return false;
	if (has_copy(conn))
		return send_data(conn, work);
	e = next_src(conn);
	return e && send_src_avail(conn, e, work);
}

bool sdp_tx_is_starved(struct sdp_conn *conn)
{
	if (is_payload_barred(conn))
		return false;
	if (has_copy(conn))
		return true;
	return next_src(conn) && src_avail_need(conn) == SDP_CREDIT_PAYLOAD;
}

/* ---- SinkAvail ---- */

/* The receive buffer to advertise next. All before it are advertised or have
 * received their data. */
static struct sdp_recv_entry *next_sink(struct sdp_conn *conn)
{
	struct sdp_recv_entry *e = sdp_queue_recv_first(conn, SDP_RECV_PLAIN);

	if (!e || e->filled || e->is_cancelled || e->was_read ||
	    !(e->flags & SDP_BUF_RDMA) || e->flags & SDP_BUF_WAITALL ||
	    e->len <= conn->opt.sink_threshold) /* SDP-171, SDP-172 */
		return NULL;
	return e;
}

/* Whether one copied message can take everything that is queued. The SinkAvail
 * then carries it. */
static bool fits_transaction(struct sdp_conn *conn)
{
	struct sdp_source *s = &conn->source;
	uint64_t n = conn->send_end - s->data_pos;

	return !conn->opt.has_no_transaction && n && !s->src_cnt &&
	       !is_payload_barred(conn) && has_copy(conn) && !conn->oob_cnt &&
	       n <= sdp_resize_payload_max(&conn->resize, SDP_MID_SINK_AVAIL) &&
	       sdp_credit_allows(&conn->credit, SDP_CREDIT_PAYLOAD);
}

bool sdp_tx_sink_avail(struct sdp_conn *conn, struct sdp_work *work)
{
	struct sdp_recv_entry *e;
	struct sdp_msg msg = { .mid = SDP_MID_SINK_AVAIL };
	uint8_t flags;

	if (!sdp_sink_may_advertise(&conn->sink) || !may_advertise_more(conn) ||
	    sdp_conn_is_moving(conn) || conn->closing.is_rcvd ||
	    sdp_queue_has_chunk(conn) || conn->due.sink_cancel ||
	    !sdp_credit_allows(&conn->credit, SDP_CREDIT_CONTROL))
		return false;
	e = next_sink(conn);
	if (!e)
		return false;
	msg.avail.len = e->len;
	msg.avail.stag = e->stag;
	msg.avail.va = e->va;
	msg.avail.non_discards = conn->sink.nd;
	if (fits_transaction(conn)) {
		msg.payload_len =
			gather(conn, conn->send_end,
			       sdp_resize_payload_max(&conn->resize, msg.mid),
			       work, &flags);
		if (flags) { /* urgent data goes by Data only (SDP-117) */
			msg.payload_len = 0;
			work->send.piece_cnt = 0;
		}
	}
	sdp_tx_message(conn, &msg, work);
	sdp_sink_sent_sink_avail(&conn->sink, e->stag, e->len);
	e->state = SDP_RECV_ADVERTISED;
	if (msg.payload_len)
		sdp_source_sent_payload(&conn->source, msg.payload_len);
	return true;
}
