/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How the two ends of a TCP connection on one host come to share memory. */
#define _GNU_SOURCE /* accept4 */
#include "meet.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/cancel.h"
#include "util/env.h"
#include "local.h"
#include "memory.h"
#include "os/addr.h"
#include "os/fd.h"
#include "os/stranger.h"
#include "os/tcp.h"

/* Of the name, and of the offer: both change with the layout of the memory. */
#define MEET_VERSION 3u
#define MEET_MAGIC 0x7573774cu
/* Any process may connect to the name: so many connections are looked at. */
#define MEET_BACKLOG 8

struct meet_offer {
	uint32_t magic, version;
	uint64_t size; /* of the memory */
};

/* ---- the name ---- */

static size_t name_put(char *out, const struct sockaddr_storage *addr)
{
	size_t octet_cnt = addr->ss_family == AF_INET6 ? 16 : 4;
	size_t len = 0;

	for (size_t i = 0; i < octet_cnt; i++)
		len += (size_t)sprintf(out + len, "%02x",
				       rnic_addr_octets(addr)[i]);
	len += (size_t)sprintf(out + len, ".%u",
			       ntohs(rnic_addr_port_be(addr)));
	return len;
}

/* An address of that kind is not unique on the host. */
static bool addr_is_link_local(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET6 &&
	       IN6_IS_ADDR_LINKLOCAL(
		       &((const struct sockaddr_in6 *)addr)->sin6_addr);
}

struct meet_name {
	struct sockaddr_un sun;
	socklen_t len;
};

/* Return: 0; -errno: there is nothing to meet for. */
static int meet_name(int tcp_fd, bool is_active, struct meet_name *ret_name)
{
	struct sockaddr_storage local, peer;
	const struct sockaddr_storage *from = is_active ? &local : &peer;
	const struct sockaddr_storage *to = is_active ? &peer : &local;
	char *path = ret_name->sun.sun_path + 1;
	size_t len;

	if (util_settings()->local == UTIL_LOCAL_OFF)
		return -EOPNOTSUPP;
	rnic_addr_of_socket(tcp_fd, &local, &peer);
	if (local.ss_family == AF_UNSPEC || peer.ss_family != local.ss_family)
		return -ENOTCONN;
	if (addr_is_link_local(&local) || addr_is_link_local(&peer) ||
	    !rnic_addr_is_own(&peer))
		return -EREMOTE;
	memset(&ret_name->sun, 0, sizeof(ret_name->sun));
	ret_name->sun.sun_family = AF_UNIX;
	len = (size_t)sprintf(path, "usiw-local/%u/", MEET_VERSION);
	len += name_put(path + len, from);
	path[len++] = '-';
	len += name_put(path + len, to);
	ret_name->len =
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
	return 0;
}

/* ---- the user of the other end ---- */

/* Return: 0; -EACCES. */
static int peer_check(int fd)
{
	uid_t uid;

	if (rnic_sock_peer(fd, &uid) < 0)
		return -EACCES;
	if (util_settings()->local == UTIL_LOCAL_ANY)
		return 0;
	return uid == geteuid() ? 0 : -EACCES;
}

/* ---- the active side, first ---- */

int rnic_meet_listen(int tcp_fd)
{
	struct meet_name name;
	int rc = meet_name(tcp_fd, true, &name);
	int fd;

	if (rc < 0)
		return rc;
	fd = rnic_fd_spare(rnic_sock_open(AF_UNIX, SOCK_STREAM));
	if (fd < 0)
		return fd;
	if (rnic_tcp()->bind(fd, (struct sockaddr *)&name.sun, name.len) == 0 &&
	    rnic_tcp()->listen(fd, MEET_BACKLOG) == 0)
		return fd;
	rc = -errno;
	rnic_fd_close(fd);
	return rc;
}

/* ---- the passive side ---- */

/* As long as this socket has the addresses and ports, no other connection has
 * them.  So the name was the peer's, unless a process of the same user forged
 * it, which could trace the peer as well. */
static int tcp_check(int tcp_fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	if (rnic_tcp()->getsockopt(tcp_fd, IPPROTO_TCP, TCP_INFO, &info, &len) <
		    0 ||
	    info.tcpi_state != 1 /* TCP_ESTABLISHED */)
		return -ENOTCONN;
	return 0;
}

static int offer_send(int fd, int mem_fd)
{
	struct meet_offer offer = { MEET_MAGIC, MEET_VERSION,
				    RNIC_LOCAL_MEMORY_SIZE };

	return rnic_stranger_send_fd(fd, NULL, 0, &offer, sizeof(offer),
				     mem_fd);
}

/* @fd becomes the object's on success. */
static int local_make(int mem_fd, int fd, bool is_active,
		      struct rnic_local **ret_local)
{
	void *mem;
	int rc = rnic_local_memory_map(mem_fd, &mem);

	if (rc < 0)
		return rc;
	*ret_local = rnic_local_new(mem, fd, is_active);
	if (*ret_local)
		return 0;
	rnic_local_memory_unmap(mem);
	return -ENOMEM;
}

/* The same. */
static int offer_make(int fd, struct rnic_local **ret_local)
{
	int mem_fd = rnic_local_memory_new();
	struct rnic_local *local;
	int rc;

	if (mem_fd < 0)
		return mem_fd;
	rc = local_make(mem_fd, fd, false, &local);
	if (rc < 0)
		goto close_mem;
	/* The last step: what is offered may be used from here on. */
	rc = offer_send(fd, mem_fd);
	if (rc == 0) {
		*ret_local = local;
	} else {
		local->wake_fd = -1; /* still the caller's */
		rnic_local_free(local);
	}
close_mem:
	util_sys_close(mem_fd);
	return rc;
}

int rnic_meet_offer(int tcp_fd, struct rnic_local **ret_local)
{
	struct meet_name name;
	int rc = meet_name(tcp_fd, false, &name);
	int fd;

	if (rc < 0)
		return rc;
	fd = rnic_fd_spare(rnic_sock_open(AF_UNIX, SOCK_STREAM));
	if (fd < 0)
		return fd;
	if (rnic_tcp()->connect(fd, (struct sockaddr *)&name.sun, name.len) < 0)
		rc = -errno;
	if (rc == 0)
		rc = tcp_check(tcp_fd);
	if (rc == 0)
		rc = peer_check(fd);
	if (rc == 0)
		rc = offer_make(fd, ret_local);
	if (rc < 0)
		rnic_stranger_close(fd);
	return rc;
}

/* ---- the active side, then ---- */

/* Return: the memory's descriptor, the caller's; -errno. */
static int offer_receive(int fd)
{
	struct meet_offer offer;
	int mem_fd = rnic_stranger_recv_fd(fd, &offer, sizeof(offer),
					   rnic_local_memory_check, NULL);

	if (mem_fd < 0 ||
	    (offer.magic == MEET_MAGIC && offer.version == MEET_VERSION &&
	     offer.size == RNIC_LOCAL_MEMORY_SIZE))
		return mem_fd;
	util_sys_close(mem_fd);
	return -EPROTO;
}

/* @fd becomes the object's on success. */
static int offer_take(int fd, struct rnic_local **ret_local)
{
	int rc = peer_check(fd);
	int mem_fd;

	if (rc < 0)
		return rc;
	mem_fd = offer_receive(fd);
	if (mem_fd < 0)
		return mem_fd;
	rc = local_make(mem_fd, fd, true, ret_local);
	util_sys_close(mem_fd);
	return rc;
}

/* Others may have connected before the peer did, to keep it out. */
int rnic_meet_take(int listen_fd, struct rnic_local **ret_local)
{
	int rc = -EAGAIN;

	for (int i = 0; i <= MEET_BACKLOG; i++) {
		int fd = rnic_stranger_accept(listen_fd);

		if (fd < 0)
			return i ? rc : fd;
		rc = offer_take(fd, ret_local);
		if (rc == 0)
			return 0;
		rnic_stranger_close(fd);
	}
	return rc;
}
