/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See ask.h. */
#include "ask.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/cancel.h"
#include "util/defer.h"
#include "util/log.h"
#include "util/sockopt.h"
#include "util/thread.h"
#include "connect.h"
#include "sock/base/limit.h"
#include "sock/base/nonblock.h"
#include "sock/base/option.h"
#include "sock/base/policy.h"
#include "sock/show/ready.h"
#include "start.h"
#include "stat/sdp-stat.h"
#include "verbs/sdp-link.h"

/* Time limit for rdma_cm. Linux's siw waits as long for an MPA Reply. */
#define CONNECT_NS (20 * NS_PER_S)
/* Time limit of sdp_ask_settle(), which delays a fork. */
#define SETTLE_NS NS_PER_S

/* ---- the thread ---- */

/* Waits until the TCP connection is established or has failed. Return: 0;
 * -errno; -ECANCELED: the program cancelled it. */
static int connect_wait(struct sdp_sock *sock, const union sdp_addr *to)
{
	struct pollfd pfd[] = { { .fd = sock->tcp_fd, .events = POLLOUT },
				{ .fd = sock->start.stop_fd,
				  .events = POLLIN } };
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	int err;

	if (syscall(SYS_connect, sock->tcp_fd, to, sdp_addr_len(to)) < 0 &&
	    errno != EINPROGRESS)
		return -errno;
	do {
		err = (int)syscall(SYS_ppoll, pfd, 2, NULL, NULL, (size_t)0);
	} while (err < 0 && errno == EINTR);
	err = pfd[1].revents
		      ? ECANCELED
		      : util_sockopt_get(sock->tcp_fd, SOL_SOCKET, SO_ERROR);
	/* Dissolves the association, so the socket can connect again. A failed
	 * attempt needs this too: otherwise the next connect() only returns
	 * ECONNABORTED. */
	if (err)
		syscall(SYS_connect, sock->tcp_fd, &none, sizeof(none));
	return -err;
}

static int error_of(const struct sdp_outcome *outcome)
{
	switch (outcome->reason) {
	case SDP_REASON_DEVICE:
	case SDP_REASON_CARRIER:
		return -ENODEV;
	case SDP_REASON_RESOURCE:
		return -ENOMEM;
	default:
		return -ECONNREFUSED;
	}
}

/* The form of the address that rdma_cm can resolve. */
static void addr_plain(union sdp_addr *addr)
{
	sdp_addr_unmap(addr);
	if (addr->sa.sa_family == AF_INET &&
	    addr->in.sin_addr.s_addr == htonl(INADDR_ANY))
		addr->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else if (addr->sa.sa_family == AF_INET6 &&
		 IN6_IS_ADDR_UNSPECIFIED(&addr->in6.sin6_addr))
		addr->in6.sin6_addr = in6addr_loopback;
}

static int connect_cm(struct sdp_sock *sock, const union sdp_addr *to,
		      struct sdp_link **ret_link)
{
	struct sdp_link_options opt = SDP_LINK_OPTIONS_INIT;
	struct sdp_outcome outcome = { .reason = SDP_REASON_NONE };
	union sdp_addr plain = *to;
	bool is_raised;
	int ret;

	addr_plain(&plain);
	is_raised = sdp_limit_begin(sock->tcp_fd);
	ret = sdp_link_connect_cm(ret_link, &plain.sa, sock->start.stop_fd,
				  &opt, sdp_now_ns() + CONNECT_NS, &outcome);
	sdp_limit_end(is_raised);
	if (ret == 0 || ret == -ECANCELED)
		return ret;
	util_info("sdp", "%s: %s", outcome.text,
		  sdp_reason_str(outcome.reason));
	return error_of(&outcome);
}

/* Return: 0: connected to the SDP port, with *ret_link if rdma_cm did it;
 *   -errno: the reason for TCP. */
static int sdp_try(struct sdp_sock *sock, struct sdp_link **ret_link)
{
	struct sdp_target sdp;
	int ret = sdp_policy_find(&sock->peer, &sdp);

	if (ret == -EINPROGRESS)
		ret = sdp_policy_ask(sock->tcp_fd, &sock->peer,
				     sock->start.stop_fd, &sdp);
	if (ret < 0)
		return ret;
	switch (sdp_policy_way()) {
	case SDP_WAY_NONE:
		return -ENODEV;
	case SDP_WAY_FD:
		sock->is_request = sdp.is_request;
		ret = connect_wait(sock, &sdp.addr);
		ret = ret < 0 && ret != -ECANCELED ? -ECONNREFUSED : ret;
		break;
	case SDP_WAY_CM:
		ret = connect_cm(sock, &sdp.addr, ret_link);
		break;
	}
	if (ret < 0 && ret != -ECANCELED && ret != -ENOMEM)
		sdp_policy_avoid(&sock->peer.sa);
	return ret;
}

/* The socket's lock is held. */
static void to_tcp(struct sdp_sock *sock, int why)
{
	int ret = sdp_connect_none();

	if (!sdp_connect_is_sdp_only(sock)) {
		ret = (int)syscall(SYS_connect, sock->tcp_fd, &sock->peer,
				   sdp_addr_len(&sock->peer));
		ret = ret < 0 && errno != EINPROGRESS ? -errno : 0;
	}
	if (ret == 0) {
		sdp_stat_fell_back(NULL, sdp_connect_fallback_of(why));
		sdp_start_give_back(sock, sock->tcp_fd);
		return;
	}
	atomic_store_explicit(&sock->error, -ret, memory_order_relaxed);
	sdp_sock_become(sock, SDP_SOCK_STREAM);
}

static void stop_fd_close(struct sdp_sock *sock)
{
	sdp_private_close(sock->start.stop_fd);
	sock->start.stop_fd = -1;
}

static void *ask_thread(void *arg)
{
	struct sdp_sock *sock = arg;
	struct sdp_link *link = NULL;
	bool is_sdp, is_start, is_closed;
	int ret;

	sdp_inside_enter();
	sdp_verbs_own_thread();
	ret = sdp_try(sock, &link);
	util_lock(&sock->lock);
	is_closed = sock->start.is_closed;
	is_sdp = ret == 0 && !is_closed;
	stop_fd_close(sock);
	if (is_sdp && link)
		sdp_start_stand(sock, link);
	else if (is_sdp)
		sdp_start_connected(sock);
	else if (!is_closed)
		to_tcp(sock, ret);
	else
		sdp_sock_become(sock, SDP_SOCK_STREAM);
	sdp_sock_asking_put(sock, false);
	is_start = is_sdp && !link;
	/* Called with the lock held, for ask_wait(). */
	sdp_sock_tell(sock, -1, is_start ? POLLOUT : SDP_NEWS_ALL);
	util_unlock(&sock->lock);
	if (is_start)
		return sdp_start_run(sock);
	if (!is_sdp && link)
		sdp_link_close(link, 0);
	/* close() left it to this thread. */
	if (is_closed)
		sock->end(sock);
	sdp_sock_drop(sock);
	return NULL;
}

/* ---- calls of the program ---- */

/* Return: -EINPROGRESS; other -errno: no thread was started, nothing has
 *   changed. */
static int ask_begin(struct sdp_sock *sock, int fd)
{
	bool is_raised;
	int ret;

	util_lock(&sock->lock);
	ret = sdp_private_take(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (ret < 0)
		goto out;
	sock->start.stop_fd = ret;
	is_raised = sdp_limit_begin(fd);
	ret = sdp_start_cover(sock, true);
	sdp_limit_end(is_raised);
	if (ret < 0) {
		stop_fd_close(sock);
		goto out;
	}
	/* If the socket returns to TCP, the thread must not block in it. */
	(void)sdp_nonblock_begin(sock->tcp_fd);
	ret = sdp_sock_thread(sock, ask_thread);
	if (ret < 0) {
		stop_fd_close(sock);
		sdp_start_give_back(sock, sock->tcp_fd);
		sdp_sock_asking_put(sock, false);
		goto out;
	}
	ret = -EINPROGRESS;
out:
	util_unlock(&sock->lock);
	return ret;
}

/* There is no connection, and there will be none. A new socket takes the place
 * of the failed one. */
static int refused(struct sdp_sock *sock)
{
	int err =
		atomic_exchange_explicit(&sock->error, 0, memory_order_relaxed);

	(void)sdp_start_undo(sock);
	return err ? -err : sdp_connect_none();
}

/* A blocking connect() waits until the thread has a result. @late: the error at
 * the time-out. */
static int ask_wait(struct sdp_sock *sock, int fd, int late)
{
	int ret = sdp_start_wait(sock, sdp_option_deadline(sock, SO_SNDTIMEO));

	if (ret == -EAGAIN)
		return late;
	if (ret < 0)
		return ret;
	/* The thread drops the socket after the epoll sets were informed. */
	util_lock(&sock->lock);
	util_unlock(&sock->lock);
	/* The TCP socket is connecting: the kernel does the rest. */
	if (sdp_sock_state(sock) == SDP_SOCK_TCP)
		return sdp_connect_finish(sock, fd);
	if (!sdp_sock_link(sock))
		return refused(sock);
	atomic_store_explicit(&sock->is_told, true, memory_order_relaxed);
	return 0;
}

/* With rdma_cm the thread continues after the connection is established, until
 * the peer's program has accepted. */
static bool may_wait(const struct sdp_sock *sock)
{
	return !atomic_load_explicit(&sock->is_nonblock,
				     memory_order_relaxed) &&
	       sdp_policy_way() == SDP_WAY_CM;
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
	else if (sdp_sock_is_asking(sock) && may_wait(sock))
		return ask_wait(sock, fd, -EALREADY);
	ret = sdp_connect(sock, fd, addr, len);
	if (ret != SDP_CONNECT_ASK)
		return ret;
	ret = ask_begin(sock, fd);
	if (ret == -EINPROGRESS && may_wait(sock))
		return ask_wait(sock, fd, -EINPROGRESS);
	if (ret == -EINPROGRESS)
		return ret;
	util_info("sdp", "cannot ask the Port Mapper: %s: using TCP",
		  strerror(-ret));
	return sdp_connect_plain(sock, fd, ret);
}

void sdp_ask_cancel(struct sdp_sock *sock)
{
	/* With TCP this call never sleeps, and no handler could interrupt
	 * it. */
	UTIL_UNINTERRUPTED();
	uint64_t one = 1;

	util_lock(&sock->lock);
	if (sock->start.stop_fd >= 0)
		(void)!util_sys_write(sock->start.stop_fd, &one, sizeof(one));
	util_unlock(&sock->lock);
	(void)sdp_start_asked(sock, SDP_NEVER);
}

void sdp_ask_settle(struct sdp_sock *sock)
{
	UTIL_UNINTERRUPTED(); /* as in sdp_ask_cancel() */

	if (!sdp_start_asked(sock, sdp_now_ns() + SETTLE_NS))
		sdp_ask_cancel(sock);
}
