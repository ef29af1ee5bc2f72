/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Pad and ICRC of packets that rxe sent or took.
 */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "hex.h"
#include "roce.h"
#include "rocepacket.h"
#include "siw-ib.h"

CASE(checks_vectors_and_finds_their_identification)
{
	bool has_other_than_0 = false;

	for (size_t i = 0; i < ARRAY_LEN(roce_vectors); i++) {
		const struct roce_vector *v = &roce_vectors[i];
		struct sib_path path;
		uint8_t buf[512];
		size_t len = roce_unpack(v, &path, buf, sizeof(buf));
		uint16_t want = path.ip_id, got = 4711;

		path.ip_id = 1234; /* is ignored */
		assert_row(v->name,
			   sib_icrc_check(&path, buf, len, &got) == SIB_OK);
		assert_row(v->name, got == want);
		has_other_than_0 |= want;
	}
	assert_true(has_other_than_0);
}

CASE(encodes_the_tails_of_vectors)
{
	for (size_t i = 0; i < ARRAY_LEN(roce_vectors); i++) {
		const struct roce_vector *v = &roce_vectors[i];
		struct sib_path path;
		uint8_t buf[512], tail[SIB_TAIL_MAX];
		size_t len = roce_unpack(v, &path, buf, sizeof(buf));
		size_t head = sib_op(v->hdr.opcode)->hdr_size;
		size_t tail_len = len - head - v->payload_len;

		for (size_t cut = 0; cut <= v->payload_len; cut++) {
			struct iovec iov[] = {
				{ buf, head },
				{ buf + head, cut },
				{ buf + head + cut, v->payload_len - cut },
			};

			assert_row(v->name,
				   sib_tail_encode(&path, iov, 3, tail,
						   tail_len) == (int)tail_len);
			assert_row(v->name, !memcmp(tail, buf + len - tail_len,
						    tail_len));
		}
	}
}

/* The octet that ICRC does not cover. */
#define UNCOVERED 4u

CASE(refuses_each_flipped_bit)
{
	for (size_t i = 0; i < ARRAY_LEN(roce_vectors); i++) {
		const struct roce_vector *v = &roce_vectors[i];
		struct sib_path path;
		uint8_t buf[512];
		size_t len = roce_unpack(v, &path, buf, sizeof(buf));
		uint16_t id = 4711;

		for (size_t bit = 0; bit < len * 8; bit++) {
			enum sib_fault f;

			buf[bit / 8] ^= (uint8_t)(1u << bit % 8);
			f = sib_icrc_check(&path, buf, len, &id);
			buf[bit / 8] ^= (uint8_t)(1u << bit % 8);
			if (bit / 8 == UNCOVERED) {
				assert_row(v->name, f == SIB_OK);
				id = 4711;
			} else {
				assert_row(v->name, f == SIB_F_ICRC);
				assert_row(v->name, id == 4711);
			}
		}
	}
}

CASE(refuses_other_addresses_and_ports)
{
	for (size_t i = 0; i < ARRAY_LEN(roce_vectors); i++) {
		const struct roce_vector *v = &roce_vectors[i];
		struct sib_path path, other;
		uint8_t buf[512];
		size_t len = roce_unpack(v, &path, buf, sizeof(buf));
		uint16_t id;

		other = path;
		other.src.raw[15] ^= 1;
		assert_row(v->name,
			   sib_icrc_check(&other, buf, len, &id) == SIB_F_ICRC);
		other = path;
		other.dst.raw[15] ^= 1;
		assert_row(v->name,
			   sib_icrc_check(&other, buf, len, &id) == SIB_F_ICRC);
		other = path;
		other.src_port ^= 1;
		assert_row(v->name,
			   sib_icrc_check(&other, buf, len, &id) == SIB_F_ICRC);
		/* What routers change is not covered. */
		other = path;
		other.tclass ^= 0xff;
		other.hop_limit--;
		other.flow_label ^= 0xfffff;
		assert_row(v->name,
			   sib_icrc_check(&other, buf, len, &id) == SIB_OK);
	}
}

CASE(refuses_each_cut)
{
	for (size_t i = 0; i < ARRAY_LEN(roce_vectors); i++) {
		const struct roce_vector *v = &roce_vectors[i];
		struct sib_path path;
		uint8_t buf[512];
		size_t len = roce_unpack(v, &path, buf, sizeof(buf));
		uint16_t id;

		for (size_t cut = 0; cut < len; cut++)
			assert_row(v->name,
				   sib_icrc_check(&path, buf, cut, &id) ==
					   (cut < 16 ? SIB_F_BTH_SHORT
						     : SIB_F_ICRC));
	}
}

/* As segments of UDP_SEGMENT have them, and rxe's counter. */
CASE(finds_each_identification)
{
	struct sib_path path;
	uint8_t buf[512];
	size_t len = roce_unpack(&roce_vectors[0], &path, buf, sizeof(buf));
	size_t head = sib_op(buf[0])->hdr_size;
	struct iovec iov = { buf, head };

	assert_int_equal(len, head + SIB_ICRC_SIZE);
	for (uint32_t id = 0; id <= UINT16_MAX; id += 1 + id / 64) {
		uint16_t got;

		path.ip_id = (uint16_t)id;
		assert_int_equal(sib_tail_encode(&path, &iov, 1, buf + head, 4),
				 4);
		assert_int_equal(sib_icrc_check(&path, buf, len, &got), SIB_OK);
		assert_int_equal(got, id);
	}
}

CASE(finds_it_in_the_longest_datagram)
{
	static uint8_t buf[65508];
	const size_t len = 65488; /* 65504 with BTH and ICRC, of 65507 */
	struct sib_path path;
	struct sib_hdr h = { .opcode = SIB_OPCODE(SIB_UC, SIB_SEND_ONLY) };
	struct iovec iov[2] = { { buf, 12 }, { buf + 12, len + 4 } };
	uint8_t other[512];
	uint16_t got;

	roce_unpack(&roce_vectors[0], &path, other, sizeof(other));
	path.ip_id = 0xfedc;
	sib_hdr_encode(&h, len, buf, sizeof(buf));
	assert_int_equal(sib_tail_encode(&path, iov, 2, other, 7), -EINVAL);
	iov[1].iov_len = len;
	assert_int_equal(sib_tail_encode(&path, iov, 2, buf + 12 + len, 4), 4);
	assert_int_equal(sib_icrc_check(&path, buf, 16 + len, &got), SIB_OK);
	assert_int_equal(got, 0xfedc);
	assert_int_equal(sib_icrc_check(&path, buf, 65508, &got), SIB_F_ICRC);
}

CASE(refuses_to_encode_what_is_no_packet)
{
	struct sib_hdr h = { .opcode = SIB_OPCODE(SIB_UD, SIB_SEND_ONLY) };
	uint8_t head[SIB_HDR_MAX], data[8] = { 0 }, tail[SIB_TAIL_MAX];
	struct sib_path path = { .dst_port = SIB_UDP_PORT };
	struct iovec iov[3] = { { head, 20 }, { data, 5 }, { data, 0 } };

	assert_int_equal(sib_hdr_encode(&h, 5, head, sizeof(head)), 20);
	assert_int_equal(sib_tail_encode(&path, iov, 3, tail, 7), 7);
	assert_int_equal(sib_tail_encode(&path, iov, 3, tail, 6), -EMSGSIZE);
	assert_int_equal(sib_tail_encode(&path, iov, 0, tail, 7), -EINVAL);
	iov[1].iov_len = 6; /* BTH says 5, modulo 4 */
	assert_int_equal(sib_tail_encode(&path, iov, 3, tail, 7), -EINVAL);
	iov[1].iov_len = 5;
	iov[2].iov_len = SIZE_MAX - 4; /* the sum is 0 */
	assert_int_equal(sib_tail_encode(&path, iov, 3, tail, 7), -EINVAL);
	iov[2].iov_len = 0;
	iov[0].iov_len = 24; /* no header of UD SEND only */
	assert_int_equal(sib_tail_encode(&path, iov, 3, tail, 7), -EINVAL);
	iov[0].iov_len = 11;
	assert_int_equal(sib_tail_encode(&path, iov, 3, tail, 7), -EINVAL);
	iov[0].iov_len = 20;
	head[0] = 0xff;
	assert_int_equal(sib_tail_encode(&path, iov, 3, tail, 7), -EINVAL);
}

/* Between rxe and Python: RC SEND only, Identification 0. */
CASE(agrees_with_a_packet_that_rxe_took)
{
	static const char hex[] = "0440ffff0000001980001000"
				  "52432073656e64206f6e6c79";
	struct sib_path path = { .src_port = 4791, .dst_port = 4791 };
	uint8_t buf[32], tail[SIB_TAIL_MAX], want[4];
	size_t len = test_unhex(hex, buf, sizeof(buf));
	struct iovec iov[2] = { { buf, 12 }, { buf + 12, len - 12 } };

	sib_gid_from_ip((const uint8_t[]){ 10, 7, 0, 2 }, 4, &path.src);
	sib_gid_from_ip((const uint8_t[]){ 10, 7, 0, 1 }, 4, &path.dst);
	test_unhex("fea8242a", want, sizeof(want));
	assert_int_equal(sib_tail_encode(&path, iov, 2, tail, sizeof(tail)), 4);
	assert_memory_equal(tail, want, 4);
}
