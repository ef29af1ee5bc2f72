/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Starts that owe octets: the program has sent them, and they are stored until
 * the peer takes part in the start.
 *
 * The TCP connection does not show that anything is missing. So while octets
 * are stored, its end is a reset, also when this process is killed.
 */
#ifndef SDP_SOCK_OWED_H
#define SDP_SOCK_OWED_H

#include "sock/base/table.h"

/* STARTING: octets are stored, or holders of a relay may have written some;
 * sock->tcp_fd is the connection. */
void sdp_owed_begin(struct sdp_sock *sock);

/* The same for octets that TCP has, below a link that is being made: the
 * connection's end does not change yet. */
void sdp_owed_add(void);

/* The start has a result, and the connection ends in order again. */
void sdp_owed_settle(struct sdp_sock *sock);

/* The octets were passed on, or have no use any more. */
void sdp_owed_end(void);

/* Number of starts between _begin or _add and _end, including those of closed
 * sockets. Used at exit. */
int sdp_owed_cnt(void);

/* A forked child has none: they belong to the parent. */
void sdp_owed_fork_child(void);

#endif
