/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * CRC-32 against known values, and the fast implementation against the slow
 * one.
 */
#include "test.h"

#include <string.h>

#include "crc32.h"
#include "random.h"
#include "vectors.h"

static void fill(uint8_t *buf, size_t len, uint64_t seed)
{
	for (size_t i = 0; i < len; i++)
		buf[i] = (uint8_t)test_random(&seed);
}

/* Values of zlib's crc32(). */
static const struct {
	const char *text;
	uint32_t crc;
} rows[] = {
	{ "", 0 },
	{ "a", 0xe8b7be43 },
	{ "123456789", 0xcbf43926 },
	{ "The quick brown fox jumps over the lazy dog", 0x414fa339 },
};

CASE(agrees_with_zlib)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *s = rows[i].text;

		assert_row(s, sib_crc32_update(0, s, strlen(s)) == rows[i].crc);
		assert_row(s, sib_crc32_update_table(0, s, strlen(s)) ==
				      rows[i].crc);
	}
}

CASE(is_the_same_in_pieces)
{
	uint8_t buf[300];

	fill(buf, sizeof(buf), 1);
	for (size_t cut = 0; cut <= sizeof(buf); cut++) {
		uint32_t c = sib_crc32_update(0, buf, cut);

		c = sib_crc32_update(c, buf + cut, sizeof(buf) - cut);
		assert_int_equal(c, sib_crc32_update(0, buf, sizeof(buf)));
	}
}

CASE(agrees_with_the_table_at_any_place)
{
	uint8_t buf[4300];

	fill(buf, sizeof(buf), 2);
	for (size_t off = 0; off < 16; off++)
		for (size_t len = 0; len < 4200; len += 1 + len / 8)
			assert_int_equal(
				sib_crc32_update(7, buf + off, len),
				sib_crc32_update_table(7, buf + off, len));
}

CASE(leaves_upper_halves_unused)
{
	static uint8_t buf[65536];

	if (!vectors_can_tell())
		skip_because(
			"this CPU does not tell which registers are in use");
	for (size_t len = 1; len <= sizeof(buf); len *= 2) {
		sib_crc32_update(0, buf, len);
		assert_false(vectors_upper_in_use());
	}
}
