/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The stream of octets: the common part of all calls that send and receive. */
#ifndef SDP_SOCK_STREAM_H
#define SDP_SOCK_STREAM_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "sock/base/table.h"

/*
 * The first step of each call: starts SDP if it is time, or waits for that
 * time.
 * Return: 1: the octets go by SDP; 0: the descriptor belongs to the kernel,
 * call libc; SDP_STREAM_COUNTED: the same, then sdp_enter_out(); -EAGAIN,
 * -EINTR: the result of the call.
 */
#define SDP_STREAM_COUNTED 2
int sdp_stream_begin(struct sdp_sock *sock, int fd, bool is_send, int flags);

/*
 * @flags: MSG_*. @iov has at most IOV_MAX pieces.
 * Return: octets; -errno. Sends SIGPIPE unless MSG_NOSIGNAL is set.
 */
ssize_t sdp_stream_send(struct sdp_sock *sock, int fd, const struct iovec *iov,
			size_t cnt, int flags);
ssize_t sdp_stream_recv(struct sdp_sock *sock, int fd, const struct iovec *iov,
			size_t cnt, int flags);

/* shutdown() starts SDP too. Return: whether it has started. */
bool sdp_stream_is_begun(struct sdp_sock *sock, int fd);

/* The program asks how much data there is (FIONREAD). */
void sdp_stream_look(int fd);

/* STARTING, STREAM: sleeps until the socket is writable. Return: 0; -EINTR. */
int sdp_stream_wait_out(struct sdp_sock *sock);

/* STARTING, STREAM: as shutdown(2). Return: 0; -errno. */
int sdp_stream_shutdown(struct sdp_sock *sock, int fd, int how);

/* TCP_INQ. Return: octets that can be received, and 1 for the peer's end, as
 * with TCP; -1: the option is off. */
int sdp_stream_inq(const struct sdp_sock *sock, int fd);

#endif
