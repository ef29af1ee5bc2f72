/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Transfer of the ULP's octets: chooses the mechanism and makes the next work.
 */
#ifndef SDP_TX_DATA_H
#define SDP_TX_DATA_H

#include "conn/state.h"

/* Each function makes the next work of its kind, if there is any and the rules
 * allow it now. */
bool sdp_tx_read(struct sdp_conn *conn, struct sdp_work *work);
bool sdp_tx_write(struct sdp_conn *conn, struct sdp_work *work);
bool sdp_tx_sink_avail(struct sdp_conn *conn, struct sdp_work *work);
bool sdp_tx_payload(struct sdp_conn *conn, struct sdp_work *work);

/* Whether lack of credit is all that keeps octets from being sent. */
bool sdp_tx_is_starved(struct sdp_conn *conn);

#endif
