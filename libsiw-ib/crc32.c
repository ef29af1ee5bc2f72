/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * CRC-32: by ISA-L if the build found it, else by a table of 16 words.
 */
#include "crc32.h"

#ifdef SIB_HAVE_ISAL
#include <isa-l/crc.h>

#include "libsiw-mpa/registers.h"
#endif

/* For two steps of four bits per octet, as that of CRC32c in libsiw-mpa. */
static const uint32_t nibble_table[16] = {
	0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
	0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
	0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
};

uint32_t sib_crc32_update_table(uint32_t crc, const void *buf, size_t len)
{
	const uint8_t *p = buf;

	crc = ~crc;
	while (len--) {
		crc ^= *p++;
		crc = crc >> 4 ^ nibble_table[crc & 0xf];
		crc = crc >> 4 ^ nibble_table[crc & 0xf];
	}
	return ~crc;
}

uint32_t sib_crc32_update(uint32_t crc, const void *buf, size_t len)
{
#ifdef SIB_HAVE_ISAL
	crc = crc32_gzip_refl(crc, buf, len);
	registers_clean();
	return crc;
#else
	return sib_crc32_update_table(crc, buf, len);
#endif
}
