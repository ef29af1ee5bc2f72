/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * connect(). It goes to the SDP port if the peer has one. It uses the program's
 * own TCP socket, so its bound address and its options apply.
 */
#ifndef SDP_SOCK_CONNECT_H
#define SDP_SOCK_CONNECT_H

#include "sock/base/policy.h"
#include "stat/sdp-stat.h"
#include "sock/base/table.h"
#include "tcp-answer.h"

/* The Port Mapper must be asked, and the call must not wait. sock->peer is
 * set. */
#define SDP_CONNECT_ASK 1

/* As connect(2).  Return: 0; -errno; SDP_CONNECT_ASK. */
int sdp_connect(struct sdp_sock *sock, int fd, const struct sockaddr *addr,
		socklen_t len);

/* Whether the connection to sock->peer is SDP or none. */
bool sdp_connect_is_sdp_only(const struct sdp_sock *sock);

/* After SDP_CONNECT_ASK, if no thread can ask: connects by TCP, for the reason
 * @why.
 * Return: 0; -errno. */
int sdp_connect_plain(struct sdp_sock *sock, int fd, int why);

/* The TCP socket @fd is connecting to the program's destination. Waits like
 * connect(2). */
int sdp_connect_finish(struct sdp_sock *sock, int fd);

/* connect() with AF_UNSPEC on an SDP connection, for sdp_start_undo(). */
bool sdp_connect_is_undone(const struct sdp_sock *sock,
			   const struct sockaddr *addr, socklen_t len);

/* There is no SDP, and the program wants nothing else. Return: -errno. */
static inline int sdp_connect_none(void)
{
	return -sdp_answer_error(SDP_CAUSE_RESET, SDP_PHASE_START);
}

/* PENDING, the connecting side, with the socket's lock held: checks the result.
 * Where there is none, the socket is TCP, and the kernel has the error. Return:
 * whether it is connected. */
bool sdp_connect_look(struct sdp_sock *sock, int fd);

/* shutdown() of a socket that uses TCP. It ends an attempt of connect(), if
 * there is one.
 * Return: 0; -errno. */
int sdp_connect_shutdown(struct sdp_sock *sock, int fd, int how);

/* The same without the lock, before the program takes the error. */
void sdp_connect_settle(struct sdp_sock *sock, int fd);

/* Makes a new TCP connection to the program's destination, with the options of
 * the old socket, and waits for it. Return: descriptor, CLOEXEC; -errno. */
int sdp_connect_tcp(const struct sdp_sock *sock);

/* Why there is no SDP port, in the terms of policy.h. */
enum sdp_stat_fallback sdp_connect_fallback_of(int err);

#endif
