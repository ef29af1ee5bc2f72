/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See listen.h. */
#include "listen.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cancel.h"
#include "util/defer.h"
#include "util/log.h"
#include "util/sockopt.h"
#include "acceptor.h"
#include "sock/show/epoll.h"
#include "sock/base/announce.h"
#include "sock/base/limit.h"
#include "sock/base/mark.h"
#include "sock/base/nonblock.h"
#include "sock/base/option.h"
#include "sock/base/policy.h"
#include "sock/base/real.h"
#include "sock/base/signals.h"
#include "sock/base/tcp-state.h"
#include "sock/base/turn.h"
#include "stat/sdp-stat.h"

/*
 * Makes a listener on an SDP port, with the address @addr of @fd.
 * Return: descriptor, *ret_port; -errno.
 */
static int twin_make(int fd, const union sdp_addr *addr, int backlog,
		     uint16_t *ret_port)
{
	union sdp_addr name = *addr;
	int twin, ret;

	twin = (int)syscall(SYS_socket, addr->sa.sa_family,
			    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (twin < 0)
		return -errno;
	sdp_addr_set_port(&name, 0);
	sdp_mark_put(twin, &(struct sdp_mark){ .port = sdp_addr_port(addr),
					       .is_accepting = true });
	if (addr->sa.sa_family == AF_INET6)
		util_sockopt_set(
			twin, IPPROTO_IPV6, IPV6_V6ONLY,
			util_sockopt_get(fd, IPPROTO_IPV6, IPV6_V6ONLY));
	sdp_options_copy(fd, twin);
	if (syscall(SYS_bind, twin, &name, sizeof(name)) < 0 ||
	    syscall(SYS_listen, twin, backlog) < 0)
		goto err;
	ret = sdp_addr_get(twin, false, &name);
	if (ret == 0)
		ret = sdp_private_add(twin);
	if (ret < 0) {
		errno = -ret;
		goto err;
	}
	*ret_port = sdp_addr_port(&name);
	return ret;
err:
	ret = -errno;
	util_sys_close(twin);
	return ret;
}

static bool is_dual(int fd, const union sdp_addr *addr)
{
	return addr->sa.sa_family == AF_INET6 &&
	       IN6_IS_ADDR_UNSPECIFIED(&addr->in6.sin6_addr) &&
	       !util_sockopt_get(fd, IPPROTO_IPV6, IPV6_V6ONLY);
}

/* The same by rdma_cm.  Return: descriptor, *ret_port; -errno. */
static int acceptor_make(struct sdp_sock *sock, int fd,
			 const union sdp_addr *addr, int backlog,
			 uint16_t *ret_port)
{
	union sdp_addr name = *addr;
	bool old = sdp_inside_enter();
	int twin, ret;

	sdp_addr_set_port(&name, 0);
	sdp_addr_unmap(&name);
	ret = sdp_acceptor_new(&sock->listening.acceptor, &name,
			       is_dual(fd, &name), backlog, ret_port, &twin);
	sdp_inside_leave(old);
	return ret < 0 ? ret : twin;
}

/* The twin and the announcement must exist before the TCP port listens. */
static int twin_start(struct sdp_sock *sock, int fd, int backlog)
{
	union sdp_addr name;
	uint16_t sdp_port = 0;
	int twin, ret = sdp_addr_get(fd, false, &name);
	enum sdp_use use;
	enum sdp_way way;

	if (ret < 0)
		return ret;
	use = sdp_policy_use(sock, SDP_RULE_SERVER, &name.sa);
	if (use == SDP_USE_TCP)
		return -EPERM;
	sock->listening.is_sdp_only = use == SDP_USE_SDP;
	way = sdp_policy_way();
	if (way == SDP_WAY_NONE)
		return -ENODEV;
	if (!sdp_limit_is_enough(fd))
		return -EMFILE;
	twin = way == SDP_WAY_CM
		       ? acceptor_make(sock, fd, &name, backlog, &sdp_port)
		       : twin_make(fd, &name, backlog, &sdp_port);
	if (twin < 0)
		return twin;
	sock->port = sdp_addr_port(&name);
	sock->listening.twin_fd = twin;
	if (!sock->listening.turn)
		sock->listening.turn = sdp_turn_new();
	ret = sdp_announce(fd, sdp_port, way == SDP_WAY_CM);
	sock->listening.note_fd = ret;
	if (ret >= 0)
		ret = sdp_sock_below_take(sock);
	if (ret < 0)
		sdp_listen_end(sock);
	return ret;
}

static int kernel_listen(int fd, int backlog)
{
	return sdp_real()->listen(fd, backlog) < 0 ? -errno : 0;
}

static int listen_fresh(struct sdp_sock *sock, int fd, int backlog)
{
	bool was_bound = sdp_addr_is_bound(fd);
	int ret = 0, twin_ret;

	/* listen() binds a socket that was not bound. */
	if (!was_bound)
		ret = kernel_listen(fd, backlog);
	if (ret < 0)
		return ret;
	twin_ret = twin_start(sock, fd, backlog);
	if (was_bound && (twin_ret == 0 || !sock->listening.is_sdp_only))
		ret = kernel_listen(fd, backlog);
	if (ret < 0) {
		sdp_listen_end(sock);
		return ret;
	}
	if (twin_ret < 0 && sock->listening.is_sdp_only) {
		util_warn("sdp", "no SDP port for descriptor %d: %s", fd,
			  strerror(-twin_ret));
		return twin_ret;
	}
	if (twin_ret < 0) {
		if (twin_ret != -EPERM)
			util_info("sdp", "no SDP port for descriptor %d: %s",
				  fd, strerror(-twin_ret));
		return 0;
	}
	sdp_stat_count(SDP_STAT_listens);
	sdp_watch_twin(sock, EPOLL_CTL_ADD, sock->listening.twin_fd);
	sdp_sock_become(sock, SDP_SOCK_LISTENING);
	return 0;
}

int sdp_listen(struct sdp_sock *sock, int fd, int backlog)
{
	int ret;

	util_lock(&sock->lock);
	switch (sdp_sock_state(sock)) {
	case SDP_SOCK_TCP:
		ret = listen_fresh(sock, fd, backlog);
		break;
	case SDP_SOCK_LISTENING:
		ret = kernel_listen(fd, backlog);
		if (ret == 0 && sock->listening.acceptor)
			sdp_acceptor_set_backlog(sock->listening.acceptor,
						 backlog);
		else if (ret == 0)
			syscall(SYS_listen, sock->listening.twin_fd, backlog);
		break;
	default:
		ret = -EINVAL;
		break;
	}
	util_unlock(&sock->lock);
	return ret;
}

/* ---- accept ---- */

/* Calls libc's function, because it is a cancellation point. */
static int kernel_accept(int fd, struct sockaddr *addr, socklen_t *len,
			 int flags)
{
	int ret = sdp_real()->accept4(fd, addr, len, flags);

	return ret < 0 ? -errno : ret;
}

/*
 * The TCP port has a connection, or had one. Another process may accept it
 * first. The call must not sleep then, because the twin may have more.
 */
static int accept_without_wait(struct sdp_turn *turn, int fd,
			       struct sockaddr *addr, socklen_t *len, int flags)
{
	long old;
	int ret;

	/* accept() is a cancellation point. No thread ends with the turn. */
	pthread_testcancel();
	sdp_turn_take(turn);
	old = sdp_nonblock_begin(fd);
	ret = (int)syscall(SYS_accept4, fd, addr, len, flags);
	if (ret < 0)
		ret = -errno;
	sdp_nonblock_end(fd, old);
	sdp_turn_leave(turn);
	return ret;
}

/* Return: 0: a connection may be there; -errno. */
static int accept_wait(struct sdp_sock *sock, int fd)
{
	struct pollfd pfd[] = { { .fd = fd, .events = POLLIN },
				{ .fd = sock->listening.twin_fd,
				  .events = POLLIN } };
	/* For a listener this is the time limit of accept(). */
	int ms = sdp_option_time_ms(sock, fd, SO_RCVTIMEO), ret;

	do {
		ret = UTIL_DEFER_SLEEP(sdp_real()->poll(pfd, 2, ms), false);
	} while (ret < 0 && errno == EINTR && ms < 0 && sdp_signals_restart());
	if (ret < 0)
		return -errno;
	/* SHUT_RD wakes accept() with EINVAL. */
	return ret == 0 ? -EAGAIN : 0;
}

/* Resets a connection that the kernel has accepted. Return: whether there was
 * one. */
static bool tcp_refuse(struct sdp_turn *turn, int fd)
{
	int tcp_fd = accept_without_wait(turn, fd, NULL, NULL, SOCK_CLOEXEC);

	if (tcp_fd < 0)
		return false;
	util_info("sdp",
		  "descriptor %d accepts only SDP: a TCP connection was "
		  "reset",
		  fd);
	sdp_tcp_end_by_reset(tcp_fd, true);
	util_sys_close(tcp_fd);
	return true;
}

/* Makes the TCP socket below a link. It is not connected, and has the options
 * of the listener. Return: descriptor; -EAGAIN: no link waits; -errno. */
static int link_accept(struct sdp_sock *sock, int flags,
		       struct sdp_link **ret_link)
{
	struct sdp_link *link = sdp_acceptor_take(sock->listening.acceptor);
	int fd, ret;

	if (!link)
		return -EAGAIN;
	fd = (int)syscall(
		SYS_socket, sdp_addr_family(sock->tcp_fd),
		SOCK_STREAM | (flags & (SOCK_CLOEXEC | SOCK_NONBLOCK)), 0);
	ret = fd < 0 ? -errno : fd;
	if (ret < 0) {
		sdp_acceptor_put_back(sock->listening.acceptor, link);
		return ret;
	}
	sdp_options_copy(sock->tcp_fd, fd);
	*ret_link = link;
	return fd;
}

static int twin_accept(struct sdp_sock *sock, struct sockaddr *addr,
		       socklen_t *len, int flags, struct sdp_came *ret_came)
{
	*ret_came = (struct sdp_came){ .is_sdp = true };
	if (!sock->listening.acceptor)
		return kernel_accept(sock->listening.twin_fd, addr, len, flags);
	if (flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK))
		return -EINVAL;
	return link_accept(sock, flags, &ret_came->link);
}

int sdp_listen_accept(struct sdp_sock *sock, struct sockaddr *addr,
		      socklen_t *len, int flags, struct sdp_came *ret_came)
{
	struct sdp_turn *turn = sock->listening.turn;
	int fd = sock->tcp_fd, ret;

	for (;;) {
		ret = twin_accept(sock, addr, len, flags, ret_came);
		if (ret != -EAGAIN)
			return ret;
		while (sock->listening.is_sdp_only && tcp_refuse(turn, fd))
			;
		ret_came->is_sdp = false;
		ret = accept_without_wait(turn, fd, addr, len, flags);
		if (ret != -EAGAIN || sock->is_nonblock)
			return ret;
		ret = accept_wait(sock, fd);
		if (ret < 0)
			return ret;
	}
}

void sdp_listen_end(struct sdp_sock *sock)
{
	sdp_private_close(sock->listening.note_fd);
	if (sock->listening.acceptor)
		sdp_acceptor_free(sock->listening.acceptor);
	else
		sdp_private_close(sock->listening.twin_fd);
	sock->listening.acceptor = NULL;
	sock->listening.note_fd = -1;
	sock->listening.twin_fd = -1;
}

void sdp_listen_fork(struct sdp_sock *sock)
{
	util_lock(&sock->lock);
	if (sdp_sock_state(sock) == SDP_SOCK_LISTENING &&
	    sock->listening.acceptor) {
		sdp_private_close(sock->listening.note_fd);
		sock->listening.note_fd = -1;
		sdp_acceptor_stop(sock->listening.acceptor);
	}
	util_unlock(&sock->lock);
}

void sdp_listen_fork_child(struct sdp_sock *sock)
{
	if (sdp_sock_state(sock) != SDP_SOCK_LISTENING ||
	    !sock->listening.acceptor)
		return;
	sdp_acceptor_forget(sock->listening.acceptor);
	sock->listening.acceptor = NULL;
	sock->listening.twin_fd = -1;
	sdp_listen_end(sock);
	sdp_sock_become(sock, SDP_SOCK_TCP);
}
