/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Conversion between octets and integers.  Only this file knows byte order.
 */
#ifndef SMPA_WIRE_H
#define SMPA_WIRE_H

#include <stddef.h>
#include <stdint.h>

static inline uint16_t wire_get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t wire_get32(const uint8_t *p)
{
	return (uint32_t)wire_get16(p) << 16 | wire_get16(p + 2);
}

static inline uint64_t wire_get64(const uint8_t *p)
{
	return (uint64_t)wire_get32(p) << 32 | wire_get32(p + 4);
}

static inline uint8_t *wire_put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
	return p + 2;
}

static inline uint8_t *wire_put32(uint8_t *p, uint32_t v)
{
	wire_put16(p, (uint16_t)(v >> 16));
	wire_put16(p + 2, (uint16_t)v);
	return p + 4;
}

static inline uint8_t *wire_put64(uint8_t *p, uint64_t v)
{
	wire_put32(p, (uint32_t)(v >> 32));
	wire_put32(p + 4, (uint32_t)v);
	return p + 8;
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
