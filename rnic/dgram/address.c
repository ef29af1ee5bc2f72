/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What an address handle is made of; see rnic.h. */
#include "libsiw-ib/include/siw-ib.h"
#include "os/addr.h"
#include "rnic-ud.h"

uint32_t rnic_device_ud_mtu(const struct rnic_device_attr *attr)
{
	return sib_mtu_of_link(attr->mtu);
}

bool rnic_gid_is_own(const uint8_t gid[16])
{
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6,
				     .sin6_port = htons(SIB_UDP_PORT) };

	memcpy(&sin6.sin6_addr, gid, 16);
	return rnic_addr_is_own((const struct sockaddr *)&sin6);
}
