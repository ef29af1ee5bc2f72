/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Room in send staging. */
#include "tx-queue.h"

#include <string.h>

/* Up to this many staged octets are moved to the front to make room. */
#define TX_MOVE_MAX 16384u

/* Offset of the first staged octet that TCP has not taken. */
static size_t tx_data_low(const struct conn_tx *tx)
{
	for (size_t i = tx->iov_head; i < tx->iov_end; i++)
		if (tx_is_staged(tx, tx->iov[i].iov_base))
			return (size_t)((uint8_t *)tx->iov[i].iov_base -
					tx->data);
	return tx->data_pos;
}

static void tx_move_data(struct conn_tx *tx)
{
	size_t low = tx_data_low(tx);

	if (low == 0 || tx->data_pos - low > TX_MOVE_MAX)
		return;
	memmove(tx->data, tx->data + low, tx->data_pos - low);
	for (size_t i = tx->iov_head; i < tx->iov_end; i++) {
		uint8_t *base = tx->iov[i].iov_base;

		if (tx_is_staged(tx, base))
			tx->iov[i].iov_base = base - low;
	}
	tx->data_pos -= low;
}

bool tx_make_room(struct conn_tx *tx, size_t data, size_t iov_cnt)
{
	if (tx_is_empty(tx)) {
		tx->iov_head = 0;
		tx->iov_end = 0;
		tx->data_pos = 0;
	}
	if (tx->iov_cap - tx->iov_end < iov_cnt && tx->iov_head > 0) {
		memmove(tx->iov, tx->iov + tx->iov_head,
			(tx->iov_end - tx->iov_head) * sizeof(*tx->iov));
		tx->iov_end -= tx->iov_head;
		tx->iov_head = 0;
	}
	if (tx->data_cap - tx->data_pos < data)
		tx_move_data(tx);
	return tx_has_room(tx, data, iov_cnt);
}
