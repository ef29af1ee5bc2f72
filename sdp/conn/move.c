/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Moves a connection from one carrier to the next, and to another address
 * space.
 */
#include "conn/move.h"

#include <errno.h>
#include <string.h>

#include "conn/end.h"
#include "conn/queue.h"
#include "conn/hello.h"

/* ---- between two carriers ---- */

int sdp_conn_suspend(struct sdp_conn *conn, uint16_t port, uint64_t now)
{
	if (!sdp_conn_is_open(conn) || sdp_conn_is_moving(conn))
		return -EINVAL;
	conn->now = now;
	conn->moving.is_wanted = true;
	conn->moving.port = port;
	sdp_conn_arm(conn, SDP_TIMER_SUSP, conn->opt.susp_ms);
	return 0;
}

/* Advertisements do not survive a move (SDP-244). A cancel therefore does not
 * wait for the next carrier. */
void sdp_move_suspend(struct sdp_conn *conn)
{
	conn->stage = SDP_STAGE_SUSPENDED;
	conn->news.suspended = true;
	sdp_conn_disarm_all(conn);
	/* The peer has received everything before SuspComm or SuspCommAck. */
	conn->closing.is_done = conn->closing.is_sent;
	memset(&conn->due, 0, sizeof(conn->due));
	memset(&conn->reading, 0, sizeof(conn->reading));
	memset(&conn->writing, 0, sizeof(conn->writing));
	conn->is_src_cancel_waiting = false;
	conn->is_sink_cancel_waiting = false;
	sdp_source_restart(&conn->source);
	sdp_sink_restart(&conn->sink);
	sdp_queue_recv_unadvertise(conn);
}

int sdp_conn_move(struct sdp_conn *conn, enum sdp_role role,
		  enum sdp_carrier carrier, uint64_t now)
{
	if (conn->stage != SDP_STAGE_SUSPENDED)
		return -EINVAL;
	conn->now = now;
	conn->opt.role = role;
	conn->opt.carrier = carrier;
	conn->done_id = conn->next_id;
	/* If the peer's SuspComm had priority, ours is sent again (SDP-245). */
	if (!conn->moving.is_rcvd)
		conn->moving.is_wanted = false;
	conn->moving.is_sent = false;
	conn->moving.is_rcvd = false;
	conn->moving.is_ack_sent = false;
	conn->moving.has_crossed = false;
	conn->moving.has_spare = false;
	conn->moving.is_llp_ending = false;
	/* Unread payload does not count against the receives of the new carrier
	 * (SDP-36). */
	for (uint32_t i = conn->chunk_free; i != conn->chunk_tail; i++)
		sdp_conn_chunk_at(conn, i)->is_old = true;
	conn->old_held = conn->chunk_tail - conn->chunk_free;
	sdp_start_begin(conn);
	return 0;
}

void sdp_conn_give_up_move(struct sdp_conn *conn, uint64_t now)
{
	conn->now = now;
	sdp_end_fail(conn, SDP_FAULT_MOVE);
}

/* ---- to another address space ---- */

int sdp_conn_unsent(const struct sdp_conn *conn, uint16_t i,
		    struct sdp_piece *ret_piece, uint8_t *ret_flags)
{
	uint64_t pos = conn->source.data_pos;

	for (uint16_t at = 0; at < conn->send_cnt; at++) {
		const struct sdp_send_entry *e = sdp_conn_send_at(conn, at);
		uint64_t start = e->start > pos ? e->start : pos;

		if (e->end <= pos || i-- > 0)
			continue;
		ret_piece->cookie = e->cookie;
		ret_piece->off = (uint32_t)(start - e->start);
		ret_piece->len = (uint32_t)(e->end - start);
		*ret_flags = e->flags & SDP_BUF_OOB;
		if (e->is_pend_sent)
			*ret_flags |= SDP_BUF_PEND_SENT;
		return 1;
	}
	return 0;
}

static bool is_before_start(const struct sdp_conn *conn)
{
	return conn->stage == SDP_STAGE_IDLE || conn->stage == SDP_STAGE_LISTEN;
}

int sdp_conn_inherit(struct sdp_conn *conn, bool has_shut, bool has_peer_shut)
{
	struct sdp_closing *c = &conn->closing;

	if (!is_before_start(conn))
		return -EINVAL;
	c->is_wanted = c->is_sent = c->is_done = has_shut;
	c->is_rcvd = has_peer_shut;
	conn->news.peer_closed = has_peer_shut;
	return 0;
}

int sdp_conn_inherit_octets(struct sdp_conn *conn,
			    const struct sdp_piece *piece, bool is_oob)
{
	struct sdp_chunk chunk = {
		.cookie = piece->cookie,
		.off = piece->off,
		.left = piece->len,
		.is_oob = is_oob,
		.is_old = true,
	};

	if (!is_before_start(conn) || !piece->len)
		return -EINVAL;
	if (conn->chunk_tail - conn->chunk_free >= conn->chunk_cap / 2)
		return -ENOSPC;
	sdp_queue_chunk_push(conn, &chunk);
	conn->news.readable = true;
	return 0;
}
