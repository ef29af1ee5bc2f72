/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The three queues of a connection: send buffers of the ULP, receive buffers of
 * the ULP, and received payload in the buffers of messages.
 */
#ifndef SDP_QUEUE_H
#define SDP_QUEUE_H

#include "conn/state.h"

/* The send buffer that contains the octet at @pos, or NULL. */
struct sdp_send_entry *sdp_queue_send_at(struct sdp_conn *conn, uint64_t pos);
struct sdp_send_entry *sdp_queue_send_find(struct sdp_conn *conn,
					   uint64_t cookie);

/* Whether no posted work uses the memory of the entry. */
bool sdp_queue_send_is_idle(const struct sdp_conn *conn,
			    const struct sdp_send_entry *e);

/* Removes the rest of each cancelled send buffer from the stream, unless the
 * peer may still need it. */
void sdp_queue_cut_cancelled(struct sdp_conn *conn);

/* Removes entry @i, counted from the head. */
void sdp_queue_send_remove(struct sdp_conn *conn, uint16_t i);

/* The first receive buffer in that state, or NULL. */
struct sdp_recv_entry *sdp_queue_recv_first(struct sdp_conn *conn,
					    enum sdp_recv_state state);
struct sdp_recv_entry *sdp_queue_recv_find(struct sdp_conn *conn,
					   uint64_t cookie);

/* The SinkAvails are void. Their buffers are as before the advertisement. */
void sdp_queue_recv_unadvertise(struct sdp_conn *conn);

/* The first advertised buffer received nothing. It goes behind the other
 * advertised buffers (C9). */
void sdp_queue_recv_requeue(struct sdp_conn *conn);

/* Removes entry @i, counted from the head. */
void sdp_queue_recv_remove(struct sdp_conn *conn, uint16_t i);

/* Appends received payload. This cannot fail: each posted receive has a chunk
 * reserved. */
void sdp_queue_chunk_push(struct sdp_conn *conn, const struct sdp_chunk *chunk);
bool sdp_queue_has_chunk(const struct sdp_conn *conn);
/* The ULP used @len octets of the first chunk. */
void sdp_queue_chunk_use(struct sdp_conn *conn, uint32_t len);

#endif
