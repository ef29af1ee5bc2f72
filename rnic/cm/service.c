/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Ports of datagrams.  What comes to the name of one that does not listen yet
 * waits until it does.
 */
#include "service.h"

#include <errno.h>
#include <netinet/in.h>

#include "util/cancel.h"
#include "loop/loop.h"
#include "mad.h"
#include "os/addr.h"
#include "os/fd.h"
#include "os/stranger.h"
#include "os/tcp.h"

/* Of these Linux gives ports, too. */
#define ANY_FIRST 32768u
#define ANY_CNT 28232u
#define ANY_TRIES 64
#define PRIVILEGED_END 1024u

uint16_t cm_service_any_port(void)
{
	uint32_t number = 0;

	(void)util_sys_getrandom(&number, sizeof(number));
	return (uint16_t)(ANY_FIRST + number % ANY_CNT);
}

/*
 * Who may bind a socket to such a port may have it here, as with ports of TCP.
 * A kernel's rdma_cm wants CAP_NET_BIND_SERVICE.
 */
static int port_check(uint16_t port)
{
	const struct sockaddr_in sin = { .sin_family = AF_INET,
					 .sin_port = htons(port) };
	int fd, ret = 0;

	if (port >= PRIVILEGED_END)
		return 0;
	fd = rnic_sock_open(AF_INET, SOCK_DGRAM);
	if (fd < 0)
		return fd;
	if (rnic_tcp()->bind(fd, (const struct sockaddr *)&sin, sizeof(sin)) <
		    0 &&
	    errno == EACCES)
		ret = -EACCES;
	rnic_fd_close(fd);
	return ret;
}

static int open_port(uint16_t ps, uint16_t port)
{
	struct rnic_host_name name = rnic_host_name_service(ps, port);
	int ret = port_check(port);

	return ret < 0 ? ret : rnic_host_open(&name);
}

int cm_service_open(uint16_t ps, uint16_t *port)
{
	int fd = -EADDRINUSE;

	if (*port)
		return open_port(ps, *port);
	for (int i = 0; i < ANY_TRIES && fd == -EADDRINUSE; i++) {
		uint16_t any = cm_service_any_port();

		fd = open_port(ps, any);
		if (fd >= 0)
			*port = any;
	}
	return fd;
}

void cm_service_close(struct cm_id *id)
{
	/* The parent's too: it may go on listening. */
	if (id->is_inherited)
		rnic_stranger_close_shared(id->ud.sock.fd);
	else
		rnic_stranger_close(id->ud.sock.fd);
	id->ud.sock.fd = -1;
}

/* A forked child has given up the socket of an identity that did not listen. */
static int service_reopen(struct cm_id *id)
{
	uint16_t port = ntohs(rnic_addr_port_be(&id->local));
	int fd = cm_service_open(id->ud.ps, &port);

	if (fd < 0)
		return fd;
	id->ud.sock.fd = fd;
	id->is_inherited = false;
	return 0;
}

int cm_service_start(struct cm_id *id)
{
	int ret = id->ud.sock.fd < 0 ? service_reopen(id) : 0;

	if (ret == 0)
		ret = cm_mads_hold(&id->ud.has_mads);
	if (ret < 0)
		return ret;
	ret = cm_mad_sock_watch(&id->ud.sock, RNIC_LOOP_SERVICE, id->ref);
	if (ret < 0)
		cm_mads_release(&id->ud.has_mads);
	return ret;
}

void cm_service_stop(struct cm_id *id)
{
	cm_mad_sock_unwatch(&id->ud.sock);
	cm_mads_release(&id->ud.has_mads);
}
