/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Packets of RoCEv2: what is encoded is decoded to the same, for each opcode
 * and each size of payload, with random values in all fields.
 */
#include "test.h"

#include <string.h>

#include "random.h"
#include "rocepacket.h"
#include "siw-ib.h"

struct run {
	uint64_t seed;
	struct sib_hdr hdr;
	struct sib_path path;
	uint8_t payload[SIB_PAYLOAD_MAX];
	uint8_t packet[SIB_HDR_MAX + SIB_PAYLOAD_MAX + SIB_TAIL_MAX];
};

static uint32_t random24(struct run *r)
{
	return (uint32_t)test_random(&r->seed) & 0xffffff;
}

/* Only the fields that the opcode has: decoding sets others to zero. */
static void fill_hdr(struct run *r, uint8_t opcode, uint16_t ext)
{
	uint64_t bits = test_random(&r->seed);
	struct sib_hdr h = {
		.opcode = opcode,
		.is_solicited = bits & 1,
		.is_migrated = bits & 2,
		.wants_ack = bits & 4,
		.is_fecn = bits & 8,
		.is_becn = bits & 16,
		.pkey = (uint16_t)(bits >> 16),
		.dest_qpn = random24(r),
		.psn = random24(r),
	};

	if (ext & SIB_RDETH)
		h.eecn = random24(r);
	if (ext & SIB_DETH) {
		h.qkey = (uint32_t)test_random(&r->seed);
		h.src_qpn = random24(r);
	}
	if (ext & SIB_XRCETH)
		h.srqn = random24(r);
	if (ext & SIB_FETH) {
		h.selectivity = (uint8_t)test_random(&r->seed) & 3;
		h.placement = (uint8_t)test_random(&r->seed) & 15;
	}
	if (ext & (SIB_RETH | SIB_ATOMIC_ETH)) {
		h.va = test_random(&r->seed);
		h.rkey = (uint32_t)test_random(&r->seed);
	}
	if (ext & SIB_RETH)
		h.dma_len = (uint32_t)test_random(&r->seed);
	if (ext & SIB_ATOMIC_ETH) {
		h.swap_add = test_random(&r->seed);
		h.compare = test_random(&r->seed);
	}
	if (ext & SIB_AETH) {
		h.syndrome = (uint8_t)test_random(&r->seed);
		h.msn = random24(r);
	}
	if (ext & SIB_ATOMIC_AETH)
		h.original = test_random(&r->seed);
	if (ext & SIB_IMMDT)
		h.imm_be = (uint32_t)test_random(&r->seed);
	if (ext & SIB_IETH)
		h.inv_rkey = (uint32_t)test_random(&r->seed);
	r->hdr = h;
}

static void fill_path(struct run *r)
{
	uint8_t addr[32];
	size_t len = test_random(&r->seed) & 1 ? 4 : 16;

	for (size_t i = 0; i < sizeof(addr); i++)
		addr[i] = (uint8_t)test_random(&r->seed);
	sib_gid_from_ip(addr, len, &r->path.src);
	sib_gid_from_ip(addr + 16, len, &r->path.dst);
	r->path.src_port = (uint16_t)test_random(&r->seed);
	r->path.dst_port = SIB_UDP_PORT;
	r->path.ip_id = len == 4 ? (uint16_t)test_random(&r->seed) : 0;
}

/* The packet with @len octets of payload; returns its length. */
static size_t encode(struct run *r, size_t len, bool has_icrc)
{
	size_t head = sib_op(r->hdr.opcode)->hdr_size;
	struct iovec iov[2] = { { r->packet, head }, { r->payload, len } };
	size_t tail = (-len & 3) + SIB_ICRC_SIZE;

	assert_int_equal(sib_hdr_encode(&r->hdr, len, r->packet, head), head);
	memcpy(r->packet + head, r->payload, len);
	if (has_icrc)
		assert_int_equal(sib_tail_encode(&r->path, iov, 2,
						 r->packet + head + len, tail),
				 tail);
	return head + len + tail;
}

static void check(struct run *r, size_t len, bool has_icrc)
{
	size_t total = encode(r, len, has_icrc);
	struct sib_packet p;
	uint16_t id;

	assert_int_equal(sib_packet_decode(r->packet, total, &p), SIB_OK);
	assert_true(roce_is_same_hdr(&p.hdr, &r->hdr));
	assert_int_equal(p.payload_len, len);
	assert_int_equal(p.pad_len, -len & 3);
	assert_memory_equal(p.payload, r->payload, len);
	if (!has_icrc)
		return;
	assert_int_equal(sib_icrc_check(&r->path, r->packet, total, &id),
			 SIB_OK);
	assert_int_equal(id, r->path.ip_id);
}

CASE(decodes_what_it_encodes)
{
	static struct run r = { .seed = 1 };
	unsigned int cnt = 0;

	for (size_t i = 0; i < sizeof(r.payload); i++)
		r.payload[i] = (uint8_t)test_random(&r.seed);
	for (unsigned int opcode = 0; opcode < 256; opcode++) {
		const struct sib_op *op = sib_op((uint8_t)opcode);
		size_t max = op && op->has_payload ? SIB_PAYLOAD_MAX : 0;

		if (!op)
			continue;
		cnt++;
		for (size_t len = 0; len <= max; len++) {
			/* All sizes of UD.  The CRC of others would take most
			 * of the time, and does not know opcodes. */
			bool has_icrc = op->service == SIB_UD || len < 16 ||
					len % 61 == 0 || len == max;

			fill_hdr(&r, (uint8_t)opcode, op->ext);
			fill_path(&r);
			check(&r, len, has_icrc);
		}
	}
	assert_int_equal(cnt, 25 + 12 + 24 + 2 + 1 + 23);
}
