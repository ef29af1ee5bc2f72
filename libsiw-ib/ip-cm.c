/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What rdma_cm adds to connection management: IP addresses in private data, and
 * ports as service IDs (A11).
 */
#include <errno.h>
#include <string.h>

#include "include/siw-ib.h"
#include "libsiw-mpa/wire.h"

/* Offsets.  The version is 0; IPV is the upper half of its octet. */
#define AT_VERSION 0u
#define AT_IPV 1u
#define AT_PORT 2u
#define AT_SRC 4u
#define AT_DST 20u

/* An IPv4 address is in the last 4 of 16 octets, after zeros. */
static void addr_put(uint8_t *out, const struct sib_gid *gid)
{
	uint8_t addr[16];
	size_t len = sib_gid_to_ip(gid, addr);

	memset(out, 0, 16);
	memcpy(out + 16 - len, addr, len);
}

static void addr_get(const uint8_t *in, size_t len, struct sib_gid *ret)
{
	sib_gid_from_ip(in + 16 - len, len, ret);
}

int sib_ip_cm_encode(const struct sib_ip_cm *ip, uint8_t *out, size_t size)
{
	bool is_ipv4 = sib_gid_is_ipv4(&ip->dst);

	if (sib_gid_is_ipv4(&ip->src) != is_ipv4)
		return -EINVAL;
	if (size < SIB_IP_CM_SIZE)
		return -EMSGSIZE;
	out[AT_VERSION] = 0;
	out[AT_IPV] = is_ipv4 ? 0x40 : 0x60;
	wire_put16(out + AT_PORT, ip->src_port);
	addr_put(out + AT_SRC, &ip->src);
	addr_put(out + AT_DST, &ip->dst);
	return (int)SIB_IP_CM_SIZE;
}

enum sib_fault sib_ip_cm_decode(const uint8_t *buf, size_t len,
				struct sib_ip_cm *ret)
{
	uint8_t ipv;

	if (len < SIB_IP_CM_SIZE)
		return SIB_F_IP_CM_SHORT;
	if (buf[AT_VERSION])
		return SIB_F_IP_CM_VERSION;
	ipv = buf[AT_IPV] >> 4;
	if (ipv != 4 && ipv != 6)
		return SIB_F_IP_CM_IPV;
	ret->src_port = wire_get16(buf + AT_PORT);
	addr_get(buf + AT_SRC, ipv == 4 ? 4 : 16, &ret->src);
	addr_get(buf + AT_DST, ipv == 4 ? 4 : 16, &ret->dst);
	return SIB_OK;
}

uint64_t sib_service_id(uint16_t ps, uint16_t port)
{
	return (uint64_t)ps << 16 | port;
}

bool sib_service_id_decode(uint64_t service_id, uint16_t *ret_ps,
			   uint16_t *ret_port)
{
	if (service_id >> 32)
		return false;
	*ret_ps = (uint16_t)(service_id >> 16);
	*ret_port = (uint16_t)service_id;
	return true;
}
