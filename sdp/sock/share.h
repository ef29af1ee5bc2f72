/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Sockets that other processes get: over fork(), in a message, by a program
 * that is executed.
 *
 * A forked child seldom uses the connections of its parent.  So fork() changes
 * nothing for the parent.  A child that uses such a socket first asks the
 * parent, which makes a relay of it (relay.h).  A thread of the parent waits
 * for requests until the child ends.
 */
#ifndef SDP_SOCK_SHARE_H
#define SDP_SOCK_SHARE_H

#include <sys/socket.h>

#include "table.h"

/* @sock is a RELAY that the parent does not know yet.  When this returns, the
 * parent knows it. */
void sdp_share_ask(struct sdp_sock *sock);

/* To be called before the kernel does something on the number. */
static inline void sdp_share_use(struct sdp_sock *sock)
{
	/* acquire: pairs with the release in sdp_share_ask() */
	if (atomic_load_explicit(&sock->is_unasked, memory_order_acquire))
		sdp_share_ask(sock);
}

/* All of them: for a set that may hold any. */
void sdp_share_use_all(void);

/* The number @fd is about to go: if it is the last of a socket that a child
 * may hold, a relay goes on. */
void sdp_share_close(int fd);

/* Makes relays of the sockets that @msg passes on. */
void sdp_share_message(const struct msghdr *msg);

/* Readies the sockets that a program inherits, which is about to run beside
 * this one, or in its place. */
void sdp_share_spawn(void);
void sdp_share_exec(void);

/* Around fork(). */
void sdp_share_fork_prepare(void);
void sdp_share_fork_parent(void);
void sdp_share_fork_child(void);

/* Forks of this thread share no socket, since the child closes them all. */
void sdp_share_fork_apart(bool is_apart);

#endif
