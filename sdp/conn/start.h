/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * How a connection begins (doc/spec/sdp.md 2.C, part 5).
 */
#ifndef SDP_START_H
#define SDP_START_H

#include "conn/state.h"

/* The counters of a carrier that is to come; what the ULP gave stays. */
void sdp_start_begin(struct sdp_conn *conn);

/* Connecting Peer: HelloAck came as the first message. */
enum sdp_fault sdp_start_on_hello_ack(struct sdp_conn *conn, const void *octets,
				      size_t len);

/* What goes out in the stage: private data, or HelloAck as a Send. */
bool sdp_start_next_work(struct sdp_conn *conn, struct sdp_work *work);

#endif
