/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The ports of rdma_cm beside those of TCP.  A kernel with RoCE or InfiniBand
 * has two spaces of ports, and programs listen in both under one number.  Here
 * every rdma_cm port is a TCP port: where the program has a TCP socket of its
 * own there, the identity's socket moves to another port, which is a function
 * of the first, and a peer that connects to it is told so before the MPA start.
 */
#include "port.h"

#include "util/cancel.h"
#include "util/env.h"
#include "util/fdtab.h"
#include "os/addr.h"
#include "os/tcp.h"

#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

/* Above what Linux gives to sockets that ask for no port. */
#define BESIDE_FIRST 61000u
#define BESIDE_CNT (65536u - BESIDE_FIRST)

/* No port is its own: 61000 is no multiple of 4536. */
_Static_assert(BESIDE_FIRST % BESIDE_CNT != 0, "a port beside each port");

uint16_t cm_port_beside_be(uint16_t port_be)
{
	return htons((uint16_t)(BESIDE_FIRST + ntohs(port_be) % BESIDE_CNT));
}

bool cm_port_is_apart(void)
{
	return util_settings()->port_space == UTIL_PORT_SPACE_APART;
}

void cm_port_real_local(const struct cm_id *id,
			struct sockaddr_storage *ret_addr)
{
	*ret_addr = id->local;
	if (id->is_moved)
		rnic_addr_set_port_be(
			ret_addr,
			cm_port_beside_be(rnic_addr_port_be(&id->local)));
}

/* ---- does the program have the port? ------------------------------------- */

bool cm_port_addr_overlaps(const struct sockaddr_storage *a,
			   const struct sockaddr_storage *b)
{
	struct sockaddr_storage x = *a, y = *b;

	rnic_addr_unmap(&x);
	rnic_addr_unmap(&y);
	return rnic_addr_is_any(&x) || rnic_addr_is_any(&y) ||
	       rnic_addr_is_same_host(&x, &y);
}

static bool fd_has_port(int fd, const struct sockaddr_storage *want)
{
	struct sockaddr_storage addr = { 0 };
	socklen_t len = sizeof(int);
	void *object;
	int type = 0;

	/* Our own sockets are in the table. */
	if (util_fdtab_lookup(rnic_fdtab(), fd, &object) != RNIC_FD_NONE ||
	    rnic_tcp()->getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
	    type != SOCK_STREAM)
		return false;
	len = sizeof(addr);
	if (rnic_tcp()->getsockname(fd, (struct sockaddr *)&addr, &len) < 0 ||
	    !rnic_addr_len(&addr))
		return false;
	return rnic_addr_port_be(&addr) == rnic_addr_port_be(want) &&
	       cm_port_addr_overlaps(&addr, want);
}

bool cm_port_is_programs(const struct sockaddr_storage *want)
{
	UTIL_CANCEL_OFF();
	const struct dirent *entry;
	bool is_programs = false;
	DIR *dir = opendir("/proc/self/fd");

	if (!dir)
		return false;
	while (!is_programs && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			is_programs = fd_has_port(atoi(entry->d_name), want);
	closedir(dir);
	return is_programs;
}

/* ---- what a moved listener says first ------------------------------------ */

#define SIGN_KEY "usiw rdma_cm at\n"

static void sign_encode(uint16_t port_be, uint8_t ret_sign[CM_PORT_SIGN_SIZE])
{
	memset(ret_sign, 0, CM_PORT_SIGN_SIZE);
	memcpy(ret_sign, SIGN_KEY, sizeof(SIGN_KEY) - 1);
	memcpy(ret_sign + sizeof(SIGN_KEY) - 1, &port_be, sizeof(port_be));
}

int cm_port_send_sign(int fd, uint16_t port_be)
{
	uint8_t sign[CM_PORT_SIGN_SIZE];
	struct iovec iov = { .iov_base = sign, .iov_len = sizeof(sign) };
	ssize_t len;

	sign_encode(port_be, sign);
	len = rnic_tcp_send(fd, &iov, 1, 0);
	if (len < 0)
		return (int)len;
	return len == (ssize_t)sizeof(sign) ? 0 : -EIO;
}

int cm_port_read_sign(int fd, uint16_t port_be)
{
	uint8_t sign[CM_PORT_SIGN_SIZE], got[CM_PORT_SIGN_SIZE];
	struct iovec iov = { .iov_base = got, .iov_len = sizeof(got) };
	ssize_t len = rnic_tcp_recv(fd, &iov, 1);

	if (len < 0)
		return (int)len;
	sign_encode(port_be, sign);
	/* It goes out as one piece, the first of its stream. */
	return len == (ssize_t)sizeof(got) &&
			       memcmp(got, sign, sizeof(sign)) == 0
		       ? 0
		       : -EPROTO;
}
