/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Addresses of datagrams as GIDs and as IP addresses. */
#include "way.h"

#include <netinet/in.h>
#include <string.h>

#include "dgram/udp-send.h"
#include "os/addr.h"

void cm_gid_of(const struct sockaddr_storage *addr, struct sib_gid *ret_gid)
{
	rnic_gid_from_ip(ret_gid->raw, addr->ss_family, rnic_addr_octets(addr));
}

void cm_way_set(struct cm_way *way, const struct sib_gid *src,
		const struct sib_gid *dst, uint32_t ifindex)
{
	struct sockaddr_storage peer;

	memset(way, 0, sizeof(*way));
	way->path.src = *src;
	way->path.dst = *dst;
	way->path.src_port = SIB_UDP_PORT;
	way->path.dst_port = SIB_UDP_PORT;
	way->ifindex = ifindex;
	rnic_udp_addr(dst, SIB_UDP_PORT, way->ifindex, &peer);
	way->is_own = rnic_addr_is_own(&peer);
}

static uint8_t gid_idx_of(const struct rnic_device *dev,
			  const struct sib_gid *gid)
{
	struct rnic_device_attr attr;

	if (rnic_device_query(dev, &attr) == 0)
		for (uint32_t i = 0; i < attr.gid_cnt; i++)
			if (memcmp(attr.gid[i], gid, sizeof(*gid)) == 0)
				return (uint8_t)i;
	return 0;
}

void cm_event_set_way(struct rnic_cm_event *ev, const struct cm_id *id,
		      const struct sib_gid *dst)
{
	struct sib_gid src;

	cm_gid_of(&id->local, &src);
	memcpy(ev->dgid, dst, sizeof(ev->dgid));
	ev->gid_idx = gid_idx_of(id->dev, &src);
	ev->tclass = id->tos;
}
