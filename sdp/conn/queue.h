/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The three queues of a connection: ULP buffers that go out, ULP buffers to
 * be filled, payload that lies in messages' buffers.
 */
#ifndef SDP_QUEUE_H
#define SDP_QUEUE_H

#include "conn/state.h"

/* The send buffer that has the octet at @pos, or NULL. */
struct sdp_send_entry *sdp_queue_send_at(struct sdp_conn *conn, uint64_t pos);
struct sdp_send_entry *sdp_queue_send_find(struct sdp_conn *conn,
					   uint64_t cookie);

/* Whether no posted work uses its memory. */
bool sdp_queue_send_is_idle(const struct sdp_conn *conn,
			    const struct sdp_send_entry *e);

/* The rest of every cancelled send buffer leaves the stream, where the peer
 * can no longer want it. */
void sdp_queue_cut_cancelled(struct sdp_conn *conn);

/* Takes entry @i (from the head) out. */
void sdp_queue_send_remove(struct sdp_conn *conn, uint16_t i);

/* First receive buffer of that state, or NULL. */
struct sdp_recv_entry *sdp_queue_recv_first(struct sdp_conn *conn,
					    enum sdp_recv_state state);
struct sdp_recv_entry *sdp_queue_recv_find(struct sdp_conn *conn,
					   uint64_t cookie);

/* The SinkAvails stand no longer: their buffers are as before. */
void sdp_queue_recv_unadvertise(struct sdp_conn *conn);

/* The first advertised buffer got nothing: it waits behind the others that
 * are advertised (C9). */
void sdp_queue_recv_requeue(struct sdp_conn *conn);

/* Takes entry @i (from the head) out. */
void sdp_queue_recv_remove(struct sdp_conn *conn, uint16_t i);

/* Payload came; there is always a place for it: each receive that was posted
 * has one. */
void sdp_queue_chunk_push(struct sdp_conn *conn, const struct sdp_chunk *chunk);
bool sdp_queue_has_chunk(const struct sdp_conn *conn);
/* @len octets of the first chunk were used. */
void sdp_queue_chunk_use(struct sdp_conn *conn, uint32_t len);

#endif
