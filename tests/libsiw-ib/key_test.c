/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which P_Keys match, and which Q_Key is sent.
 */
#include "test.h"

#include "siw-ib.h"

static const struct {
	uint16_t a, b;
	bool is_match;
} pkeys[] = {
	{ 0xffff, 0xffff, true },
	{ 0x7fff, 0xffff, true }, /* rxe takes it, too */
	{ 0x7fff, 0x7fff, false },
	{ 0x8001, 0xffff, false },
	{ 0x8001, 0x0001, true },
	{ 0x8000, 0x8000, false },
	{ 0x0000, 0x8000, false },
	{ 0x8001, 0x8002, false },
};

CASE(matches_full_members_of_one_partition)
{
	for (size_t i = 0; i < ARRAY_LEN(pkeys); i++) {
		assert_int_equal(sib_pkey_match(pkeys[i].a, pkeys[i].b),
				 pkeys[i].is_match);
		assert_int_equal(sib_pkey_match(pkeys[i].b, pkeys[i].a),
				 pkeys[i].is_match);
	}
}

CASE(sends_the_qp_s_qkey_for_a_controlled_one)
{
	assert_int_equal(sib_qkey_to_send(0x11111111, 0x22222222), 0x11111111);
	assert_int_equal(sib_qkey_to_send(0, 0x22222222), 0);
	assert_int_equal(sib_qkey_to_send(0x80000000, 0x22222222), 0x22222222);
	assert_int_equal(sib_qkey_to_send(0xffffffff, SIB_QKEY_GSI),
			 SIB_QKEY_GSI);
}
