/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Socket addresses: IPv4, IPv6, and IPv4-mapped addresses (::ffff:192.0.2.1).
 * Ports are in host order.
 */
#ifndef SDP_SOCK_ADDR_H
#define SDP_SOCK_ADDR_H

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/sockopt.h"
#include "util/v4-mapped.h"

union sdp_addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* @from is an IPv4 or IPv6 address. */
static inline union sdp_addr sdp_addr_of(const struct sockaddr_storage *from)
{
	union sdp_addr addr;

	memcpy(&addr, from, sizeof(addr));
	return addr;
}

/* The kernel's name of a socket. Return: 0; -errno. */
static inline int sdp_addr_get(int fd, bool is_peer, union sdp_addr *ret_addr)
{
	union sdp_addr addr = { .sa.sa_family = AF_UNSPEC };
	socklen_t len = sizeof(addr);

	if (syscall(is_peer ? SYS_getpeername : SYS_getsockname, fd, &addr,
		    &len) < 0)
		return -errno;
	*ret_addr = addr;
	return 0;
}

/* Return: AF_UNSPEC: unknown. */
static inline int sdp_addr_family(int fd)
{
	return util_sockopt_get(fd, SOL_SOCKET, SO_DOMAIN);
}

static inline socklen_t sdp_addr_len(const union sdp_addr *addr)
{
	return addr->sa.sa_family == AF_INET6 ? sizeof(addr->in6)
					      : sizeof(addr->in);
}

/* Return: 0: no port, or another family. */
static inline uint16_t sdp_addr_port(const union sdp_addr *addr)
{
	if (addr->sa.sa_family == AF_INET6)
		return ntohs(addr->in6.sin6_port);
	return addr->sa.sa_family == AF_INET ? ntohs(addr->in.sin_port) : 0;
}

/* Does nothing for other families. */
static inline void sdp_addr_set_port(union sdp_addr *addr, uint16_t port)
{
	if (addr->sa.sa_family == AF_INET6)
		addr->in6.sin6_port = htons(port);
	else if (addr->sa.sa_family == AF_INET)
		addr->in.sin_port = htons(port);
}

static inline bool sdp_addr_is_bound(int fd)
{
	union sdp_addr addr = { .sa.sa_family = AF_UNSPEC };

	return sdp_addr_get(fd, false, &addr) == 0 && sdp_addr_port(&addr) != 0;
}

/* Turns an IPv4 address into an IPv4-mapped one. */
static inline void sdp_addr_map(union sdp_addr *addr)
{
	union sdp_addr mapped = { .in6 = { .sin6_family = AF_INET6,
					   .sin6_port = addr->in.sin_port } };

	if (addr->sa.sa_family != AF_INET)
		return;
	util_v4_map(mapped.in6.sin6_addr.s6_addr, &addr->in.sin_addr);
	*addr = mapped;
}

/* Turns an IPv4-mapped address into an IPv4 address. */
static inline void sdp_addr_unmap(union sdp_addr *addr)
{
	union sdp_addr plain = { .in = { .sin_family = AF_INET,
					 .sin_port = addr->in6.sin6_port } };

	if (addr->sa.sa_family != AF_INET6 ||
	    !IN6_IS_ADDR_V4MAPPED(&addr->in6.sin6_addr))
		return;
	memcpy(&plain.in.sin_addr, addr->in6.sin6_addr.s6_addr + 12, 4);
	*addr = plain;
}

/* Whether the addresses are the same, whatever the ports are. */
static inline bool sdp_addr_is_same_host(const union sdp_addr *a,
					 const union sdp_addr *b)
{
	union sdp_addr in_v6[2] = { *a, *b };

	sdp_addr_map(&in_v6[0]);
	sdp_addr_map(&in_v6[1]);
	return IN6_ARE_ADDR_EQUAL(&in_v6[0].in6.sin6_addr,
				  &in_v6[1].in6.sin6_addr);
}

#endif
