/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The state of the kernel's TCP connection. */
#ifndef SDP_SOCK_TCP_STATE_H
#define SDP_SOCK_TCP_STATE_H

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
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

#endif
