/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Where FPDUs begin, for a look at a stream from outside. */
#include <errno.h>

#include "state.h"

int smpa_start_frame_size(const void *buf, size_t len)
{
	size_t need;

	if (len < START_HDR_SIZE)
		return 0;
	need = start_frame_need(buf, len);
	return need > START_FRAME_MAX ? -EMSGSIZE : (int)need;
}

int smpa_fpdu_size(const void *buf, size_t len, uint32_t phase,
		   bool has_markers)
{
	struct fpdu f;
	int ret = fpdu_decode_head(buf, len, phase % FPDU_MARKER_INTERVAL,
				   has_markers, &f);

	return ret > 0 ? (int)f.wire : ret;
}

/* Octets that the current FPDU still lacks; -EAGAIN. */
static int64_t rx_rest(const struct smpa_conn *c)
{
	const struct conn_rx *rx = &c->rx;
	size_t have = rx->tail - rx->head;
	int size;

	switch (rx->state) {
	case RX_FPDU:
		if (!have)
			return 0;
		size = smpa_fpdu_size(rx->buf + rx->head, have, rx->phase,
				      c->out.rx_markers);
		return size > 0 && (size_t)size > have
			       ? (int64_t)((size_t)size - have)
			       : -EAGAIN;
	case RX_DIRECT:
	case RX_TRAILER:
		return (int64_t)rx->seg.rest + rx->seg.trailer - (int64_t)have;
	case RX_SEGMENT:
	case RX_PLACED:
		break;
	}
	return -EAGAIN;
}

int smpa_conn_rx_place(const struct smpa_conn *conn,
		       struct smpa_place *ret_place)
{
	const struct conn_rx *rx = &conn->rx;
	int64_t rest;

	if (conn->phase != PHASE_RDMA || rx->is_discarding)
		return -EAGAIN;
	rest = rx_rest(conn);
	if (rest < 0)
		return -EAGAIN;
	*ret_place = (struct smpa_place){
		.rest = (size_t)rest,
		.phase = (uint32_t)((rx->phase + (rx->tail - rx->head) +
				     (size_t)rest) %
				    FPDU_MARKER_INTERVAL),
		.has_markers = conn->out.rx_markers,
		.has_crc = rx_has_crc(conn),
	};
	return 0;
}

int smpa_conn_tx_place(const struct smpa_conn *conn,
		       struct smpa_place *ret_place)
{
	const struct conn_tx *tx = &conn->tx;
	uint64_t rest = 0;

	if (conn->phase != PHASE_RDMA || tx->taken < tx->start_end)
		return -EAGAIN;
	/* What is encoded ends with an FPDU. */
	if (tx->is_cut && tx->taken != tx->start_end)
		rest = tx->end - tx->taken;
	*ret_place = (struct smpa_place){
		.rest = (size_t)rest,
		.phase = (uint32_t)((tx->taken + rest - tx->start_end) %
				    FPDU_MARKER_INTERVAL),
		.has_markers = conn->out.tx_markers,
		.has_crc = tx_has_crc(conn),
	};
	return 0;
}
