/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * SDP enters a TCP connection (doc/design/sdp-enters.md).
 *
 * A connection is plain TCP on the program's own descriptor. When it has
 * carried USIW_SDP_AFTER octets in one direction, without a turn, the accepting
 * side announces it, and the connecting side makes a second connection, for
 * SDP. Each side then fixes the number of octets that it has written to TCP,
 * and writes no more to it; the other side reads TCP up to there.
 *
 * Positions count octets, so a side that another process may write or read,
 * with urgent data, or with an end, stays TCP.
 */
#ifndef SDP_SOCK_ENTER_H
#define SDP_SOCK_ENTER_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "sock/base/count-tcp.h"
#include "sock/base/table.h"

enum sdp_enter_gate {
	SDP_ENTER_OPEN,
	SDP_ENTER_WANTED, /* calls do not sleep in the kernel */
	SDP_ENTER_SHUT,	  /* no call begins, for microseconds */
};

/* TCP, and SDP may enter. */
static inline bool sdp_enter_is_possible(const struct sdp_sock *sock)
{
	/* relaxed: sdp_enter_in() decides */
	return atomic_load_explicit(&sock->enter.role, memory_order_relaxed) !=
		       SDP_ENTER_NEVER &&
	       sdp_sock_state(sock) == SDP_SOCK_TCP;
}

/*
 * Before a call of the kernel that moves octets.
 * Return: 1: call the kernel, then sdp_enter_out(); 0: wait first until the
 * socket is ready; -EAGAIN: look at the state again.
 */
int sdp_enter_in(struct sdp_sock *sock, bool may_sleep);

/* After it: @octets were moved. @fd: the number that was used. */
void sdp_enter_out(struct sdp_sock *sock, int fd, bool is_send, size_t octets);

/* The same if nothing was moved, or the thread leaves the call without
 * returning. */
void sdp_enter_left(struct sdp_sock *sock);

/* Before a short call that is about the descriptor: SDP does not enter until
 * sdp_enter_left(). Return: whether to call that; false: it has entered, or
 * never does. */
static inline bool sdp_enter_hold(struct sdp_sock *sock)
{
	while (sdp_enter_is_possible(sock))
		if (sdp_enter_in(sock, false) > 0)
			return true;
	return false;
}

/* STARTING, while SDP enters: takes octets that TCP has. Return: their number;
 * -EAGAIN: none, or the start takes them; -EFAULT. */
ssize_t sdp_enter_recv(struct sdp_sock *sock, const struct iovec *iov,
		       size_t cnt, int flags);

/* From now on the socket stays what it is: it has urgent data, or an end, or
 * others may have it. Waits for an entry that is under way. */
void sdp_enter_never(struct sdp_sock *sock);

/* The socket ends. */
void sdp_enter_end(struct sdp_sock *sock);

/* In a forked child. */
void sdp_enter_fork_child(void);

#endif
