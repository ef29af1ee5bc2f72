/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See stream.h. */
#include "stream.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/iov.h"
#include "util/cancel.h"
#include "util/defer.h"
#include "util/unwind.h"
#include "sock/base/count.h"
#include "sock/base/events.h"
#include "sock/enter/enter.h"
#include "sock/base/option.h"
#include "sock/show/ready.h"
#include "sock/base/real.h"
#include "sock/share/share.h"
#include "sock/base/signals.h"
#include "sock/base/tcp-state.h"
#include "sock/show/sleeper.h"
#include "sock/start/start.h"
#include "verbs/sdp-link.h"

/* Number of pieces of a vector that are sent at once. */
#define SLICE ((size_t)64)
/* The amount that a link accepts without the peer reading. */
#define BUFFERED_MAX (256u * 1024)
/* Time for the rest of what TCP has when SDP enters. */
#define DRAIN_NS 2000000000u

static bool is_patient(const struct sdp_sock *sock, int flags)
{
	return !(flags & MSG_DONTWAIT) &&
	       !atomic_load_explicit(&sock->is_nonblock, memory_order_relaxed);
}

/* ---- first step of a call ---- */

/* A thread that sleeps before SDP starts. */
struct pending_sleep {
	struct sdp_sock *sock;
	struct sdp_sleeper sleeper;
	struct sdp_poller poller;
	struct pollfd pfd[2]; /* the connection, the thread's descriptor */
};

static void pending_sleep_end(void *arg)
{
	struct pending_sleep *sleep = arg;

	sdp_sleeper_end(&sleep->sleeper, sleep->pfd[1].revents);
	if (sleep->poller.sleeper)
		sdp_sock_sleep_end(sleep->sock, &sleep->poller);
}

/*
 * Sleeps in the kernel until the peer's Hello arrives or the TCP connection is
 * established. Until then the socket may still be passed to another process.
 * Another thread that starts SDP wakes this one, because the kernel does not
 * see what the RNIC receives. A cancellation point.
 * Return: 0; -EAGAIN: SO_RCVTIMEO or SO_SNDTIMEO; -EINTR.
 */
static int pending_wait(struct sdp_sock *sock, int fd,
			enum sdp_sock_state state, short events, bool is_send)
{
	struct pending_sleep sleep = { .sock = sock };
	struct util_unwind unwind;
	int ms = sdp_option_time_ms(sock, fd,
				    is_send ? SO_SNDTIMEO : SO_RCVTIMEO);
	int ret = 1;

	sdp_sleeper_init(&sleep.sleeper);
	sleep.pfd[0] = (struct pollfd){ .fd = fd, .events = events };
	sleep.pfd[1] =
		(struct pollfd){ .fd = sleep.sleeper.fd, .events = POLLIN };
	util_unwind_push(&unwind, pending_sleep_end, &sleep);
	sdp_sock_sleep_begin(sock, &sleep.poller, events, &sleep.sleeper);
	sdp_sleeper_begin(&sleep.sleeper);
	if (sdp_sock_state(sock) == state) {
		sdp_point_leave();
		do {
			ret = UTIL_DEFER_SLEEP(
				sdp_real()->poll(sleep.pfd, 2, ms), false);
		} while (ret < 0 && errno == EINTR && ms < 0 &&
			 sdp_signals_restart());
		ret = ret < 0 ? -errno : ret;
		sdp_point_enter();
	}
	util_unwind_pop(&unwind);
	pending_sleep_end(&sleep);
	return ret == 0 ? -EAGAIN : ret < 0 ? ret : 0;
}

/*
 * TCP, until SDP enters. While it is about to, a call sleeps here and not in
 * the kernel.
 * Return: as sdp_stream_begin().
 */
static int enter_wait(struct sdp_sock *sock, int fd, bool is_send, int flags)
{
	bool may_sleep = is_patient(sock, flags);
	int ret;

	if (flags & (MSG_OOB | MSG_ZEROCOPY))
		sdp_enter_never(sock);
	while (sdp_enter_is_possible(sock)) {
		ret = sdp_enter_in(sock, may_sleep);
		if (ret > 0)
			return SDP_STREAM_COUNTED;
		if (ret < 0)
			continue;
		ret = pending_wait(sock, fd, SDP_SOCK_TCP,
				   is_send ? POLLOUT : POLLIN, is_send);
		if (ret < 0)
			return ret;
		/* Another thread has closed it. This call goes on. */
		if (!sdp_sock_has_fd(sock, fd))
			return 1;
		may_sleep = false;
	}
	return 0;
}

int sdp_stream_begin(struct sdp_sock *sock, int fd, bool is_send, int flags)
{
	enum sdp_start_why why = is_send ? SDP_START_WRITE : SDP_START_READ;
	enum sdp_sock_state state;
	int ret = 0;

	if (sdp_enter_is_possible(sock)) {
		ret = enter_wait(sock, fd, is_send, flags);
		if (ret != 0)
			return ret;
	}
	/* Only now: SDP may have entered since the call began, and the kernel
	 * has the shadow under the number then. */
	state = sdp_sock_state(sock);
	if (sock->relay.is_on) {
		sdp_share_use(sock);
		return 0;
	}
	while (state == SDP_SOCK_PENDING) {
		state = sdp_start(sock, fd, why);
		if (state != SDP_SOCK_PENDING)
			break;
		if (!sdp_sock_has_fd(sock, fd))
			return -EBADF;
		if (flags & MSG_OOB && !is_send)
			return -EINVAL; /* nothing was received yet */
		/* What arrives next on the TCP connection is not for libc. */
		if (!is_patient(sock, flags) || (flags & MSG_ERRQUEUE))
			return -EAGAIN;
		ret = pending_wait(sock, fd, state,
				   sock->is_accepting ? POLLIN : POLLOUT,
				   is_send);
		if (ret < 0)
			return ret;
	}
	return state == SDP_SOCK_STARTING || state == SDP_SOCK_STREAM;
}

/* Whether to repeat a call of a link that returned -EINTR. */
static bool is_restarted(void)
{
	return !sdp_point_is_cancelled() && sdp_signals_restart();
}

/* ---- send ---- */

static ssize_t starting_send(struct sdp_sock *sock, const struct iovec *iov,
			     size_t cnt, int flags, uint64_t deadline)
{
	ssize_t ret = sdp_sock_answer(sock, SDP_CALL_SEND);
	size_t least = util_iov_len(iov, cnt);

	/* What a thread sends at once is not mixed with what others send. */
	if (!is_patient(sock, flags) || least > SDP_EARLY_MAX)
		least = 1;
	if (ret == SDP_ANSWER_GO)
		ret = sdp_start_send(sock, iov, cnt, least, flags & MSG_OOB);
	if (ret != -EAGAIN)
		return ret;
	if (!is_patient(sock, flags))
		return -EAGAIN;
	return sdp_start_wait_shut(sock, &sock->is_wr_shut, deadline);
}

/* The start has fallen back. Another thread may have closed the number. */
static ssize_t tcp_send(const struct sdp_sock *sock, const struct iovec *iov,
			size_t cnt, int flags)
{
	struct msghdr msg = { .msg_iov = (struct iovec *)(uintptr_t)iov,
			      .msg_iovlen = cnt };
	ssize_t ret = UTIL_DEFER_SLEEP(
		sdp_real()->sendmsg(sock->tcp_fd, &msg, flags | MSG_NOSIGNAL),
		sdp_signals_go_on(sock->tcp_fd, flags));

	return ret < 0 ? -errno : ret;
}

/* No link was made, or connect() has taken it away. */
static ssize_t dead_send(struct sdp_sock *sock)
{
	int ret = sdp_sock_answer(sock, SDP_CALL_SEND);

	return ret == SDP_ANSWER_GO ? -EPIPE : ret;
}

/* *ret_is_short: the rest must be tried again. */
static ssize_t link_send(struct sdp_sock *sock, const struct iovec *iov,
			 size_t cnt, int flags, uint64_t deadline,
			 bool *ret_is_short)
{
	struct sdp_link *link = sdp_sock_link(sock);
	unsigned int how = 0;
	ssize_t ret;

	*ret_is_short = false;
	if (flags & MSG_OOB)
		how |= SDP_SEND_OOB;
	if (flags & MSG_MORE)
		how |= SDP_SEND_MORE;
	if (!link)
		return dead_send(sock);
	if (!is_patient(sock, flags))
		return sdp_link_send(link, iov, (int)cnt, how);
	/* A program that sends less than a socket's buffer may rely on not
	 * having to wait until the peer reads. */
	if (util_iov_len(iov, cnt) <= BUFFERED_MAX) {
		ret = sdp_link_send(link, iov, (int)cnt, how);
		*ret_is_short = ret > 0;
		if (ret != -EAGAIN)
			return ret;
	}
	return sdp_link_send_wait(link, iov, (int)cnt, how, deadline);
}

/* Handles the current state: the socket starts, its octets go by SDP, or the
 * start has fallen back to TCP. */
static ssize_t send_once(struct sdp_sock *sock, const struct iovec *iov,
			 size_t cnt, int flags, uint64_t deadline,
			 bool *ret_is_short)
{
	enum sdp_sock_state state = sdp_sock_state(sock);
	ssize_t ret;

	/* The start counts the octets that it stores. */
	if (state == SDP_SOCK_STARTING)
		return starting_send(sock, iov, cnt, flags, deadline);
	if (state == SDP_SOCK_TCP) {
		*ret_is_short = false;
		sdp_enter_never(sock); /* it does not see this call */
		return tcp_send(sock, iov, cnt, flags);
	}
	ret = link_send(sock, iov, cnt, flags, deadline, ret_is_short);
	if (ret >= 0)
		sdp_count_send(sock, (size_t)ret);
	return ret;
}

/* Skips the first @len octets of @iov. Changes *iov and *cnt; *first receives a
 * piece that was cut. */
static void iov_advance(const struct iovec **iov, size_t *cnt, size_t len,
			struct iovec *copy)
{
	if (*iov != copy)
		memcpy(copy, *iov, *cnt * sizeof(*copy));
	while (*cnt > 0 && len >= copy->iov_len) {
		len -= copy->iov_len;
		(*cnt)--;
		memmove(copy, copy + 1, *cnt * sizeof(*copy));
	}
	if (*cnt > 0) {
		copy->iov_base = (char *)copy->iov_base + len;
		copy->iov_len -= len;
	}
	*iov = copy;
}

/* The end of a call that has sent @sent octets and then got @ret < 0. */
static ssize_t sent_before(struct sdp_sock *sock, size_t sent, ssize_t ret)
{
	if (sent == 0)
		return ret;
	sdp_sock_tell_again(sock, (int)-ret);
	return (ssize_t)sent;
}

/* Sends all of it, or until an error: a blocking send is complete, as with TCP.
 * @cnt is at most SLICE. */
static ssize_t send_slice(struct sdp_sock *sock, const struct iovec *iov,
			  size_t cnt, int flags, uint64_t deadline)
{
	size_t left = util_iov_len(iov, cnt), sent = 0;
	struct iovec copy[64];
	bool is_short = true;
	ssize_t ret;

	while (left > 0) {
		/* A handler ends a call that has sent something, whatever its
		 * sigaction() requests. */
		if (sent > 0 && deadline == SDP_NEVER)
			deadline--;
		ret = send_once(sock, iov, cnt, flags, deadline, &is_short);
		if (ret == -EINTR && sent == 0 && deadline == SDP_NEVER &&
		    is_restarted())
			continue;
		if (ret < 0)
			return sent_before(sock, sent, ret);
		sent += (size_t)ret;
		left -= (size_t)ret;
		if (left == 0 ||
		    (ret > 0 && (!is_short || !is_patient(sock, flags))))
			break;
		if (ret > 0)
			iov_advance(&iov, &cnt, (size_t)ret, copy);
	}
	return (ssize_t)sent;
}

static ssize_t send_all(struct sdp_sock *sock, const struct iovec *iov,
			size_t cnt, int flags)
{
	uint64_t deadline = sdp_option_deadline(sock, SO_SNDTIMEO);
	size_t sent = 0, n;
	ssize_t ret;

	for (; cnt > 0; iov += n, cnt -= n) {
		n = cnt < SLICE ? cnt : SLICE;
		/* Only the very last octet is urgent. */
		ret = send_slice(sock, iov, n,
				 n < cnt ? (flags & ~MSG_OOB) | MSG_MORE
					 : flags,
				 deadline);
		if (ret < 0)
			return sent_before(sock, sent, ret);
		sent += (size_t)ret;
		if ((size_t)ret < util_iov_len(iov, n))
			break;
	}
	return (ssize_t)sent;
}

ssize_t sdp_stream_send(struct sdp_sock *sock, int fd, const struct iovec *iov,
			size_t cnt, int flags)
{
	ssize_t ret = sdp_sock_answer(sock, SDP_CALL_SEND);

	if (ret == SDP_ANSWER_GO)
		ret = send_all(sock, iov, cnt, flags);
	if (ret == -EPIPE && !(flags & MSG_NOSIGNAL))
		sdp_signals_pipe();
	sdp_sock_settle(sock, fd);
	return ret;
}

/* ---- receive ---- */

static unsigned int recv_flags(int flags)
{
	unsigned int how = 0;

	if (flags & MSG_PEEK)
		how |= SDP_RECV_PEEK;
	if (flags & MSG_OOB)
		how |= SDP_RECV_OOB;
	if (flags & MSG_WAITALL)
		how |= SDP_RECV_WAITALL;
	if (flags & MSG_TRUNC)
		how |= SDP_RECV_TRUNC;
	return how;
}

/* The start has fallen back to TCP, or the shadow carries the data. */
static ssize_t tcp_recv(int fd, const struct iovec *iov, size_t cnt, int flags)
{
	struct msghdr msg = { .msg_iov = (struct iovec *)(uintptr_t)iov,
			      .msg_iovlen = cnt };
	ssize_t ret = UTIL_DEFER_SLEEP(sdp_real()->recvmsg(fd, &msg, flags),
				       sdp_signals_go_on(fd, flags));

	return ret < 0 ? -errno : ret;
}

/*
 * The socket became a relay after the link gave the first @done octets. The
 * rest of a call with MSG_WAITALL comes through the pair. The relay counts it.
 * Return: total number of octets.
 */
static ssize_t relay_recv(struct sdp_sock *sock, int fd,
			  const struct iovec *iov, size_t cnt, int flags,
			  size_t done)
{
	size_t skip = done;
	struct iovec piece;
	ssize_t ret;

	sdp_count_recv(sock, done);
	/* Another thread may have closed the number meanwhile. */
	for (; cnt > 0 && sdp_sock_has_fd(sock, fd); iov++, cnt--) {
		if (skip >= iov->iov_len) {
			skip -= iov->iov_len;
			continue;
		}
		piece.iov_base = (char *)iov->iov_base + skip;
		piece.iov_len = iov->iov_len - skip;
		skip = 0;
		ret = tcp_recv(fd, &piece, 1, flags);
		done += ret > 0 ? (size_t)ret : 0;
		if (ret < (ssize_t)piece.iov_len)
			break;
	}
	return (ssize_t)done;
}

static ssize_t link_recv(struct sdp_sock *sock, struct sdp_link *link, int fd,
			 const struct iovec *iov, size_t cnt, int flags,
			 uint64_t deadline)
{
	unsigned int how = recv_flags(flags);
	bool is_stale = false;
	ssize_t ret;

	if (is_patient(sock, flags) && !(flags & MSG_OOB))
		ret = sdp_link_recv_until_relay(link, iov, (int)cnt, how,
						(size_t)sock->options.rcvlowat,
						deadline, &is_stale);
	else
		ret = sdp_link_recv(link, iov, (int)cnt,
				    how & ~SDP_RECV_WAITALL);
	if (ret == -ESTALE)
		return sdp_sock_has_fd(sock, fd) ? tcp_recv(fd, iov, cnt, flags)
						 : -EBADF;
	if (is_stale && (flags & MSG_WAITALL) && !(flags & MSG_PEEK))
		return relay_recv(sock, fd, iov, cnt, flags, (size_t)ret);
	if (ret > 0 && !(flags & MSG_PEEK))
		sdp_count_recv(sock, (size_t)ret);
	return ret;
}

/* As dead_send(). Such a socket has nothing to wait for. */
static ssize_t dead_recv(struct sdp_sock *sock)
{
	int ret = sdp_sock_answer(sock, SDP_CALL_RECV);

	return ret == -EAGAIN ? 0 : ret;
}

/* recv() with length 0 waits, as with TCP, which has received none of no octets
 * when SO_RCVTIMEO is over. */
static ssize_t empty_recv(struct sdp_sock *sock, struct sdp_link *link, int fd,
			  int flags, uint64_t deadline)
{
	unsigned int what = SDP_LINK_IN | SDP_LINK_RDHUP | SDP_LINK_HUP |
			    SDP_LINK_ERR;
	ssize_t ret;

	do {
		ret = link_recv(sock, link, fd, NULL, 0,
				(flags & ~MSG_OOB) | MSG_DONTWAIT, deadline);
		if (ret != -EAGAIN || !is_patient(sock, flags))
			return ret;
		ret = sdp_link_wait(link, what, deadline);
	} while (ret > 0 && !sock->relay.is_on);
	return ret < 0 && ret != -ETIMEDOUT ? ret : 0;
}

/* What TCP has while SDP enters. A call that waits for more leaves it to the
 * link. */
static ssize_t entering_recv(struct sdp_sock *sock, const struct iovec *iov,
			     size_t cnt, int flags)
{
	size_t there = sdp_sock_entering_len(sock), wanted = 1;

	if (there == 0)
		return -EAGAIN;
	if (is_patient(sock, flags)) {
		wanted = util_iov_len(iov, cnt);
		if (!(flags & MSG_WAITALL) &&
		    wanted > (size_t)sock->options.rcvlowat)
			wanted = (size_t)sock->options.rcvlowat;
	}
	if (there < wanted)
		return -EAGAIN;
	return sdp_enter_recv(sock, iov, cnt, flags);
}

/* Return: 0: the start has ended; -EAGAIN ...; octets; or *ret_is_end. */
static ssize_t starting_recv(struct sdp_sock *sock, const struct iovec *iov,
			     size_t cnt, int flags, uint64_t deadline,
			     bool *ret_is_end)
{
	ssize_t ret;

	*ret_is_end = false;
	/* Nothing was received yet. */
	if (flags & MSG_OOB)
		return -EINVAL;
	ret = entering_recv(sock, iov, cnt, flags);
	if (ret != -EAGAIN)
		return ret;
	if (sdp_sock_state(sock) != SDP_SOCK_STARTING)
		return 0;
	/* The kernel has these octets, or gets them soon. */
	if (atomic_load_explicit(&sock->start.is_draining,
				 memory_order_relaxed) &&
	    sdp_start_wait(sock, sdp_now_ns() + DRAIN_NS) == 0)
		return 0;
	if (!is_patient(sock, flags)) {
		ret = sdp_sock_answer(sock, SDP_CALL_RECV);
		*ret_is_end = ret == 0;
		return ret;
	}
	ret = sdp_start_wait_shut(sock, &sock->is_rd_shut, deadline);
	*ret_is_end = ret == 0 && sdp_sock_state(sock) == SDP_SOCK_STARTING;
	return ret;
}

static ssize_t recv_once(struct sdp_sock *sock, int fd, const struct iovec *iov,
			 size_t cnt, int flags, uint64_t deadline)
{
	struct sdp_link *link;
	bool is_end;
	ssize_t ret;

	if (sdp_sock_state(sock) == SDP_SOCK_STARTING) {
		ret = starting_recv(sock, iov, cnt, flags, deadline, &is_end);
		if (ret != 0 || is_end)
			return ret;
	}
	if (sock->relay.is_on)
		return tcp_recv(fd, iov, cnt, flags);
	if (sdp_sock_state(sock) == SDP_SOCK_TCP) {
		sdp_enter_never(sock); /* it does not see this call */
		return tcp_recv(sock->tcp_fd, iov, cnt, flags);
	}
	link = sdp_sock_link(sock);
	if (!link)
		return dead_recv(sock);
	if (util_iov_len(iov, cnt) == 0)
		return empty_recv(sock, link, fd, flags, deadline);
	return link_recv(sock, link, fd, iov, cnt, flags, deadline);
}

ssize_t sdp_stream_recv(struct sdp_sock *sock, int fd, const struct iovec *iov,
			size_t cnt, int flags)
{
	uint64_t deadline = sdp_option_deadline(sock, SO_RCVTIMEO);
	ssize_t ret;

	if (flags & MSG_ERRQUEUE)
		return -EAGAIN;
	do {
		ret = recv_once(sock, fd, iov, cnt, flags, deadline);
	} while (ret == -EINTR && deadline == SDP_NEVER && is_restarted());
	sdp_sock_settle(sock, fd);
	return ret;
}

/* ---- shutdown ---- */

int sdp_stream_shutdown(struct sdp_sock *sock, int fd, int how)
{
	struct sdp_link *link;
	int ret;

	if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
		return -EINVAL;
	ret = sdp_answer_of(SDP_CALL_SHUTDOWN, sdp_sock_holds(sock));
	if (ret < 0)
		return ret;
	util_lock(&sock->lock);
	link = sdp_sock_link(sock);
	/* If both directions end, the reading side goes last. It wakes a poll()
	 * for data, which then sees that both have ended. */
	if (how != SHUT_RD) {
		if (!sdp_sock_is_wr_shut(sock) && link)
			(void)sdp_link_shutdown(link);
		/* release: pairs with sdp_sock_is_wr_shut() */
		atomic_store_explicit(&sock->is_wr_shut, true,
				      memory_order_release);
	}
	if (how != SHUT_WR) {
		/* release: with the other; pairs with sdp_sock_is_rd_shut() */
		atomic_store_explicit(&sock->is_rd_shut, true,
				      memory_order_release);
		if (link)
			sdp_link_shutdown_read(link);
	}
	if (!link)
		sdp_sock_step(sock);
	util_unlock(&sock->lock);
	sdp_sock_tell(sock, fd, SDP_NEWS_ALL);
	return 0;
}

bool sdp_stream_is_begun(struct sdp_sock *sock, int fd)
{
	enum sdp_sock_state state = sdp_sock_state(sock);

	/* SDP must report the end. A FIN of TCP would break the start off. */
	if (state == SDP_SOCK_PENDING)
		state = sdp_start(sock, fd, SDP_START_WRITE);
	sdp_share_use(sock);
	return !sock->relay.is_on &&
	       (state == SDP_SOCK_STARTING || state == SDP_SOCK_STREAM);
}

int sdp_stream_wait_out(struct sdp_sock *sock)
{
	struct sdp_link *link = sdp_sock_link(sock);
	int ret = 0;

	if (sdp_sock_state(sock) == SDP_SOCK_STARTING)
		ret = sdp_start_wait(sock, SDP_NEVER);
	else if (link)
		ret = sdp_link_wait(link, SDP_LINK_OUT, SDP_NEVER);
	return ret < 0 ? ret : 0;
}

void sdp_stream_look(int fd)
{
	struct sdp_sock *sock = sdp_sock_get(fd);

	if (!sock)
		return;
	if (sdp_sock_state(sock) == SDP_SOCK_PENDING)
		sdp_start(sock, fd, SDP_START_WAIT);
	sdp_share_use(sock);
	sdp_sock_put(sock);
}

int sdp_stream_inq(const struct sdp_sock *sock, int fd)
{
	struct sdp_link *link = sdp_sock_link(sock);
	int inq;

	if (!sock->options.has_inq)
		return -1;
	inq = (int)(link ? sdp_link_inq(link) : sdp_tcp_unread(fd));
	if (link && !sdp_sock_is_rd_shut(sock) &&
	    sdp_link_state(link) & SDP_LINK_RDHUP)
		inq++;
	return inq;
}
