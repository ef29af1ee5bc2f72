/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * CRC32c as iSCSI computes its digests (MPA-27), in pieces.
 */
#ifndef SMPA_CRC32C_H
#define SMPA_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/*
 * state = CRC32C_INIT; state = crc32c_update(state, ...) for each piece in
 * stream order; the field is crc32c_final(state).
 */
#define CRC32C_INIT 0xffffffffu

uint32_t crc32c_update(uint32_t state, const void *buf, size_t len);

/* The same by table, on any machine.  Tests compare the other one with it. */
uint32_t crc32c_update_table(uint32_t state, const void *buf, size_t len);

static inline uint32_t crc32c_final(uint32_t state)
{
	return ~state;
}

#endif
