/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A connect() that must not wait, when the Port Mapper of the other host is not
 * asked yet.  The shadow takes the number at once and shows nothing.  A thread
 * asks, connects, and starts SDP.  POLLOUT comes when the connection is
 * established.
 *
 * Where rdma_cm makes connections, each connect() to an SDP port is handled
 * here, even one that may wait.
 *
 * For the other files this is STARTING with is_asking.  If there is no SDP, the
 * number gets its TCP socket back, which is connecting by then.  The kernel
 * reports its result.
 */
#ifndef SDP_SOCK_ASK_H
#define SDP_SOCK_ASK_H

#include "table.h"

/* As connect(2).  Return: 0; -errno. */
int sdp_ask_connect(struct sdp_sock *sock, int fd, const struct sockaddr *addr,
		    socklen_t len);

/* is_asking: no longer; the connection goes by TCP.  Waits for a moment. */
void sdp_ask_cancel(struct sdp_sock *sock);

/* The same, but a connection that is about to stand may do so first: a peer
 * that has accepted it would have it, ended, beside the one by TCP. */
void sdp_ask_settle(struct sdp_sock *sock);

#endif
