/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See ask.h. */
#include "ask.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../util/cancel.h"
#include "../../util/log.h"
#include "../../util/thread.h"
#include "connect.h"
#include "limit.h"
#include "policy.h"
#include "ready.h"
#include "start.h"
#include "stat/sdp-stat.h"
#include "verbs/sdp-link.h"

/* ---- the thread ---------------------------------------------------------- */

/* Until the TCP connection stands, or has failed.  Return: 0; -errno;
 * -ECANCELED: the program does not want it any more. */
static int connect_wait(struct sdp_sock *sock, const union sdp_addr *to)
{
	struct pollfd pfd[] = { { .fd = sock->tcp_fd, .events = POLLOUT },
				{ .fd = sock->stop_fd, .events = POLLIN } };
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	int err = 0;
	socklen_t len = sizeof(err);

	if (syscall(SYS_connect, sock->tcp_fd, to, sdp_connect_addr_len(to)) <
		    0 &&
	    errno != EINPROGRESS)
		return -errno;
	do {
		err = (int)syscall(SYS_ppoll, pfd, 2, NULL, NULL, (size_t)0);
	} while (err < 0 && errno == EINTR);
	if (pfd[1].revents) {
		/* Broken off, so that it can be made elsewhere. */
		syscall(SYS_connect, sock->tcp_fd, &none, sizeof(none));
		return -ECANCELED;
	}
	err = 0;
	syscall(SYS_getsockopt, sock->tcp_fd, SOL_SOCKET, SO_ERROR, &err, &len);
	return -err;
}

/* Return: 0: connected to the SDP port; -errno: why not. */
static int sdp_try(struct sdp_sock *sock)
{
	union sdp_addr sdp;
	int ret =
		sdp_policy_ask(sock->tcp_fd, &sock->peer, sock->stop_fd, &sdp);

	if (ret < 0)
		return ret;
	if (!sdp_policy_has_device())
		return -ENODEV;
	ret = connect_wait(sock, &sdp);
	if (ret < 0 && ret != -ECANCELED) {
		sdp_policy_avoid(&sock->peer.sa);
		ret = -ECONNREFUSED;
	}
	return ret;
}

/* With the socket's lock. */
static void to_tcp(struct sdp_sock *sock, int why)
{
	int ret = -ECONNREFUSED;

	if (sdp_connect_policy(sock, &sock->peer.sa) != SDP_POLICY_SDP) {
		ret = (int)syscall(SYS_connect, sock->tcp_fd, &sock->peer,
				   sdp_connect_addr_len(&sock->peer));
		ret = ret < 0 && errno != EINPROGRESS ? -errno : 0;
	}
	if (ret == 0) {
		sdp_stat_fell_back(NULL, sdp_connect_fallback_of(why));
		sdp_start_give_back(sock);
		return;
	}
	atomic_store_explicit(&sock->error, -ret, memory_order_relaxed);
	sdp_sock_become(sock, SDP_SOCK_STREAM);
}

static void stop_fd_close(struct sdp_sock *sock)
{
	sdp_private_close(sock->stop_fd);
	sock->stop_fd = -1;
}

static void *ask_thread(void *arg)
{
	struct sdp_sock *sock = arg;
	bool is_sdp;
	int ret;

	sdp_inside_enter();
	sdp_verbs_own_thread();
	ret = sdp_try(sock);
	util_lock(&sock->lock);
	is_sdp = ret == 0 && !sock->is_closed;
	stop_fd_close(sock);
	if (is_sdp)
		sdp_start_connected(sock);
	else if (!sock->is_closed)
		to_tcp(sock, ret);
	else
		sdp_sock_become(sock, SDP_SOCK_STREAM);
	/* release: what has come of it; pairs with sdp_sock_is_asking() */
	atomic_store_explicit(&sock->is_asking, false, memory_order_release);
	util_unlock(&sock->lock);
	if (is_sdp) {
		sdp_sock_tell(sock, -1, POLLOUT);
		return sdp_start_run(sock);
	}
	sdp_start_over(sock);
	return NULL;
}

/* ---- calls of the program's -------------------------------------------------
 */

static int stop_fd_make(void)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), ret;

	if (fd < 0)
		return -errno;
	ret = sdp_private_add(fd);
	if (ret < 0)
		util_sys_close(fd);
	return ret;
}

/* Return: -EINPROGRESS; other -errno: no such attempt, nothing has changed. */
static int ask_begin(struct sdp_sock *sock, int fd)
{
	bool is_raised;
	int ret;

	util_lock(&sock->lock);
	ret = stop_fd_make();
	if (ret < 0)
		goto out;
	sock->stop_fd = ret;
	is_raised = sdp_limit_begin(fd);
	ret = sdp_start_cover(sock, fd);
	sdp_limit_end(is_raised);
	if (ret < 0) {
		stop_fd_close(sock);
		goto out;
	}
	ret = sdp_sock_thread(sock, ask_thread);
	if (ret < 0) {
		stop_fd_close(sock);
		sdp_start_give_back(sock);
		atomic_store_explicit(&sock->is_asking, false,
				      memory_order_release);
		goto out;
	}
	ret = -EINPROGRESS;
out:
	util_unlock(&sock->lock);
	return ret;
}

int sdp_ask_connect(struct sdp_sock *sock, int fd, const struct sockaddr *addr,
		    socklen_t len)
{
	bool is_undone = sdp_connect_is_undone(sock, addr, len);
	int ret;

	if (is_undone && sdp_sock_is_asking(sock))
		sdp_ask_cancel(sock);
	else if (is_undone)
		return sdp_start_undo(sock);
	ret = sdp_connect(sock, fd, addr, len);
	if (ret != SDP_CONNECT_ASK)
		return ret;
	ret = ask_begin(sock, fd);
	if (ret == -EINPROGRESS)
		return ret;
	util_info("sdp", "nobody can ask the Port Mapper: %s: TCP",
		  strerror(-ret));
	return sdp_connect_plain(sock, fd, ret);
}

#define CANCEL_NS 1000000ull

void sdp_ask_cancel(struct sdp_sock *sock)
{
	UTIL_SIGNALS_OFF(); /* as in sdp_connect_settle() */
	uint64_t one = 1;

	util_lock(&sock->lock);
	if (sock->stop_fd >= 0)
		(void)!util_sys_write(sock->stop_fd, &one, sizeof(one));
	util_unlock(&sock->lock);
	/* The thread's next step ends it. */
	while (sdp_sock_is_asking(sock))
		(void)sdp_start_wait(sock, sdp_now_ns() + CANCEL_NS);
}
