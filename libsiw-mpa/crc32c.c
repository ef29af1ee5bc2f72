/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * CRC32c: by ISA-L if the build found it, else by a table of 16 words.
 */
#include "crc32c.h"

#ifdef SMPA_HAVE_ISAL
#include <isa-l/crc.h>

#include "registers.h"
#endif

/*
 * The table is for two steps of four bits per octet.  Its 16 constant words
 * need no start-up code and fit into one cache line.  The polynomial
 * 0x1edc6f41 has the reflected form 0x82f63b78.
 */
static const uint32_t nibble_table[16] = {
	0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
	0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
	0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t crc32c_update_table(uint32_t state, const void *buf, size_t len)
{
	const uint8_t *p = buf;

	while (len--) {
		state ^= *p++;
		state = state >> 4 ^ nibble_table[state & 0xf];
		state = state >> 4 ^ nibble_table[state & 0xf];
	}
	return state;
}

uint32_t crc32c_update(uint32_t state, const void *buf, size_t len)
{
#ifdef SMPA_HAVE_ISAL
	/* ISA-L's argument is not const, and its length is an int.  It takes
	 * and returns the register without inversion. */
	union {
		const void *c;
		unsigned char *m;
	} u = { .c = buf };

	while (len > 0) {
		int piece = len > 1 << 30 ? 1 << 30 : (int)len;

		state = crc32_iscsi(u.m, piece, state);
		u.m += piece;
		len -= (size_t)piece;
	}
	registers_clean();
	return state;
#else
	return crc32c_update_table(state, buf, len);
#endif
}
