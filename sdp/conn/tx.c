/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Makes work requests from messages.
 */
#include "conn/tx.h"

#include <assert.h>

bool sdp_tx_has_room(const struct sdp_conn *conn)
{
	return conn->next_id - conn->done_id < conn->opt.work_cap;
}

static uint32_t take_id(struct sdp_conn *conn, enum sdp_work_type type)
{
	uint32_t id = conn->next_id++;

	*sdp_conn_work_kind(conn, id) = (uint8_t)type;
	return id;
}

/* Signaled often enough to free places in the queue, and whenever an end waits
 * for the completion. */
static bool is_signaled(const struct sdp_conn *conn, const struct sdp_work *w)
{
	if (w->id % (conn->opt.work_cap / 4u) == 0)
		return true;
	switch (w->send.mid) {
	case SDP_MID_DISCONN:
	case SDP_MID_ABORT_CONN:
	case SDP_MID_SUSP_COMM_ACK:
	case SDP_MID_RDMA_WR_COMPL:
		return true;
	default:
		return w->send.piece_cnt;
	}
}

struct sdp_send_entry *sdp_tx_pending_oob(struct sdp_conn *conn)
{
	if (!conn->oob_cnt)
		return NULL;
	for (uint16_t i = 0; i < conn->send_cnt; i++) {
		struct sdp_send_entry *e = sdp_conn_send_at(conn, i);

		if (!(e->flags & SDP_BUF_OOB) || e->is_pend_sent)
			continue;
		if (e->end - 1 - conn->source.data_pos > SDP_OOB_DISTANCE)
			return NULL;
		return e;
	}
	return NULL;
}

void sdp_tx_unnumbered(struct sdp_conn *conn, const struct sdp_msg *msg,
		       struct sdp_work *work)
{
	work->type = SDP_WORK_SEND;
	work->id = take_id(conn, SDP_WORK_SEND);
	work->send.header_len = (uint8_t)sdp_msg_encode(msg, conn->opt.layout,
							work->send.header);
	work->send.mid = msg->mid;
	work->send.is_solicited = sdp_msg_is_solicited(msg->mid, msg->flags);
	work->is_signaled = is_signaled(conn, work);
}

void sdp_tx_message(struct sdp_conn *conn, struct sdp_msg *msg,
		    struct sdp_work *work)
{
	struct sdp_send_entry *oob = sdp_tx_pending_oob(conn);

	if (oob) { /* SDP-111, SDP-113 */
		msg->flags |= SDP_FLAG_OOB_PEND;
		oob->is_pend_sent = true;
		conn->oob_cnt--;
	}
	sdp_credit_send(&conn->credit, msg);
	sdp_tx_unnumbered(conn, msg, work);
}

uint32_t sdp_tx_plain(struct sdp_conn *conn, uint8_t mid, struct sdp_work *work)
{
	struct sdp_msg msg = { .mid = mid };

	sdp_tx_message(conn, &msg, work);
	return msg.mseq;
}

void sdp_tx_rdma(struct sdp_conn *conn, enum sdp_work_type type, uint32_t stag,
		 uint64_t va, const struct sdp_piece *piece,
		 struct sdp_work *work)
{
	work->type = type;
	work->id = take_id(conn, type);
	work->is_signaled = type == SDP_WORK_READ;
	work->rdma.stag = stag;
	work->rdma.va = va;
	work->rdma.piece = *piece;
}

uint8_t sdp_tx_req_pipe(const struct sdp_conn *conn)
{
	switch (conn->opt.req_pipe) {
	case SDP_REQ_PIPE_AUTO:
		break;
	case SDP_REQ_PIPE_NEVER:
		return 0;
	case SDP_REQ_PIPE_ALWAYS:
		return SDP_FLAG_REQ_PIPE;
	}
	return conn->recv_cnt > 1 ? SDP_FLAG_REQ_PIPE : 0; /* C28 */
}

bool sdp_tx_post(struct sdp_conn *conn, struct sdp_work *work)
{
	uint32_t held = conn->chunk_tail - conn->chunk_free - conn->old_held;
	uint32_t have = conn->credit.posted - conn->resize.old_cnt + held;
	uint32_t all =
		conn->credit.posted + conn->chunk_tail - conn->chunk_free;

	switch (conn->stage) {
	case SDP_STAGE_HELLO:
	case SDP_STAGE_ACCEPT:
	case SDP_STAGE_OPEN:
		break;
	default:
		return false;
	}
	if (have >= conn->credit.pool)
		return false;
	work->type = SDP_WORK_POST;
	work->post.cnt = conn->credit.pool - have;
	/* Each receive needs a chunk for its payload. After a move the payload
	 * of the old carrier may still be unread. */
	if (work->post.cnt > conn->chunk_cap - all)
		work->post.cnt = conn->chunk_cap - all;
	if (!work->post.cnt)
		return false;
	work->post.size = conn->resize.new_size;
	sdp_credit_post(&conn->credit, work->post.cnt);
	return true;
}
