/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Path MTUs of interfaces, and their codes.
 */
#include "test.h"

#include "siw-ib.h"

/* 1104, 2128 and 4176 are the smallest that rxe gives the larger MTU. */
static const uint32_t links[][2] = {
	{ 0, 0 },	{ 68, 0 },	{ 335, 0 },	 { 336, 256 },
	{ 591, 256 },	{ 592, 512 },	{ 1103, 512 },	 { 1104, 1024 },
	{ 1500, 1024 }, { 2127, 1024 }, { 2128, 2048 },	 { 4175, 2048 },
	{ 4176, 4096 }, { 9000, 4096 }, { 65536, 4096 }, { UINT32_MAX, 4096 },
};

CASE(leaves_80_octets_for_headers)
{
	for (size_t i = 0; i < ARRAY_LEN(links); i++)
		assert_int_equal(sib_mtu_of_link(links[i][0]), links[i][1]);
}

CASE(knows_codes)
{
	for (uint8_t code = 1; code <= 5; code++) {
		assert_int_equal(sib_mtu_of_code(code), 128 << code);
		assert_int_equal(sib_mtu_code(128u << code), code);
	}
	assert_int_equal(sib_mtu_of_code(0), 0);
	assert_int_equal(sib_mtu_of_code(6), 0);
	assert_int_equal(sib_mtu_of_code(255), 0);
	assert_int_equal(sib_mtu_code(0), 0);
	assert_int_equal(sib_mtu_code(1500), 0);
	assert_int_equal(sib_mtu_code(8192), 0);
}
