/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The SDP listeners of this host: which SDP port belongs to which TCP listener.
 * It needs no daemon, no set-up and no privilege.
 *
 * An announcement is a datagram socket in the abstract AF_UNIX name space of
 * the network namespace.  Its name holds the inode number of the TCP listener
 * and the SDP port.  Nothing is sent to it, so it needs no thread.  It exists
 * while any process holds the descriptor, over fork() and exec(), and ends with
 * the last one, also after kill -9.
 *
 * A client asks the kernel (NETLINK_SOCK_DIAG) which TCP listener would accept
 * a connection. Then it looks for the announcement with that inode. So wildcard
 * addresses, IPV6_V6ONLY and SO_REUSEPORT work as with TCP. An announcement
 * counts only if its socket belongs to the user of the TCP listener, or to
 * root: see doc/design/sdp.md.
 */
#ifndef SDP_REGISTRY_H
#define SDP_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/**
 * sdp_registry_announce - announce the SDP port of a TCP listener
 * @listen_fd: the program's TCP socket; it is bound, and listens or is about to
 *   listen.
 * @sdp_port: host order, not 0. The SDP listener has the address of @listen_fd.
 * @is_cm: it is a port of rdma_cm, which does not accept a raw Hello.
 *
 * Call it between bind() and listen(): a client that finds a TCP listener
 * without an announcement stores that for a short time. FD_CLOEXEC is copied
 * from @listen_fd. The returned descriptor is the announcement. Close it
 * together with the last descriptor of the listener, never before. Call this
 * function once for each listen(); a listener may have several announcements.
 *
 * Return: the descriptor; -EINVAL: @sdp_port is 0; -EBADF, -ENOTSOCK, -EMFILE,
 *   -ENFILE, -ENOMEM from fstat() and socket().
 * Context: any thread; no lock, async-signal-safe.
 */
int sdp_registry_announce(int listen_fd, uint16_t sdp_port, bool is_cm)
	__attribute__((warn_unused_result));

/**
 * sdp_registry_find - find the SDP port of the listener that would accept a
 *   connection
 * @dst: AF_INET or AF_INET6 (also IPv4-mapped), with port.
 * @ret_sdp_port: host order.
 * @ret_is_cm: as announced.
 *
 * Makes three netlink requests, 10 to 30 microseconds in all. Never waits for
 * another process. The SDP Address is @dst with the SDP port.
 *
 * Return: 0;
 *   -EADDRNOTAVAIL: @dst is not an address of this host: use sdp_pm_query();
 *   -ENETUNREACH, -EHOSTUNREACH: there is no route to @dst;
 *   -ECONNREFUSED: there is no TCP listener;
 *   -ENOENT: the listener has no SDP port: use TCP;
 *   -EPERM: only another user announced it: use TCP;
 *   -EAFNOSUPPORT; -EMFILE, -ENFILE, -ENOMEM;
 *   -EOPNOTSUPP: this kernel has no NETLINK_SOCK_DIAG for TCP and AF_UNIX.
 * Context: any thread; takes a leaf lock.
 */
int sdp_registry_find(const struct sockaddr *dst, uint16_t *ret_sdp_port,
		      bool *ret_is_cm) __attribute__((warn_unused_result));

/**
 * sdp_registry_find_end - the same for the other end of a connection
 * @own, @peer: the names of this end. The announcement was made with the socket
 *   of the other end, which is of this host.
 * Return: 0; -ENOTCONN: it is not of this host, or there is no connection;
 *   -ENOENT: it is not announced; others as sdp_registry_find().
 * Context: as sdp_registry_find(). Nothing is stored.
 */
int sdp_registry_find_end(const struct sockaddr *own,
			  const struct sockaddr *peer, uint16_t *ret_sdp_port)
	__attribute__((warn_unused_result));

/* A forked child calls it first. */
void sdp_registry_fork_child(void);

#endif
