/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * BTH, extended headers and payload of a packet (IBA 9.2 to 9.4).
 */
#include <errno.h>
#include <string.h>

#include "include/siw-ib.h"
#include "libsiw-mpa/wire.h"

/* BTH octet 1. */
#define BTH_SE 0x80u
#define BTH_M 0x40u
#define BTH_PAD 0x30u
#define BTH_PAD_SHIFT 4
#define BTH_TVER 0x0fu
/* BTH octet 4; the other bits are reserved. */
#define BTH_FECN 0x80u
#define BTH_BECN 0x40u
/* BTH octet 8; the other bits are reserved. */
#define BTH_A 0x80u

#define MASK24 0xffffffu

/* FETH; the other bits are reserved. */
#define FETH_SELECTIVITY 0x3u
#define FETH_SELECTIVITY_SHIFT 4
#define FETH_PLACEMENT 0xfu

static bool hdr_fits(const struct sib_hdr *h, uint16_t ext)
{
	return h->dest_qpn <= MASK24 && h->psn <= MASK24 &&
	       (!(ext & SIB_RDETH) || h->eecn <= MASK24) &&
	       (!(ext & SIB_DETH) || h->src_qpn <= MASK24) &&
	       (!(ext & SIB_XRCETH) || h->srqn <= MASK24) &&
	       (!(ext & SIB_FETH) || (h->selectivity <= FETH_SELECTIVITY &&
				      h->placement <= FETH_PLACEMENT)) &&
	       (!(ext & SIB_AETH) || h->msn <= MASK24);
}

static uint8_t *bth_put(uint8_t *p, const struct sib_hdr *h, uint32_t pad)
{
	uint32_t ecn = (h->is_fecn ? BTH_FECN : 0) |
		       (h->is_becn ? BTH_BECN : 0);

	*p++ = h->opcode;
	*p++ = (uint8_t)((h->is_solicited ? BTH_SE : 0) |
			 (h->is_migrated ? BTH_M : 0) | pad << BTH_PAD_SHIFT);
	p = wire_put16(p, h->pkey);
	p = wire_put32(p, ecn << 24 | h->dest_qpn);
	return wire_put32(p, (h->wants_ack ? BTH_A : 0) << 24 | h->psn);
}

static uint8_t *ext_put(uint8_t *p, const struct sib_hdr *h, uint16_t ext)
{
	if (ext & SIB_RDETH)
		p = wire_put32(p, h->eecn);
	if (ext & SIB_DETH)
		p = wire_put32(wire_put32(p, h->qkey), h->src_qpn);
	if (ext & SIB_XRCETH)
		p = wire_put32(p, h->srqn);
	if (ext & SIB_FETH)
		p = wire_put32(p, (uint32_t)h->selectivity
						  << FETH_SELECTIVITY_SHIFT |
					  h->placement);
	if (ext & (SIB_RETH | SIB_ATOMIC_ETH))
		p = wire_put32(wire_put64(p, h->va), h->rkey);
	if (ext & SIB_RETH)
		p = wire_put32(p, h->dma_len);
	if (ext & SIB_ATOMIC_ETH)
		p = wire_put64(wire_put64(p, h->swap_add), h->compare);
	if (ext & SIB_AETH)
		p = wire_put32(p, (uint32_t)h->syndrome << 24 | h->msn);
	if (ext & SIB_ATOMIC_AETH)
		p = wire_put64(p, h->original);
	if (ext & SIB_IMMDT) {
		memcpy(p, &h->imm_be, 4);
		p += 4;
	}
	if (ext & SIB_IETH)
		p = wire_put32(p, h->inv_rkey);
	return p;
}

int sib_hdr_encode(const struct sib_hdr *hdr, size_t payload_len, uint8_t *out,
		   size_t size)
{
	const struct sib_op *op = sib_op(hdr->opcode);

	if (!op || (payload_len && !op->has_payload) || !hdr_fits(hdr, op->ext))
		return -EINVAL;
	if (size < op->hdr_size)
		return -EMSGSIZE;
	ext_put(bth_put(out, hdr, -(uint32_t)payload_len & 3), hdr, op->ext);
	return op->hdr_size;
}

static const uint8_t *bth_get(const uint8_t *p, struct sib_hdr *h)
{
	*h = (struct sib_hdr){
		.opcode = p[0],
		.is_solicited = p[1] & BTH_SE,
		.is_migrated = p[1] & BTH_M,
		.pkey = wire_get16(p + 2),
		.is_fecn = p[4] & BTH_FECN,
		.is_becn = p[4] & BTH_BECN,
		.dest_qpn = wire_get32(p + 4) & MASK24,
		.wants_ack = p[8] & BTH_A,
		.psn = wire_get32(p + 8) & MASK24,
	};
	return p + SIB_BTH_SIZE;
}

static const uint8_t *rdma_get(const uint8_t *p, struct sib_hdr *h,
			       uint16_t ext)
{
	h->va = wire_get64(p);
	h->rkey = wire_get32(p + 8);
	p += 12;
	if (ext & SIB_RETH) {
		h->dma_len = wire_get32(p);
		return p + 4;
	}
	h->swap_add = wire_get64(p);
	h->compare = wire_get64(p + 8);
	return p + 16;
}

static const uint8_t *ext_get(const uint8_t *p, struct sib_hdr *h, uint16_t ext)
{
	if (ext & SIB_RDETH) {
		h->eecn = wire_get32(p) & MASK24;
		p += 4;
	}
	if (ext & SIB_DETH) {
		h->qkey = wire_get32(p);
		h->src_qpn = wire_get32(p + 4) & MASK24;
		p += 8;
	}
	if (ext & SIB_XRCETH) {
		h->srqn = wire_get32(p) & MASK24;
		p += 4;
	}
	if (ext & SIB_FETH) {
		h->selectivity = p[3] >> FETH_SELECTIVITY_SHIFT &
				 FETH_SELECTIVITY;
		h->placement = p[3] & FETH_PLACEMENT;
		p += 4;
	}
	if (ext & (SIB_RETH | SIB_ATOMIC_ETH))
		p = rdma_get(p, h, ext);
	if (ext & SIB_AETH) {
		h->syndrome = p[0];
		h->msn = wire_get32(p) & MASK24;
		p += 4;
	}
	if (ext & SIB_ATOMIC_AETH) {
		h->original = wire_get64(p);
		p += 8;
	}
	if (ext & SIB_IMMDT) {
		memcpy(&h->imm_be, p, 4);
		p += 4;
	}
	if (ext & SIB_IETH) {
		h->inv_rkey = wire_get32(p);
		p += 4;
	}
	return p;
}

enum sib_fault sib_packet_decode(const uint8_t *buf, size_t len,
				 struct sib_packet *ret)
{
	const struct sib_op *op;
	size_t body; /* payload and pad */
	uint32_t pad;

	if (len < SIB_BTH_SIZE + SIB_ICRC_SIZE)
		return SIB_F_BTH_SHORT;
	op = sib_op(buf[0]);
	if (!op)
		return SIB_F_BTH_OPCODE;
	if (buf[1] & BTH_TVER)
		return SIB_F_BTH_VERSION;
	if (len < op->hdr_size + SIB_ICRC_SIZE)
		return SIB_F_EXT_SHORT;
	body = len - op->hdr_size - SIB_ICRC_SIZE;
	pad = (buf[1] & BTH_PAD) >> BTH_PAD_SHIFT;
	if (body % 4 || pad > body)
		return SIB_F_BTH_PAD;
	if (body && !op->has_payload)
		return SIB_F_PAYLOAD_NONE;
	ret->payload = ext_get(bth_get(buf, &ret->hdr), &ret->hdr, op->ext);
	ret->payload_len = body - pad;
	ret->pad_len = pad;
	return SIB_OK;
}

enum sib_fault sib_payload_check(uint8_t opcode, size_t payload_len,
				 uint32_t mtu)
{
	const struct sib_op *op = sib_op(opcode);

	if (!op)
		return SIB_F_BTH_OPCODE;
	if (payload_len && !op->has_payload)
		return SIB_F_PAYLOAD_NONE;
	if (payload_len > mtu)
		return SIB_F_PAYLOAD_LONG;
	if ((op->part == SIB_PART_FIRST || op->part == SIB_PART_MIDDLE) &&
	    payload_len != mtu)
		return SIB_F_PAYLOAD_MTU;
	if (op->part == SIB_PART_LAST && !payload_len)
		return SIB_F_PAYLOAD_EMPTY;
	if (opcode % 32 == SIB_ATOMIC_WRITE && payload_len != SIB_ATOMIC_LEN)
		return payload_len < SIB_ATOMIC_LEN ? SIB_F_PAYLOAD_EMPTY
						    : SIB_F_PAYLOAD_LONG;
	return SIB_OK;
}
