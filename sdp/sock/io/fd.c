/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See fd.h. */
#include "fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "util/cancel.h"
#include "util/clock.h"
#include "util/defer.h"
#include "util/keep-errno.h"
#include "util/sockopt.h"
#include "util/user.h"
#include "sock/listen/acceptor.h"
#include "sock/enter/enter.h"
#include "sock/share/end.h"
#include "sock/show/epoll.h"
#include "sock/listen/listen.h"
#include "sock/base/option.h"
#include "sock/show/ready.h"
#include "sock/base/real.h"
#include "sock/share/share.h"
#include "sock/base/signals.h"
#include "sock/start/start.h"
#include "stat/sdp-stat.h"

/* ---- new sockets ---- */

/* The first socket creates the statistics page. */
static pthread_once_t page_once = PTHREAD_ONCE_INIT;
static int page_fd = -1;

static void page_make(void)
{
	int fd = sdp_stat_fd_take();

	if (fd >= 0)
		page_fd = sdp_private_take(fd);
}

void sdp_fd_fork_child(void)
{
	sdp_private_close(page_fd);
	page_fd = -1;
	page_once = (pthread_once_t)PTHREAD_ONCE_INIT;
}

static struct sdp_sock *fd_add(int fd, int domain, int flags)
{
	struct sdp_sock *sock =
		sdp_sock_add(fd, domain, sdp_sock_close, sdp_sock_end);

	if (!sock)
		return NULL;
	pthread_once(&page_once, page_make);
	atomic_store_explicit(&sock->is_nonblock, flags & SOCK_NONBLOCK,
			      memory_order_relaxed);
	return sock;
}

void sdp_fd_socket(int fd, int domain, int type, const void *caller)
{
	UTIL_KEEP_ERRNO();

	if (sdp_inside() || sdp_caller_is_rnic(caller))
		return;
	(void)fd_add(fd, domain, type);
}

static void suit(struct sdp_sock *sock, int fd)
{
	int other = (int)syscall(SYS_socket, AF_INET6,
				 SOCK_STREAM | SOCK_CLOEXEC, 0);
	static const int names[] = { SO_REUSEADDR, SO_REUSEPORT };

	if (other < 0)
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		util_sockopt_set(other, SOL_SOCKET, names[i],
				 util_sockopt_get(fd, SOL_SOCKET, names[i]));
	util_sockopt_set(other, IPPROTO_IPV6, IPV6_V6ONLY, 0);
	syscall(SYS_fcntl, other, F_SETFL, syscall(SYS_fcntl, fd, F_GETFL));
	sdp_options_copy(fd, other);
	util_lock(&sock->lock);
	sdp_watch_leave(sock);
	sdp_sock_cover(sock, other);
	sdp_sock_below_put(sock, other);
	sdp_watch_return(sock);
	util_unlock(&sock->lock);
	util_sys_close(other);
}

void sdp_fd_suit(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct sdp_sock *sock = sdp_sock_get(fd);
	sa_family_t family = AF_UNSPEC;

	if (!sock)
		return;
	if (sock->family == SDP_AF_INET_SDP &&
	    sdp_sock_state(sock) == SDP_SOCK_TCP && len >= sizeof(family) &&
	    util_user_get(&family, addr, sizeof(family)) == 0 &&
	    family == AF_INET6 && sdp_addr_family(fd) == AF_INET)
		suit(sock, fd);
	sdp_sock_put(sock);
}

/* @peer is new, and no other thread uses it. Return: its number; -errno. */
static int link_accepted(struct sdp_sock *listener, struct sdp_sock *peer,
			 int fd, struct sdp_link *link, struct sockaddr *addr,
			 socklen_t *len)
{
	int ret = peer ? sdp_start_accepted(peer, fd, link) : -ENOMEM;

	if (ret < 0)
		sdp_acceptor_put_back(listener->listening.acceptor, link);
	else if (addr)
		ret = sdp_name_put(&peer->peer, addr, len);
	if (ret == 0)
		return fd;
	/* A connection whose peer address is unknown is lost, as with TCP. */
	sdp_fd_close(fd);
	return ret;
}

int sdp_fd_accept(struct sdp_sock *sock, int fd, struct sockaddr *addr,
		  socklen_t *len, int flags)
{
	struct sdp_came came = { .is_sdp = false };
	struct sdp_sock *peer;
	int ret;

	if (sdp_sock_state(sock) == SDP_SOCK_LISTENING) {
		ret = sdp_listen_accept(sock, addr, len, flags, &came);
	} else {
		ret = UTIL_DEFER_SLEEP(
			sdp_real()->accept4(fd, addr, len, flags),
			sdp_signals_go_on(fd, 0));
		ret = ret < 0 ? -errno : ret;
	}
	if (ret < 0)
		return ret;
	peer = fd_add(ret, sock->family, flags);
	if (peer && came.is_sdp) {
		peer->is_accepting = true;
		peer->port = sock->port;
		peer->is_told = came.link != NULL;
	}
	if (came.link)
		return link_accepted(sock, peer, ret, came.link, addr, len);
	if (!peer && came.is_sdp) {
		util_sys_close(ret);
		return -ENOMEM;
	}
	if (came.is_sdp)
		sdp_sock_become(peer, SDP_SOCK_PENDING);
	else if (peer && sdp_sock_state(sock) == SDP_SOCK_LISTENING &&
		 !sock->listening.acceptor) /* the device has the direct verb */
		sdp_enter_begin(peer, SDP_ENTER_ACCEPTED);
	return ret;
}

/* ---- close ---- */

static int real_close(int fd)
{
	return sdp_real()->close(fd) < 0 ? -errno : 0;
}

/* The number leaves the table before it is closed. A call that is about to
 * replace it by the shadow has done so by then. */
static void uninstall(int fd)
{
	struct sdp_sock *sock = sdp_sock_get(fd);

	util_fdtab_uninstall(sdp_table(), fd, NULL);
	if (!sock)
		return;
	util_lock(&sock->shadow.lock);
	util_unlock(&sock->shadow.lock);
	sdp_sock_put(sock);
}

int sdp_fd_close(int fd)
{
	enum sdp_fd_kind kind = sdp_fd_kind(fd);

	if (kind == SDP_FD_NONE || !sdp_is_owner())
		return real_close(fd);
	if (kind == SDP_FD_PRIVATE)
		return -EBADF; /* the program has no such descriptor */
	sdp_share_close(fd);
	uninstall(fd);
	return real_close(fd);
}

void sdp_fd_forget(int fd)
{
	if (sdp_fd_kind(fd) != SDP_FD_SOCK || !sdp_is_owner())
		return;
	sdp_share_close(fd);
	uninstall(fd);
}

static int real_close_range(unsigned int first, unsigned int last, int flags)
{
	return sdp_real()->close_range(first, last, flags) < 0 ? -errno : 0;
}

int sdp_fd_close_range(unsigned int first, unsigned int last, int flags)
{
	unsigned int from = first;
	int ret;

	if (first > last || (flags & ~CLOSE_RANGE_UNSHARE) || !sdp_is_owner())
		return real_close_range(first, last, flags);
	/* Checks whether the kernel supports it before anything is closed. */
	ret = real_close_range(~0u, ~0u, flags);
	if (ret < 0)
		return ret;
	for (unsigned int fd = first; fd <= last && fd < UTIL_FD_MAX; fd++) {
		if (sdp_fd_kind((int)fd) == SDP_FD_NONE)
			continue;
		/* A socket of the table, or a descriptor of the library: skip
		 * it. */
		if (fd > from) {
			ret = real_close_range(from, fd - 1, flags);
			if (ret < 0)
				return ret;
		}
		sdp_fd_close((int)fd);
		from = fd + 1;
	}
	return from > last ? 0 : real_close_range(from, last, flags);
}

void sdp_fd_close_from(unsigned int first)
{
	if (sdp_fd_close_range(first, ~0u, 0) == 0)
		return;
	/* The kernel does not have close_range(). */
	for (unsigned int fd = first; fd < UTIL_FD_MAX; fd++)
		sdp_fd_close((int)fd);
}

/* ---- duplicates ---- */

/* How long a number is waited for that the kernel is about to give out. */
#define BUSY_NS (100 * NS_PER_MS)

static struct util_file *file_get(int fd, enum sdp_fd_kind kind)
{
	return kind == SDP_FD_SOCK || kind == SDP_FD_EPOLL
		       ? util_fdtab_get(sdp_table(), fd, kind)
		       : NULL;
}

static int dup_finish(int fd, int new_fd)
{
	enum sdp_fd_kind kind = sdp_fd_kind(fd);
	struct util_file *file;
	int ret;

	if (new_fd < 0)
		return -errno;
	file = sdp_is_owner() ? file_get(fd, kind) : NULL;
	if (!file)
		return new_fd;
	if (kind == SDP_FD_SOCK)
		ret = sdp_sock_add_dup(sdp_sock_of(file), new_fd, fd);
	else
		ret = util_fdtab_install(sdp_table(), new_fd, kind, file);
	util_file_put(file);
	if (ret < 0) {
		real_close(new_fd);
		return ret;
	}
	return new_fd;
}

int sdp_fd_dup(int fd, int lowest, bool is_cloexec)
{
	return dup_finish(
		fd,
		sdp_real()->fcntl(fd, is_cloexec ? F_DUPFD_CLOEXEC : F_DUPFD,
				  lowest));
}

/*
 * The kernel says EBUSY while another thread opens a descriptor with that
 * number. It may be a thread of the library, of which the program knows
 * nothing.
 */
static int real_dup3(int fd, int new_fd, int flags)
{
	static const struct timespec nap = { .tv_nsec = 100000 };
	uint64_t deadline = 0;
	int ret;

	for (;;) {
		ret = sdp_real()->dup3(fd, new_fd, flags);
		if (ret >= 0 || errno != EBUSY)
			return ret;
		if (deadline == 0)
			deadline = sdp_now_ns() + BUSY_NS;
		else if (sdp_now_ns() >= deadline)
			return ret;
		syscall(SYS_nanosleep, &nap, NULL);
	}
}

int sdp_fd_dup3(int fd, int new_fd, int flags)
{
	enum sdp_fd_kind kind = sdp_fd_kind(new_fd);
	int ret;

	if (fd == new_fd || (flags & ~O_CLOEXEC))
		return -EINVAL;
	if (sdp_is_owner() && kind != SDP_FD_NONE) {
		/* An invalid @fd must not close the program's @new_fd. */
		if (sdp_real()->fcntl(fd, F_GETFD) < 0)
			return -errno;
		if (kind == SDP_FD_PRIVATE)
			return -EBUSY;
		sdp_share_close(new_fd);
		uninstall(new_fd);
	}
	ret = real_dup3(fd, new_fd, flags);
	return dup_finish(fd, ret);
}

void sdp_fd_nonblock(struct sdp_sock *sock, bool is_nonblock)
{
	atomic_store_explicit(&sock->is_nonblock, is_nonblock,
			      memory_order_relaxed);
}

static bool has_shadow(const struct sdp_sock *sock)
{
	enum sdp_sock_state state = sdp_sock_state(sock);

	return state == SDP_SOCK_STARTING || state == SDP_SOCK_STREAM;
}

void sdp_fd_async(struct sdp_sock *sock, int fd, bool is_async)
{
	atomic_store_explicit(&sock->is_async, is_async, memory_order_relaxed);
	if (has_shadow(sock))
		sdp_sock_watch(sock, fd);
}

void sdp_fd_own(struct sdp_sock *sock, int cmd, const void *arg)
{
	if (has_shadow(sock))
		syscall(SYS_fcntl, sock->tcp_fd, cmd, arg);
}
