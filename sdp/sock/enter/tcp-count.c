/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See tcp-count.h. <netinet/tcp.h> does not have these counters. */
#include "tcp-count.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STATE_ESTABLISHED 1
/* An acknowledgement may come between two questions. */
#define TRIES 8

static bool info_get(int fd, struct tcp_info *ret_info)
{
	socklen_t len = sizeof(*ret_info);

	return syscall(SYS_getsockopt, fd, IPPROTO_TCP, TCP_INFO, ret_info,
		       &len) == 0 &&
	       len >= offsetof(struct tcp_info, tcpi_segs_out) &&
	       ret_info->tcpi_state == STATE_ESTABLISHED;
}

bool sdp_tcp_count(int fd, struct sdp_tcp_count *ret_count)
{
	struct tcp_info before, after;
	int inq, outq;

	for (int i = 0; i < TRIES; i++) {
		if (!info_get(fd, &before) ||
		    syscall(SYS_ioctl, fd, SIOCINQ, &inq) < 0 ||
		    syscall(SYS_ioctl, fd, SIOCOUTQ, &outq) < 0 ||
		    !info_get(fd, &after))
			return false;
		if (before.tcpi_bytes_acked != after.tcpi_bytes_acked ||
		    before.tcpi_bytes_received != after.tcpi_bytes_received)
			continue;
		ret_count->tx = after.tcpi_bytes_acked + (uint64_t)outq;
		ret_count->rx = after.tcpi_bytes_received - (uint64_t)inq;
		return true;
	}
	return false;
}
