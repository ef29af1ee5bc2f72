/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An announcement in the registry that the library holds. */
#ifndef SDP_SOCK_ANNOUNCE_H
#define SDP_SOCK_ANNOUNCE_H

#include "pm/registry.h"
#include "table.h"

/* As sdp_registry_announce(). The descriptor is one of the library's. */
static inline int sdp_announce(int fd, uint16_t sdp_port, bool is_cm)
{
	int ret = sdp_registry_announce(fd, sdp_port, is_cm);

	return ret < 0 ? ret : sdp_private_take(ret);
}

#endif
