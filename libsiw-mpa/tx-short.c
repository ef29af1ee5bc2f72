/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Short messages: FPDUs written in one go. */
#include <assert.h>

#include "tx-short.h"

#include <string.h>

#include "crc32c.h"
#include "tx-queue.h"
#include "tx-segment.h"
#include "wire.h"

/* The longest payload.  It is below TX_LINE_COPY_MIN, so that tx.c writes the
 * same octets to the same place. */
#define TX_SHORT_MAX 2048u
static_assert(TX_SHORT_MAX < TX_LINE_COPY_MIN, "no gap before a short FPDU");

/* Of a message that is all header (rdmap_msg_encode()). */
static bool header_is_short(const struct smpa_conn *c,
			    const struct smpa_msg *msg)
{
	if (msg->len || msg->iovcnt)
		return false;
	if (rdmap_is_request(msg->opcode) && c->rx.is_rtr_answer_due)
		return false;
	return msg->opcode != SMPA_OP_READ_REQUEST || tx_read_fits(c);
}

static bool payload_is_short(const struct smpa_conn *c,
			     const struct smpa_msg *msg,
			     const struct rdmap_op *op)
{
	if (msg->len > TX_SHORT_MAX || op->hdr_size + msg->len > c->tx.mulpdu)
		return false;
	if (msg->len > c->opt.copy_max && !msg->copy && !tx_has_crc(c))
		return false;
	if (msg->len == 0)
		return msg->iovcnt == 0;
	return msg->iovcnt == 1 && msg->iov->iov_len == msg->len;
}

/* Is the message one FPDU without markers, which is copied, and does nothing
 * have to be encoded before it? */
static bool msg_is_short(const struct smpa_conn *c, const struct smpa_msg *msg)
{
	const struct rdmap_op *op = rdmap_op(msg->opcode);
	const struct conn_tx *tx = &c->tx;

	if (tx->size < SMPA_TX_STAGING_MIN || c->out.tx_markers ||
	    msg->opcode > RDMAP_CTRL_OPCODE || !op->is_known)
		return false;
	if (tx->wants || tx->fault.is_set || tx->msg.is_active ||
	    tx->sent_cnt == tx->sent_cap || tx_is_ahead(c))
		return false;
	return op->has_payload ? payload_is_short(c, msg, op)
			       : header_is_short(c, msg);
}

struct short_copy {
	uint8_t *to;
	const struct iovec *from;
};

static void short_copy(void *arg)
{
	const struct short_copy *copy = arg;

	memcpy(copy->to, copy->from->iov_base, copy->from->iov_len);
}

/* What follows DDP's header.  Return: false: the payload is not accessible, or
 * the header not valid. */
static bool short_body(struct smpa_conn *c, const struct smpa_msg *msg,
		       const struct rdmap_op *op, uint8_t *to)
{
	struct short_copy copy = { to, msg->iov };

	if (!op->has_payload) {
		c->tx.has_read |= msg->opcode == SMPA_OP_READ_REQUEST;
		return rdmap_msg_encode(msg, to) > 0;
	}
	if (msg->len == 0)
		return true;
	if (!msg->safe)
		return conn_access(c, short_copy, &copy) == 0;
	short_copy(&copy);
	return true;
}

/* As tx_submit_short(), for a message that msg_is_short(). */
static bool short_put(struct smpa_conn *c, const struct smpa_msg *msg)
{
	const struct rdmap_op *op = rdmap_op(msg->opcode);
	struct conn_tx *tx = &c->tx;
	const struct ddp_hdr h = {
		.is_tagged = op->is_tagged,
		.is_last = true,
		.version = c->out.version,
		.ulp = rdmap_ctrl(c->out.version, msg->opcode),
		.stag = msg->stag,
		.to = msg->to,
		.ulp2 = op->has_inv_stag ? msg->stag : 0,
		.qn = op->qn,
		.msn = tx->msn[op->qn],
	};
	uint32_t ulpdu = op->hdr_size + msg->len;
	uint32_t size = fpdu_size(ulpdu);
	uint8_t *out, *end, *body;

	if (!tx_reserve(tx, size, 1))
		return false;
	out = tx->data + tx->data_pos;
	end = out + size;
	memset(end - 8, 0, 8); /* PAD (MPA-5), CRC (C-7); the rest follows */
	wire_put16(out, (uint16_t)ulpdu);
	body = out + FPDU_LEN_SIZE;
	body += ddp_hdr_encode(&h, body);
	if (!short_body(c, msg, op, body))
		return false;
	if (tx_has_crc(c))
		wire_put_crc(end - FPDU_CRC_SIZE,
			     crc32c_final(crc32c_update(CRC32C_INIT, out,
							size - FPDU_CRC_SIZE)));
	tx_append_staged(tx, size);
	c->cnt.tx_fpdu++;
	c->cnt.tx_copied += msg->len;
	if (!op->is_tagged)
		tx->msn[op->qn]++;
	if (!msg->quiet)
		tx_sent_push(tx, msg->cookie);
	return true;
}

bool tx_submit_short(struct smpa_conn *c, const struct smpa_msg *msg)
{
	return msg_is_short(c, msg) && short_put(c, msg);
}
