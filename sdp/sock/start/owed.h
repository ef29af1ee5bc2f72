/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Starts that owe octets: the program has sent them, and they are stored until
 * the peer takes part in the start.
 *
 * The TCP connection does not show that anything is missing. So while octets
 * are stored, its end is a reset, also when this process is killed.
 *
 * A process that ends stops these starts, and a child goes on with them. While
 * a start waits for the peer, everything that it has sent is in the TCP
 * connection, and nothing was read.
 */
#ifndef SDP_SOCK_OWED_H
#define SDP_SOCK_OWED_H

#include "sock/base/table.h"

/* STARTING: the first octets are stored; sock->tcp_fd is the connection. */
void sdp_owed_begin(struct sdp_sock *sock);

/* The start has a result, and the connection ends in order again. */
void sdp_owed_settle(struct sdp_sock *sock);

/* The octets were passed on, or have no use any more. */
void sdp_owed_end(void);

/* Number of starts between _begin and _end, including those of closed sockets.
 * Used at exit. */
int sdp_owed_cnt(void);

/* For the starts: readable when they must stop; 0: there is no descriptor. */
int sdp_owed_stop_fd(void);

/* The thread of a start that has stopped leaves it, with its reference. */
void sdp_owed_put(struct sdp_sock *sock);

/* Stops the starts, and waits until they have stopped or ended, at most until
 * @deadline. Return: whether there are any to take. */
bool sdp_owed_stop(uint64_t deadline);

/* Starts may wait again. */
void sdp_owed_go_on(void);

/* Takes one that has stopped. Return: NULL: none is left. One thread calls
 * it. */
struct sdp_sock *sdp_owed_take(void);

/* A child goes on with all that have stopped. */
void sdp_owed_give(void);

/* In a forked child: it has those that have stopped. The others belong to the
 * parent. */
void sdp_owed_fork_child(void);

#endif
