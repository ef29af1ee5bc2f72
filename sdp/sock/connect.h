/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * connect(): to the SDP port where the peer has one, by the program's own TCP
 * socket, so that what it is bound to and what is set on it hold.
 */
#ifndef SDP_SOCK_CONNECT_H
#define SDP_SOCK_CONNECT_H

#include "policy.h"
#include "stat/sdp-stat.h"
#include "table.h"

struct sdp_outcome;

/* The Port Mapper is to be asked, and the call must not wait; sock->peer is
 * set. */
#define SDP_CONNECT_ASK 1

/* As connect(2).  Return: 0; -errno; SDP_CONNECT_ASK. */
int sdp_connect(struct sdp_sock *sock, int fd, const struct sockaddr *addr,
		socklen_t len);

/* A program that names AF_INET_SDP has SDP or nothing. */
enum sdp_policy sdp_connect_policy(const struct sdp_sock *sock,
				   const struct sockaddr *dst);

/* SDP_CONNECT_ASK without a thread that can ask: connects by TCP, for the
 * reason
 * @why.  Return: 0; -errno. */
int sdp_connect_plain(struct sdp_sock *sock, int fd, int why);

/* The TCP socket @fd is connecting to where the program wants it: as
 * connect(2), which waits. */
int sdp_connect_finish(struct sdp_sock *sock, int fd);

/* connect() to no address on a connection of SDP: for sdp_start_undo(). */
bool sdp_connect_is_undone(const struct sdp_sock *sock,
			   const struct sockaddr *addr, socklen_t len);

/* CONNECTING: what has come of it?  With the socket's lock. */
void sdp_connect_look(struct sdp_sock *sock, int fd);

/* shutdown() of a socket that is the kernel's.  It ends an attempt of
 * connect(), if there is one.  Return: 0; -errno. */
int sdp_connect_shutdown(struct sdp_sock *sock, int fd, int how);

/* SO_ERROR is asked for: a connection to the SDP port that was refused is not
 * the program's error. */
void sdp_connect_settle(struct sdp_sock *sock, int fd);

/* A new TCP connection to the program's destination, with the options of the
 * old one; waits for it.  Return: descriptor, CLOEXEC; -errno. */
int sdp_connect_tcp(const struct sdp_sock *sock);

/* Why there is no SDP port, as policy.h has it. */
enum sdp_stat_fallback sdp_connect_fallback_of(int err);

/* The start has failed. */
void sdp_connect_refused(struct sdp_sock *sock,
			 const struct sdp_outcome *outcome);

#endif
