/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Listeners: the program's own TCP socket, and a second socket on an SDP port
 * that the kernel chooses, the twin.  Connections to the twin use SDP.  Other
 * clients use the TCP port as usual.  Where rdma_cm makes connections the twin
 * is an acceptor (acceptor.h).
 */
#ifndef SDP_SOCK_LISTEN_H
#define SDP_SOCK_LISTEN_H

#include "table.h"

/* As listen(2).  Return: 0; -errno. */
int sdp_listen(struct sdp_sock *sock, int fd, int backlog);

/*
 * LISTENING: as accept4(2).  Return: descriptor, *ret_came how it came; -errno.
 * With a link the descriptor is an unconnected socket, and @addr is still to be
 * filled.
 */
struct sdp_came {
	bool is_sdp;	       /* to the twin */
	struct sdp_link *link; /* by rdma_cm; else NULL */
};
int sdp_listen_accept(struct sdp_sock *sock, struct sockaddr *addr,
		      socklen_t *len, int flags, struct sdp_came *ret_came);

/* The listener is closed, or listens no more. */
void sdp_listen_end(struct sdp_sock *sock);

/*
 * Before a fork, and in the child.  Objects of rdma_cm do not work in a child,
 * and the parent of a prefork server never accepts: so such a listener takes no
 * more links, and is announced no more.  What waits is the parent's.
 */
void sdp_listen_fork(struct sdp_sock *sock);
void sdp_listen_fork_child(struct sdp_sock *sock);

#endif
