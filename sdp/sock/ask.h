/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A connect() that must not wait, to another host whose Port Mapper is still to
 * be asked: the shadow takes the number at once and shows nothing, and a thread
 * asks, connects, and starts SDP.  POLLOUT comes when the connection stands.
 *
 * Where rdma_cm makes connections, each connect() that has an SDP port to go to
 * comes here, also one that may wait.
 *
 * To the rest this is STARTING with is_asking.  If there is no SDP, the number
 * gets its TCP socket back, which is connecting by then: what becomes of it the
 * kernel tells.
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
