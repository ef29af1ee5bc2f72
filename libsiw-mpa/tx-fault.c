/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Message memory that cannot be read, when it is encoded or later.
 */
#include <assert.h>

#include "tx-fault.h"

#include <errno.h>

/* The smallest page size, for checks whether memory is accessible. */
#define TX_PAGE 4096u

/* Records that the rest of the message cannot be read. */
static void msg_fault(struct conn_tx *tx, struct tx_msg *m)
{
	tx->fault.is_set = true;
	tx->fault.stag = m->stag;
	tx->fault.to = m->to + m->done;
	tx->fault.cookie = m->cookie;
	m->is_active = false;
}

bool tx_msg_access(struct smpa_conn *c, struct tx_msg *m,
		   void (*access)(void *arg), void *arg)
{
	if (m->is_safe) {
		access(arg);
		return true;
	}
	if (conn_access(c, access, arg) == 0)
		return true;
	msg_fault(&c->tx, m);
	return false;
}

void tx_touch(const uint8_t *p, size_t len)
{
	size_t off = 0;

	while (off < len) {
		(void)*(const volatile uint8_t *)(p + off);
		off += TX_PAGE - ((uintptr_t)(p + off) & (TX_PAGE - 1));
	}
}

/* ---- where FPDUs begin ------------------------------------------------ */

bool tx_mark_push(struct conn_tx *tx)
{
	if (tx_is_empty(tx))
		tx->mark_cnt = 0;
	/* An FPDU has been sent if octets of the next one have been taken. */
	while (tx->mark_cnt > 1 &&
	       tx->mark[(tx->mark_head + 1) % tx->mark_cap] <= tx->taken) {
		tx->mark_head = (tx->mark_head + 1) % tx->mark_cap;
		tx->mark_cnt--;
	}
	if (tx->mark_cnt == tx->mark_cap)
		return false;
	tx->mark[(tx->mark_head + tx->mark_cnt) % tx->mark_cap] = tx->end;
	tx->mark_cnt++;
	return true;
}

/* ---- memory that became inaccessible after it was encoded --------------- */

static void iov_access(void *arg)
{
	const struct iovec *v = arg;

	tx_touch(v->iov_base, v->iov_len);
}

/*
 * Stream offset of the first piece in place that cannot be read.  If all pieces
 * can be read, other memory has been mapped there since, and the first piece is
 * returned: its old content is lost.
 */
static uint64_t tx_fault_find(const struct smpa_conn *c)
{
	const struct conn_tx *tx = &c->tx;
	uint64_t at = tx->taken, first = tx->end;

	for (size_t i = tx->iov_head; i < tx->iov_end; i++) {
		struct iovec v = tx->iov[i];

		if (!tx_is_staged(tx, v.iov_base)) {
			if (first == tx->end)
				first = at;
			if (!c->opt.guard || conn_access(c, iov_access, &v) < 0)
				return at;
		}
		at += v.iov_len;
	}
	return first;
}

/* The start of the FPDU in place that contains the octet at @at. */
static uint64_t tx_mark_find(const struct conn_tx *tx, uint64_t at)
{
	uint64_t start = tx->taken;

	for (size_t i = 0; i < tx->mark_cnt; i++) {
		uint64_t mark = tx->mark[(tx->mark_head + i) % tx->mark_cap];

		if (mark > at)
			break;
		start = mark;
	}
	return start;
}

/* Records STag and offset of the FPDU at @start, from its DDP header if that is
 * complete in staging. */
static void tx_fault_describe(struct conn_tx *tx, uint64_t start)
{
	uint64_t at = tx->taken;
	struct ddp_hdr h;

	for (size_t i = tx->iov_head; i < tx->iov_end; i++) {
		const struct iovec *v = &tx->iov[i];

		if (start < at + v->iov_len) {
			size_t off = (size_t)(start - at) + FPDU_LEN_SIZE;

			/* The header was appended in one piece. */
			if (ddp_hdr_decode((const uint8_t *)v->iov_base + off,
					   v->iov_len - off, &h) > 0 &&
			    h.is_tagged) {
				tx->fault.stag = h.stag;
				tx->fault.to = h.to;
			}
			return;
		}
		at += v->iov_len;
	}
}

/* Drops all octets from the stream offset @start on. */
static void tx_cut(struct conn_tx *tx, uint64_t start)
{
	uint64_t at = tx->taken;
	size_t i = tx->iov_head;

	for (; i < tx->iov_end && at + tx->iov[i].iov_len <= start; i++)
		at += tx->iov[i].iov_len;
	if (i < tx->iov_end && at < start) {
		tx->iov[i].iov_len = (size_t)(start - at);
		i++;
	}
	tx->iov_end = i;
	tx->end = start;
	while (tx->mark_cnt > 0 &&
	       tx->mark[(tx->mark_head + tx->mark_cnt - 1) % tx->mark_cap] >=
		       start)
		tx->mark_cnt--;
	while (tx->sent_cnt > 0 &&
	       tx->sent[(tx->sent_head + tx->sent_cnt - 1) % tx->sent_cap].end >
		       start)
		tx->sent_cnt--;
	tx->msg.is_active = false;
	tx->offered = 0;
}

int smpa_conn_tx_fault(struct smpa_conn *conn)
{
	struct conn_tx *tx = &conn->tx;
	uint64_t at = tx_fault_find(conn);
	uint64_t start = tx_mark_find(tx, at);
	bool is_first = !tx->fault.is_set || start < tx->end;
	size_t i = 0;

	if (tx_is_empty(tx))
		return 0;
	/* The FPDU belongs to the first message that ends after it. */
	while (i < tx->sent_cnt &&
	       tx->sent[(tx->sent_head + i) % tx->sent_cap].end <= at)
		i++;
	if (is_first && !tx->is_closed) {
		if (i < tx->sent_cnt)
			tx->fault.cookie =
				tx->sent[(tx->sent_head + i) % tx->sent_cap]
					.cookie;
		else
			tx->fault.cookie = tx->msg.cookie;
		tx->fault.is_set = true;
	}
	if (start < tx->taken) {
		tx_cut(tx, tx->taken);
		tx->is_closed = true; /* no message boundary can be reached */
		tx->wants = 0;
		return -EPIPE;
	}
	tx_fault_describe(tx, start);
	tx_cut(tx, start);
	return 0;
}

uint64_t smpa_conn_tx_unreadable(const struct smpa_conn *conn)
{
	return conn->tx.fault.cookie;
}
