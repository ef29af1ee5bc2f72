/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Calls with several buffers or messages: readv(), sendmsg() and similar
 * functions. */
#ifndef SDP_SOCK_MESSAGE_H
#define SDP_SOCK_MESSAGE_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "sock/base/table.h"

/* All functions: STARTING, STREAM. Return: octets, or messages; -errno. */
ssize_t sdp_message_readv(struct sdp_sock *sock, int fd,
			  const struct iovec *iov, int cnt, int rwf_flags);
ssize_t sdp_message_writev(struct sdp_sock *sock, int fd,
			   const struct iovec *iov, int cnt, int rwf_flags);
ssize_t sdp_message_recv(struct sdp_sock *sock, int fd, struct msghdr *msg,
			 int flags);
ssize_t sdp_message_send(struct sdp_sock *sock, int fd,
			 const struct msghdr *msg, int flags);
int sdp_message_recv_many(struct sdp_sock *sock, int fd, struct mmsghdr *msgs,
			  unsigned int cnt, int flags);
int sdp_message_send_many(struct sdp_sock *sock, int fd, struct mmsghdr *msgs,
			  unsigned int cnt, int flags);

/* recvfrom() on a stream returns no address. Returns @ret. */
ssize_t sdp_message_no_name(socklen_t *len, bool is_wanted, ssize_t ret);

/* sendto() on a stream needs no address, but the kernel reads it. Return: 0;
 * -EINVAL; -EFAULT. */
int sdp_message_check_name(const struct sockaddr *addr, socklen_t len);

#endif
