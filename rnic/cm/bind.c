/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The sockets of identities: bound to their port, or beside it. */
#include "bind.h"

#include "util/addr-text.h"
#include "util/log.h"
#include "os/addr.h"
#include "os/fd.h"
#include "os/tcp.h"
#include "port.h"
#include "reason.h"
#include "service.h"
#include "state.h"
#include "start/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

/* Has another identity, which would share it, that address and port? */
static bool addr_is_shared(rnic_addr_arg addr)
{
	struct sockaddr_storage want;
	const struct cm_id *id;
	uint32_t slot = 0;

	rnic_addr_set(&want, addr);
	while ((id = rnic_ref_next(&rnic_loop.noted, &slot))) {
		struct sockaddr_storage real;

		if (id->fd < 0 || !id->is_reuseaddr ||
		    id->local.ss_family != want.ss_family)
			continue;
		cm_port_real_local(id, &real);
		if (rnic_addr_port_be(&real) == rnic_addr_port_be(addr) &&
		    (rnic_addr_is_any(&real) || rnic_addr_is_any(addr) ||
		     rnic_addr_is_same_host(&id->local, &want)))
			return true;
	}
	return false;
}

/*
 * A port in use by a live socket is refused, one that only lingers in
 * TIME_WAIT is not: hence first without SO_REUSEADDR, then with it, but not
 * beside a socket of ours that has the flag because its application set it:
 * both must have it.  The flag is off afterwards, unless asked for, so that no
 * other socket is bound between our bind and our listen.
 */
static int sock_bind(const struct cm_id *id, int fd, rnic_addr_arg addr)
{
	socklen_t len = rnic_addr_len(addr);
	int ret;

	rnic_sock_set_flag(fd, SOL_SOCKET, SO_REUSEADDR, id->is_reuseaddr);
	if (rnic_tcp()->bind(fd, addr.sa, len) == 0)
		return 0;
	if (errno != EADDRINUSE || id->is_reuseaddr)
		return -errno;
	if (addr_is_shared(addr))
		return -EADDRINUSE;
	rnic_sock_set_flag(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	ret = rnic_tcp()->bind(fd, addr.sa, len) == 0 ? 0 : -errno;
	rnic_sock_set_flag(fd, SOL_SOCKET, SO_REUSEADDR, 0);
	return ret;
}

int cm_id_open_bound(const struct cm_id *id, rnic_addr_arg addr)
{
	int fd = rnic_sock_open(addr.sa->sa_family, SOCK_STREAM);
	int ret;

	if (fd < 0)
		return fd;
	/* Without the option, the machine's default (bindv6only). */
	if (addr.sa->sa_family == AF_INET6 && id->has_afonly)
		rnic_sock_set_flag(fd, IPPROTO_IPV6, IPV6_V6ONLY,
				   id->is_afonly);
	ret = sock_bind(id, fd, addr);
	if (ret < 0) {
		rnic_fd_close(fd);
		return ret;
	}
	return fd;
}

int cm_id_open_source(const struct cm_id *id)
{
	struct sockaddr_storage local;

	cm_port_real_local(id, &local);
	return rnic_dial_open(&local, id->tos);
}

int cm_id_open_beside(struct cm_id *id, rnic_addr_arg addr)
{
	struct sockaddr_storage want, beside;
	uint16_t port_be = rnic_addr_port_be(addr);
	int fd;

	rnic_addr_set(&want, addr);
	if (!port_be || !cm_port_is_apart() || !cm_port_is_programs(&want))
		return -EADDRINUSE;
	beside = want;
	rnic_addr_set_port_be(&beside, cm_port_beside_be(port_be));
	fd = cm_id_open_bound(id, &beside);
	if (fd < 0) {
		util_warn("cm",
			  "%s: TCP port %u is the program's own, and port %u "
			  "beside it cannot be had: %s",
			  CM_ID_NAME(id), ntohs(port_be),
			  ntohs(cm_port_beside_be(port_be)), strerror(-fd));
		return -EADDRINUSE;
	}
	util_info("cm",
		  "%s: TCP port %u is the program's own: usiw's peers find us "
		  "on %u, others do not",
		  CM_ID_NAME(id), ntohs(port_be),
		  ntohs(cm_port_beside_be(port_be)));
	id->is_moved = true;
	return fd;
}

/* On that port, or beside it. */
static int id_open(struct cm_id *id, rnic_addr_arg addr)
{
	int fd;

	id->is_moved = false;
	fd = cm_id_open_bound(id, addr);
	return fd == -EADDRINUSE ? cm_id_open_beside(id, addr) : fd;
}

/*
 * As the kernel, for which loopback is as good as any; not so where lo is a
 * device: servers ask the identity for it.
 * Return: false: there must be a device, and is none.
 */
static bool bind_device(rnic_addr_arg addr, struct rnic_device **ret_dev)
{
	*ret_dev = rnic_addr_is_any(addr) ? NULL : rnic_device_by_addr(addr.sa);
	return *ret_dev || rnic_addr_is_any(addr) ||
	       rnic_addr_is_loopback(addr);
}

#define BIND "rdma_bind_addr"

static int refuse_address(const struct cm_id *id, rnic_addr_arg addr)
{
	return cm_refuse(id, ENODEV, BIND, "no device has the address %s",
			 UTIL_ADDR_TEXT(addr.storage));
}

static int id_bind_ud(struct cm_id *id, rnic_addr_arg addr)
{
	uint16_t port = ntohs(rnic_addr_port_be(addr));
	struct sockaddr_storage local;
	struct rnic_device *dev;
	int fd, ret;

	/* Is it one of ours?  The port's name does not say. */
	ret = rnic_addr_is_any(addr) ? 0 : rnic_addr_source(addr, addr, &local);
	if (ret < 0)
		return ret;
	if (!bind_device(addr, &dev))
		return refuse_address(id, addr);
	fd = cm_service_open(id->ud.ps, &port);
	if (fd < 0)
		return fd;
	id->ud.sock.fd = fd;
	id->is_inherited = false;
	id->dev = dev;
	rnic_addr_set(&id->local, addr);
	rnic_addr_set_port_be(&id->local, htons(port));
	cm_id_set_state(id, RNIC_CM_S_BOUND);
	return 0;
}

/* IDLE -> BOUND: a real bind, so that the errors are real. */
int cm_id_bind(struct cm_id *id, rnic_addr_arg addr)
{
	struct sockaddr_storage none;
	struct rnic_device *dev;
	int fd;

	if (id->state != RNIC_CM_S_IDLE)
		return cm_refuse_state(id, BIND, "IDLE");
	if (rnic_addr_len(addr) == 0)
		return -EAFNOSUPPORT;
	if (cm_id_is_ud(id))
		return id_bind_ud(id, addr);
	fd = id_open(id, addr);
	if (fd < 0)
		return fd;
	if (!bind_device(addr, &dev)) {
		rnic_fd_close(fd);
		return refuse_address(id, addr);
	}
	if (id->tos)
		rnic_sock_set_tos(fd, addr.sa->sa_family, id->tos);
	id->fd = fd;
	id->dev = dev;
	/* Not unmapped: family and scope as the application knows them. */
	rnic_addr_set(&id->local, addr);
	if (rnic_addr_port_be(addr) == 0) {
		struct sockaddr_storage real;

		rnic_addr_of_socket(fd, &real, &none);
		rnic_addr_set_port_be(&id->local, rnic_addr_port_be(&real));
	}
	cm_id_set_state(id, RNIC_CM_S_BOUND);
	return 0;
}

/* V6ONLY can be said before bind(2) only. */
int cm_id_rebind(struct cm_id *id)
{
	int fd;

	if (cm_id_is_ud(id))
		return 0;
	rnic_fd_close(id->fd);
	id->fd = -1;
	fd = id_open(id, &id->local);
	if (fd < 0) {
		cm_id_set_state(id, RNIC_CM_S_IDLE);
		return fd;
	}
	if (id->tos)
		rnic_sock_set_tos(fd, id->local.ss_family, id->tos);
	id->fd = fd;
	return 0;
}
