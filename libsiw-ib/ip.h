/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The IP header of a packet (A17): no options, no fragments.
 */
#ifndef SIB_IP_H
#define SIB_IP_H

#include <stddef.h>
#include <stdint.h>

#include "include/siw-ib.h"

#define SIB_IPV4_SIZE 20u
#define SIB_IPV6_SIZE 40u
#define SIB_UDP_SIZE 8u
/* The longest UDP payload: the smaller one, that of IPv4. */
#define SIB_UDP_PAYLOAD_MAX (65535u - SIB_IPV4_SIZE - SIB_UDP_SIZE)

#define SIB_IPV4_ID 4u /* offset */
/* Offsets of what routers change. */
#define SIB_IPV4_TOS 1u
#define SIB_IPV4_TTL 8u
#define SIB_IPV4_CHECKSUM 10u
#define SIB_IPV6_HOP_LIMIT 7u

/* Writes SIB_IPV4_SIZE octets, with checksum 0, or SIB_IPV6_SIZE, and returns
 * their end. @len: UDP payload. */
uint8_t *sib_ip_put(uint8_t *p, const struct sib_path *path, size_t len);

#endif
