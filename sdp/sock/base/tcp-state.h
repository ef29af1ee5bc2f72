/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The kernel's TCP connection: its state, and how it ends. */
#ifndef SDP_SOCK_TCP_STATE_H
#define SDP_SOCK_TCP_STATE_H

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* TCP_ESTABLISHED and similar; 0: @fd is not a TCP socket. */
static inline uint8_t sdp_tcp_state(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	syscall(SYS_getsockopt, fd, IPPROTO_TCP, TCP_INFO, &info, &len);
	return info.tcpi_state;
}

/* Octets of a stream of the kernel that were received and not read. */
static inline size_t sdp_tcp_unread(int fd)
{
	int len = 0;

	return syscall(SYS_ioctl, fd, FIONREAD, &len) == 0 && len > 0
		       ? (size_t)len
		       : 0;
}

/* Whether the kernel resets the connection at the last close(), also if the
 * process is killed. */
static inline void sdp_tcp_end_by_reset(int fd, bool is_reset)
{
	struct linger linger = { .l_onoff = is_reset };

	syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_LINGER, &linger,
		sizeof(linger));
}

#endif
