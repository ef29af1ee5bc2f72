/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The step from TCP to SDP: the shadow takes the socket's numbers, and a
 * thread of ours says Hello, or waits for it.
 *
 * It is taken by the first call that sends, receives or waits, in the process
 * that makes this call.  Until then the socket is the kernel's TCP socket, and
 * may be inherited, passed on and closed as such.
 */
#ifndef SDP_SOCK_START_H
#define SDP_SOCK_START_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "table.h"

enum sdp_start_why {
	SDP_START_WAIT, /* poll, epoll: not before the peer has said something
			 */
	SDP_START_READ, /* the same */
	SDP_START_WRITE,
};

/*
 * CONNECTING, PENDING: start if it is time.  Keeps errno.
 * Return: the state after it.
 */
enum sdp_sock_state sdp_start(struct sdp_sock *sock, int fd,
			      enum sdp_start_why why);

/*
 * STARTING: sleep until it is over.  Return: 0; -EAGAIN: @deadline of
 * sdp_now_ns(); -EINTR: a signal handler ran.
 */
int sdp_start_wait(struct sdp_sock *sock, uint64_t deadline);

/* Sleeps until the thread of ask.c is past the question, or @deadline.  Return:
 * whether it is. */
bool sdp_start_asked(struct sdp_sock *sock, uint64_t deadline);

/* The program has closed the socket while it was STARTING: what it has sent
 * still goes.  Return: whether that is so. */
bool sdp_start_abandon(struct sdp_sock *sock);

/* STARTING: the octets wait here.  Return: how many; 0: it is over; -EAGAIN:
 * no space; -ENOMEM. */
ssize_t sdp_start_send(struct sdp_sock *sock, const struct iovec *iov,
		       size_t cnt);

/*
 * STARTING, STREAM: break the connection off; a fresh TCP socket takes the
 * numbers.  Return: 0; -errno.
 */
int sdp_start_undo(struct sdp_sock *sock);

/*
 * The parts of a start, for ask.c.  _cover: the shadow takes the numbers and
 * shows nothing yet, sock->stop_fd is there; _connected: the TCP connection
 * stands; _run: the rest, in a thread of its own that holds the socket;
 * _stand: in place of both, rdma_cm has made @link, and the TCP socket below is
 * not connected; _over: the end of such a thread without a start.
 * _give_back: the number gets its TCP socket back; all with the socket's lock
 * but _run and _over.
 */
int sdp_start_cover(struct sdp_sock *sock, int fd);
void sdp_start_connected(struct sdp_sock *sock);
void *sdp_start_run(void *sock);
void sdp_start_stand(struct sdp_sock *sock, struct sdp_link *link);
void sdp_start_over(struct sdp_sock *sock);
void sdp_start_give_back(struct sdp_sock *sock);

/* TCP, fresh: it is the end of @link, which was accepted.  Return: 0; -errno,
 * nothing has changed. */
int sdp_start_accepted(struct sdp_sock *sock, int fd, struct sdp_link *link);

/* PENDING: another process has the connection; the numbers get @program_end of
 * its shadow.  @fd: one of them. */
void sdp_start_elsewhere(struct sdp_sock *sock, int fd, int program_end);

/* Starts that such octets wait for, also of closed sockets: for the exit. */
int sdp_start_owed(void);

/* In a forked child: the starts are the parent's. */
void sdp_start_fork_child(void);

#endif
