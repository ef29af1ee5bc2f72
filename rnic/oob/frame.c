/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What both sides of a connection out of band say in their start frames. */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "frame.h"
#include "qp/qp-num.h"

/*
 * Octets, network order:
 *  0 magic  4 version  5 min_rnr_timer  6 rnr_retry  7 type of the QP
 *  8 source number  12 destination number  16 nonce
 * A peer without types sends zero, which is RC, and refuses other values.
 */
#define FRAME_MAGIC 0x75735256u /* "usRV" */
#define FRAME_VERSION 1

static void put_be32(uint8_t *to, uint32_t value)
{
	value = htobe32(value);
	memcpy(to, &value, sizeof(value));
}

static uint32_t get_be32(const uint8_t *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof(value));
	return be32toh(value);
}

void oob_frame_encode(const struct oob_frame *frame, uint8_t buf[OOB_FRAME_LEN])
{
	put_be32(buf, FRAME_MAGIC);
	buf[4] = FRAME_VERSION;
	buf[5] = frame->min_rnr_timer;
	buf[6] = frame->rnr_retry;
	buf[7] = frame->type;
	put_be32(buf + 8, frame->src_num);
	put_be32(buf + 12, frame->dst_num);
	put_be32(buf + 16, (uint32_t)(frame->nonce >> 32));
	put_be32(buf + 20, (uint32_t)frame->nonce);
}

int oob_frame_decode(const void *buf, size_t len, struct oob_frame *ret_frame)
{
	const uint8_t *octet = buf;
	struct oob_frame frame;

	if (len != OOB_FRAME_LEN || get_be32(octet) != FRAME_MAGIC ||
	    octet[4] != FRAME_VERSION)
		return -EPROTO;
	frame.min_rnr_timer = octet[5];
	frame.rnr_retry = octet[6];
	frame.type = octet[7];
	frame.src_num = get_be32(octet + 8);
	frame.dst_num = get_be32(octet + 12);
	frame.nonce = (uint64_t)get_be32(octet + 16) << 32 |
		      get_be32(octet + 20);
	if (frame.min_rnr_timer > 31 ||
	    (frame.rnr_retry > 7 && frame.rnr_retry != OOB_RNR_RETRY_UNKNOWN) ||
	    frame.src_num > RNIC_QP_NUM_MASK ||
	    frame.dst_num > RNIC_QP_NUM_MASK)
		return -EPROTO;
	*ret_frame = frame;
	return 0;
}
