/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Octets from messages: segments, FPDUs, staging, and the octets TCP has taken.
 */
#include <assert.h>

#include "tx.h"

#include <errno.h>
#include <string.h>

#include "tx-fault.h"
#include "tx-queue.h"
#include "tx-segment.h"
#include "tx-short.h"
#include "wire.h"

/* Parts of staging.  A small staging serves the start phase only. */
#define TX_IOV_CNT 1024u
#define TX_SENT_CNT 1024u
#define TX_START_CNT 8u
/* An FPDU in place takes at least two iovecs. */
#define TX_MARK_CNT(iov_cnt) ((iov_cnt) / 2)
#define TX_ALIGN 16u
/* Staging holds that many octets and the FPDU that exceeds the limit. */
static_assert(SMPA_TX_STAGING_FULL >=
		      TX_AHEAD_CRC + FPDU_WIRE_MAX +
			      TX_IOV_CNT * sizeof(struct iovec) +
			      TX_SENT_CNT * sizeof(struct tx_sent) +
			      TX_MARK_CNT(TX_IOV_CNT) * sizeof(uint64_t),
	      "sendmsg() gets large pieces with CRC, too");

/* ---- staging --------------------------------------------------------- */

bool smpa_conn_tx_is_idle(const struct smpa_conn *conn)
{
	const struct conn_tx *tx = &conn->tx;

	return tx_is_empty(tx) && tx->sent_cnt == 0 && !tx->msg.is_active &&
	       tx->wants == 0 && !tx->fault.is_set;
}

static void tx_forget(struct conn_tx *tx)
{
	tx->iov_head = 0;
	tx->iov_end = 0;
	tx->sent_head = 0;
	tx->mark_head = 0;
	tx->mark_cnt = 0;
	tx->mark_cap = 0;
	tx->data_pos = 0;
	tx->offered = 0;
	tx->data_cap = 0;
	tx->data = NULL;
}

static void tx_divide(struct conn_tx *tx, uint8_t *buf, size_t size)
{
	bool is_full = size >= SMPA_TX_STAGING_MIN;

	tx->iov_cap = is_full ? TX_IOV_CNT : TX_START_CNT;
	tx->sent_cap = is_full ? TX_SENT_CNT : TX_START_CNT;
	tx->iov = (struct iovec *)(void *)buf;
	tx->sent = (struct tx_sent *)(void *)(tx->iov + tx->iov_cap);
	tx->mark_cap = TX_MARK_CNT(tx->iov_cap);
	tx->mark = (uint64_t *)(tx->sent + tx->sent_cap);
	tx->data = (uint8_t *)(tx->mark + tx->mark_cap);
	tx->data_cap = size - (size_t)(tx->data - buf);
}

/* Uses the engine's own memory for its own messages while none is lent. */
static void tx_use_own(struct conn_tx *tx)
{
	tx_forget(tx);
	tx->iov = tx->own_iov;
	tx->iov_cap = TX_OWN_IOV_CNT;
	tx->data = tx->own_data;
	tx->data_cap = TX_OWN_SIZE;
	tx->sent_cap = 0;
}

/* Moves octets from the engine's own memory to the owner's staging. */
static void tx_move_own(struct conn_tx *tx, uint8_t *buf, size_t size)
{
	struct iovec own[TX_OWN_IOV_CNT];
	size_t cnt = tx->iov_end - tx->iov_head;

	memcpy(own, tx->iov + tx->iov_head, cnt * sizeof(*own));
	tx_forget(tx);
	tx_divide(tx, buf, size);
	for (size_t i = 0; i < cnt; i++) {
		tx->iov[i].iov_base = tx->data + tx->data_pos;
		tx->iov[i].iov_len = own[i].iov_len;
		memcpy(tx->iov[i].iov_base, own[i].iov_base, own[i].iov_len);
		tx->data_pos += own[i].iov_len;
	}
	tx->iov_end = cnt;
}

int smpa_conn_tx_lend(struct smpa_conn *conn, void *buf, size_t size)
{
	struct conn_tx *tx = &conn->tx;
	size_t least = conn->phase == PHASE_RDMA ? SMPA_TX_STAGING_MIN
						 : SMPA_START_STAGING_MIN;

	if (buf && (size < least || (uintptr_t)buf % TX_ALIGN))
		return -EINVAL;
	if (!tx->buf && !buf)
		return 0;
	if (!tx->buf && !tx_is_empty(tx)) {
		tx_move_own(tx, buf, size);
	} else {
		if (!tx_is_empty(tx) || tx->sent_cnt > 0 || tx->msg.is_active ||
		    tx->fault.is_set)
			return -EBUSY;
		tx_forget(tx);
		if (buf)
			tx_divide(tx, buf, size);
	}
	tx->buf = buf;
	tx->size = buf ? size : 0;
	return 0;
}

int tx_put_start(struct smpa_conn *c, const struct start_frame *f)
{
	struct conn_tx *tx = &c->tx;
	size_t len;

	len = START_HDR_SIZE + SMPA_PD_ENHANCED + f->pd_len;
	if (!tx->data || !tx_reserve(tx, len, 1))
		return -ENOBUFS;
	tx_append_staged(tx, start_frame_encode(f, tx->data + tx->data_pos));
	tx->start_end = tx->end;
	return 0;
}

/* ---- FPDUs ----------------------------------------------------------- */

static void msg_advance(struct tx_msg *m, size_t len)
{
	m->off += len;
	while (m->idx < m->iovcnt && m->off >= m->iov[m->idx].iov_len) {
		m->off -= m->iov[m->idx].iov_len;
		m->idx++;
	}
}

/* The next piece of payload that is contiguous, at most @len octets. */
static const uint8_t *msg_piece(struct tx_msg *m, size_t len, size_t *ret_len)
{
	const struct iovec *v;

	msg_advance(m, 0);
	v = &m->iov[m->idx];
	*ret_len = v->iov_len - m->off < len ? v->iov_len - m->off : len;
	return (const uint8_t *)v->iov_base + m->off;
}

static uint32_t tx_phase(const struct conn_tx *tx)
{
	return (uint32_t)((tx->end - tx->start_end) % FPDU_MARKER_INTERVAL);
}

struct copy_access {
	struct fpdu_writer *w;
	struct tx_msg *m;
	uint32_t len;
};

static void copy_access(void *arg)
{
	const struct copy_access *a = arg;
	uint32_t len = a->len;

	while (len > 0) {
		size_t piece;
		const uint8_t *p = msg_piece(a->m, len, &piece);

		fpdu_writer_put(a->w, p, piece);
		msg_advance(a->m, piece);
		len -= (uint32_t)piece;
	}
}

/* Number of octets to leave free before the FPDU, so that the copy of the
 * payload has the same offset in a cache line as its source. */
static size_t copy_gap(struct tx_msg *m, const uint8_t *out, uint32_t hdr_len,
		       uint32_t len)
{
	size_t piece;
	const uint8_t *from = msg_piece(m, len, &piece);

	if (piece < TX_LINE_COPY_MIN)
		return 0;
	return ((uintptr_t)from - (uintptr_t)(out + FPDU_LEN_SIZE + hdr_len)) %
	       TX_LINE;
}

/* Encodes an FPDU and copies its payload, so that many small FPDUs become one
 * piece of memory. */
static bool fpdu_put_copied(struct smpa_conn *c, const uint8_t *hdr,
			    uint32_t hdr_len, struct tx_msg *m, uint32_t len)
{
	struct conn_tx *tx = &c->tx;
	uint32_t ulpdu = hdr_len + len;
	struct fpdu_writer w;
	struct copy_access a = { &w, m, len };
	bool is_aligned = len >= TX_LINE_COPY_MIN && !c->out.tx_markers;
	uint8_t *out;
	size_t size = fpdu_wire_size(tx_phase(tx), ulpdu, c->out.tx_markers);

	if (!tx_reserve(tx, is_aligned ? size + TX_LINE : size, 1))
		return false;
	out = tx->data + tx->data_pos;
	if (is_aligned)
		out += copy_gap(m, out, hdr_len, len);
	fpdu_writer_begin(&w, out, tx_phase(tx), ulpdu, c->out.tx_markers,
			  tx_has_crc(c));
	fpdu_writer_put(&w, hdr, hdr_len);
	if (len > 0 && !tx_msg_access(c, m, copy_access, &a))
		return false;
	c->cnt.tx_copied += len;
	fpdu_writer_end(&w);
	tx->data_pos = (size_t)(out - tx->data);
	tx_append_staged(tx, size);
	return true;
}

struct inplace_access {
	struct tx_msg *m; /* the caller restores its position */
	uint32_t len;
};

static void inplace_access(void *arg)
{
	const struct inplace_access *a = arg;
	uint32_t len = a->len;

	while (len > 0) {
		size_t piece;
		const uint8_t *p = msg_piece(a->m, len, &piece);

		tx_touch(p, piece);
		msg_advance(a->m, piece);
		len -= (uint32_t)piece;
	}
}

/* Checks that payload in place is readable, because the FPDU must be completed
 * once its header is sent.  Return: false: it is not readable. */
static bool inplace_look(struct smpa_conn *c, struct tx_msg *m, uint32_t len)
{
	struct inplace_access a = { m, len };
	size_t off = m->off;
	int idx = m->idx;

	if (!c->opt.guard || m->is_safe)
		return true;
	if (!tx_msg_access(c, m, inplace_access, &a))
		return false;
	m->idx = idx;
	m->off = off;
	return true;
}

/* Encodes headers and trailer in staging, and leaves the payload in place.  For
 * streams without CRC and markers. */
static bool fpdu_put_inplace(struct smpa_conn *c, const uint8_t *hdr,
			     uint32_t hdr_len, struct tx_msg *m, uint32_t len)
{
	struct conn_tx *tx = &c->tx;
	uint32_t pad = fpdu_pad(hdr_len + len);
	size_t pieces = (size_t)(m->iovcnt - m->idx) + 2;
	uint8_t *out;

	if (!tx_reserve(tx, FPDU_LEN_SIZE + hdr_len + pad + FPDU_CRC_SIZE,
			pieces))
		return false;
	out = tx->data + tx->data_pos;
	wire_put16(out, (uint16_t)(hdr_len + len));
	memcpy(out + FPDU_LEN_SIZE, hdr, hdr_len);
	if (!inplace_look(c, m, len) || !tx_mark_push(tx))
		return false;
	tx_append_staged(tx, FPDU_LEN_SIZE + hdr_len);
	c->cnt.tx_inplace += len;
	while (len > 0) {
		size_t piece;
		const uint8_t *p = msg_piece(m, len, &piece);

		tx_append_inplace(tx, p, piece);
		msg_advance(m, piece);
		len -= (uint32_t)piece;
	}
	memset(tx->data + tx->data_pos, 0, pad + FPDU_CRC_SIZE); /* C-7 */
	tx_append_staged(tx, pad + FPDU_CRC_SIZE);
	return true;
}

static bool fpdu_put(struct smpa_conn *c, const uint8_t *hdr, uint32_t hdr_len,
		     struct tx_msg *m, uint32_t len, bool is_copied)
{
	bool ret;

	if (is_copied)
		ret = fpdu_put_copied(c, hdr, hdr_len, m, len);
	else
		ret = fpdu_put_inplace(c, hdr, hdr_len, m, len);
	if (!ret)
		return false;
	c->cnt.tx_fpdu++;
	return true;
}

/* Encodes a message of the engine: one segment without payload. */
static bool tx_put_own(struct smpa_conn *c, struct ddp_hdr *h, uint8_t opcode,
		       const uint8_t *body, uint32_t body_len)
{
	uint8_t hdr[RDMAP_HDR_MAX];
	uint32_t len;

	h->is_last = true;
	h->version = c->out.version;
	h->ulp = rdmap_ctrl(c->out.version, opcode);
	if (!h->is_tagged)
		h->msn = c->tx.msn[h->qn];
	len = ddp_hdr_encode(h, hdr);
	if (body_len)
		memcpy(hdr + len, body, body_len);
	if (!fpdu_put(c, hdr, len + body_len, NULL, 0, true))
		return false;
	if (!h->is_tagged)
		c->tx.msn[h->qn]++;
	return true;
}

/* ---- what the engine itself sends ------------------------------------ */

static bool want_rev_reply(struct smpa_conn *c)
{
	struct start_frame f = {
		.is_reply = true,
		.is_rejected = true,
		.has_markers = c->opt.want_markers, /* C-18 */
		.has_crc = !c->opt.no_crc,
		.rev = c->opt.rev,
	};

	return tx_put_start(c, &f) == 0;
}

static bool want_rtr(struct smpa_conn *c)
{
	uint8_t body[RDMAP_READ_SIZE];
	struct ddp_hdr h = { 0 };
	struct rdmap_read r = { .sink_stag = 1, .src_stag = 1 };

	switch (c->tx.rtr) {
	case SMPA_RTR_WRITE:
		h.is_tagged = true;
		h.stag = 1;
		return tx_put_own(c, &h, SMPA_OP_WRITE, NULL, 0);
	case SMPA_RTR_READ:
		h.qn = DDP_QN_READ;
		rdmap_read_encode(&r, body);
		return tx_put_own(c, &h, SMPA_OP_READ_REQUEST, body,
				  sizeof(body));
	}
	return tx_put_own(c, &h, SMPA_OP_SEND, NULL, 0);
}

static bool want_rtr_answer(struct smpa_conn *c)
{
	struct ddp_hdr h = {
		.is_tagged = true,
		.stag = c->tx.answer_stag,
		.to = c->tx.answer_to,
	};

	return tx_put_own(c, &h, SMPA_OP_READ_RESPONSE, NULL, 0);
}

static bool want_terminate(struct smpa_conn *c)
{
	struct ddp_hdr h = { .qn = DDP_QN_TERMINATE };

	return tx_put_own(c, &h, SMPA_OP_TERMINATE, c->tx.term,
			  c->tx.term_len); /* RDMAP-28 */
}

/* Return: true: nothing is left to do. */
static bool tx_do_wants(struct smpa_conn *c)
{
	static bool (*const put[])(struct smpa_conn *) = {
		want_rev_reply,
		want_rtr,
		want_rtr_answer,
		want_terminate,
	};
	struct conn_tx *tx = &c->tx;

	for (size_t i = 0; tx->wants && i < sizeof(put) / sizeof(*put); i++) {
		uint8_t bit = (uint8_t)(1u << i);

		if (!(tx->wants & bit))
			continue;
		if (!put[i](c))
			return false;
		tx->wants = (uint8_t)(tx->wants & ~bit);
	}
	return true;
}

void tx_close(struct smpa_conn *c)
{
	c->tx.is_closed = true;
	c->tx.msg.is_active = false;
	c->tx.fault.is_set = false;
	c->tx.wants &= TX_WANT_TERMINATE; /* a queued TERMINATE is kept */
}

bool tx_terminate(struct smpa_conn *c, struct smpa_fault fault,
		  const struct term_cause *cause)
{
	c->tx.fault.is_set = false;
	if (c->tx.is_closed)
		return false; /* RDMAP-30 */
	tx_close(c);	      /* D-22: it also replaces the RTR */
	if (conn_is_held(c))
		return false; /* MPA-134, C-17 */
	c->tx.term_len = (uint8_t)term_encode(fault, cause, c->tx.term);
	c->tx.wants = TX_WANT_TERMINATE;
	return true;
}

/* ---- the owner's messages -------------------------------------------- */

/* The CRC is the last that was put there. */
static void msg_spoil(struct conn_tx *tx, struct tx_msg *m)
{
	tx->data[tx->data_pos - 1] ^= 0xff;
	m->is_spoiled = false;
}

/* Encodes one segment of the message.  Return: false: no room. */
static bool msg_put_segment(struct smpa_conn *c)
{
	struct conn_tx *tx = &c->tx;
	struct tx_msg *m = &tx->msg;
	const struct rdmap_op *op = rdmap_op(m->opcode);
	uint32_t len =
		ddp_segment_len(tx->mulpdu, op->is_tagged, m->len - m->done);
	uint8_t hdr[RDMAP_HDR_MAX];
	uint32_t hdr_len;
	struct ddp_hdr h = {
		.is_tagged = op->is_tagged,
		.is_last = len == m->len - m->done, /* DDP-14 */
		.version = c->out.version,
		.ulp = rdmap_ctrl(c->out.version, m->opcode), /* DDP-18 */
		.stag = m->stag,			      /* DDP-20 */
		.to = m->to + m->done,			      /* DDP-30 */
		.ulp2 = op->has_inv_stag ? m->stag : 0,	      /* RDMAP-4, -5 */
		.qn = op->qn,
		.msn = tx->msn[op->qn],
		.mo = m->done, /* DDP-25 */
	};

	if (h.is_last && !m->is_quiet && tx->sent_cnt == tx->sent_cap)
		return false;
	if (m->opcode == SMPA_OP_READ_REQUEST) {
		if (!tx_read_fits(c))
			return false;
		tx->has_read = true;
	}
	hdr_len = ddp_hdr_encode(&h, hdr);
	memcpy(hdr + hdr_len, m->hdr, m->hdr_len);
	hdr_len += m->hdr_len;
	if (!fpdu_put(c, hdr, hdr_len, m, len, m->is_copied))
		return false;
	if (m->is_spoiled)
		msg_spoil(tx, m);
	m->done += len;
	if (!h.is_last)
		return true;
	if (!op->is_tagged)
		tx->msn[op->qn]++;
	if (!m->is_quiet)
		tx_sent_push(tx, m->cookie);
	m->is_active = false;
	return true;
}

static void tx_encode(struct smpa_conn *c)
{
	struct conn_tx *tx = &c->tx;

	if (!tx->data || !tx_do_wants(c))
		return;
	while (tx->msg.is_active && !tx_is_ahead(c))
		if (!msg_put_segment(c))
			return;
}

/*
 * With CRC the octets that are hashed must be those that are sent.  The owner
 * may write to the source between the two; the peer then gets the old or the
 * new octets, but no wrong CRC.  Markers are placed between octets of payload.
 */
static bool must_copy(const struct smpa_conn *c)
{
	return tx_has_crc(c) || c->out.tx_markers;
}

static int msg_take(struct smpa_conn *c, struct tx_msg *m,
		    const struct smpa_msg *msg)
{
	const struct rdmap_op *op = rdmap_op(msg->opcode);
	size_t left = msg->len;
	int hdr_len;

	if (msg->opcode > RDMAP_CTRL_OPCODE || !op->is_known)
		return -EINVAL;
	memset(m, 0, sizeof(*m));
	m->opcode = msg->opcode;
	m->is_quiet = msg->quiet;
	m->is_safe = msg->safe;
	m->cookie = msg->cookie;
	m->stag = msg->stag;
	m->to = msg->to;
	m->is_active = true;
	if (!op->has_payload) {
		m->is_copied = true;
		if (msg->len || msg->iovcnt)
			return -EINVAL;
		hdr_len = rdmap_msg_encode(msg, m->hdr);
		m->hdr_len = (uint8_t)hdr_len;
		return hdr_len < 0 ? hdr_len : 0;
	}
	if (msg->iovcnt < 0 || msg->iovcnt > SMPA_IOV_MAX)
		return -EINVAL;
	for (int i = 0; i < msg->iovcnt; i++) {
		if (msg->iov[i].iov_len > left)
			return -EINVAL;
		left -= msg->iov[i].iov_len;
	}
	if (left)
		return -EINVAL;
	m->len = msg->len;
	m->iov = msg->iov;
	m->iovcnt = msg->iovcnt;
	m->is_copied = msg->copy || msg->len <= c->opt.copy_max || must_copy(c);
	return 0;
}

static int msg_submit(struct smpa_conn *conn, const struct smpa_msg *msg,
		      bool is_spoiled)
{
	struct conn_tx *tx = &conn->tx;
	struct tx_msg m;
	int ret;

	ret = msg_take(conn, &m, msg);
	if (ret)
		return ret;
	m.is_spoiled = is_spoiled;
	if (!tx->buf)
		return -ENOBUFS;
	/* The small staging of the start must be emptied and replaced first. */
	if (tx->size < SMPA_TX_STAGING_MIN)
		return tx_is_empty(tx) ? -ENOBUFS : -EAGAIN;
	if (tx->msg.is_active)
		tx_encode(conn); /* DDP-34: one after the other */
	if (tx->msg.is_active || tx->fault.is_set ||
	    tx->sent_cnt == tx->sent_cap)
		return -EAGAIN;
	if (conn->rx.is_rtr_answer_due && rdmap_is_request(msg->opcode)) {
		if (tx->rtr_credits == 0)
			return -EAGAIN; /* D-26: the RTR has the last one */
		tx->rtr_credits--;
	}
	tx->msg = m;
	tx_encode(conn);
	return 0;
}

static bool tx_is_over(const struct smpa_conn *c)
{
	return c->phase != PHASE_RDMA || c->tx.is_closed;
}

int smpa_conn_submit(struct smpa_conn *conn, const struct smpa_msg *msg)
{
	if (tx_is_over(conn))
		return -EPIPE;
	if (tx_submit_short(conn, msg))
		return 0;
	return msg_submit(conn, msg, false);
}

int smpa_conn_submit_spoiled(struct smpa_conn *conn, const struct smpa_msg *msg)
{
	if (tx_is_over(conn))
		return -EPIPE;
	if (!tx_has_crc(conn))
		return -EOPNOTSUPP;
	return msg_submit(conn, msg, true);
}

/* ---- what TCP takes -------------------------------------------------- */

int smpa_conn_tx_prepare(struct smpa_conn *conn, const struct iovec **ret_iov)
{
	struct conn_tx *tx = &conn->tx;
	size_t cnt;

	tx->offered = 0;
	if (!tx->data && tx->wants)
		tx_use_own(tx);
	tx_encode(conn);
	cnt = tx->iov_end - tx->iov_head;
	if (conn_is_held(conn)) {
		/* MPA-134: the Reply, which is one piece, and no FPDU */
		if (tx->taken >= tx->start_end)
			return 0;
		cnt = 1;
	}
	if (cnt == 0 && tx->fault.is_set)
		return -EFAULT;
	for (size_t i = 0; i < cnt; i++)
		tx->offered += tx->iov[tx->iov_head + i].iov_len;
	*ret_iov = tx->iov + tx->iov_head;
	return (int)cnt;
}

int smpa_conn_tx_commit(struct smpa_conn *conn, size_t len)
{
	struct conn_tx *tx = &conn->tx;

	if (len > tx->offered)
		return -EINVAL;
	tx_share_segment(conn, len);
	tx->offered = 0;
	tx->taken += len;
	tx->is_cut = tx->taken != tx->end;
	while (len > 0) {
		struct iovec *v = &tx->iov[tx->iov_head];
		size_t piece = len < v->iov_len ? len : v->iov_len;

		v->iov_base = (uint8_t *)v->iov_base + piece;
		v->iov_len -= piece;
		len -= piece;
		if (v->iov_len == 0)
			tx->iov_head++;
	}
	return 0;
}

int tx_next_event(struct smpa_conn *c, struct smpa_event *ret_ev)
{
	struct conn_tx *tx = &c->tx;

	if (tx->sent_cnt == 0 || tx->sent[tx->sent_head].end > tx->taken)
		return 0;
	memset(ret_ev, 0, sizeof(*ret_ev));
	ret_ev->type = SMPA_EV_SENT;
	ret_ev->sent.cookie = tx->sent[tx->sent_head].cookie;
	if (++tx->sent_head == tx->sent_cap)
		tx->sent_head = 0;
	tx->sent_cnt--;
	return 1;
}

size_t smpa_conn_tx_pending(const struct smpa_conn *conn)
{
	const struct conn_tx *tx = &conn->tx;
	size_t pending = (size_t)(tx->end - tx->taken);

	if (tx->msg.is_active)
		pending += (tx->msg.len - tx->msg.done) + DDP_UNTAGGED_SIZE;
	if (tx->wants || tx->fault.is_set)
		pending += DDP_UNTAGGED_SIZE;
	return pending;
}

bool smpa_conn_tx_is_held(const struct smpa_conn *conn)
{
	return conn_is_held(conn);
}

/* ---- memory in use --------------------------------------------------- */

static bool iov_overlaps(const struct iovec *v, const void *addr, size_t len)
{
	uintptr_t a = (uintptr_t)v->iov_base;
	uintptr_t b = (uintptr_t)addr;

	if (v->iov_len == 0 || len == 0)
		return false;
	return a <= b ? b - a < v->iov_len : a - b < len;
}

bool smpa_conn_uses(const struct smpa_conn *conn, const void *addr, size_t len)
{
	const struct conn_rx *rx = &conn->rx;
	const struct conn_tx *tx = &conn->tx;

	for (int i = rx->sink_idx; i < rx->sink_cnt; i++)
		if (iov_overlaps(&rx->sink[i], addr, len))
			return true;
	if (tx->msg.is_active)
		for (int i = tx->msg.idx; i < tx->msg.iovcnt; i++)
			if (iov_overlaps(&tx->msg.iov[i], addr, len))
				return true;
	for (size_t i = tx->iov_head; i < tx->iov_end; i++)
		if (!tx_is_staged(tx, tx->iov[i].iov_base) &&
		    iov_overlaps(&tx->iov[i], addr, len))
			return true;
	return false;
}
