/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See early.h. */
#include "early.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cancel.h"
#include "sock/base/events.h"
#include "util/user.h"

static void len_put(struct sdp_sock *sock, uint32_t len)
{
	/* relaxed: written with the sock's lock; others read only the count */
	atomic_store_explicit(&sock->start.early_len, len,
			      memory_order_relaxed);
}

ssize_t sdp_early_add(struct sdp_sock *sock, const struct iovec *iov,
		      size_t cnt, size_t least, bool is_urgent)
{
	uint32_t kept = sdp_sock_early_len(sock);
	size_t taken = 0, wanted = 0, len;
	int bad = 0;

	if (!sock->start.early)
		sock->start.early = malloc(SDP_EARLY_MAX);
	if (!sock->start.early)
		return -ENOMEM;
	if (SDP_EARLY_MAX - kept < least)
		return -EAGAIN;
	for (size_t i = 0; i < cnt; i++) {
		len = SDP_EARLY_MAX - kept;
		if (len > iov[i].iov_len)
			len = iov[i].iov_len;
		bad = util_user_get(sock->start.early + kept, iov[i].iov_base,
				    len);
		if (bad < 0)
			break;
		kept += (uint32_t)len;
		taken += len;
		wanted += iov[i].iov_len;
	}
	if (is_urgent && bad == 0 && taken == wanted)
		sock->start.early_urgent = kept;
	len_put(sock, kept);
	return taken > 0 ? (ssize_t)taken : bad < 0 ? bad : -EAGAIN;
}

struct iovec sdp_early_piece(const struct sdp_sock *sock, size_t at,
			     bool *ret_is_urgent)
{
	size_t end = sdp_sock_early_len(sock);

	*ret_is_urgent = sock->start.early_urgent == at + 1;
	if (*ret_is_urgent)
		end = at + 1;
	else if (sock->start.early_urgent > at)
		end = sock->start.early_urgent - 1;
	return (struct iovec){ .iov_base = sock->start.early + at,
			       .iov_len = end - at };
}

/* The program may have set O_NONBLOCK or a time limit. Return: 0; -errno. */
static int send_all(int fd, struct iovec piece, int flags)
{
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };
	long sent;

	while (piece.iov_len > 0) {
		sent = syscall(SYS_sendto, fd, piece.iov_base, piece.iov_len,
			       flags | MSG_NOSIGNAL | MSG_DONTWAIT, NULL, 0);
		if (sent < 0 && errno == EAGAIN) {
			(void)util_sys_poll(&pfd, 1, -1);
			continue;
		}
		if (sent < 0)
			return -errno;
		piece.iov_base = (char *)piece.iov_base + sent;
		piece.iov_len -= (size_t)sent;
	}
	return 0;
}

int sdp_early_send(struct sdp_sock *sock, int tcp_fd)
{
	struct iovec piece;
	size_t done = 0;
	bool is_urgent;
	int ret = 0;

	while (ret >= 0 && sdp_sock_early_len(sock) > done) {
		piece = sdp_early_piece(sock, done, &is_urgent);
		done += piece.iov_len;
		util_unlock(&sock->lock);
		ret = send_all(tcp_fd, piece, is_urgent ? MSG_OOB : 0);
		util_lock(&sock->lock);
	}
	return ret;
}

void sdp_early_drop(struct sdp_sock *sock)
{
	free(sock->start.early);
	sock->start.early = NULL;
	sock->start.early_urgent = 0;
	len_put(sock, 0);
}
