/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The IP header of a packet.
 */
#include "ip.h"

#include <string.h>

#include "libsiw-mpa/wire.h"

#define IP_DF 0x4000u
#define IP_PROTO_UDP 17u

static uint8_t *ipv4_put(uint8_t *p, const struct sib_path *path, size_t len)
{
	*p++ = 0x45;
	*p++ = path->tclass;
	p = wire_put16(p, (uint16_t)(SIB_IPV4_SIZE + SIB_UDP_SIZE + len));
	p = wire_put16(p, path->ip_id);
	p = wire_put16(p, IP_DF);
	*p++ = path->hop_limit;
	*p++ = IP_PROTO_UDP;
	p = wire_put16(p, 0);
	memcpy(p, path->src.raw + 12, 4);
	memcpy(p + 4, path->dst.raw + 12, 4);
	return p + 8;
}

static uint8_t *ipv6_put(uint8_t *p, const struct sib_path *path, size_t len)
{
	p = wire_put32(p, 6u << 28 | (uint32_t)path->tclass << 20 |
				  path->flow_label);
	p = wire_put16(p, (uint16_t)(SIB_UDP_SIZE + len));
	*p++ = IP_PROTO_UDP;
	*p++ = path->hop_limit;
	memcpy(p, path->src.raw, 16);
	memcpy(p + 16, path->dst.raw, 16);
	return p + 32;
}

uint8_t *sib_ip_put(uint8_t *p, const struct sib_path *path, size_t len)
{
	if (sib_gid_is_ipv4(&path->dst))
		return ipv4_put(p, path, len);
	return ipv6_put(p, path, len);
}
