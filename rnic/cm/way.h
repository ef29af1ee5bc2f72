/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Addresses of datagrams as GIDs and as IP addresses. */
#ifndef RNIC_CM_WAY_H
#define RNIC_CM_WAY_H

#include "object.h"

/* The GID of an IPv4 or IPv6 address.  Back: rnic_udp_addr(). */
void cm_gid_of(const struct sockaddr_storage *addr, struct sib_gid *ret_gid);

/* From @src to @dst, which may be on this host.  @ifindex: of the device. */
void cm_way_set(struct cm_way *way, const struct sib_gid *src,
		const struct sib_gid *dst, uint32_t ifindex);

/* The event says by which address handle @dst is reached. */
void cm_event_set_way(struct rnic_cm_event *ev, const struct cm_id *id,
		      const struct sib_gid *dst);

#endif
