/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See relay.h. */
#include "relay.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/cancel.h"
#include "util/log.h"
#include "util/sockopt.h"
#include "sock/start/ask.h"
#include "sock/start/owed.h"
#include "sock/base/count.h"
#include "sock/show/epoll.h"
#include "sock/base/option.h"
#include "sock/show/ready.h"
#include "relay-name.h"
#include "sock/show/shadow.h"
#include "sock/start/start.h"
#include "verbs/sdp-link.h"

#define RELAY_SIZE (128 * 1024)
#define SNDBUF (256 * 1024)
/* As for close() of a socket that is not a relay. */
#define CLOSE_NS (60 * NS_PER_S)

/* ---- the two directions ---- */

static void futex_wait(_Atomic uint32_t *word)
{
	/* acquire: pairs with futex_set() */
	while (!atomic_load_explicit(word, memory_order_acquire))
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static void futex_set(_Atomic uint32_t *word)
{
	/* release: pairs with futex_wait() */
	atomic_store_explicit(word, 1, memory_order_release);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* ---- the relays of this process ---- */

static struct util_lock relays_lock = UTIL_LOCK_INIT(UTIL_RANK_LEAF);
static struct sdp_sock *relays; /* their threads hold them */

static void relays_add(struct sdp_sock *sock)
{
	util_lock(&relays_lock);
	sock->relay.next = relays;
	relays = sock;
	util_unlock(&relays_lock);
}

static void relays_remove(const struct sdp_sock *sock)
{
	struct sdp_sock **at = &relays;

	util_lock(&relays_lock);
	while (*at && *at != sock)
		at = &(*at)->relay.next;
	if (*at)
		*at = sock->relay.next;
	util_unlock(&relays_lock);
}

/* Return: held; NULL: none is left. */
static struct sdp_sock *relays_take(void)
{
	struct sdp_sock *sock;

	util_lock(&relays_lock);
	sock = relays;
	if (sock) {
		relays = sock->relay.next;
		sdp_sock_hold(sock);
	}
	util_unlock(&relays_lock);
	return sock;
}

bool sdp_relay_is_any(void)
{
	bool is_any;

	util_lock(&relays_lock);
	is_any = relays;
	util_unlock(&relays_lock);
	return is_any;
}

/* No number refers to it, and no call is inside. */
static bool is_left(const struct sdp_sock *sock)
{
	/* acquire: pairs with futex_set() */
	return atomic_load_explicit(&sock->relay.is_left, memory_order_acquire);
}

/*
 * Both directions have ended. The octet that stays in the pair makes a reset of
 * its end, which is right if the link was lost.
 */
static void pair_end(struct sdp_sock *sock)
{
	char octet;

	util_lock(&sock->shadow.lock);
	if (sock->relay.is_lost)
		sdp_shadow_close(&sock->shadow);
	else
		(void)syscall(SYS_recvfrom, sock->shadow.lib_fd, &octet, 1,
			      MSG_DONTWAIT, NULL, NULL);
	sdp_private_close(sock->relay.past_fd);
	sock->relay.past_fd = -1;
	util_unlock(&sock->shadow.lock);
}

/* The last thread of a relay ends the relay, if no descriptor refers to it. */
static void relay_leave(struct sdp_sock *sock)
{
	bool is_last, is_closed;

	util_lock(&sock->lock);
	is_last = --sock->relay.thread_cnt == 0;
	is_closed = is_left(sock);
	if (is_last) {
		relays_remove(sock);
		pair_end(sock);
	}
	util_unlock(&sock->lock);
	if (is_last && is_closed)
		sock->end(sock);
	sdp_sock_drop(sock);
}

/* sdp_relay_enter() holds the lock until the relay is set up. Return: whether
 * it is; otherwise the thread has nothing to do and nothing to release. */
static bool relay_begin(struct sdp_sock *sock)
{
	bool is_relay;

	sdp_inside_enter();
	util_lock(&sock->lock);
	is_relay = sock->relay.is_on;
	if (!is_relay)
		sock->relay.thread_cnt--;
	util_unlock(&sock->lock);
	if (!is_relay) {
		sdp_sock_drop(sock);
		return false;
	}
	sdp_verbs_own_thread();
	(void)sdp_start_wait(sock, SDP_NEVER);
	return true;
}

static void pair_shutdown(struct sdp_sock *sock, int how)
{
	syscall(SYS_shutdown, sock->shadow.lib_fd, how);
}

/*
 * All holders have closed the pair. A thread of this process may still be
 * inside a send that began before the relay did. As with TCP, the connection
 * lasts until that call has ended.
 */
static void callers_wait(struct sdp_sock *sock)
{
	if (sdp_sock_any_fd(sock) < 0)
		futex_wait(&sock->relay.is_left);
}

/* The holders have ended their stream. If all have closed it, ends the
 * connection. */
static void link_finish(struct sdp_sock *sock, struct sdp_link *link)
{
	struct pollfd pfd = { .fd = sock->shadow.lib_fd, .events = POLLIN };

	if (!is_left(sock) || util_sys_poll(&pfd, 1, 0) != 1 ||
	    !(pfd.revents & POLLHUP)) {
		(void)sdp_link_shutdown(link);
		return;
	}
	if (sock->options.linger_s == 0 ||
	    sdp_link_linger(link, sdp_now_ns() + CLOSE_NS) < 0)
		sdp_link_abort(link);
}

/*
 * Reads what holders have written, behind the octet that stays, and leaves it
 * in the pair. Return: 0: they have ended their stream; < 0: the last of them
 * has closed it with unread octets.
 */
static long up_peek(int fd, char *buf)
{
	char octet;
	long got;

	for (;;) {
		got = syscall(SYS_recvfrom, fd, buf, RELAY_SIZE,
			      MSG_PEEK | MSG_DONTWAIT, NULL, NULL);
		if (got >= 0 || errno != EAGAIN)
			return got;
		/* Sleeps. What it returns is not used: after a sleep many
		 * kernels look at the octet that stays. */
		got = syscall(SYS_recvfrom, fd, &octet, 1, MSG_PEEK, NULL,
			      NULL);
		if (got < 0)
			return got;
		util_sockopt_set(fd, SOL_SOCKET, SO_PEEK_OFF, SDP_RELAY_STAY);
	}
}

/* The link has the next @len octets. The last of them stays now. */
static void up_take(int fd, char *buf, long len)
{
	long got;

	while (len > 0) {
		got = syscall(SYS_recvfrom, fd, buf, len, MSG_DONTWAIT, NULL,
			      NULL);
		if (got <= 0)
			break;
		len -= got;
	}
}

/* Copies from the holders to the peer. */
static void *up_thread(void *arg)
{
	struct sdp_sock *sock = arg;
	struct sdp_link *link;
	struct iovec iov;
	long got = -1;
	char *buf;

	if (!relay_begin(sock))
		return NULL;
	link = sdp_sock_link(sock);
	buf = malloc(RELAY_SIZE);
	while (link && buf) {
		got = up_peek(sock->shadow.lib_fd, buf);
		if (got <= 0)
			break;
		iov = (struct iovec){ .iov_base = buf, .iov_len = (size_t)got };
		if (sdp_link_send_wait(link, &iov, 1, 0, SDP_NEVER) < got)
			break;
		up_take(sock->shadow.lib_fd, buf, got);
		sdp_count_relay(sock, (size_t)got, true);
	}
	if (link && got == 0) {
		callers_wait(sock);
		link_finish(sock, link);
	} else if (link) {
		sdp_link_abort(link);
	}
	pair_shutdown(sock, SHUT_RD);
	free(buf);
	/* release: pairs with relay_end() */
	atomic_store_explicit(&sock->relay.has_sent, true,
			      memory_order_release);
	relay_leave(sock);
	return NULL;
}

static bool pair_write(struct sdp_sock *sock, const char *buf, size_t len)
{
	long ret;

	while (len > 0) {
		ret = syscall(SYS_sendto, sock->shadow.lib_fd, buf, len,
			      MSG_NOSIGNAL, NULL, 0);
		if (ret < 0)
			return false;
		buf += ret;
		len -= (size_t)ret;
	}
	return true;
}

/* The holders read all that has come, and then the peer's end or a reset. */
static void down_end(struct sdp_sock *sock, struct sdp_link *link, ssize_t got)
{
	if (got >= 0) {
		pair_shutdown(sock, SHUT_WR);
	} else {
		sock->relay.is_lost = true;
		/* Wakes the other thread. */
		pair_shutdown(sock, SHUT_RD);
	}
	if (got == 0 || !link)
		return;
	/* No holder reads any more. */
	if (got > 0)
		callers_wait(sock);
	sdp_link_abort(link);
}

/* Copies from the peer to the holders. */
static void *down_thread(void *arg)
{
	struct sdp_sock *sock = arg;
	struct sdp_link *link;
	struct iovec iov;
	ssize_t got = -ENOMEM;
	char *buf;

	if (!relay_begin(sock))
		return NULL;
	link = sdp_sock_link(sock);
	buf = malloc(RELAY_SIZE);
	iov = (struct iovec){ .iov_base = buf, .iov_len = RELAY_SIZE };
	if (link)
		sdp_link_relay(link);
	else
		got = -atomic_load_explicit(&sock->error, memory_order_relaxed);
	while (link && buf) {
		got = sdp_link_recv_wait(link, &iov, 1, SDP_RECV_RELAY, 1,
					 SDP_NEVER);
		if (got <= 0 || !pair_write(sock, buf, (size_t)got))
			break;
		sdp_count_relay(sock, (size_t)got, false);
	}
	down_end(sock, link, got);
	free(buf);
	relay_leave(sock);
	return NULL;
}

/* ---- entering and leaving ---- */

void sdp_relay_cover(struct sdp_sock *sock, int fd)
{
	sdp_watch_leave(sock);
	sdp_sock_cover(sock, fd);
	sdp_watch_return(sock);
	util_sys_close(fd);
}

/*
 * The shadow shows an end, and nothing can be written into it any more. The
 * program's numbers get another pair. Other processes may hold the past one.
 * Return: 0; -errno.
 */
static int pair_renew(struct sdp_sock *sock)
{
	struct sdp_shadow *shadow = &sock->shadow;
	int past = shadow->lib_fd, fd;

	util_lock(&shadow->lock);
	fd = sdp_shadow_open(shadow, sock->is_nonblock ? O_NONBLOCK : 0);
	if (fd >= 0) {
		shadow->is_in = shadow->is_pri = false;
		shadow->is_rdhup = shadow->is_gone = false;
		shadow->octets = 0;
		sock->relay.past_fd = past;
		sock->relay.is_renewed = true;
	}
	util_unlock(&shadow->lock);
	if (fd < 0)
		return fd;
	sdp_relay_cover(sock, fd);
	return 0;
}

/* Empties the pair of the octets that it showed. The holders write behind one
 * that stays. Return: 0; -errno. */
static int pair_clear(struct sdp_sock *sock)
{
	int fd = sdp_sock_any_fd(sock), lib_fd, ret = 0;
	char buf[4096];

	util_lock(&sock->shadow.lock);
	lib_fd = sock->shadow.lib_fd;
	sdp_shadow_show(&sock->shadow, fd, POLLOUT, false);
	while (syscall(SYS_recvfrom, lib_fd, buf, sizeof(buf), MSG_DONTWAIT,
		       NULL, NULL) > 0)
		;
	util_sockopt_set(fd, SOL_SOCKET, SO_SNDBUF, SNDBUF);
	if (syscall(SYS_sendto, fd, buf, SDP_RELAY_STAY,
		    MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0) != SDP_RELAY_STAY) {
		ret = -errno;
		goto out;
	}
	util_sockopt_set(lib_fd, SOL_SOCKET, SO_PEEK_OFF, SDP_RELAY_STAY);
	/* An urgent octet of a holder without this library is one like the
	 * others. */
	util_sockopt_set(lib_fd, SOL_SOCKET, SO_OOBINLINE, 1);
	if (sdp_sock_is_wr_shut(sock))
		pair_shutdown(sock, SHUT_RD);
	sock->relay.is_on = true;
out:
	util_unlock(&sock->shadow.lock);
	return ret;
}

/* Return: 0; -errno. */
static int pair_take(struct sdp_sock *sock)
{
	int ret = 0;

	if (sdp_sock_any_fd(sock) < 0)
		return -ENOTCONN;
	if (sock->shadow.lib_fd < 0 || sock->shadow.is_rdhup)
		ret = pair_renew(sock);
	return ret < 0 ? ret : pair_clear(sock);
}

/* Starts both threads or none. Return: 0; -errno. */
static int threads_start(struct sdp_sock *sock)
{
	static void *(*const fns[])(void *arg) = { up_thread, down_thread };
	/* A thread of an attempt that has just failed. */
	int ret = sock->relay.thread_cnt > 0 ? -EAGAIN : 0;

	for (size_t i = 0; i < 2 && ret == 0; i++) {
		ret = sdp_sock_thread(sock, fns[i]);
		sock->relay.thread_cnt += ret == 0;
	}
	return ret;
}

/* The holders can read what was received before, as far as the pair has room:
 * those that do not wait find it. */
static void received_pass(struct sdp_sock *sock, struct sdp_link *link)
{
	char *buf = malloc(RELAY_SIZE);
	struct iovec iov = { .iov_base = buf, .iov_len = RELAY_SIZE };
	ssize_t got = -ENOMEM;

	sdp_link_relay(link);
	if (buf)
		got = sdp_link_recv(link, &iov, 1,
				    SDP_RECV_RELAY | SDP_RECV_PEEK);
	if (got > 0)
		got = syscall(SYS_sendto, sock->shadow.lib_fd, buf, got,
			      MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);
	if (got > 0) {
		iov.iov_len = (size_t)got;
		(void)sdp_link_recv(link, &iov, 1, SDP_RECV_RELAY);
		sdp_count_relay(sock, (size_t)got, false);
	}
	free(buf);
}

int sdp_relay_enter(struct sdp_sock *sock)
{
	struct sdp_link *link;
	int ret = 0;

	if (sdp_sock_is_asking(sock))
		sdp_ask_cancel(sock);
	util_lock(&sock->lock);
	if (!sdp_sock_is_stream(sock))
		goto out;
	ret = threads_start(sock);
	if (ret == 0)
		ret = pair_take(sock);
	if (ret < 0) {
		util_warn("sdp",
			  "cannot relay a socket that other processes hold: %s",
			  strerror(-ret));
		goto out;
	}
	/* What holders write waits in the pair. */
	if (sdp_sock_state(sock) == SDP_SOCK_STARTING)
		sdp_owed_begin(sock);
	relays_add(sock);
	link = sdp_sock_link(sock);
	if (link) {
		sdp_link_set_notify(link, NULL, NULL);
		received_pass(sock, link);
	}
	sdp_watch_give(sock);
	sdp_sock_wake(sock);
	sdp_options_relay(sock);
	sdp_relay_name_put(sock->shadow.lib_fd, &sock->local, &sock->peer);
	util_debug("sdp", "relaying a socket that other processes hold");
out:
	util_unlock(&sock->lock);
	return ret;
}

bool sdp_relay_keeps(struct sdp_sock *sock)
{
	bool is_kept;

	util_lock(&sock->lock);
	is_kept = sock->relay.is_on && sock->relay.thread_cnt > 0;
	if (is_kept)
		futex_set(&sock->relay.is_left);
	util_unlock(&sock->lock);
	return is_kept;
}

/* ---- the end of the process ---- */

/*
 * The connection ends with the process, for all holders. So their stream ends
 * after what they have written so far.
 */
static void holders_end(struct sdp_sock *sock, uint64_t deadline)
{
	static const struct timespec nap = { .tv_nsec = 1000000 };

	/* The last thread of a relay may close the pair. */
	util_lock(&sock->lock);
	if (sock->relay.thread_cnt > 0)
		pair_shutdown(sock, SHUT_RD);
	util_unlock(&sock->lock);
	/* acquire: pairs with up_thread() */
	while (!atomic_load_explicit(&sock->relay.has_sent,
				     memory_order_acquire) &&
	       sdp_now_ns() < deadline)
		nanosleep(&nap, NULL);
}

void sdp_relay_end(uint64_t deadline)
{
	struct sdp_sock *sock;
	struct sdp_link *link;

	while ((sock = relays_take())) {
		holders_end(sock, deadline);
		link = sdp_sock_link(sock);
		/* Otherwise its threads end the link, and wait for the peer. */
		if (link && !is_left(sock) && sdp_now_ns() < deadline)
			(void)sdp_link_wait(link,
					    SDP_LINK_DRAINED | SDP_LINK_CLOSED,
					    deadline);
		sdp_sock_drop(sock);
	}
}

/* Whether something that holders have written has not reached the peer. */
static bool is_owing(const struct sdp_sock *sock)
{
	struct pollfd pfd = { .fd = sock->shadow.lib_fd, .events = POLLRDHUP };
	struct sdp_link *link;
	int len = 0;

	/* First the pair: its octets stay there until the link has them.
	 * acquire: pairs with up_thread() */
	if (!atomic_load_explicit(&sock->relay.has_sent,
				  memory_order_acquire) &&
	    (util_sys_poll(&pfd, 1, 0) != 0 ||
	     (syscall(SYS_ioctl, pfd.fd, FIONREAD, &len) == 0 &&
	      len > SDP_RELAY_STAY)))
		return true;
	link = sdp_sock_link(sock);
	return link &&
	       !(sdp_link_state(link) & (SDP_LINK_DRAINED | SDP_LINK_CLOSED));
}

bool sdp_relay_is_owing(void)
{
	struct sdp_sock *sock;

	/* A relay ends its link when it is not in the list any more. */
	util_lock(&relays_lock);
	for (sock = relays; sock && !is_owing(sock); sock = sock->relay.next)
		;
	util_unlock(&relays_lock);
	return sock;
}

void sdp_relay_fork_child(void)
{
	/* Those without a number, too: only while no other process has the
	 * library's end does it end with the parent. */
	for (struct sdp_sock *sock = relays; sock; sock = sock->relay.next) {
		sdp_private_close(sock->shadow.lib_fd);
		sdp_private_close(sock->relay.past_fd);
		sock->shadow.lib_fd = sock->relay.past_fd = -1;
	}
	util_lock_init(&relays_lock, UTIL_RANK_LEAF);
	relays = NULL;
}
