/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the kernel's TCP connection has carried. */
#ifndef SDP_SOCK_TCP_COUNT_H
#define SDP_SOCK_TCP_COUNT_H

#include <stdbool.h>
#include <stdint.h>

struct sdp_tcp_count {
	uint64_t tx; /* octets that were written */
	uint64_t rx; /* octets that were read */
};

/* Return: false: the connection is not established in both directions, or the
 * kernel does not count. */
bool sdp_tcp_count(int fd, struct sdp_tcp_count *ret_count);

#endif
