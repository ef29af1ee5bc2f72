/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Sockets that other processes get: over fork(), in a message, by a program
 * that is executed.
 *
 * A forked child seldom uses the connections of its parent.  So fork() changes
 * nothing for the parent; a child that uses such a socket asks the parent
 * first, which makes a relay of it (relay.h).  A thread of the parent waits for
 * that, as long as the child lives.
 */
#ifndef SDP_SOCK_SHARE_H
#define SDP_SOCK_SHARE_H

#include <sys/socket.h>

#include "table.h"

/* RELAY of a parent that does not know yet: it does when this returns. */
void sdp_share_ask(struct sdp_sock *sock);

/* What comes next is done on the number, by the kernel. */
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

/* The descriptors that @msg passes on: whoever gets one has a stream. */
void sdp_share_message(const struct msghdr *msg);

/* A program is to be run beside, or in place of this one: what it inherits. */
void sdp_share_spawn(void);
void sdp_share_exec(void);

/* Around fork(). */
void sdp_share_fork_prepare(void);
void sdp_share_fork_parent(void);
void sdp_share_fork_child(void);

/* Forks of this thread share no socket: the child closes them all. */
void sdp_share_fork_apart(bool is_apart);

#endif
