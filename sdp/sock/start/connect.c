/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See connect.h. */
#include "connect.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cancel.h"
#include "util/defer.h"
#include "util/log.h"
#include "util/thread.h"
#include "util/user.h"
#include "sock/base/count-tcp.h"
#include "sock/base/limit.h"
#include "sock/base/mark.h"
#include "sock/base/nonblock.h"
#include "sock/base/option.h"
#include "sock/base/policy.h"
#include "sock/base/real.h"
#include "sock/base/signals.h"
#include "stat/sdp-stat.h"
#include "sock/base/tcp-state.h"
#include "verbs/sdp-link.h"

/*
 * A signal has interrupted the call, perhaps before the kernel's began. The
 * connection goes on: the program asks poll() for the rest.
 * Return: as connect(2).
 */
static int connect_interrupted(int fd, const struct sockaddr *addr,
			       socklen_t len)
{
	long old = sdp_nonblock_begin(fd);
	int ret;

	/* Once more: over the loopback it may be established by now. */
	for (int i = 0; i < 2; i++) {
		ret = syscall(SYS_connect, fd, addr, len) < 0 ? -errno : 0;
		if (ret != -EINPROGRESS)
			break;
	}
	sdp_nonblock_end(fd, old);
	return ret == -EINPROGRESS || ret == -EALREADY ? -EINTR : ret;
}

/* A cancellation point, like connect(). */
static int kernel_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	int ret = UTIL_DEFER_SLEEP(sdp_real()->connect(fd, addr, len),
				   sdp_signals_go_on(fd, 0));

	if (ret < 0 && errno == EINTR)
		return connect_interrupted(fd, addr, len);
	return ret < 0 ? -errno : 0;
}

bool sdp_connect_is_sdp_only(const struct sdp_sock *sock)
{
	return sdp_policy_use(sock, SDP_RULE_CLIENT, &sock->peer.sa) ==
	       SDP_USE_SDP;
}

/* The kernel reports an invalid pointer. */
static bool addr_copy(union sdp_addr *ret_addr, const struct sockaddr *addr,
		      socklen_t len)
{
	*ret_addr = (union sdp_addr){ .sa.sa_family = AF_UNSPEC };
	if (len < sizeof(sa_family_t) || len > sizeof(struct sockaddr_storage))
		return false;
	if (len > sizeof(*ret_addr))
		len = sizeof(*ret_addr);
	if (util_user_get(ret_addr, addr, len) < 0)
		return false;
	return (ret_addr->sa.sa_family == AF_INET &&
		len >= sizeof(struct sockaddr_in)) ||
	       (ret_addr->sa.sa_family == AF_INET6 &&
		len >= sizeof(struct sockaddr_in6));
}

bool sdp_connect_look(struct sdp_sock *sock, int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };

	if (util_sys_poll(&pfd, 1, 0) != 1)
		return false;
	if (pfd.revents & POLLERR) {
		sdp_mark_remove(fd);
		sdp_sock_become(sock, SDP_SOCK_TCP);
	}
	/* A thread may be about to connect it: HUP alone. */
	return !(pfd.revents & (POLLERR | POLLHUP));
}

void sdp_connect_settle(struct sdp_sock *sock, int fd)
{
	util_lock(&sock->lock);
	if (sdp_sock_state(sock) == SDP_SOCK_PENDING && !sock->is_accepting)
		(void)sdp_connect_look(sock, fd);
	util_unlock(&sock->lock);
}

static bool is_for_tcp(int err)
{
	return err == -ECONNREFUSED || err == -ECONNRESET ||
	       err == -EHOSTUNREACH || err == -ENETUNREACH || err == -ETIMEDOUT;
}

/* Maps an answer of the registry or of the Port Mapper. */
enum sdp_stat_fallback sdp_connect_fallback_of(int err)
{
	switch (err) {
	case -ENOENT:
		return SDP_STAT_FALLBACK_no_listener;
	case -EPERM:
		return SDP_STAT_FALLBACK_foreign;
	case -ECONNREFUSED: /* no TCP listener either, or a port to avoid */
		return SDP_STAT_FALLBACK_refused;
	case -EADDRNOTAVAIL:
	case -ECANCELED: /* the program could not wait for the answer */
		return SDP_STAT_FALLBACK_no_answer;
	case -EACCES:
		return SDP_STAT_FALLBACK_denied;
	case -ENODEV:
		return SDP_STAT_FALLBACK_no_device;
	case -EADDRINUSE: /* rdma_cm cannot use the socket's own port */
		return SDP_STAT_FALLBACK_unsupported;
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM:
		return SDP_STAT_FALLBACK_no_memory;
	default:
		return SDP_STAT_FALLBACK_error;
	}
}

static int connect_tcp(int fd, const union sdp_addr *dst,
		       enum sdp_stat_fallback why)
{
	int ret = kernel_connect(fd, &dst->sa, sdp_addr_len(dst));

	/* A connection that TCP refuses too did not fall back. */
	if (ret == 0 || ret == -EINPROGRESS)
		sdp_stat_fell_back(NULL, why);
	return ret;
}

/* connect() with AF_UNSPEC dissolves the association. */
static bool is_to_none(const struct sockaddr *addr, socklen_t len)
{
	sa_family_t family;

	return len >= sizeof(family) &&
	       util_user_get(&family, addr, sizeof(family)) == 0 &&
	       family == AF_UNSPEC;
}

static bool is_under_way(int ret)
{
	return ret == -EINPROGRESS || ret == -EALREADY || ret == -EINTR ||
	       ret == -EISCONN;
}

/*
 * PENDING. Other threads that use the socket wait for the connection. One of
 * them may find it established and start SDP, or shut it down. Some errors, for
 * example EFAULT, do not end it.
 * Return: as connect(2).
 */
static int attempt(struct sdp_sock *sock, int fd, const struct sockaddr *addr,
		   socklen_t len)
{
	int ret = kernel_connect(fd, addr, len);
	bool is_refused;

	util_lock(&sock->lock);
	is_refused = sdp_sock_state(sock) == SDP_SOCK_PENDING &&
		     is_for_tcp(ret);
	if (sdp_sock_state(sock) == SDP_SOCK_PENDING &&
	    sdp_tcp_state(fd) == TCP_CLOSE) {
		sdp_mark_remove(fd);
		sdp_sock_become(sock, SDP_SOCK_TCP);
	}
	util_unlock(&sock->lock);
	if (!is_refused || sdp_connect_is_sdp_only(sock))
		return ret;
	sdp_policy_avoid(&sock->peer.sa);
	return connect_tcp(fd, &sock->peer, SDP_STAT_FALLBACK_refused);
}

static int connect_sdp(struct sdp_sock *sock, int fd, const union sdp_addr *dst,
		       const struct sdp_target *to)
{
	bool is_first;

	util_lock(&sock->lock);
	is_first = sdp_sock_state(sock) == SDP_SOCK_TCP;
	if (is_first) {
		sock->peer = *dst;
		sock->is_request = to->is_request;
		sdp_mark_put(
			fd, &(struct sdp_mark){ .port = sdp_addr_port(dst),
						.is_request = to->is_request });
		sdp_sock_become(sock, SDP_SOCK_PENDING);
	}
	util_unlock(&sock->lock);
	if (!is_first)
		return kernel_connect(fd, &dst->sa, sdp_addr_len(dst));
	return attempt(sock, fd, &to->addr.sa, sdp_addr_len(&to->addr));
}

/*
 * Where rdma_cm makes the connection, a thread does so for all destinations
 * with a port, because the steps of rdma_cm can neither be cancelled nor waited
 * for in the kernel. The same for a connect() that must not wait, to a port of
 * another host, which may refuse. The listener of this host is there.
 * Return: 0, *ret_target; -EINPROGRESS: a thread must ask; other -errno: use
 *   TCP.
 */
static int target_find(int fd, const union sdp_addr *dst,
		       struct sdp_target *ret_target)
{
	int ret = sdp_policy_find(dst, ret_target);
	enum sdp_way way;

	if (ret != 0 && ret != -EINPROGRESS)
		return ret;
	if (!sdp_limit_is_enough(fd))
		return -EMFILE;
	way = sdp_policy_way();
	if (way == SDP_WAY_NONE)
		return -ENODEV;
	if (way == SDP_WAY_CM)
		return sdp_addr_is_bound(fd) ? -EADDRINUSE : -EINPROGRESS;
	if (!sdp_is_blocking(fd))
		return ret == 0 && ret_target->is_request ? -EINPROGRESS : ret;
	return ret == 0 ? 0 : sdp_policy_ask(fd, dst, -1, ret_target);
}

/* Whether the connection begins as TCP, and SDP enters it later. */
static bool begins_as_tcp(int fd, enum sdp_use use)
{
	return use == SDP_USE_BOTH && sdp_enter_is_on() &&
	       sdp_limit_is_enough(fd) && sdp_policy_way() == SDP_WAY_FD;
}

static int connect_counted(struct sdp_sock *sock, int fd,
			   const union sdp_addr *dst)
{
	int ret;

	sdp_enter_begin(sock, SDP_ENTER_CONNECTED);
	ret = kernel_connect(fd, &dst->sa, sdp_addr_len(dst));
	if (ret < 0 && !is_under_way(ret))
		atomic_store_explicit(&sock->enter.role, SDP_ENTER_NEVER,
				      memory_order_relaxed);
	return ret;
}

static int connect_fresh(struct sdp_sock *sock, int fd,
			 const struct sockaddr *addr, socklen_t len)
{
	enum sdp_use use;
	struct sdp_target sdp;
	union sdp_addr dst;
	int ret;

	/* A socket that the kernel has connected, or is connecting, stays
	 * TCP. */
	if (!addr_copy(&dst, addr, len) || sdp_tcp_state(fd) != TCP_CLOSE)
		return kernel_connect(fd, addr, len);
	use = sdp_policy_use(sock, SDP_RULE_CLIENT, &dst.sa);
	if (use == SDP_USE_TCP)
		return kernel_connect(fd, addr, len);
	if (begins_as_tcp(fd, use))
		return connect_counted(sock, fd, &dst);
	ret = target_find(fd, &dst, &sdp);
	if (ret == -EINPROGRESS) {
		util_lock(&sock->lock);
		sock->peer = dst;
		util_unlock(&sock->lock);
		return SDP_CONNECT_ASK;
	}
	if (ret == 0)
		return connect_sdp(sock, fd, &dst, &sdp);
	if (use == SDP_USE_SDP)
		return sdp_connect_none();
	return connect_tcp(fd, &dst, sdp_connect_fallback_of(ret));
}

int sdp_connect_shutdown(struct sdp_sock *sock, int fd, int how)
{
	int ret;

	/* With the lock held: otherwise the thread in connect() would take the
	 * error for a refusal by the SDP port, and use TCP. */
	util_lock(&sock->lock);
	ret = syscall(SYS_shutdown, fd, how) < 0 ? -errno : 0;
	if (ret == 0 && sdp_sock_state(sock) == SDP_SOCK_PENDING) {
		sdp_mark_remove(fd);
		sdp_sock_become(sock, SDP_SOCK_TCP);
	}
	util_unlock(&sock->lock);
	return ret;
}

int sdp_connect_plain(struct sdp_sock *sock, int fd, int why)
{
	if (sdp_connect_is_sdp_only(sock))
		return sdp_connect_none();
	return connect_tcp(fd, &sock->peer, sdp_connect_fallback_of(why));
}

int sdp_connect_finish(struct sdp_sock *sock, int fd)
{
	return kernel_connect(fd, &sock->peer.sa, sdp_addr_len(&sock->peer));
}

static int connect_again(struct sdp_sock *sock, int fd,
			 const struct sockaddr *addr, socklen_t len)
{
	sdp_connect_settle(sock, fd);
	if (sdp_sock_state(sock) == SDP_SOCK_PENDING)
		return attempt(sock, fd, addr, len);
	return kernel_connect(sock->tcp_fd >= 0 ? sock->tcp_fd : fd, addr, len);
}

bool sdp_connect_is_undone(const struct sdp_sock *sock,
			   const struct sockaddr *addr, socklen_t len)
{
	return sdp_sock_is_stream(sock) && is_to_none(addr, len);
}

int sdp_connect(struct sdp_sock *sock, int fd, const struct sockaddr *addr,
		socklen_t len)
{
	switch (sdp_sock_state(sock)) {
	case SDP_SOCK_TCP:
		return connect_fresh(sock, fd, addr, len);
	case SDP_SOCK_PENDING:
		return connect_again(sock, fd, addr, len);
	case SDP_SOCK_LISTENING:
		return kernel_connect(fd, addr, len);
	case SDP_SOCK_STARTING:
	case SDP_SOCK_STREAM:
	case SDP_SOCK_RELAY:
		break;
	}
	if (sdp_sock_is_asking(sock))
		return -EALREADY;
	/* Reported once, as by the kernel. */
	if (sock->is_by_cm && !util_user_is_readable(addr, len))
		return -EFAULT;
	if (sock->is_by_cm)
		return atomic_exchange_explicit(&sock->is_told, true,
						memory_order_relaxed)
			       ? -EISCONN
			       : 0;
	/* The kernel records whether connect() has reported success. */
	return kernel_connect(sock->tcp_fd, addr, len);
}

int sdp_connect_tcp(const struct sdp_sock *sock)
{
	int fd, ret;

	if (sdp_connect_is_sdp_only(sock))
		return -EPERM;
	fd = (int)syscall(SYS_socket, sock->peer.sa.sa_family,
			  SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	sdp_options_renew(sock, fd);
	if (syscall(SYS_connect, fd, &sock->peer, sdp_addr_len(&sock->peer)) ==
	    0)
		return fd;
	ret = -errno;
	util_sys_close(fd);
	return ret;
}
