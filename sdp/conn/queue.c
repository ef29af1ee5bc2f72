/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The queues of buffers, in the order of the stream.
 */
#include "conn/queue.h"

#include <assert.h>

#include "flow/seq.h"

/* ---- send buffers ---- */

struct sdp_send_entry *sdp_queue_send_at(struct sdp_conn *conn, uint64_t pos)
{
	for (uint16_t i = 0; i < conn->send_cnt; i++) {
		struct sdp_send_entry *e = sdp_conn_send_at(conn, i);

		if (pos < e->end && pos >= e->start)
			return e;
	}
	return NULL;
}

struct sdp_send_entry *sdp_queue_send_find(struct sdp_conn *conn,
					   uint64_t cookie)
{
	for (uint16_t i = 0; i < conn->send_cnt; i++) {
		struct sdp_send_entry *e = sdp_conn_send_at(conn, i);

		if (e->cookie == cookie)
			return e;
	}
	return NULL;
}

bool sdp_queue_send_is_idle(const struct sdp_conn *conn,
			    const struct sdp_send_entry *e)
{
	return !e->has_work ||
	       sdp_seq_is_reached(conn->done_id, e->last_work + 1) ||
	       *sdp_conn_work_kind(conn, e->last_work) == SDP_WORK_NONE;
}

void sdp_queue_send_remove(struct sdp_conn *conn, uint16_t i)
{
	conn->send_cancel_cnt -= sdp_conn_send_at(conn, i)->is_cancelled;
	for (; i > 0; i--)
		*sdp_conn_send_at(conn, i) = *sdp_conn_send_at(conn, i - 1u);
	conn->send_head =
		(uint16_t)((conn->send_head + 1) % conn->opt.send_cap);
	conn->send_cnt--;
}

/* The first position that a cancel may remove from the stream. Everything
 * before it is sent, advertised, being written, or promised to a SendSm. */
static uint64_t free_pos(const struct sdp_conn *conn)
{
	uint64_t pos = sdp_source_next_pos(&conn->source) + conn->writing.len;

	return pos > conn->source.owed_end ? pos : conn->source.owed_end;
}

void sdp_queue_cut_cancelled(struct sdp_conn *conn)
{
	uint64_t limit = free_pos(conn), cut = 0;

	if (!conn->send_cancel_cnt)
		return;
	for (uint16_t i = 0; i < conn->send_cnt; i++) {
		struct sdp_send_entry *e = sdp_conn_send_at(conn, i);
		uint64_t end = e->end, keep;

		e->start -= cut;
		e->end -= cut;
		if (!e->is_cancelled || end <= limit)
			continue;
		keep = e->start > limit ? e->start : limit;
		cut += e->end - keep;
		e->end = keep;
		if (e->flags & SDP_BUF_OOB) {
			e->flags &= (uint8_t)~SDP_BUF_OOB;
			conn->oob_cnt -= !e->is_pend_sent;
		}
	}
	conn->send_end -= cut;
}

/* ---- receive buffers ---- */

struct sdp_recv_entry *sdp_queue_recv_first(struct sdp_conn *conn,
					    enum sdp_recv_state state)
{
	for (uint16_t i = 0; i < conn->recv_cnt; i++) {
		struct sdp_recv_entry *e = sdp_conn_recv_at(conn, i);

		if (e->state == state)
			return e;
	}
	return NULL;
}

struct sdp_recv_entry *sdp_queue_recv_find(struct sdp_conn *conn,
					   uint64_t cookie)
{
	for (uint16_t i = 0; i < conn->recv_cnt; i++) {
		struct sdp_recv_entry *e = sdp_conn_recv_at(conn, i);

		if (e->cookie == cookie)
			return e;
	}
	return NULL;
}

void sdp_queue_recv_unadvertise(struct sdp_conn *conn)
{
	for (uint16_t i = 0; i < conn->recv_cnt; i++) {
		struct sdp_recv_entry *e = sdp_conn_recv_at(conn, i);

		if (e->state == SDP_RECV_ADVERTISED)
			e->state = SDP_RECV_PLAIN;
	}
}

void sdp_queue_recv_requeue(struct sdp_conn *conn)
{
	uint16_t i = 0;

	while (sdp_conn_recv_at(conn, i)->state != SDP_RECV_ADVERTISED)
		i++;
	sdp_conn_recv_at(conn, i)->state = SDP_RECV_PLAIN;
	for (; i + 1 < conn->recv_cnt; i++) {
		struct sdp_recv_entry *e = sdp_conn_recv_at(conn, i);
		struct sdp_recv_entry *next = sdp_conn_recv_at(conn, i + 1u);
		struct sdp_recv_entry first = *e;

		if (next->state != SDP_RECV_ADVERTISED)
			break;
		*e = *next;
		*next = first;
	}
}

void sdp_queue_recv_remove(struct sdp_conn *conn, uint16_t i)
{
	for (; i > 0; i--)
		*sdp_conn_recv_at(conn, i) = *sdp_conn_recv_at(conn, i - 1u);
	conn->recv_head =
		(uint16_t)((conn->recv_head + 1) % conn->opt.recv_cap);
	conn->recv_cnt--;
}

/* ---- received payload ---- */

void sdp_queue_chunk_push(struct sdp_conn *conn, const struct sdp_chunk *chunk)
{
	assert(conn->chunk_tail - conn->chunk_free < conn->chunk_cap);
	*sdp_conn_chunk_at(conn, conn->chunk_tail++) = *chunk;
	conn->chunk_octets += chunk->left;
	conn->old_held += chunk->is_old;
}

bool sdp_queue_has_chunk(const struct sdp_conn *conn)
{
	return conn->chunk_head != conn->chunk_tail;
}

void sdp_queue_chunk_use(struct sdp_conn *conn, uint32_t len)
{
	struct sdp_chunk *chunk = sdp_conn_chunk_at(conn, conn->chunk_head);

	assert(len <= chunk->left);
	chunk->off += len;
	chunk->left -= len;
	conn->chunk_octets -= len;
	if (!chunk->left)
		conn->chunk_head++;
}
