/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * DDP and RDMAP headers of one segment: a header that passes the checks can be
 * decoded, and its encoding equals the input except for reserved bits.
 */
#include "fuzz.h"

#include <string.h>

#include "rdmap.h"

static void check_body(uint8_t opcode, const uint8_t *body, size_t len)
{
	uint8_t out[RDMAP_ATOMIC_SIZE], want[RDMAP_ATOMIC_SIZE];
	struct smpa_msg msg = { .opcode = opcode };
	struct rdmap_read r;
	struct smpa_event ev;
	int size;

	switch (opcode) {
	case SMPA_OP_READ_REQUEST:
		fuzz_assert(rdmap_read_decode(body, len, &r) == (int)len);
		size = (int)rdmap_read_encode(&r, out);
		break;
	case SMPA_OP_ATOMIC_REQUEST:
		rdmap_atomic_decode(body, &ev);
		msg.atomic.op = ev.atomic.op;
		msg.atomic.id = ev.atomic.id;
		msg.atomic.stag = ev.atomic.stag;
		msg.atomic.to = ev.atomic.to;
		msg.atomic.add_swap = ev.atomic.add_swap;
		msg.atomic.add_swap_mask = ev.atomic.add_swap_mask;
		msg.atomic.compare = ev.atomic.compare;
		msg.atomic.compare_mask = ev.atomic.compare_mask;
		size = rdmap_msg_encode(&msg, out);
		break;
	case SMPA_OP_ATOMIC_RESPONSE:
		rdmap_atomic_response_decode(body, &ev);
		msg.atomic.id = ev.atomic_done.id;
		msg.atomic.value = ev.atomic_done.value;
		size = rdmap_msg_encode(&msg, out);
		break;
	default:
		return;
	}
	fuzz_assert(size == (int)len);
	memcpy(want, body, len);
	if (opcode == SMPA_OP_ATOMIC_REQUEST) {
		want[0] = want[1] = want[2] = 0;
		want[3] &= 0xf;
	}
	fuzz_assert(!memcmp(out, want, len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t out[DDP_UNTAGGED_SIZE];
	struct ddp_order order;
	struct ddp_hdr h;
	int used = ddp_hdr_decode(data, size, &h);
	uint32_t len;

	if (used < 0)
		return 0;
	fuzz_assert((size_t)used <= size);
	fuzz_assert(ddp_hdr_encode(&h, out) == (uint32_t)used);
	fuzz_assert((out[0] ^ data[0]) == (data[0] & 0x3c));
	fuzz_assert(!memcmp(out + 1, data + 1, (size_t)used - 1));

	len = (uint32_t)(size - (size_t)used);
	ddp_order_init(&order, (uint8_t)(size % 2));
	if (!h.is_tagged && h.qn < DDP_QN_CNT)
		order.msn[h.qn] = h.msn;
	if (ddp_order_check(&order, &h, len) || rdmap_check(&h, len))
		return 0;
	fuzz_assert(h.version == size % 2);
	fuzz_assert((data[1] & 0xc0) == h.version << 6);
	check_body(rdmap_opcode(h.ulp), data + used, len);
	ddp_order_advance(&order, &h, len);
	fuzz_assert(h.is_tagged || !h.is_last || order.msn[h.qn] == h.msn + 1);
	return 0;
}
