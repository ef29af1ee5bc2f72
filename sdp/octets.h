/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Conversion between octets and integers. No other file of sdp/ depends on byte
 * order (SDP-3).
 */
#ifndef SDP_OCTETS_H
#define SDP_OCTETS_H

#include <stdint.h>

static inline uint16_t octets_get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t octets_get32(const uint8_t *p)
{
	return (uint32_t)octets_get16(p) << 16 | octets_get16(p + 2);
}

static inline uint64_t octets_get64(const uint8_t *p)
{
	return (uint64_t)octets_get32(p) << 32 | octets_get32(p + 4);
}

static inline uint8_t *octets_put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
	return p + 2;
}

static inline uint8_t *octets_put32(uint8_t *p, uint32_t v)
{
	octets_put16(p, (uint16_t)(v >> 16));
	octets_put16(p + 2, (uint16_t)v);
	return p + 4;
}

static inline uint8_t *octets_put64(uint8_t *p, uint64_t v)
{
	octets_put32(p, (uint32_t)(v >> 32));
	octets_put32(p + 4, (uint32_t)v);
	return p + 8;
}

#endif
