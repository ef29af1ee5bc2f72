/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * CRC-32 of IEEE 802.3, reflected, as zlib's crc32() computes it, in pieces.
 */
#ifndef SIB_CRC32_H
#define SIB_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* The polynomial, reflected: bit 31 is x^0. */
#define SIB_CRC32_POLY 0xedb88320u

/* The CRC of what @crc is of, followed by @buf.  That of nothing is 0. */
uint32_t sib_crc32_update(uint32_t crc, const void *buf, size_t len);

/* The same by table, on any machine.  Tests compare the other one with it. */
uint32_t sib_crc32_update_table(uint32_t crc, const void *buf, size_t len);

#endif
