/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * DDP (RFC 5041): segment headers, segmentation, and the order in which
 * untagged messages may arrive.
 */
#ifndef SMPA_DDP_H
#define SMPA_DDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire.h"

#define DDP_TAGGED_SIZE 14u
#define DDP_UNTAGGED_SIZE 18u
#define DDP_VERSION 1u
#define DDP_VERSION_RDMAC 0u /* with MPA revision 0 only (D-34) */

/* Control octet (5.1). */
#define DDP_CTRL_TAGGED 0x80u
#define DDP_CTRL_LAST 0x40u
#define DDP_CTRL_VERSION 0x03u

enum ddp_qn {
	DDP_QN_SEND = 0,
	DDP_QN_READ = 1, /* read and atomic requests */
	DDP_QN_TERMINATE = 2,
	DDP_QN_ATOMIC = 3, /* atomic responses */
};
#define DDP_QN_CNT 4u

struct ddp_hdr {
	bool is_tagged;
	bool is_last;
	uint8_t version;
	uint8_t ulp;	      /* RsvdULP[0:7]: the RDMAP control octet */
	uint32_t stag;	      /* tagged */
	uint64_t to;	      /* tagged */
	uint32_t ulp2;	      /* untagged, RsvdULP[8:39]: Invalidate STag */
	uint32_t qn, msn, mo; /* untagged */
};

static inline uint32_t ddp_hdr_size(bool is_tagged)
{
	return is_tagged ? DDP_TAGGED_SIZE : DDP_UNTAGGED_SIZE;
}

/* Writes ddp_hdr_size() octets and returns their number. */
static inline uint32_t ddp_hdr_encode(const struct ddp_hdr *h, uint8_t *out)
{
	uint8_t *p = out;

	/* DDP-14, DDP-16, DDP-17: reserved bits are zero */
	*p++ = (uint8_t)((h->is_tagged ? DDP_CTRL_TAGGED : 0) |
			 (h->is_last ? DDP_CTRL_LAST : 0) |
			 (h->version & DDP_CTRL_VERSION));
	*p++ = h->ulp;
	if (h->is_tagged) {
		p = wire_put32(p, h->stag);
		wire_put64(p, h->to);
		return DDP_TAGGED_SIZE;
	}
	p = wire_put32(p, h->ulp2);
	p = wire_put32(p, h->qn);
	p = wire_put32(p, h->msn);
	wire_put32(p, h->mo);
	return DDP_UNTAGGED_SIZE;
}

/* Octets used, or -EMSGSIZE when @len does not hold the header (D-7). */
int ddp_hdr_decode(const uint8_t *buf, size_t len, struct ddp_hdr *ret_hdr);

/* Payload of the next segment when @left octets of the message are left. */
static inline uint32_t ddp_segment_len(uint32_t mulpdu, bool is_tagged,
				       uint32_t left)
{
	uint32_t room = mulpdu - ddp_hdr_size(is_tagged);

	return left < room ? left : room; /* DDP-26, MPA-66 */
}

/* MSN and MO that the next untagged segment of each queue must have. */
struct ddp_order {
	uint8_t version; /* DV of the stream */
	uint32_t msn[DDP_QN_CNT];
	uint32_t mo[DDP_QN_CNT];
};

void ddp_order_init(struct ddp_order *o, uint8_t version);

/*
 * Checks DV, QN, MSN and MO of a segment with @len payload octets.
 * Return: 0, or an enum smpa_fault_value.
 */
uint16_t ddp_order_check(const struct ddp_order *o, const struct ddp_hdr *h,
			 uint32_t len);

/* Advances the order after a segment was accepted. */
void ddp_order_advance(struct ddp_order *o, const struct ddp_hdr *h,
		       uint32_t len);

#endif
