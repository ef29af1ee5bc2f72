/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * RDMAP's table of opcodes against a second one, and its headers.
 */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "pair.h"
#include "rdmap.h"

/* RFC 5040 figure 4, RFC 7306 figures 3 to 5: T, QN, header octets. */
static const struct {
	uint8_t opcode;
	bool is_tagged;
	uint8_t qn;
	int size; /* -1: payload of any length */
} table[] = {
	{ 0x0, true, 0, -1 },  { 0x1, false, 1, 28 }, { 0x2, true, 0, -1 },
	{ 0x3, false, 0, -1 }, { 0x4, false, 0, -1 }, { 0x5, false, 0, -1 },
	{ 0x6, false, 0, -1 }, { 0x7, false, 2, 4 },  { 0x8, false, 0, 8 },
	{ 0x9, false, 0, 8 },  { 0xa, false, 1, 52 }, { 0xb, false, 3, 12 },
};

CASE(takes_each_opcode_its_own_way_only)
{
	for (uint8_t opcode = 0; opcode < 16; opcode++) {
		for (uint8_t t = 0; t < 2; t++) {
			for (uint8_t qn = 0; qn < 4; qn++) {
				bool fits = opcode < ARRAY_LEN(table) &&
					    table[opcode].is_tagged == t &&
					    (t || table[opcode].qn == qn);
				uint32_t len =
					fits && table[opcode].size > 0
						? (uint32_t)table[opcode].size
						: 0;
				struct ddp_hdr h = {
					.is_tagged = t,
					.is_last = true,
					.version = 1,
					.qn = qn,
					.msn = 1,
					.ulp = (uint8_t)(0x40 | opcode),
				};

				assert_int_equal(rdmap_check(&h, len),
						 fits ? 0
						      : SMPA_F_RDMAP_OPCODE);
				h.ulp &= 0x3f;
				assert_int_equal(rdmap_check(&h, len),
						 SMPA_F_RDMAP_VERSION);
				h.ulp |= 0x80;
				assert_int_equal(rdmap_check(&h, len),
						 SMPA_F_RDMAP_VERSION);
			}
		}
	}
}

CASE(ignores_reserved_control_bits)
{
	struct ddp_hdr h = { .is_last = true, .version = 1, .ulp = 0x73 };

	assert_int_equal(rdmap_check(&h, 5), 0);
}

CASE(checks_fixed_lengths)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		uint32_t most = table[i].opcode == 7 ? 52
						     : (uint32_t)table[i].size;
		struct ddp_hdr h = {
			.is_last = true,
			.version = 1,
			.qn = table[i].qn,
			.ulp = (uint8_t)(0x40 | table[i].opcode),
		};

		if (table[i].size < 0)
			continue;
		assert_int_equal(rdmap_check(&h, (uint32_t)table[i].size - 1),
				 SMPA_F_RDMAP_UNSPEC);
		assert_int_equal(rdmap_check(&h, (uint32_t)table[i].size), 0);
		assert_int_equal(rdmap_check(&h, most), 0);
		assert_int_equal(rdmap_check(&h, most + 1),
				 SMPA_F_DDP_U_TOO_LONG);
		h.is_last = false;
		assert_int_equal(rdmap_check(&h, most), SMPA_F_DDP_U_TOO_LONG);
	}
}

CASE(round_trips_a_read_request)
{
	const struct rdmap_read r = { 0x01020304, 0x1000, 4096, 0x0a0b0c0d,
				      0x2000 };
	struct rdmap_read got;
	uint8_t want[28], out[28];

	test_unhex("01020304000000000000100000001000"
		   "0a0b0c0d0000000000002000",
		   want, sizeof(want));
	assert_int_equal(rdmap_read_encode(&r, out), 28);
	assert_memory_equal(out, want, 28);
	assert_int_equal(rdmap_read_decode(want, 28, &got), 28);
	assert_int_equal(got.sink_stag, r.sink_stag);
	assert_int_equal(got.sink_to, r.sink_to);
	assert_int_equal(got.len, r.len);
	assert_int_equal(got.src_stag, r.src_stag);
	assert_int_equal(got.src_to, r.src_to);
	for (size_t cut = 0; cut < 28; cut++)
		assert_int_equal(rdmap_read_decode(want, cut, &got), -EMSGSIZE);
}

CASE(round_trips_an_atomic_request)
{
	const struct smpa_msg msg = { .opcode = SMPA_OP_ATOMIC_REQUEST,
				      .atomic = { .op = 2,
						  .id = 0x11223345,
						  .stag = 0x01020304,
						  .to = 0x1000,
						  .add_swap = 7,
						  .add_swap_mask = UINT64_MAX,
						  .compare = 5,
						  .compare_mask = 0xff } };
	struct smpa_event got;
	uint8_t want[52], out[52];

	test_unhex("00000002112233450102030400000000000010000000000000000007"
		   "ffffffffffffffff000000000000000500000000000000ff",
		   want, sizeof(want));
	assert_int_equal(rdmap_msg_encode(&msg, out), 52);
	assert_memory_equal(out, want, 52);
	want[0] = 0xff; /* reserved */
	rdmap_atomic_decode(want, &got);
	assert_int_equal(got.atomic.op, 2);
	assert_int_equal(got.atomic.id, msg.atomic.id);
	assert_int_equal(got.atomic.stag, msg.atomic.stag);
	assert_int_equal(got.atomic.to, msg.atomic.to);
	assert_int_equal(got.atomic.add_swap, msg.atomic.add_swap);
	assert_true(got.atomic.add_swap_mask == msg.atomic.add_swap_mask);
	assert_int_equal(got.atomic.compare, msg.atomic.compare);
	assert_int_equal(got.atomic.compare_mask, msg.atomic.compare_mask);
}

CASE(round_trips_an_atomic_response)
{
	const struct smpa_msg msg = { .opcode = SMPA_OP_ATOMIC_RESPONSE,
				      .atomic = { .id = 0x11223344,
						  .value = 37 } };
	struct smpa_event got;
	uint8_t want[12], out[12];

	test_unhex("112233440000000000000025", want, sizeof(want));
	assert_int_equal(rdmap_msg_encode(&msg, out), 12);
	assert_memory_equal(out, want, 12);
	rdmap_atomic_response_decode(want, &got);
	assert_int_equal(got.atomic_done.id, msg.atomic.id);
	assert_int_equal(got.atomic_done.value, msg.atomic.value);
}
