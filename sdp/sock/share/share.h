/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Sockets that other processes get: by fork(), in a message, or in an executed
 * program.
 *
 * A forked child seldom uses the connections of its parent, so fork() changes
 * nothing for the parent. A child that uses such a socket first asks the
 * parent, which turns the socket into a relay (relay.h). A thread of the parent
 * waits for requests until the child ends.
 */
#ifndef SDP_SOCK_SHARE_H
#define SDP_SOCK_SHARE_H

#include <sys/socket.h>

#include "sock/base/table.h"

/* @sock is a RELAY that the parent was not asked about yet. When this returns,
 *   the parent relays it. */
void sdp_share_ask(struct sdp_sock *sock);

/* Call it before the kernel uses the number. */
static inline void sdp_share_use(struct sdp_sock *sock)
{
	/* acquire: pairs with the release in sdp_share_ask() */
	if (atomic_load_explicit(&sock->relay.is_unasked, memory_order_acquire))
		sdp_share_ask(sock);
}

/* Asks for all of them: for an epoll set that may contain any. */
void sdp_share_use_all(void);

/* The number @fd is about to be closed. If it is the last one of a socket that
 * a child may hold, a relay continues. */
void sdp_share_close(int fd);

/* Numbers that stdio uses without opening them. */
#define SDP_STDIO_MAX 2

/* Code outside the library will use @fd, which may be any descriptor: makes it
 * a relay. Keeps errno. */
void sdp_share_stdio(int fd);

/* The same for the standard streams that the program inherited. */
void sdp_share_inherited(void);

/* Makes relays of the sockets that @msg passes on. */
void sdp_share_message(const struct msghdr *msg);

/* Prepares the sockets that an executed program inherits, whether it replaces
 * this program or runs beside it. */
void sdp_share_spawn(void);
void sdp_share_exec(void);

/* The fork handlers. */
void sdp_share_fork_prepare(void);
void sdp_share_fork_parent(void);
void sdp_share_fork_child(void);

#endif
