/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Octets that wait in send staging for TCP, and the SENT events after them. */
#ifndef SMPA_TX_QUEUE_H
#define SMPA_TX_QUEUE_H

#include "state.h"

/* Limit of octets that are encoded and not taken.  They should still be in the
 * cache when TCP copies them again. */
#define TX_AHEAD (1024u * 1024u)
#define TX_AHEAD_CRC (256u * 1024u)
/* Long copies are faster if source and copy have the same offset in a cache
 * line. */
#define TX_LINE 64u
#define TX_LINE_COPY_MIN 4096u

/* Is the limit reached? */
static inline bool tx_is_ahead(const struct smpa_conn *c)
{
	size_t len = c->tx.end - c->tx.taken;

	return len >= TX_AHEAD_CRC && (tx_has_crc(c) || len >= TX_AHEAD);
}

static inline bool tx_has_room(const struct conn_tx *tx, size_t data,
			       size_t iov_cnt)
{
	return tx->iov_cap - tx->iov_end >= iov_cnt &&
	       tx->data_cap - tx->data_pos >= data;
}

/* The rest of tx_reserve(). */
bool tx_make_room(struct conn_tx *tx, size_t data, size_t iov_cnt);

/* Makes room for @data octets and some iovecs.  Return: false: there is
 * none. */
static inline bool tx_reserve(struct conn_tx *tx, size_t data, size_t iov_cnt)
{
	return (!tx_is_empty(tx) && tx_has_room(tx, data, iov_cnt)) ||
	       tx_make_room(tx, data, iov_cnt);
}

/* Appends octets to send, at least one, and joins them to the last piece if
 * adjacent.  @is_staged: they are in staging, not in the owner's memory. */
static inline void tx_append(struct conn_tx *tx, const void *base, size_t len,
			     bool is_staged)
{
	union {
		const void *c;
		void *m;
	} u = { .c = base };
	struct iovec *last;

	if (!tx_is_empty(tx)) {
		last = &tx->iov[tx->iov_end - 1];
		/* Staging is never joined with the owner's memory, nor the
		 * start frame with the first FPDU, which may have to wait. */
		if ((const uint8_t *)last->iov_base + last->iov_len == base &&
		    tx_is_staged(tx, last->iov_base) == is_staged &&
		    tx->end != tx->start_end) {
			last->iov_len += len;
			tx->end += len;
			return;
		}
	}
	tx->iov[tx->iov_end].iov_base = u.m;
	tx->iov[tx->iov_end].iov_len = len;
	tx->iov_end++;
	tx->end += len;
}

/* Octets of the owner. */
static inline void tx_append_inplace(struct conn_tx *tx, const void *base,
				     size_t len)
{
	if (len)
		tx_append(tx, base, len, false);
}

/* The next octets of staging, at least one. */
static inline void tx_append_staged(struct conn_tx *tx, size_t len)
{
	tx_append(tx, tx->data + tx->data_pos, len, true);
	tx->data_pos += len;
}

/* SENT for @cookie comes when TCP has all octets so far.  There is room. */
static inline void tx_sent_push(struct conn_tx *tx, uint64_t cookie)
{
	size_t at = tx->sent_head + tx->sent_cnt;

	if (at >= tx->sent_cap)
		at -= tx->sent_cap; /* a division would cost more */
	tx->sent[at].end = tx->end;
	tx->sent[at].cookie = cookie;
	tx->sent_cnt++;
}

#endif
