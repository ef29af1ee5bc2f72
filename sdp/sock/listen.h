/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Listeners: the program's own TCP socket, and beside it a twin on an SDP port
 * that the kernel chooses.  Who takes a connection from the twin speaks SDP;
 * everybody else finds the TCP port as ever.
 */
#ifndef SDP_SOCK_LISTEN_H
#define SDP_SOCK_LISTEN_H

#include "table.h"

/* As listen(2).  Return: 0; -errno. */
int sdp_listen(struct sdp_sock *sock, int fd, int backlog);

/*
 * LISTENING: as accept4(2).  Return: descriptor, *ret_is_sdp whether it came
 * to the twin; -errno.
 */
int sdp_listen_accept(struct sdp_sock *sock, struct sockaddr *addr,
		      socklen_t *len, int flags, bool *ret_is_sdp);

/* The listener is closed, or listens no more. */
void sdp_listen_end(struct sdp_sock *sock);

#endif
