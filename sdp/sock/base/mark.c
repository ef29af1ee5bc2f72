/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See mark.h. */
#include "mark.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include "util/sockopt.h"

/* Larger than any socket buffer. */
#define MARK 0x7d500000u
#define MARK_MASK 0x7ffc0000u
#define MARK_ACCEPTING 0x00010000u
#define MARK_REQUEST 0x00020000u

void sdp_mark_put(int fd, const struct sdp_mark *mark)
{
	uint32_t value = MARK | (mark->is_accepting ? MARK_ACCEPTING : 0) |
			 (mark->is_request ? MARK_REQUEST : 0) | mark->port;

	util_sockopt_set(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, (int)value);
}

void sdp_mark_remove(int fd)
{
	util_sockopt_set(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, 0);
}

bool sdp_mark_get(int fd, struct sdp_mark *ret_mark)
{
	uint32_t value =
		(uint32_t)util_sockopt_get(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT);

	if ((value & MARK_MASK) != (MARK & MARK_MASK))
		return false;
	*ret_mark = (struct sdp_mark){
		.port = (uint16_t)value,
		.is_accepting = value & MARK_ACCEPTING,
		.is_request = value & MARK_REQUEST,
	};
	return true;
}
