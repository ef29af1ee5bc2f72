/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The active side's TCP connection. */
#include "dial.h"

#include <errno.h>
#include <netinet/in.h>

#include "os/addr.h"
#include "os/fd.h"
#include "os/tcp.h"

int rnic_dial_open(const struct sockaddr_storage *local, uint8_t tos)
{
	const struct sockaddr *addr = (const struct sockaddr *)local;
	int fd = rnic_sock_open(addr->sa_family, SOCK_STREAM);
	int ret;

	if (fd < 0)
		return fd;
	if (tos)
		rnic_sock_set_tos(fd, addr->sa_family, tos);
	if (addr->sa_family == AF_INET6)
		rnic_sock_set_flag(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
	rnic_sock_set_flag(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (!rnic_addr_port_be(addr))
		rnic_sock_set_flag(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
	if (rnic_tcp()->bind(fd, addr, rnic_addr_len(addr)) == 0)
		return fd;
	ret = -errno;
	rnic_fd_close(fd);
	return ret;
}

int rnic_dial_connect(int fd, const struct sockaddr_storage *to)
{
	const struct sockaddr *addr = (const struct sockaddr *)to;

	if (rnic_tcp()->connect(fd, addr, rnic_addr_len(addr)) < 0 &&
	    errno != EINPROGRESS && errno != EINTR)
		return -errno;
	return 0;
}

/* On the same host the handshake is over when connect() returns. */
int rnic_dial_result(struct rnic_start *start)
{
	socklen_t len = sizeof(int);
	int err = 0;

	rnic_addr_of_socket(start->fd, &start->local, &start->peer);
	/* A port without a listener can be answered by TCP's simultaneous
	 * open with itself. */
	if (rnic_start_is_connected(start))
		return rnic_addr_equal(&start->local, &start->peer)
			       ? -ECONNREFUSED
			       : 1;
	if (rnic_tcp()->getsockopt(start->fd, SOL_SOCKET, SO_ERROR, &err,
				   &len) < 0)
		return -errno;
	return -err;
}
