/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Messages without payload.
 */
#ifndef SDP_TX_CONTROL_H
#define SDP_TX_CONTROL_H

#include "conn/state.h"

/* Each function makes its message if the message is due and the credit allows
 * it. */
bool sdp_tx_rd_compl(struct sdp_conn *conn, struct sdp_work *work);
bool sdp_tx_wr_compl(struct sdp_conn *conn, struct sdp_work *work);
bool sdp_tx_sink_cancel_ack(struct sdp_conn *conn, struct sdp_work *work);
bool sdp_tx_send_sm(struct sdp_conn *conn, struct sdp_work *work);
bool sdp_tx_resize_ack(struct sdp_conn *conn, struct sdp_work *work);
bool sdp_tx_mode(struct sdp_conn *conn, struct sdp_work *work);
bool sdp_tx_leave_buffered(struct sdp_conn *conn, struct sdp_work *work);
bool sdp_tx_src_cancel(struct sdp_conn *conn, struct sdp_work *work);
bool sdp_tx_sink_cancel(struct sdp_conn *conn, struct sdp_work *work);
bool sdp_tx_ask_size(struct sdp_conn *conn, struct sdp_work *work);
bool sdp_tx_susp(struct sdp_conn *conn, struct sdp_work *work);
bool sdp_tx_susp_ack(struct sdp_conn *conn, struct sdp_work *work);
bool sdp_tx_discon(struct sdp_conn *conn, struct sdp_work *work);
bool sdp_tx_abort(struct sdp_conn *conn, struct sdp_work *work);
bool sdp_tx_update(struct sdp_conn *conn, struct sdp_work *work);

#endif
