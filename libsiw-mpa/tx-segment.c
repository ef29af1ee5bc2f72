/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Short FPDUs and TCP segments.  Several short FPDUs share a segment, and while
 * TCP has a backlog, none should lie in two segments (MPA-73, MPA-74).
 *
 * Consecutive octets may share a segment up to the place where the owner makes
 * TCP begin a new one.  The owner can do that only after octets that it hands
 * to TCP, when the next FPDU is not known yet.  The engine therefore assumes
 * that the next octets are as long as the last ones.  After the first READ
 * Request it always expects another one, because Linux's siw misreads a READ
 * Request that lies in two segments.
 */
#include "tx-segment.h"

/* A piece of more than 1/SEGMENT_SHARERS of a segment is not kept from lying in
 * two segments.  Too much of a segment would remain empty. */
#define SEGMENT_SHARERS 8u

#define READ_ULPDU (DDP_UNTAGGED_SIZE + RDMAP_READ_SIZE)

/* Size of a TCP segment: that of a full FPDU, which needs no padding. */
static uint32_t segment_size(const struct conn_tx *tx)
{
	return tx->mulpdu + FPDU_LEN_SIZE + FPDU_CRC_SIZE;
}

/* The largest size of a READ Request, which contains at most one marker. */
static uint32_t read_size(const struct smpa_conn *c)
{
	return fpdu_size(READ_ULPDU) +
	       (c->out.tx_markers ? FPDU_MARKER_SIZE : 0);
}

bool tx_read_fits(const struct smpa_conn *c)
{
	const struct conn_tx *tx = &c->tx;

	return tx_is_empty(tx) ||
	       tx->shared + (tx->end - tx->taken) + read_size(c) <=
		       segment_size(tx);
}

bool smpa_conn_tx_ends_segment(const struct smpa_conn *conn)
{
	const struct conn_tx *tx = &conn->tx;
	uint32_t size = segment_size(tx);
	size_t next = 0;

	if (tx->offered <= size / SEGMENT_SHARERS)
		next = tx->offered;
	if (tx->has_read && next < read_size(conn))
		next = read_size(conn);
	return next > 0 && tx->shared + tx->offered + next > size;
}

void tx_share_segment(struct smpa_conn *c, size_t len)
{
	struct conn_tx *tx = &c->tx;

	if (len == tx->offered && smpa_conn_tx_ends_segment(c))
		tx->shared = 0;
	else
		tx->shared += len;
}
