/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The header of IP as a receive of UD shows it: GRH (IBA 8.3, A17).
 */
#include <errno.h>
#include <string.h>

#include "include/siw-ib.h"
#include "ip.h"
#include "libsiw-mpa/wire.h"

#define FLOW_LABEL 0xfffffu

/* Internet checksum of an IPv4 header whose own field is zero. */
static uint16_t checksum(const uint8_t *header)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < SIB_IPV4_SIZE; i += 2)
		sum += wire_get16(header + i);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~(sum + (sum >> 16));
}

int sib_grh_encode(const struct sib_path *path, size_t len, uint8_t *out,
		   size_t size)
{
	if (len > SIB_UDP_PAYLOAD_MAX || path->flow_label > FLOW_LABEL)
		return -EINVAL;
	if (size < SIB_GRH_SIZE)
		return -EMSGSIZE;
	if (sib_gid_is_ipv4(&path->dst)) {
		uint8_t *header = out + SIB_GRH_SIZE - SIB_IPV4_SIZE;

		memset(out, 0, SIB_GRH_SIZE - SIB_IPV4_SIZE);
		sib_ip_put(header, path, len);
		wire_put16(header + SIB_IPV4_CHECKSUM, checksum(header));
	} else {
		sib_ip_put(out, path, len);
	}
	return (int)SIB_GRH_SIZE;
}

/* Offsets of addresses in the headers of IP. */
#define AT_IPV4_SRC 12u
#define AT_IPV4_DST 16u
#define AT_IPV6_SRC 8u
#define AT_IPV6_DST 24u

static bool is_zero(const uint8_t *octets, size_t len)
{
	while (len && !octets[len - 1])
		len--;
	return !len;
}

bool sib_grh_gids(const uint8_t grh[SIB_GRH_SIZE], struct sib_gid *ret_src,
		  struct sib_gid *ret_dst)
{
	const uint8_t *ipv4 = grh + SIB_GRH_SIZE - SIB_IPV4_SIZE;

	if (grh[0] >> 4 == 6) {
		sib_gid_from_ip(grh + AT_IPV6_SRC, 16, ret_src);
		sib_gid_from_ip(grh + AT_IPV6_DST, 16, ret_dst);
		return true;
	}
	if (!is_zero(grh, SIB_GRH_SIZE - SIB_IPV4_SIZE) || ipv4[0] != 0x45)
		return false;
	sib_gid_from_ip(ipv4 + AT_IPV4_SRC, 4, ret_src);
	sib_gid_from_ip(ipv4 + AT_IPV4_DST, 4, ret_dst);
	return true;
}

bool sib_grh_decode(const uint8_t grh[SIB_GRH_SIZE], struct sib_path *ret)
{
	const uint8_t *ipv4 = grh + SIB_GRH_SIZE - SIB_IPV4_SIZE;
	struct sib_path path = { .src_port = 0 };
	uint32_t word;

	if (!sib_grh_gids(grh, &path.src, &path.dst))
		return false;
	if (grh[0] >> 4 == 6) {
		word = wire_get32(grh);
		path.tclass = (uint8_t)(word >> 20);
		path.flow_label = word & FLOW_LABEL;
		path.hop_limit = grh[SIB_IPV6_HOP_LIMIT];
	} else {
		path.tclass = ipv4[SIB_IPV4_TOS];
		path.ip_id = wire_get16(ipv4 + SIB_IPV4_ID);
		path.hop_limit = ipv4[SIB_IPV4_TTL];
	}
	*ret = path;
	return true;
}
