/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The start of a connection (doc/spec/sdp.md 2.C, part 5).
 */
#ifndef SDP_HELLO_H
#define SDP_HELLO_H

#include "conn/state.h"

/* Initialises the counters for a new carrier. What the ULP has queued stays. */
void sdp_start_begin(struct sdp_conn *conn);

/* Connecting Peer: HelloAck was received as the first message. */
enum sdp_fault sdp_start_on_hello_ack(struct sdp_conn *conn, const void *octets,
				      size_t len);

/* The work of the start: private data, or HelloAck as a Send. */
bool sdp_start_next_work(struct sdp_conn *conn, struct sdp_work *work);

#endif
