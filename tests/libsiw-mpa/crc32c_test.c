/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * CRC32c against the values of iSCSI, and the fast implementation against the
 * slow one.
 */
#include "test.h"

#include "crc32c.h"
#include "framing.h"
#include "pair.h"
#include "vectors.h"
#include "wire.h"

static uint32_t crc(const void *buf, size_t len)
{
	return crc32c_final(crc32c_update(CRC32C_INIT, buf, len));
}

/* T-1 */
CASE(agrees_with_iscsi)
{
	for (size_t i = 0; i < ARRAY_LEN(crc_vectors); i++) {
		const struct crc_vector *v = &crc_vectors[i];
		uint8_t buf[64], want[4];
		size_t len = test_unhex(v->hex, buf, sizeof(buf));

		test_unhex(v->crc, want, sizeof(want));
		assert_row(v->name, crc(buf, len) == wire_get_crc(want));
		assert_row(v->name, crc32c_final(crc32c_update_table(
					    CRC32C_INIT, buf, len)) ==
					    wire_get_crc(want));
	}
}

CASE(is_the_same_in_pieces)
{
	uint8_t buf[300];

	test_fill(buf, sizeof(buf), 1);
	for (size_t cut = 0; cut <= sizeof(buf); cut++) {
		uint32_t c = crc32c_update(CRC32C_INIT, buf, cut);

		c = crc32c_update(c, buf + cut, sizeof(buf) - cut);
		assert_int_equal(crc32c_final(c), crc(buf, sizeof(buf)));
	}
}

CASE(agrees_with_the_table_at_any_place)
{
	uint8_t buf[4096];

	test_fill(buf, sizeof(buf), 2);
	for (size_t off = 0; off < 16; off++)
		for (size_t len = 0; len < 2048; len += 1 + len / 8)
			assert_int_equal(
				crc32c_update(CRC32C_INIT, buf + off, len),
				crc32c_update_table(CRC32C_INIT, buf + off,
						    len));
}

/* T-1 */
CASE(leaves_the_residue)
{
	uint8_t buf[68];

	test_fill(buf, 64, 3);
	wire_put_crc(buf + 64, crc(buf, 64));
	assert_int_equal(crc32c_update(CRC32C_INIT, buf, 68), 0xb798b438);
}

CASE(leaves_upper_halves_unused)
{
	static uint8_t buf[65536];

	if (!vectors_can_tell())
		skip_because(
			"this CPU does not tell which registers are in use");
	for (size_t len = 1; len <= sizeof(buf); len *= 2) {
		crc(buf, len);
		assert_false(vectors_upper_in_use());
	}
}
