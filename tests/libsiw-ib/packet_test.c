/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * BTH, extended headers and payload: packets that rxe sent or took, and what is
 * wrong.
 */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "hex.h"
#include "roce.h"
#include "rocepacket.h"
#include "siw-ib.h"

CASE(decodes_vectors)
{
	for (size_t i = 0; i < ARRAY_LEN(roce_vectors); i++) {
		const struct roce_vector *v = &roce_vectors[i];
		uint8_t buf[512];
		struct sib_path path;
		size_t len = roce_unpack(v, &path, buf, sizeof(buf));
		struct sib_packet p;

		assert_row(v->name, sib_packet_decode(buf, len, &p) == SIB_OK);
		assert_row(v->name, roce_is_same_hdr(&p.hdr, &v->hdr));
		assert_row(v->name, p.payload_len == v->payload_len);
		assert_row(v->name, p.payload + p.payload_len + p.pad_len +
						    SIB_ICRC_SIZE ==
					    buf + len);
		assert_row(v->name,
			   sib_payload_check(v->hdr.opcode, v->payload_len,
					     256) == SIB_OK);
	}
}

CASE(encodes_vectors)
{
	for (size_t i = 0; i < ARRAY_LEN(roce_vectors); i++) {
		const struct roce_vector *v = &roce_vectors[i];
		uint8_t buf[512], out[SIB_HDR_MAX];
		struct sib_path path;
		int n;

		roce_unpack(v, &path, buf, sizeof(buf));
		n = sib_hdr_encode(&v->hdr, v->payload_len, out, sizeof(out));
		assert_row(v->name, n == sib_op(v->hdr.opcode)->hdr_size);
		assert_row(v->name, !memcmp(out, buf, (size_t)n));
	}
}

CASE(refuses_each_cut)
{
	for (size_t i = 0; i < ARRAY_LEN(roce_vectors); i++) {
		const struct roce_vector *v = &roce_vectors[i];
		uint8_t buf[512];
		struct sib_path path;
		size_t len = roce_unpack(v, &path, buf, sizeof(buf));

		for (size_t cut = 0; cut < len; cut++) {
			struct sib_packet p = { .payload_len = 4711 };
			enum sib_fault f = sib_packet_decode(buf, cut, &p);

			/* A shorter payload has its own ICRC: here it is the
			 * payload's end. */
			if (f == SIB_OK)
				assert_row(v->name,
					   cut % 4 == 0 && p.payload_len < len);
			else
				assert_row(v->name, p.payload_len == 4711);
			if (cut < 16)
				assert_row(v->name, f == SIB_F_BTH_SHORT);
		}
	}
}

/* A flipped bit of the headers is refused, or it changes a field: what the
 * encoder makes of the fields has it, too. Reserved bits are the exception. */
static void check_flip(const struct roce_vector *v, const uint8_t *buf,
		       size_t len, size_t bit)
{
	uint8_t out[SIB_HDR_MAX], mask = (uint8_t)(1u << bit % 8);
	struct sib_packet p;
	int n;

	if (sib_packet_decode(buf, len, &p) != SIB_OK)
		return;
	n = sib_hdr_encode(&p.hdr, p.payload_len, out, sizeof(out));
	assert_row(v->name, n == sib_op(p.hdr.opcode)->hdr_size);
	if (p.hdr.opcode != v->hdr.opcode)
		return;
	if (roce_is_same_hdr(&p.hdr, &v->hdr) &&
	    p.payload_len == v->payload_len)
		out[bit / 8] ^= mask;
	assert_row(v->name, !memcmp(out, buf, (size_t)n));
}

CASE(sees_each_flipped_bit)
{
	for (size_t i = 0; i < ARRAY_LEN(roce_vectors); i++) {
		const struct roce_vector *v = &roce_vectors[i];
		uint8_t buf[512];
		struct sib_path path;
		size_t len = roce_unpack(v, &path, buf, sizeof(buf));
		size_t bits = sib_op(v->hdr.opcode)->hdr_size * 8u;

		for (size_t bit = 0; bit < bits; bit++) {
			buf[bit / 8] ^= (uint8_t)(1u << bit % 8);
			check_flip(v, buf, len, bit);
			buf[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
	}
}

/* What is wrong, in packets of 12 + 8 octets of header where there is room. */
static const struct {
	const char *name, *hex;
	enum sib_fault fault;
} wrong[] = {
	{ "empty", "", SIB_F_BTH_SHORT },
	{ "BTH without ICRC", "0400ffff0000000100000000", SIB_F_BTH_SHORT },
	{ "opcode 0x18", "1800ffff000000010000000000000000", SIB_F_BTH_OPCODE },
	{ "opcode 0xff", "ff00ffff000000010000000000000000", SIB_F_BTH_OPCODE },
	{ "version 1", "0401ffff000000010000000000000000", SIB_F_BTH_VERSION },
	{ "UD without DETH", "6400ffff000000010000000000000000",
	  SIB_F_EXT_SHORT },
	{ "ACK without AETH", "1100ffff000000010000000000000000",
	  SIB_F_EXT_SHORT },
	{ "pad and nothing else", "0430ffff000000010000000000000000",
	  SIB_F_BTH_PAD },
	{ "5 octets",
	  "0400ffff0000000100000000"
	  "0102030405"
	  "00000000",
	  SIB_F_BTH_PAD },
	{ "ACK with payload",
	  "1100ffff00000001000000001f000001"
	  "01020304"
	  "00000000",
	  SIB_F_PAYLOAD_NONE },
	{ "READ request with pad",
	  "0c10ffff0000000100000000"
	  "00000000000000000000000000000000"
	  "00000000",
	  SIB_F_BTH_PAD },
};

CASE(says_what_is_wrong)
{
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct sib_packet p;
		uint8_t buf[64];
		size_t len = test_unhex(wrong[i].hex, buf, sizeof(buf));

		assert_row(wrong[i].name,
			   sib_packet_decode(buf, len, &p) == wrong[i].fault);
	}
}

CASE(refuses_to_encode_what_does_not_fit)
{
	struct sib_hdr h = { .opcode = SIB_OPCODE(SIB_UD, SIB_SEND_ONLY) };
	uint8_t out[SIB_HDR_MAX];

	assert_int_equal(sib_hdr_encode(&h, 4096, out, 20), 20);
	assert_int_equal(sib_hdr_encode(&h, 0, out, 19), -EMSGSIZE);
	h.src_qpn = 1u << 24;
	assert_int_equal(sib_hdr_encode(&h, 0, out, sizeof(out)), -EINVAL);
	h.opcode = SIB_OPCODE(SIB_UC, SIB_SEND_ONLY); /* has no DETH */
	assert_int_equal(sib_hdr_encode(&h, 0, out, sizeof(out)), 12);
	h.psn = 1u << 24;
	assert_int_equal(sib_hdr_encode(&h, 0, out, sizeof(out)), -EINVAL);
	h.psn = 0;
	h.dest_qpn = 1u << 24;
	assert_int_equal(sib_hdr_encode(&h, 0, out, sizeof(out)), -EINVAL);
	h.dest_qpn = 0;
	h.opcode = SIB_OPCODE(SIB_UD, SIB_SEND_FIRST); /* is none */
	assert_int_equal(sib_hdr_encode(&h, 0, out, sizeof(out)), -EINVAL);
	h.opcode = SIB_OPCODE(SIB_RC, SIB_ACK);
	assert_int_equal(sib_hdr_encode(&h, 0, out, sizeof(out)), 16);
	assert_int_equal(sib_hdr_encode(&h, 1, out, sizeof(out)), -EINVAL);
	h.msn = 1u << 24;
	assert_int_equal(sib_hdr_encode(&h, 0, out, sizeof(out)), -EINVAL);
	h.opcode = SIB_OPCODE(SIB_XRC, SIB_SEND_ONLY);
	h.srqn = 1u << 24;
	assert_int_equal(sib_hdr_encode(&h, 0, out, sizeof(out)), -EINVAL);
	h.opcode = SIB_OPCODE(SIB_RD, SIB_ACK);
	h.msn = 0;
	h.eecn = 1u << 24;
	assert_int_equal(sib_hdr_encode(&h, 0, out, sizeof(out)), -EINVAL);
}

/* No capture has it: the kernel's rxe sends it to persistent memory only. */
CASE(places_the_fields_of_flush)
{
	static const uint8_t want[] = {
		0x1c, 0x00, 0xff, 0xff, 0x00, 0x00, 0x00, 0x11, /* BTH */
		0x80, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x12, /* ... FETH */
		1,    2,    3,	  4,	5,    6,    7,	  8,	/* RETH */
		0x0a, 0x0b, 0x0c, 0x0d, 0x00, 0x00, 0x10, 0x00,
	};
	struct sib_hdr h = { .opcode = SIB_OPCODE(SIB_RC, SIB_FLUSH),
			     .pkey = 0xffff,
			     .dest_qpn = 0x11,
			     .wants_ack = true,
			     .psn = 7,
			     .selectivity = 1,
			     .placement = 2,
			     .va = 0x0102030405060708,
			     .rkey = 0x0a0b0c0d,
			     .dma_len = 4096 };
	uint8_t out[SIB_HDR_MAX];

	assert_int_equal(sib_hdr_encode(&h, 0, out, sizeof(out)), sizeof(want));
	assert_memory_equal(out, want, sizeof(want));
	h.selectivity = 4;
	assert_int_equal(sib_hdr_encode(&h, 0, out, sizeof(out)), -EINVAL);
	h.selectivity = 0;
	h.placement = 16;
	assert_int_equal(sib_hdr_encode(&h, 0, out, sizeof(out)), -EINVAL);
}

static const struct {
	const char *name;
	uint8_t opcode;
	size_t len;
	enum sib_fault fault;
} lengths[] = {
	{ "UD, empty", SIB_OPCODE(SIB_UD, SIB_SEND_ONLY), 0, SIB_OK },
	{ "UD, full", SIB_OPCODE(SIB_UD, SIB_SEND_ONLY), 1024, SIB_OK },
	{ "UD, more", SIB_OPCODE(SIB_UD, SIB_SEND_ONLY), 1025,
	  SIB_F_PAYLOAD_LONG },
	{ "first", SIB_OPCODE(SIB_RC, SIB_SEND_FIRST), 1024, SIB_OK },
	{ "first, short", SIB_OPCODE(SIB_RC, SIB_SEND_FIRST), 1023,
	  SIB_F_PAYLOAD_MTU },
	{ "middle, short", SIB_OPCODE(SIB_RC, SIB_READ_RESPONSE_MIDDLE), 1020,
	  SIB_F_PAYLOAD_MTU },
	{ "last", SIB_OPCODE(SIB_UC, SIB_WRITE_LAST), 1, SIB_OK },
	{ "last, empty", SIB_OPCODE(SIB_UC, SIB_WRITE_LAST), 0,
	  SIB_F_PAYLOAD_EMPTY },
	{ "READ request", SIB_OPCODE(SIB_RC, SIB_READ_REQUEST), 0, SIB_OK },
	{ "READ request, payload", SIB_OPCODE(SIB_RC, SIB_READ_REQUEST), 1,
	  SIB_F_PAYLOAD_NONE },
	{ "FLUSH", SIB_OPCODE(SIB_RC, SIB_FLUSH), 0, SIB_OK },
	{ "FLUSH, payload", SIB_OPCODE(SIB_RC, SIB_FLUSH), 1,
	  SIB_F_PAYLOAD_NONE },
	{ "ATOMIC WRITE", SIB_OPCODE(SIB_RC, SIB_ATOMIC_WRITE), 8, SIB_OK },
	{ "ATOMIC WRITE, short", SIB_OPCODE(SIB_RD, SIB_ATOMIC_WRITE), 7,
	  SIB_F_PAYLOAD_EMPTY },
	{ "ATOMIC WRITE, long", SIB_OPCODE(SIB_RC, SIB_ATOMIC_WRITE), 9,
	  SIB_F_PAYLOAD_LONG },
	{ "no opcode", 0xff, 0, SIB_F_BTH_OPCODE },
};

CASE(checks_lengths_against_the_path_mtu)
{
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++)
		assert_row(lengths[i].name,
			   sib_payload_check(lengths[i].opcode, lengths[i].len,
					     1024) == lengths[i].fault);
}
