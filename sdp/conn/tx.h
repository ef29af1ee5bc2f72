/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Completes work before it is returned to the owner: numbers, headers, flags.
 */
#ifndef SDP_TX_H
#define SDP_TX_H

#include "conn/state.h"

/* Whether another Send, Read or Write can be posted. */
bool sdp_tx_has_room(const struct sdp_conn *conn);

/* Makes @work a Send of @msg. The caller has filled mid, flags, payload_len and
 * the headers of @msg, and the pieces of the payload in @work. This function
 * adds numbers, credit and OOB_PEND. */
void sdp_tx_message(struct sdp_conn *conn, struct sdp_msg *msg,
		    struct sdp_work *work);

/* As sdp_tx_message(), for HelloAck, which has no number. */
void sdp_tx_unnumbered(struct sdp_conn *conn, const struct sdp_msg *msg,
		       struct sdp_work *work);

/* Makes @work a message of that MID without extended header. Returns its
 * MSeq. */
uint32_t sdp_tx_plain(struct sdp_conn *conn, uint8_t mid,
		      struct sdp_work *work);

/* Makes @work the receives that are missing; receives of the old size do not
 * count. Returns false if none is missing. */
bool sdp_tx_post(struct sdp_conn *conn, struct sdp_work *work);

/* Makes @work a Read or Write of the next @len octets. */
void sdp_tx_rdma(struct sdp_conn *conn, enum sdp_work_type type, uint32_t stag,
		 uint64_t va, const struct sdp_piece *piece,
		 struct sdp_work *work);

/* An urgent octet that is near enough for OOB_PEND (SDP-115), or NULL. */
struct sdp_send_entry *sdp_tx_pending_oob(struct sdp_conn *conn);

/* REQ_PIPE in messages of the Data Sink (SDP-16). */
uint8_t sdp_tx_req_pipe(const struct sdp_conn *conn);

#endif
