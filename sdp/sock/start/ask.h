/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A non-blocking connect() while the answer of the other host's Port Mapper is
 * not known. The shadow takes the number at once and reports no events. A
 * thread asks, connects, and starts SDP. POLLOUT is reported when the
 * connection is established.
 *
 * Where rdma_cm makes connections, every connect() to an SDP port is handled
 * here, also a blocking one.
 *
 * For the other files this is the state STARTING with is_asking. If there is no
 * SDP, the number gets its TCP socket back. The socket is connecting by then,
 * and the kernel reports the result.
 */
#ifndef SDP_SOCK_ASK_H
#define SDP_SOCK_ASK_H

#include "sock/base/table.h"

/* As connect(2). Return: 0; -errno. */
int sdp_ask_connect(struct sdp_sock *sock, int fd, const struct sockaddr *addr,
		    socklen_t len);

/* Ends is_asking: the connection uses TCP. Waits briefly. */
void sdp_ask_cancel(struct sdp_sock *sock);

/* The same, but a connection that is about to be established may finish.
 * Otherwise a peer that has accepted it would see it end, and another
 * connection by TCP. */
void sdp_ask_settle(struct sdp_sock *sock);

#endif
