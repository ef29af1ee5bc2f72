/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* IPv4 and IPv6 addresses of sockets, and plain TCP sockets. */
#define _GNU_SOURCE /* struct ucred */
#include "addr.h"

#include "fd.h"
#include "tcp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

socklen_t rnic_addr_len(rnic_addr_arg addr)
{
	switch (addr.sa->sa_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return 0;
	}
}

void rnic_addr_set(struct sockaddr_storage *dst, rnic_addr_arg src)
{
	socklen_t len = rnic_addr_len(src);

	memset(dst, 0, sizeof(*dst));
	memcpy(dst, src.sa, len);
}

bool rnic_addr_is_any(rnic_addr_arg addr)
{
	struct sockaddr_storage copy;

	rnic_addr_set(&copy, addr);
	rnic_addr_unmap(&copy);
	if (copy.ss_family == AF_INET)
		return ((struct sockaddr_in *)&copy)->sin_addr.s_addr ==
		       htonl(INADDR_ANY);
	return copy.ss_family == AF_INET6 &&
	       IN6_IS_ADDR_UNSPECIFIED(
		       &((struct sockaddr_in6 *)&copy)->sin6_addr);
}

/* Both families keep the port at the same place. */
_Static_assert(offsetof(struct sockaddr_in, sin_port) ==
		       offsetof(struct sockaddr_in6, sin6_port),
	       "place of the port");

bool rnic_addr_is_loopback(rnic_addr_arg addr)
{
	struct sockaddr_storage copy;

	rnic_addr_set(&copy, addr);
	rnic_addr_unmap(&copy);
	if (copy.ss_family == AF_INET)
		return ntohl(((struct sockaddr_in *)&copy)->sin_addr.s_addr) >>
			       IN_CLASSA_NSHIFT ==
		       IN_LOOPBACKNET;
	return copy.ss_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((struct sockaddr_in6 *)&copy)->sin6_addr);
}

uint16_t rnic_addr_port_be(rnic_addr_arg addr)
{
	uint16_t port_be;

	if (rnic_addr_len(addr) == 0)
		return 0;
	memcpy(&port_be,
	       (const uint8_t *)addr.sa +
		       offsetof(struct sockaddr_in, sin_port),
	       sizeof(port_be));
	return port_be;
}

void rnic_addr_set_port_be(struct sockaddr_storage *addr, uint16_t port_be)
{
	memcpy((uint8_t *)addr + offsetof(struct sockaddr_in, sin_port),
	       &port_be, sizeof(port_be));
}

void rnic_addr_unmap(struct sockaddr_storage *addr)
{
	struct sockaddr_in6 sin6;
	struct sockaddr_in sin = { .sin_family = AF_INET };

	if (addr->ss_family != AF_INET6)
		return;
	memcpy(&sin6, addr, sizeof(sin6));
	if (!IN6_IS_ADDR_V4MAPPED(&sin6.sin6_addr))
		return;
	sin.sin_port = sin6.sin6_port;
	memcpy(&sin.sin_addr, &sin6.sin6_addr.s6_addr[12], 4);
	memset(addr, 0, sizeof(*addr));
	memcpy(addr, &sin, sizeof(sin));
}

const uint8_t *rnic_addr_octets(const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)addr;
	const struct sockaddr_in *sin = (const struct sockaddr_in *)addr;

	return addr->ss_family == AF_INET ? (const uint8_t *)&sin->sin_addr
					  : sin6->sin6_addr.s6_addr;
}

bool rnic_addr_is_same_host(const struct sockaddr_storage *a,
			    const struct sockaddr_storage *b)
{
	return a->ss_family == b->ss_family && rnic_addr_len(a) &&
	       memcmp(rnic_addr_octets(a), rnic_addr_octets(b),
		      a->ss_family == AF_INET ? 4 : 16) == 0;
}

bool rnic_addr_equal(const struct sockaddr_storage *a,
		     const struct sockaddr_storage *b)
{
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)a;
	const struct sockaddr_in6 *b6 = (const struct sockaddr_in6 *)b;

	return rnic_addr_is_same_host(a, b) &&
	       rnic_addr_port_be(a) == rnic_addr_port_be(b) &&
	       (a->ss_family == AF_INET ||
		a6->sin6_scope_id == b6->sin6_scope_id);
}

void rnic_addr_of_socket(int fd, struct sockaddr_storage *ret_local,
			 struct sockaddr_storage *ret_peer)
{
	socklen_t local_len = sizeof(*ret_local);
	socklen_t peer_len = sizeof(*ret_peer);

	memset(ret_local, 0, sizeof(*ret_local));
	memset(ret_peer, 0, sizeof(*ret_peer));
	(void)rnic_tcp()->getsockname(fd, (struct sockaddr *)ret_local,
				      &local_len);
	(void)rnic_tcp()->getpeername(fd, (struct sockaddr *)ret_peer,
				      &peer_len);
	rnic_addr_unmap(ret_local);
	rnic_addr_unmap(ret_peer);
}

int rnic_sock_open(int family, int type)
{
	return rnic_fd_own(rnic_tcp()->socket(
		family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

pid_t rnic_sock_peer(int fd, uid_t *ret_uid)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (rnic_tcp()->getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) <
	    0)
		return -errno;
	*ret_uid = cred.uid;
	return cred.pid;
}

/* Only for options that cannot fail on a socket of ours, or whose failure
 * changes nothing but comfort. */
void rnic_sock_set_flag(int fd, int level, int name, int value)
{
	(void)rnic_tcp()->setsockopt(fd, level, name, &value, sizeof(value));
}

void rnic_sock_set_tos(int fd, int family, uint8_t tos)
{
	rnic_sock_set_flag(fd, IPPROTO_IP, IP_TOS, tos);
	if (family == AF_INET6)
		rnic_sock_set_flag(fd, IPPROTO_IPV6, IPV6_TCLASS, tos);
}

/* A connected UDP socket sends nothing, but makes the kernel choose. */
int rnic_addr_source(rnic_addr_arg src, rnic_addr_arg dst,
		     struct sockaddr_storage *ret_local)
{
	struct sockaddr_storage from, local;
	socklen_t len = sizeof(local);
	int fd, ret = 0;

	fd = rnic_sock_open(dst.sa->sa_family, SOCK_DGRAM);
	if (fd < 0)
		return fd;
	if (src.sa && !rnic_addr_is_any(src)) {
		rnic_addr_set(&from, src);
		rnic_addr_set_port_be(&from, 0);
		if (rnic_tcp()->bind(fd, (struct sockaddr *)&from,
				     rnic_addr_len(src)) < 0) {
			ret = -errno;
			goto close_fd;
		}
	}
	memset(&local, 0, sizeof(local));
	if (rnic_tcp()->connect(fd, dst.sa, rnic_addr_len(dst)) < 0 ||
	    rnic_tcp()->getsockname(fd, (struct sockaddr *)&local, &len) < 0) {
		ret = -errno;
		goto close_fd;
	}
	rnic_addr_set_port_be(&local, 0);
	*ret_local = local;
close_fd:
	rnic_fd_close(fd);
	return ret;
}

/* To an address of one's own one comes from that address; loopback is own. */
bool rnic_addr_is_own(rnic_addr_arg addr)
{
	struct sockaddr_storage peer, local;

	rnic_addr_set(&peer, addr);
	rnic_addr_unmap(&peer);
	if (rnic_addr_is_loopback(addr))
		return true;
	if (rnic_addr_len(&peer) == 0 || rnic_addr_port_be(&peer) == 0)
		return false;
	if (rnic_addr_source(NULL, &peer, &local) < 0)
		return false;
	rnic_addr_set_port_be(&peer, 0);
	if (peer.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&peer)->sin6_flowinfo = 0;
	return rnic_addr_equal(&peer, &local);
}
