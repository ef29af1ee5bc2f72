/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Listeners: the program's own TCP socket and a second socket, the twin, on an
 * SDP port that the kernel chooses. Connections to the twin use SDP. Other
 * clients use the TCP port as usual. Where rdma_cm makes connections the twin
 * is an acceptor (acceptor.h).
 */
#ifndef SDP_SOCK_LISTEN_H
#define SDP_SOCK_LISTEN_H

#include "sock/base/table.h"

/* As listen(2).  Return: 0; -errno. */
int sdp_listen(struct sdp_sock *sock, int fd, int backlog);

/*
 * LISTENING: as accept4(2). Return: descriptor, and *ret_came describes the
 * connection; -errno. With a link the descriptor is an unconnected socket, and
 * the caller fills @addr.
 */
struct sdp_came {
	bool is_sdp;	       /* from the twin */
	struct sdp_link *link; /* made by rdma_cm; otherwise NULL */
};
int sdp_listen_accept(struct sdp_sock *sock, struct sockaddr *addr,
		      socklen_t *len, int flags, struct sdp_came *ret_came);

/* The listener is closed, or stops listening. */
void sdp_listen_end(struct sdp_sock *sock);

/*
 * Called before a fork, and in the child. Objects of rdma_cm do not work in a
 * child, and the parent of a prefork server never accepts. So such a listener
 * accepts no more links and is no longer announced. Waiting connections belong
 * to the parent.
 */
void sdp_listen_fork(struct sdp_sock *sock);
void sdp_listen_fork_child(struct sdp_sock *sock);

#endif
