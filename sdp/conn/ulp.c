/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Calls of the ULP: send, receive, cancel, modes and sizes.
 */
#include <errno.h>

#include "conn/queue.h"
#include "conn/state.h"
#include "flow/mode.h"
#include "tcp-answer.h"

/* ---- sending ---- */

static int check_send(const struct sdp_conn *conn, uint32_t len)
{
	unsigned int holds = 0;
	int ret;

	if (!sdp_conn_is_running(conn))
		holds = conn->stage < SDP_STAGE_OPEN ? SDP_HOLDS_NEW
						     : SDP_HOLDS_OVER;
	if (conn->closing.is_wanted) /* SDP-86 */
		holds |= SDP_HOLDS_WR_SHUT;
	ret = sdp_answer_of(SDP_CALL_SEND, holds);
	if (ret != SDP_ANSWER_GO)
		return ret;
	return len && len <= SDP_LEN_MAX ? 0 : -EINVAL;
}

int sdp_conn_send(struct sdp_conn *conn, const struct sdp_buf *buf)
{
	int ret = check_send(conn, buf->len);
	struct sdp_send_entry *e;

	if (ret)
		return ret;
	if (conn->send_cnt == conn->opt.send_cap)
		return -EAGAIN;
	e = sdp_conn_send_at(conn, conn->send_cnt++);
	*e = (struct sdp_send_entry){
		.cookie = buf->cookie,
		.va = buf->va,
		.start = conn->send_end,
		.end = conn->send_end + buf->len,
		.stag = buf->stag,
		.flags = buf->flags & (SDP_BUF_RDMA | SDP_BUF_OOB),
		.is_pend_sent = buf->flags & SDP_BUF_PEND_SENT,
	};
	conn->send_end = e->end;
	if (e->flags & SDP_BUF_OOB && !e->is_pend_sent)
		conn->oob_cnt++;
	return 0;
}

int sdp_conn_send_more(struct sdp_conn *conn, uint64_t cookie, uint32_t len)
{
	int ret = check_send(conn, len);
	struct sdp_send_entry *e;

	if (ret)
		return ret;
	if (!conn->send_cnt)
		return -ENOENT;
	e = sdp_conn_send_at(conn, conn->send_cnt - 1u);
	if (e->cookie != cookie || e->flags & SDP_BUF_OOB || e->is_cancelled)
		return -ENOENT;
	if (len > SDP_LEN_MAX - (e->end - e->start))
		return -EINVAL;
	e->end += len;
	conn->send_end += len;
	return 0;
}

int sdp_conn_cancel_send(struct sdp_conn *conn, uint64_t cookie, uint64_t now)
{
	struct sdp_send_entry *e = sdp_queue_send_find(conn, cookie);

	conn->now = now;
	if (!e)
		return -ENOENT;
	if (e->is_cancelled)
		return 0;
	e->is_cancelled = true;
	conn->send_cancel_cnt++;
	/* Octets that the peer may be reading are revoked first. This also
	 * revokes SrcAvails of later buffers (SDP-182). */
	if (conn->source.src_cnt &&
	    e->start < sdp_source_next_pos(&conn->source)) {
		conn->due.src_cancel = true;
		sdp_conn_arm(conn, SDP_TIMER_SRC_CANCEL, conn->opt.cancel_ms);
	}
	sdp_queue_cut_cancelled(conn);
	return 0;
}

/* ---- receiving ---- */

int sdp_conn_post_recv(struct sdp_conn *conn, const struct sdp_buf *buf)
{
	struct sdp_recv_entry *e;

	if ((!conn->was_open && conn->stage < SDP_STAGE_OPEN) ||
	    conn->stage == SDP_STAGE_CLOSED)
		return -ENOTCONN;
	if (!buf->len || buf->len > SDP_LEN_MAX)
		return -EINVAL;
	if (conn->recv_cnt == conn->opt.recv_cap)
		return -EAGAIN;
	e = sdp_conn_recv_at(conn, conn->recv_cnt++);
	*e = (struct sdp_recv_entry){
		.cookie = buf->cookie,
		.va = buf->va,
		.len = buf->len,
		.stag = buf->stag,
		.flags = buf->flags & (SDP_BUF_RDMA | SDP_BUF_WAITALL),
	};
	sdp_conn_disarm(conn, SDP_TIMER_DEADLOCK);
	if (conn->sink.mode == SDP_MODE_BUFFERED &&
	    !conn->opt.has_manual_mode && e->flags & SDP_BUF_RDMA &&
	    e->len > conn->opt.sink_threshold)
		conn->due.leave_buffered = true; /* Figure 31 */
	return 0;
}

int sdp_conn_cancel_recv(struct sdp_conn *conn, uint64_t cookie, uint64_t now)
{
	struct sdp_recv_entry *e = sdp_queue_recv_find(conn, cookie);

	conn->now = now;
	if (!e)
		return -ENOENT;
	if (e->is_cancelled)
		return 0;
	e->is_cancelled = true;
	conn->cancel_cnt++;
	if (e->state == SDP_RECV_ADVERTISED) { /* SDP-190 */
		conn->due.sink_cancel = true;
		sdp_conn_arm(conn, SDP_TIMER_SINK_CANCEL, conn->opt.cancel_ms);
	}
	return 0;
}

void sdp_conn_set_stag(struct sdp_conn *conn, uint64_t cookie, uint32_t stag)
{
	struct sdp_send_entry *s = sdp_queue_send_find(conn, cookie);
	struct sdp_recv_entry *r = sdp_queue_recv_find(conn, cookie);

	if (s)
		s->stag = stag;
	if (r)
		r->stag = stag;
}

int sdp_conn_peek(const struct sdp_conn *conn, uint64_t off,
		  struct sdp_piece *ret_piece, bool *ret_is_oob)
{
	if (conn->recv_cnt)
		return -EBUSY;
	for (uint32_t i = conn->chunk_head; i != conn->chunk_tail; i++) {
		const struct sdp_chunk *chunk = sdp_conn_chunk_at(conn, i);

		if (off >= chunk->left) {
			off -= chunk->left;
			continue;
		}
		ret_piece->cookie = chunk->cookie;
		ret_piece->off = chunk->off + (uint32_t)off;
		ret_piece->len = chunk->left - (uint32_t)off;
		*ret_is_oob = chunk->is_oob;
		return 1;
	}
	return 0;
}

int sdp_conn_consume(struct sdp_conn *conn, uint64_t len)
{
	if (conn->recv_cnt)
		return -EBUSY;
	if (len > conn->chunk_octets)
		return -EINVAL;
	while (len) {
		uint32_t left = sdp_conn_chunk_at(conn, conn->chunk_head)->left;
		uint32_t n = len < left ? (uint32_t)len : left;

		sdp_queue_chunk_use(conn, n);
		len -= n;
	}
	return 0;
}

int sdp_conn_refuse_advert(struct sdp_conn *conn)
{
	if (!sdp_conn_is_open(conn) || !sdp_sink_head(&conn->sink) ||
	    conn->reading.len || conn->reading.is_compl_due ||
	    conn->is_src_cancel_waiting)
		return -ENOENT;
	conn->due.send_sm = true;
	return 0;
}

/* ---- modes, sizes ---- */

int sdp_conn_set_mode(struct sdp_conn *conn, enum sdp_mode mode)
{
	if (!sdp_mode_may_change(conn->source.mode, mode, true))
		return -EINVAL;
	conn->due.mode = true;
	conn->want_mode = mode;
	return 0;
}

int sdp_conn_ask_size(struct sdp_conn *conn, uint32_t size)
{
	int ret;

	if (!sdp_conn_is_open(conn))
		return -EINVAL;
	ret = sdp_resize_may_ask(&conn->resize, size);
	if (ret)
		return ret;
	conn->due.ask_size = true;
	conn->want_size = size;
	return 0;
}

int sdp_conn_resize(struct sdp_conn *conn, uint32_t size)
{
	if (!conn->resize.is_wanted)
		return -EINVAL;
	if (size > conn->opt.buf_size_max)
		size = conn->opt.buf_size_max;
	sdp_resize_decide(&conn->resize, size, conn->credit.posted);
	return 0;
}
