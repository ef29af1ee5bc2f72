/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * RDMAP's opcode table and headers.
 */
#include "rdmap.h"

#include <errno.h>
#include <string.h>

#include "wire.h"

const struct rdmap_op rdmap_ops[RDMAP_CTRL_OPCODE + 1u] = {
	[SMPA_OP_WRITE] = {
		.is_known = true, .is_tagged = true, .has_payload = true,
		.hdr_size = DDP_TAGGED_SIZE,
	},
	[SMPA_OP_READ_REQUEST] = {
		.is_known = true, .qn = DDP_QN_READ,
		.min_size = RDMAP_READ_SIZE, .max_size = RDMAP_READ_SIZE,
		.hdr_size = DDP_UNTAGGED_SIZE + RDMAP_READ_SIZE,
	},
	[SMPA_OP_READ_RESPONSE] = {
		.is_known = true, .is_tagged = true, .has_payload = true,
		.hdr_size = DDP_TAGGED_SIZE,
	},
	[SMPA_OP_SEND] = {
		.is_known = true, .qn = DDP_QN_SEND, .has_payload = true,
		.hdr_size = DDP_UNTAGGED_SIZE,
	},
	[SMPA_OP_SEND_INV] = {
		.is_known = true, .qn = DDP_QN_SEND, .has_payload = true,
		.hdr_size = DDP_UNTAGGED_SIZE,
		.has_inv_stag = true,
	},
	[SMPA_OP_SEND_SE] = {
		.is_known = true, .qn = DDP_QN_SEND, .has_payload = true,
		.hdr_size = DDP_UNTAGGED_SIZE,
	},
	[SMPA_OP_SEND_SE_INV] = {
		.is_known = true, .qn = DDP_QN_SEND, .has_payload = true,
		.hdr_size = DDP_UNTAGGED_SIZE,
		.has_inv_stag = true,
	},
	[SMPA_OP_TERMINATE] = {
		.is_known = true, .qn = DDP_QN_TERMINATE,
		.min_size = RDMAP_TERM_MIN_SIZE,
		.max_size = RDMAP_TERM_MAX_SIZE,
		.hdr_size = DDP_UNTAGGED_SIZE + RDMAP_TERM_MAX_SIZE,
	},
	[SMPA_OP_IMM] = {
		.is_known = true, .qn = DDP_QN_SEND,
		.min_size = RDMAP_IMM_SIZE, .max_size = RDMAP_IMM_SIZE,
		.hdr_size = DDP_UNTAGGED_SIZE + RDMAP_IMM_SIZE,
	},
	[SMPA_OP_IMM_SE] = {
		.is_known = true, .qn = DDP_QN_SEND,
		.min_size = RDMAP_IMM_SIZE, .max_size = RDMAP_IMM_SIZE,
		.hdr_size = DDP_UNTAGGED_SIZE + RDMAP_IMM_SIZE,
	},
	[SMPA_OP_ATOMIC_REQUEST] = {
		.is_known = true, .qn = DDP_QN_READ,
		.min_size = RDMAP_ATOMIC_SIZE, .max_size = RDMAP_ATOMIC_SIZE,
		.hdr_size = DDP_UNTAGGED_SIZE + RDMAP_ATOMIC_SIZE,
	},
	[SMPA_OP_ATOMIC_RESPONSE] = {
		.is_known = true, .qn = DDP_QN_ATOMIC,
		.min_size = RDMAP_ATOMIC_RESPONSE_SIZE,
		.max_size = RDMAP_ATOMIC_RESPONSE_SIZE,
		.hdr_size = DDP_UNTAGGED_SIZE + RDMAP_ATOMIC_RESPONSE_SIZE,
	},
};

uint16_t rdmap_check(const struct ddp_hdr *h, uint32_t len)
{
	const struct rdmap_op *op = rdmap_op(rdmap_opcode(h->ulp));

	/* DV has been checked; RV must be the same (MPA-178). */
	if ((h->ulp & RDMAP_CTRL_VERSION) >> 6 != h->version)
		return SMPA_F_RDMAP_VERSION; /* RDMAP-62 */
	if (!op->is_known)
		return SMPA_F_RDMAP_OPCODE; /* RDMAP-62 */
	if (op->is_tagged != h->is_tagged)
		return SMPA_F_RDMAP_OPCODE; /* RDMAP-8, D-9 */
	if (!h->is_tagged && h->qn != op->qn)
		return SMPA_F_RDMAP_OPCODE; /* RDMAP-8, D-9 */
	if (op->has_payload)
		return 0;
	/* A single segment of fixed length: D-8, EXT-17. */
	if (len > op->max_size || !h->is_last)
		return SMPA_F_DDP_U_TOO_LONG;
	if (len < op->min_size)
		return SMPA_F_RDMAP_UNSPEC;
	return 0;
}

uint32_t rdmap_read_encode(const struct rdmap_read *r, uint8_t *out)
{
	uint8_t *p = out;

	p = wire_put32(p, r->sink_stag);
	p = wire_put64(p, r->sink_to);
	p = wire_put32(p, r->len);
	p = wire_put32(p, r->src_stag);
	wire_put64(p, r->src_to);
	return RDMAP_READ_SIZE;
}

int rdmap_read_decode(const uint8_t *buf, size_t len, struct rdmap_read *ret)
{
	if (len < RDMAP_READ_SIZE)
		return -EMSGSIZE;
	ret->sink_stag = wire_get32(buf);
	ret->sink_to = wire_get64(buf + 4);
	ret->len = wire_get32(buf + 12);
	ret->src_stag = wire_get32(buf + 16);
	ret->src_to = wire_get64(buf + 20);
	return (int)RDMAP_READ_SIZE;
}

static int msg_encode_read(const struct smpa_msg *msg, uint8_t *out)
{
	const struct rdmap_read r = {
		.sink_stag = msg->read.sink_stag,
		.sink_to = msg->read.sink_to,
		.len = msg->read.len,
		.src_stag = msg->read.src_stag,
		.src_to = msg->read.src_to,
	};

	return (int)rdmap_read_encode(&r, out);
}

static int msg_encode_atomic(const struct smpa_msg *msg, uint8_t *out)
{
	uint8_t *p = out;

	if (msg->atomic.op != RDMAP_FETCH_ADD &&
	    msg->atomic.op != RDMAP_CMP_SWAP)
		return -EINVAL; /* D-30 */
	p = wire_put32(p, msg->atomic.op);
	p = wire_put32(p, msg->atomic.id);
	p = wire_put32(p, msg->atomic.stag);
	p = wire_put64(p, msg->atomic.to);
	p = wire_put64(p, msg->atomic.add_swap);
	p = wire_put64(p, msg->atomic.add_swap_mask);
	p = wire_put64(p, msg->atomic.compare);
	wire_put64(p, msg->atomic.compare_mask);
	return RDMAP_ATOMIC_SIZE;
}

int rdmap_msg_encode(const struct smpa_msg *msg, uint8_t *out)
{
	switch (msg->opcode) {
	case SMPA_OP_READ_REQUEST:
		return msg_encode_read(msg, out);
	case SMPA_OP_IMM:
	case SMPA_OP_IMM_SE:
		memcpy(out, msg->imm, sizeof(msg->imm)); /* EXT-16 */
		return sizeof(msg->imm);
	case SMPA_OP_ATOMIC_REQUEST:
		return msg_encode_atomic(msg, out);
	case SMPA_OP_ATOMIC_RESPONSE:
		wire_put64(wire_put32(out, msg->atomic.id), msg->atomic.value);
		return RDMAP_ATOMIC_RESPONSE_SIZE;
	}
	return -EINVAL;
}

void rdmap_atomic_decode(const uint8_t *buf, struct smpa_event *ev)
{
	ev->atomic.op = wire_get32(buf) & 0xf; /* the rest is reserved */
	ev->atomic.id = wire_get32(buf + 4);
	ev->atomic.stag = wire_get32(buf + 8);
	ev->atomic.to = wire_get64(buf + 12);
	ev->atomic.add_swap = wire_get64(buf + 20);
	ev->atomic.add_swap_mask = wire_get64(buf + 28);
	ev->atomic.compare = wire_get64(buf + 36);
	ev->atomic.compare_mask = wire_get64(buf + 44);
}

void rdmap_atomic_response_decode(const uint8_t *buf, struct smpa_event *ev)
{
	ev->atomic_done.id = wire_get32(buf);
	ev->atomic_done.value = wire_get64(buf + 4);
}
