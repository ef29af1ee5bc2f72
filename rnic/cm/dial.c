/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The active side's TCP connection. */
#include "dial.h"

#include "os/addr.h"
#include "os/fd.h"
#include "os/tcp.h"
#include "port.h"

#include <errno.h>
#include <netinet/in.h>

int cm_dial_open_source(const struct cm_id *id)
{
	int family = id->peer.ss_family;
	int fd = rnic_sock_open(family, SOCK_STREAM);
	struct sockaddr_storage local;
	int ret;

	if (fd < 0)
		return fd;
	if (id->has_tos)
		rnic_sock_set_tos(fd, family, id->tos);
	if (family == AF_INET6)
		rnic_sock_set_flag(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
	/* A port of the application's is bound again by the retry; any other
	 * is drawn at connect(), per destination. */
	if (id->has_port)
		rnic_sock_set_flag(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	else
		rnic_sock_set_flag(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
	cm_port_real_local(id, &local);
	if (rnic_tcp()->bind(fd, (struct sockaddr *)&local,
			     rnic_addr_len((struct sockaddr *)&local)) < 0) {
		ret = -errno;
		rnic_fd_close(fd);
		return ret;
	}
	return fd;
}

bool cm_dial_is_connected(const struct cm_conn *conn)
{
	return conn->peer.ss_family != AF_UNSPEC;
}

int cm_dial(struct cm_conn *conn, const struct sockaddr_storage *to)
{
	const struct sockaddr *addr = (const struct sockaddr *)to;

	rnic_sock_set_flag(conn->fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (rnic_tcp()->connect(conn->fd, addr, rnic_addr_len(addr)) < 0 &&
	    errno != EINPROGRESS && errno != EINTR)
		return -errno;
	/* On the same host the handshake is over when connect() returns. */
	rnic_addr_of_socket(conn->fd, &conn->local, &conn->peer);
	return 0;
}
