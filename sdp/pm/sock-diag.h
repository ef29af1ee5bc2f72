/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Requests to the kernel over netlink: whether an address belongs to this host,
 * which TCP listener would accept a connection, and which abstract names are
 * bound.
 */
#ifndef SDP_SOCK_DIAG_H
#define SDP_SOCK_DIAG_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

struct sdp_diag_tcp {
	uint32_t inode;
	uid_t uid;
};

/* Return: 0: an address of this host; -EADDRNOTAVAIL: of another host, or
 *   unknown; -ENETUNREACH, -EHOSTUNREACH: no route; errors of socket(). */
int sdp_diag_local(const struct sockaddr *addr);

/* Finds the listener to which the kernel would give a connection to @addr.
 * Return: 0; -ECONNREFUSED: none; -EOPNOTSUPP: the kernel has no inet_diag;
 * errors of socket(). */
int sdp_diag_listener(const struct sockaddr *addr,
		      struct sdp_diag_tcp *ret_listener);

/* Finds the connected socket of this host whose own address is @own and whose
 * peer's is @peer; neither is IPv4-mapped. Return: 0; -ENOENT: none, or the
 * kernel has no inet_diag; errors of socket(). */
int sdp_diag_connected(const struct sockaddr *own, const struct sockaddr *peer,
		       struct sdp_diag_tcp *ret_socket);

struct sdp_diag_names {
	int fd;
	uint32_t len; /* octets in buf */
	uint32_t at;  /* offset of the next message */
	/* More than a page, so that a dump takes few calls. */
	uint8_t buf[8192] __attribute__((aligned(8)));
};

struct sdp_diag_name {
	const char *name; /* after the leading 0; not null-terminated */
	uint32_t len;
	uid_t uid; /* of the socket's owner */
};

/* Starts a walk over the abstract names of datagram sockets. Return: 0; errors
 * of socket(). */
int sdp_diag_names_start(struct sdp_diag_names *names);

/* Return: 1: @ret_name is the next name, valid until the next call; 0: no more;
 *   -EOPNOTSUPP: the kernel has no unix_diag; -EIO. */
int sdp_diag_names_next(struct sdp_diag_names *names,
			struct sdp_diag_name *ret_name);

void sdp_diag_names_stop(struct sdp_diag_names *names);

#endif
