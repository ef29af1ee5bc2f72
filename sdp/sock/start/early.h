/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the program sends before the link is established. The socket's lock is
 * held in all calls. */
#ifndef SDP_SOCK_EARLY_H
#define SDP_SOCK_EARLY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "sock/base/table.h"

/* Stores the octets, at most SDP_EARLY_MAX in all, and none where there is no
 * space for @least of them; @is_urgent: the last of them is urgent. As with
 * TCP, that makes data of an earlier one. Return: how many were stored;
 * -EAGAIN: no space; -EFAULT; -ENOMEM. */
ssize_t sdp_early_add(struct sdp_sock *sock, const struct iovec *iov,
		      size_t cnt, size_t least, bool is_urgent);

/* What is stored from @at on, as far as one send takes it: the octets before
 * the urgent one, that one, or those behind it. */
struct iovec sdp_early_piece(const struct sdp_sock *sock, size_t at,
			     bool *ret_is_urgent);

/* Sends what is stored by TCP. The lock is released meanwhile. Return: 0;
 * -errno. */
int sdp_early_send(struct sdp_sock *sock, int tcp_fd);

/* Frees it. */
void sdp_early_drop(struct sdp_sock *sock);

#endif
