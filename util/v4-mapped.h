/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The 16 octets of an IPv6 address, or of a GID, that stand for an IPv4
 * address:
 * ::ffff:192.0.2.1. */
#ifndef UTIL_V4_MAPPED_H
#define UTIL_V4_MAPPED_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Before the four octets of the IPv4 address. */
#define UTIL_V4_MAPPED ((const uint8_t[12]){ [10] = 0xff, [11] = 0xff })

static inline bool util_v4_is_mapped(const uint8_t octets[16])
{
	return memcmp(octets, UTIL_V4_MAPPED, 12) == 0;
}

/* @v4: four octets, network order. */
static inline void util_v4_map(uint8_t ret_octets[16], const void *v4)
{
	memcpy(ret_octets, UTIL_V4_MAPPED, 12);
	memcpy(ret_octets + 12, v4, 4);
}

#endif
