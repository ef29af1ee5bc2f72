/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The change from TCP to SDP: the shadow takes the socket's numbers, and a
 * thread sends the Hello or waits for it.
 *
 * The first call that sends, receives or waits makes this change, in the
 * process of that call. Until then the socket is the kernel's TCP socket, and
 * may be inherited, passed on and closed as such.
 */
#ifndef SDP_SOCK_START_H
#define SDP_SOCK_START_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "sock/base/table.h"

enum sdp_start_why {
	/* poll, epoll: not before the peer has sent something */
	SDP_START_WAIT,
	SDP_START_READ, /* the same */
	SDP_START_WRITE,
};

/*
 * PENDING: starts SDP if it is time. Keeps errno.
 * Return: the state afterwards.
 */
enum sdp_sock_state sdp_start(struct sdp_sock *sock, int fd,
			      enum sdp_start_why why);

/*
 * STARTING: sleeps until the start has ended. Return: 0; -EAGAIN: @deadline of
 * sdp_now_ns(); -EINTR: a signal handler ran.
 */
int sdp_start_wait(struct sdp_sock *sock, uint64_t deadline);

/* The same, and 0 when *@is_shut: the program has ended that direction. */
int sdp_start_wait_shut(struct sdp_sock *sock, const _Atomic bool *is_shut,
			uint64_t deadline);

/* Sleeps until the thread of ask.c has its answer, or until @deadline. Return:
 * whether it has. */
bool sdp_start_asked(struct sdp_sock *sock, uint64_t deadline);

/* The program has closed the socket in state STARTING. Return: whether octets
 * are left to send. */
bool sdp_start_abandon(struct sdp_sock *sock);

/* STARTING: stores the octets, @least of them or none; @is_urgent: the last of
 * them is. Return: their number; 0: the start has ended; -EAGAIN: no space;
 * -ENOMEM. */
ssize_t sdp_start_send(struct sdp_sock *sock, const struct iovec *iov,
		       size_t cnt, size_t least, bool is_urgent);

/*
 * STARTING, STREAM: breaks the connection off. A new TCP socket takes the
 * numbers.
 * Return: 0; -errno.
 */
int sdp_start_undo(struct sdp_sock *sock);

/*
 * The parts of a start, for ask.c and enter.c. The socket's lock is held,
 * except for _run.
 *  - sdp_start_cover(): the shadow takes the numbers and stores what is sent;
 *    @is_asking: it shows nothing yet, and sock->start.stop_fd exists. Return:
 *    0; -errno, and nothing has changed for the program.
 *  - sdp_start_connected(): the TCP connection is established.
 *  - sdp_start_run(): the rest of the start, in a thread that holds the socket.
 *  - sdp_start_stand(): replaces these two if rdma_cm has made @link. The TCP
 *    socket below is not connected.
 *  - sdp_start_give_back(): the numbers refer to @tcp_fd from now on, and the
 *    shadow is gone.
 */
int sdp_start_cover(struct sdp_sock *sock, bool is_asking);
void sdp_start_connected(struct sdp_sock *sock);
void *sdp_start_run(void *sock);
void sdp_start_stand(struct sdp_sock *sock, struct sdp_link *link);
void sdp_start_give_back(struct sdp_sock *sock, int tcp_fd);

/*
 * More of them for enter.c, with the lock held but for _conclude.
 *  - sdp_start_conclude(): the end of the start. With @link it is a STREAM;
 *    without, @fail puts the socket where it belongs. Drops @sock.
 *  - sdp_start_return(): the octets that are stored go by TCP, which has the
 *    numbers again.
 */
void sdp_start_conclude(struct sdp_sock *sock, struct sdp_link *link,
			void (*fail)(struct sdp_sock *sock, void *arg),
			void *arg);
void sdp_start_return(struct sdp_sock *sock);

/* A new TCP socket becomes the end of @link, which was accepted. Return: 0;
 * -errno, and nothing has changed. */
int sdp_start_accepted(struct sdp_sock *sock, int fd, struct sdp_link *link);

#endif
