/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The SDP listeners of this host: which SDP port belongs to which TCP
 * listener.  It works without daemon, set-up and privilege.
 *
 * An announcement is a datagram socket in the abstract AF_UNIX name space of
 * the network namespace.  Its name holds the inode number of the TCP listener
 * and the SDP port.  Nothing is sent to it, so it needs no thread.  It exists
 * while any process holds the descriptor, over fork() and exec(), and ends with
 * the last one, also after kill -9.
 *
 * A client asks the kernel (NETLINK_SOCK_DIAG) which TCP listener would accept
 * a connection, and then for the announcement with that inode.  So wildcard
 * addresses, IPV6_V6ONLY and SO_REUSEPORT have the same meaning as with TCP.
 * An announcement counts only if its socket belongs to the user that the TCP
 * listener belongs to, or to root: see doc/design/sdp.md.
 */
#ifndef SDP_REGISTRY_H
#define SDP_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/**
 * sdp_registry_announce - say that a TCP listener has an SDP port
 * @listen_fd: the program's TCP socket; bound, listening or about to.
 * @sdp_port: host order, not 0; its listener has the address of @listen_fd.
 * @is_cm: it is a port of rdma_cm, where no raw Hello is taken.
 *
 * Call it between bind() and listen(), because a client that finds a TCP
 * listener without an announcement remembers that for a short time.  FD_CLOEXEC
 * is copied from @listen_fd.  The descriptor is the announcement: close it with
 * the last descriptor of the listener, never before.  Call it once for each
 * listen(); a listener may have several announcements.
 *
 * Return: the descriptor; -EINVAL: @sdp_port is 0; -EBADF, -ENOTSOCK, -EMFILE,
 *   -ENFILE, -ENOMEM as fstat() and socket() say them.
 * Context: any thread; no lock, async-signal-safe.
 */
int sdp_registry_announce(int listen_fd, uint16_t sdp_port, bool is_cm)
	__attribute__((warn_unused_result));

/**
 * sdp_registry_find - the SDP port of the listener that would take a connection
 * @dst: AF_INET or AF_INET6 (also IPv4-mapped), with port.
 * @ret_sdp_port: host order.
 * @ret_is_cm: as announced.
 *
 * Three questions to the kernel, 10 to 30 microseconds; never waits for
 * another process.  The SDP Address is that of @dst with the SDP port.
 *
 * Return: 0;
 *   -EADDRNOTAVAIL: @dst is no address of this host, sdp_pm_query() is next;
 *   -ENETUNREACH, -EHOSTUNREACH: nor does a route go there;
 *   -ECONNREFUSED: no TCP listener there;
 *   -ENOENT: the listener has no SDP port: TCP;
 *   -EPERM: only another user has announced it: TCP;
 *   -EAFNOSUPPORT; -EMFILE, -ENFILE, -ENOMEM;
 *   -EOPNOTSUPP: this kernel has no NETLINK_SOCK_DIAG for TCP and AF_UNIX.
 * Context: any thread; takes a leaf lock.
 */
int sdp_registry_find(const struct sockaddr *dst, uint16_t *ret_sdp_port,
		      bool *ret_is_cm) __attribute__((warn_unused_result));

/* First call of a forked child. */
void sdp_registry_fork_child(void);

#endif
