/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Conversion between octets and integers.  Only this file knows byte order.
 */
#ifndef SMPA_WIRE_H
#define SMPA_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Between the byte order of the machine and that of the network.  Written with
 * shifts, a header becomes an instruction or two for each octet: the compiler
 * joins the octets of neighbouring fields before it looks for a swap.
 */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define WIRE_SWAP16(v) (v)
#define WIRE_SWAP32(v) (v)
#define WIRE_SWAP64(v) (v)
#else
#define WIRE_SWAP16(v) __builtin_bswap16(v)
#define WIRE_SWAP32(v) __builtin_bswap32(v)
#define WIRE_SWAP64(v) __builtin_bswap64(v)
#endif

static inline uint16_t wire_get16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return WIRE_SWAP16(v);
}

static inline uint32_t wire_get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return WIRE_SWAP32(v);
}

static inline uint64_t wire_get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return WIRE_SWAP64(v);
}

static inline uint8_t *wire_put16(uint8_t *p, uint16_t v)
{
	v = WIRE_SWAP16(v);
	memcpy(p, &v, sizeof(v));
	return p + sizeof(v);
}

static inline uint8_t *wire_put32(uint8_t *p, uint32_t v)
{
	v = WIRE_SWAP32(v);
	memcpy(p, &v, sizeof(v));
	return p + sizeof(v);
}

static inline uint8_t *wire_put64(uint8_t *p, uint64_t v)
{
	v = WIRE_SWAP64(v);
	memcpy(p, &v, sizeof(v));
	return p + sizeof(v);
}

/* Only the CRC field has the least significant octet first (MPA-27). */
static inline uint32_t wire_get_crc(const uint8_t *p)
{
	return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 |
	       (uint32_t)p[1] << 8 | p[0];
}

static inline uint8_t *wire_put_crc(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)(v >> 16);
	p[3] = (uint8_t)(v >> 24);
	return p + 4;
}

#endif
