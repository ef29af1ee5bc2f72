/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Short FPDUs and TCP segments: several share one, and where TCP has a backlog
 * none shall lie in two (MPA-73, MPA-74).
 *
 * Octets behind each other may share a segment up to the place where the owner
 * makes TCP begin a new one.  Only it can do that, and only behind octets that
 * it hands over, before anybody knows what comes next.  So what comes next is
 * taken to be like what went last.  A READ Request is always reckoned with once
 * there was one: Linux's siw misreads those that lie in two segments.
 */
#include "tx-segment.h"

/* Of larger pieces so many do not fill a segment well: they go on as they come,
 * and leave it to full FPDUs to be as long as a segment. */
#define SEGMENT_SHARERS 8u

#define READ_ULPDU (DDP_UNTAGGED_SIZE + RDMAP_READ_SIZE)

/* Octets of a segment, with the padding that full FPDUs do without. */
static uint32_t segment_size(const struct conn_tx *tx)
{
	return tx->mulpdu + FPDU_LEN_SIZE + FPDU_CRC_SIZE;
}

/* The most that a READ Request takes: markers would come at one place of it
 * at most. */
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
