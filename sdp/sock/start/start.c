/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See start.h. */
#include "start.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/cancel.h"
#include "util/defer.h"
#include "util/env.h"
#include "util/keep-errno.h"
#include "util/log.h"
#include "util/thread.h"
#include "connect.h"
#include "early.h"
#include "sock/base/count.h"
#include "sock/show/epoll.h"
#include "sock/base/limit.h"
#include "sock/base/mark.h"
#include "sock/base/option.h"
#include "sock/base/policy.h"
#include "owed.h"
#include "sock/show/ready.h"
#include "sock/show/shadow.h"
#include "sock/base/signals.h"
#include "sock/base/tcp-state.h"
#include "tcp-answer.h"
#include "verbs/sdp-link.h"

/* A program may wait long between accept() and its first I/O. */
#define START_MS 3600000
/* After its Hello the peer is in the middle of the start. The call waits this
 * long for what the peer sent. */
#define SOON_NS 20000000ull
/* Time for a peer to notice a refusal. */
#define REFUSE_MS 1000

/* ---- when to start ---- */

/* The Connecting Peer has ended its stream after the Hello. So it has closed
 * the socket, and its program has sent nothing: data would have come first. */
static bool has_peer_closed(int fd)
{
	return sdp_tcp_state(fd) == TCP_CLOSE_WAIT;
}

/* The program must not read the Hello. An error after it would be reported by a
 * call that finds nothing else. */
static void hello_drop(int fd)
{
	char buf[512];
	size_t len;

	while ((len = sdp_tcp_unread(fd)) > 0 &&
	       syscall(SYS_recvfrom, fd, buf,
		       len < sizeof(buf) ? len : sizeof(buf), MSG_DONTWAIT,
		       NULL, NULL) > 0)
		;
}

/*
 * PENDING on the accepting side: whether the peer has begun. To the program, a
 * peer that closes before SDP is established used TCP: the program reads EOF or
 * an error from TCP, and may send until the peer's kernel resets the
 * connection.
 * Return: whether the Hello, or anything else, was received.
 */
static bool hello_has_come(struct sdp_sock *sock, int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	if (util_sys_poll(&pfd, 1, 0) != 1)
		return false;
	if (!(pfd.revents & (POLLERR | POLLHUP)) && !has_peer_closed(fd) &&
	    sdp_tcp_unread(fd) > 0)
		return true;
	hello_drop(fd);
	sdp_mark_remove(fd);
	sdp_sock_become(sock, SDP_SOCK_TCP);
	return false;
}

/* ---- replacing descriptors ---- */

/* The new file sends signals (SIGIO, SIGURG) to the same owner and keeps
 * O_ASYNC. */
static void owner_cover(const struct sdp_sock *sock, int fd)
{
	struct f_owner_ex owner = { 0 };
	long sig = syscall(SYS_fcntl, sock->tcp_fd, F_GETSIG);
	long flags = syscall(SYS_fcntl, sock->tcp_fd, F_GETFL);

	if (syscall(SYS_fcntl, sock->tcp_fd, F_GETOWN_EX, &owner) == 0 &&
	    owner.pid > 0)
		syscall(SYS_fcntl, fd, F_SETOWN_EX, &owner);
	if (sig > 0)
		syscall(SYS_fcntl, fd, F_SETSIG, sig);
	if (flags < 0 || !(flags & O_ASYNC))
		return;
	syscall(SYS_fcntl, sock->tcp_fd, F_SETFL, flags & ~(long)O_ASYNC);
	flags = syscall(SYS_fcntl, fd, F_GETFL);
	syscall(SYS_fcntl, fd, F_SETFL, flags | O_ASYNC);
}

void sdp_start_connected(struct sdp_sock *sock)
{
	sdp_options_take(sock, sock->tcp_fd);
	sdp_count_open(sock, sdp_sock_any_fd(sock));
}

static void show_nothing(struct sdp_sock *sock, int program_end)
{
	util_lock(&sock->shadow.lock);
	sdp_shadow_show(&sock->shadow, program_end, 0, 0);
	util_unlock(&sock->shadow.lock);
	sdp_sock_asking_put(sock, true);
}

int sdp_start_cover(struct sdp_sock *sock, bool is_asking)
{
	int flags = sock->is_nonblock ? O_NONBLOCK : 0;
	int program_end, ret = sdp_sock_below_take(sock);

	if (ret < 0)
		return ret;
	program_end = sdp_shadow_open(&sock->shadow, flags);
	if (program_end < 0)
		return program_end;
	if (is_asking)
		show_nothing(sock, program_end);
	else
		sdp_start_connected(sock);
	owner_cover(sock, program_end);
	sdp_watch_leave(sock);
	sdp_sock_cover(sock, program_end);
	util_sys_close(program_end);
	sdp_sock_become(sock, SDP_SOCK_STARTING);
	sdp_watch_return(sock);
	/* Wakes threads that sleep for the TCP connection. */
	sdp_sock_wake(sock);
	return 0;
}

/* ---- the thread ---- */

/*
 * A peer that does not answer an MPA Request may be one that accepts only a
 * Hello. An answer to a Hello can only be late because of the program.
 */
static uint64_t reply_limit(const struct sdp_sock *sock)
{
	if (!sock->is_request || sock->is_accepting)
		return SDP_NEVER;
	return sdp_now_ns() + util_settings()->sdp_reply_ms * NS_PER_MS;
}

static int link_make(struct sdp_sock *sock, struct sdp_link **ret_link,
		     struct sdp_outcome *outcome)
{
	struct sdp_link_options opt = SDP_LINK_OPTIONS_INIT;

	sdp_options_of_link(sock, &opt);
	opt.hello_ms = START_MS;
	opt.conn.start_ms = START_MS;
	opt.conn.carrier = sock->is_request ? SDP_CM_PRIV : SDP_STREAM;
	if (sock->is_accepting)
		return sdp_link_accept_fd(ret_link, sock->tcp_fd, &opt,
					  SDP_NEVER, outcome);
	return sdp_link_connect_fd(ret_link, sock->tcp_fd, &opt,
				   reply_limit(sock), outcome);
}

/* Does what the program requested meanwhile. Return: 0; -errno: not all octets
 * were sent. */
static int link_catch_up(struct sdp_sock *sock, struct sdp_link *link)
{
	size_t at = 0, len = sdp_sock_early_len(sock);
	ssize_t ret = 0;

	while (at < len && ret >= 0) {
		bool is_urgent;
		struct iovec iov = sdp_early_piece(sock, at, &is_urgent);

		ret = sdp_link_send(link, &iov, 1,
				    is_urgent ? SDP_SEND_OOB : 0);
		if (ret > 0)
			at += (size_t)ret;
		if (ret != -EAGAIN)
			continue;
		(void)sdp_link_wait(link, SDP_LINK_OUT, SDP_NEVER);
		ret = 0;
	}
	sdp_count_send(sock, len);
	sdp_early_drop(sock);
	if (sdp_sock_is_wr_shut(sock))
		sdp_link_shutdown(link);
	if (sdp_sock_is_rd_shut(sock))
		sdp_link_shutdown_read(link);
	if (ret >= 0)
		return 0;
	sdp_link_tell_again(link, (int)-ret);
	return (int)ret;
}

/* The sock's lock is held. If the link has ended, the program's next call says
 * how. One that has not, and lacks octets of the program, must end. */
static void link_take(struct sdp_sock *sock, struct sdp_link *link)
{
	int err = link_catch_up(sock, link);

	if (err < 0 &&
	    !(sdp_link_state(link) & (SDP_LINK_HUP | SDP_LINK_ERR))) {
		atomic_store_explicit(&sock->error, -err, memory_order_relaxed);
		sdp_link_close(link, 0);
	} else {
		sdp_sock_link_put(sock, link);
		sdp_count_update(sock);
		if (!sock->start.is_closed && !sock->relay.is_on)
			sdp_link_set_notify(link, sdp_sock_notify, sock);
	}
	sdp_sock_become(sock, SDP_SOCK_STREAM);
}

/* The pair is no longer used. Closing it wakes threads that sleep on it. */
static void uncover(struct sdp_sock *sock)
{
	util_lock(&sock->shadow.lock);
	if (sock->shadow.lib_fd >= 0)
		sdp_shadow_close(&sock->shadow);
	util_unlock(&sock->shadow.lock);
	sdp_early_drop(sock);
}

void sdp_start_give_back(struct sdp_sock *sock, int tcp_fd)
{
	int flags = (int)syscall(SYS_fcntl, tcp_fd, F_GETFL);

	flags = sock->is_nonblock ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	syscall(SYS_fcntl, tcp_fd, F_SETFL, flags);
	sdp_watch_leave(sock);
	sdp_sock_cover(sock, tcp_fd);
	sdp_sock_below_put(sock, tcp_fd);
	sock->options.is_taken = false;
	sdp_sock_become(sock, SDP_SOCK_TCP);
	sdp_watch_return(sock);
	uncover(sock);
}

/* Makes a new TCP connection to the program's destination, and sends the stored
 * octets. The lock is released during the connect too. Return: descriptor;
 * -errno. */
static int tcp_make(struct sdp_sock *sock)
{
	int tcp_fd, ret;

	util_unlock(&sock->lock);
	ret = tcp_fd = sdp_connect_tcp(sock);
	util_lock(&sock->lock);
	if (ret >= 0)
		ret = sdp_early_send(sock, tcp_fd);
	if (ret >= 0 && (sock->start.is_undone || sock->relay.is_on))
		ret = -ECANCELED;
	if (ret < 0 && tcp_fd >= 0) {
		sdp_tcp_end_by_reset(tcp_fd, true);
		util_sys_close(tcp_fd);
	}
	return ret < 0 ? ret : tcp_fd;
}

/*
 * The Connecting Peer falls back: the new TCP connection takes the numbers. The
 * sock's lock is held. Return: 0; -errno.
 */
static int fall_back(struct sdp_sock *sock)
{
	int tcp_fd = tcp_make(sock);

	if (tcp_fd < 0)
		return tcp_fd;
	if (sdp_sock_is_wr_shut(sock))
		syscall(SYS_shutdown, tcp_fd, SHUT_WR);
	/* The kernel sends what a closed socket has left. */
	if (!sock->start.is_closed)
		sdp_start_give_back(sock, tcp_fd);
	util_sys_close(tcp_fd);
	return 0;
}

void sdp_start_return(struct sdp_sock *sock)
{
	int ret = sock->start.is_undone ? 0
					: sdp_early_send(sock, sock->tcp_fd);

	if (ret < 0)
		atomic_store_explicit(&sock->error, -ret, memory_order_relaxed);
	if (ret < 0 || sock->start.is_undone || sock->start.is_closed) {
		sdp_sock_become(sock, SDP_SOCK_STREAM);
		return;
	}
	if (sdp_sock_is_wr_shut(sock))
		syscall(SYS_shutdown, sock->tcp_fd, SHUT_WR);
	if (sdp_sock_is_rd_shut(sock))
		syscall(SYS_shutdown, sock->tcp_fd, SHUT_RD);
	sdp_count_close(sock);
	sdp_options_renew(sock, sock->tcp_fd);
	sdp_start_give_back(sock, sock->tcp_fd);
}

static enum sdp_stat_fallback fallback_of(enum sdp_reason reason)
{
	switch (reason) {
	case SDP_REASON_DEVICE:
	case SDP_REASON_CARRIER:
		return SDP_STAT_FALLBACK_no_device;
	case SDP_REASON_RESOURCE:
		return SDP_STAT_FALLBACK_no_memory;
	case SDP_REASON_NOT_SDP:
		return SDP_STAT_FALLBACK_bad_hello;
	default:
		return SDP_STAT_FALLBACK_no_hello;
	}
}

/*
 * If the peer's library refuses, it closes in order, after it has read the
 * Hello. A reset means that the peer's program has closed or has never
 * accepted. After an MPA Request it may also mean that the peer's library
 * accepts only a Hello.
 */
static bool is_reset(const struct sdp_sock *sock)
{
	return sdp_tcp_state(sock->tcp_fd) == TCP_CLOSE;
}

/* The reason why the connection ended: TCP's timers, or a peer that closed
 * early. A connecting one has then sent a FIN, unless it owed octets. An
 * accepting one resets what it has not read. */
static int error_of(const struct sdp_sock *sock, int err, bool has_reset)
{
	if (has_reset && sdp_link_is_lost(-err))
		return -err;
	if (sdp_sock_early_len(sock) == 0 && sock->is_accepting != has_reset)
		return 0;
	return sdp_answer_error(err == -ETIMEDOUT ? SDP_CAUSE_SILENCE
						  : SDP_CAUSE_RESET,
				SDP_PHASE_OPEN);
}

/* The peer has received nothing: may TCP be used? Octets that a closed socket
 * has sent go by TCP too. */
static bool may_fall_back(const struct sdp_sock *sock, int err, bool has_reset)
{
	bool is_refused =
		!has_reset || err == -EPROTO || /* refused here */
		(sock->is_request && (err == -ECONNRESET || err == -EPIPE));

	return is_refused && !sock->is_accepting && !sock->start.is_undone;
}

static void start_failed(struct sdp_sock *sock, int err,
			 const struct sdp_outcome *outcome, bool has_reset)
{
	bool is_wanted;

	util_info("sdp", "%s: %s", outcome->text,
		  sdp_reason_str(outcome->reason));
	if (may_fall_back(sock, err, has_reset)) {
		if (outcome->reason != SDP_REASON_RESOURCE)
			sdp_policy_avoid(&sock->peer.sa);
		sdp_stat_fell_back(sock->stat, fallback_of(outcome->reason));
		is_wanted = !sock->start.is_closed ||
			    sdp_sock_early_len(sock) > 0;
		if (!sock->relay.is_on && is_wanted && fall_back(sock) == 0 &&
		    !sock->start.is_closed)
			return;
	}
	atomic_store_explicit(&sock->error, error_of(sock, err, has_reset),
			      memory_order_relaxed);
	sdp_sock_become(sock, SDP_SOCK_STREAM);
}

/* Ends the connection in order. The peer can then distinguish a refusal from a
 * reset. */
static void refuse(struct sdp_sock *sock)
{
	struct pollfd pfd = { .fd = sock->tcp_fd, .events = POLLIN };
	char buf[512];

	if (syscall(SYS_shutdown, sock->tcp_fd, SHUT_WR) < 0 ||
	    !sock->is_accepting)
		return;
	while (util_sys_poll(&pfd, 1, REFUSE_MS) > 0 &&
	       syscall(SYS_recvfrom, sock->tcp_fd, buf, sizeof(buf),
		       MSG_DONTWAIT, NULL, NULL) > 0)
		;
}

/*
 * A device that listens by rdma_cm waits only some seconds for the MPA Request:
 * Linux's siw waits 10. Then it closes in order, before any data was sent.
 */
static bool was_given_up(const struct sdp_sock *sock)
{
	return sock->is_request && !sock->is_accepting &&
	       has_peer_closed(sock->tcp_fd);
}

static int link_try(struct sdp_sock *sock, struct sdp_link **ret_link,
		    struct sdp_outcome *outcome)
{
	bool is_raised;
	int ret;

	if (was_given_up(sock)) {
		*outcome = (struct sdp_outcome){
			.reason = SDP_REASON_REFUSED,
			.text = "the SDP port has closed",
		};
		return -ECONNREFUSED;
	}
	is_raised = sdp_limit_begin(sock->tcp_fd);
	ret = link_make(sock, ret_link, outcome);
	if (ret < 0 && !is_raised && !sock->is_accepting &&
	    !outcome->has_sent) {
		/* Others may have used up the descriptors meanwhile. */
		is_raised = sdp_limit_begin(sock->tcp_fd);
		if (is_raised)
			ret = link_make(sock, ret_link, outcome);
	}
	sdp_limit_end(is_raised);
	return ret;
}

void sdp_start_conclude(struct sdp_sock *sock, struct sdp_link *link,
			void (*fail)(struct sdp_sock *sock, void *arg),
			void *arg)
{
	bool is_closed, is_owing, was_full;

	util_lock(&sock->lock);
	/* TCP below a link that it has entered does not end in order. */
	if (sock->start.is_owing && !(link && sock->start.is_entering))
		sdp_owed_settle(sock);
	was_full = sdp_sock_early_len(sock) == SDP_EARLY_MAX;
	if (!link)
		fail(sock, arg);
	else
		link_take(sock, link);
	is_closed = sock->start.is_closed;
	/* Not before: the lock is released while stored octets are sent. */
	is_owing = sock->start.is_owing;
	sock->start.is_owing = false;
	util_unlock(&sock->lock);
	/* The socket was writable before, unless the stored octets had become
	 * too many. */
	sdp_sock_tell(sock, -1,
		      was_full ? SDP_NEWS_ALL : SDP_NEWS_ALL & ~POLLOUT);
	/* close() left it to this thread. */
	if (is_closed)
		sock->end(sock);
	sdp_sock_drop(sock);
	if (is_owing)
		sdp_owed_end();
}

/* A start that the carrier has refused, or that has failed. */
struct failure {
	struct sdp_outcome outcome;
	int err;
	bool is_lost, has_reset;
};

static void run_failed(struct sdp_sock *sock, void *arg)
{
	const struct failure *failure = arg;

	start_failed(sock, failure->err, &failure->outcome, failure->has_reset);
	if (failure->is_lost)
		atomic_store_explicit(
			&sock->error,
			sdp_answer_error(SDP_CAUSE_RESET, SDP_PHASE_OPEN),
			memory_order_relaxed);
}

void *sdp_start_run(void *arg)
{
	struct failure failure = { .outcome.reason = SDP_REASON_NONE };
	struct sdp_sock *sock = arg;
	struct sdp_link *link = NULL;

	sdp_inside_enter();
	sdp_verbs_own_thread();
	/* Since the call that has begun the start looked: TCP reports it as an
	 * error, whatever the peer was to be told. */
	failure.is_lost = !sock->is_accepting && is_reset(sock);
	failure.err = link_try(sock, &link, &failure.outcome);
	failure.has_reset = is_reset(sock);
	if (failure.err < 0)
		refuse(sock);
	sdp_start_conclude(sock, failure.err < 0 ? NULL : link, run_failed,
			   &failure);
	return NULL;
}

/* An address of the link, in the family of the program's socket. */
static void link_name(const struct sdp_sock *sock, const struct sdp_link *link,
		      bool is_peer, union sdp_addr *ret_name)
{
	*ret_name = sdp_addr_of(sdp_link_name(link, is_peer));
	if (sdp_addr_family(sock->tcp_fd) == AF_INET6)
		sdp_addr_map(ret_name);
}

static void link_names_take(struct sdp_sock *sock, const struct sdp_link *link)
{
	uint16_t port = sdp_addr_port(&sock->peer);

	link_name(sock, link, false, &sock->local);
	link_name(sock, link, true, &sock->peer);
	if (sock->is_accepting)
		sdp_addr_set_port(&sock->local, sock->port);
	else
		sdp_addr_set_port(&sock->peer, port);
}

void sdp_start_stand(struct sdp_sock *sock, struct sdp_link *link)
{
	const struct sdp_sock_options *opt = &sock->options;

	sock->is_by_cm = true;
	sdp_options_take(sock, sock->tcp_fd);
	link_names_take(sock, link);
	sdp_count_open(sock, sdp_sock_any_fd(sock));
	(void)sdp_link_set(link, SDP_LINK_NODELAY, opt->has_nodelay);
	(void)sdp_link_set(link, SDP_LINK_OOBINLINE, opt->has_oobinline);
	(void)sdp_link_set(link, SDP_LINK_RCVLOWAT, (uint32_t)opt->rcvlowat);
	(void)sdp_link_set(link, SDP_LINK_CORK, opt->has_cork);
	sdp_sock_link_put(sock, link);
	sdp_count_update(sock);
	sdp_sock_asking_put(sock, false);
	if (!sock->start.is_closed)
		sdp_link_set_notify(link, sdp_sock_notify, sock);
	sdp_sock_become(sock, SDP_SOCK_STREAM);
}

int sdp_start_accepted(struct sdp_sock *sock, int fd, struct sdp_link *link)
{
	bool is_raised, old = sdp_inside_enter();
	int ret;

	util_lock(&sock->lock);
	is_raised = sdp_limit_begin(fd);
	ret = sdp_start_cover(sock, true);
	sdp_limit_end(is_raised);
	if (ret == 0)
		sdp_start_stand(sock, link);
	util_unlock(&sock->lock);
	sdp_inside_leave(old);
	return ret;
}

/* Without a shadow the connection ends for the program. The Hello is not data
 * of the program. A peer whose Hello was read takes this for a refusal and uses
 * TCP. */
static void end_unstarted(struct sdp_sock *sock, int fd)
{
	if (sock->is_accepting)
		hello_drop(fd);
	syscall(SYS_shutdown, fd, SHUT_RDWR);
	sdp_mark_remove(fd);
	sdp_sock_become(sock, SDP_SOCK_TCP);
}

static void start(struct sdp_sock *sock, int fd)
{
	struct sdp_outcome outcome = { .reason = SDP_REASON_RESOURCE,
				       .text = "no thread for the start" };
	bool is_raised = sdp_limit_begin(fd);
	int ret = sdp_start_cover(sock, false);

	sdp_limit_end(is_raised);
	if (ret < 0) {
		util_warn("sdp", "cannot start SDP on descriptor %d: %s", fd,
			  strerror(-ret));
		end_unstarted(sock, fd);
		return;
	}
	sdp_sock_watch(sock, fd);
	ret = sdp_sock_thread(sock, sdp_start_run);
	if (ret < 0) {
		/* The peer continues by TCP. */
		refuse(sock);
		start_failed(sock, ret, &outcome, false);
		sdp_sock_tell(sock, fd, SDP_NEWS_ALL);
	}
}

enum sdp_sock_state sdp_start(struct sdp_sock *sock, int fd,
			      enum sdp_start_why why)
{
	/* A signal handler that does not return here would leave it half
	 * done. */
	UTIL_UNINTERRUPTED();
	UTIL_KEEP_ERRNO();
	bool old = sdp_inside_enter(), has_hello = false, is_due, is_soon;

	util_lock(&sock->lock);
	if (!sdp_sock_has_fd(sock, fd)) {
		util_unlock(&sock->lock);
		goto out;
	}
	if (sdp_sock_state(sock) == SDP_SOCK_PENDING) {
		if (sock->is_accepting)
			is_due = has_hello = hello_has_come(sock, fd);
		else
			is_due = sdp_connect_look(sock, fd);
		/* Either may find that it is TCP. */
		if (sdp_sock_state(sock) == SDP_SOCK_PENDING &&
		    (is_due || (sock->is_accepting && why == SDP_START_WRITE)))
			start(sock, fd);
	}
	is_soon = sdp_sock_state(sock) == SDP_SOCK_STARTING && has_hello;
	util_unlock(&sock->lock);
	if (is_soon)
		(void)sdp_start_wait(sock, sdp_now_ns() + SOON_NS);
out:
	sdp_inside_leave(old);
	return sdp_sock_state(sock);
}

/* Sleeps until *@until, which a step makes true, or until the start has ended.
 * Return: 0; -EAGAIN; -EINTR. */
static int step_wait(struct sdp_sock *sock, const _Atomic bool *until,
		     bool value, uint64_t deadline)
{
	struct timespec limit = util_timespec(deadline);
	uint32_t step;
	long ret;

	for (;;) {
		/* acquire: pairs with sdp_sock_step() */
		step = atomic_load_explicit(&sock->start.step,
					    memory_order_acquire);
		if (sdp_sock_state(sock) != SDP_SOCK_STARTING ||
		    (until && atomic_load_explicit(
				      until, memory_order_acquire) == value))
			return 0;
		/* Without a time limit the kernel restarts it, as the program's
		 * sigaction() requests. */
		ret = UTIL_DEFER_SLEEP(
			syscall(SYS_futex, &sock->start.step,
				FUTEX_WAIT_BITSET_PRIVATE, step,
				deadline == SDP_NEVER ? NULL : &limit, NULL,
				FUTEX_BITSET_MATCH_ANY),
			sdp_signals_restart());
		sdp_ending_look();
		if (ret < 0 && errno == EINTR)
			return -EINTR;
		if (ret < 0 && errno == ETIMEDOUT)
			return -EAGAIN;
	}
}

int sdp_start_wait(struct sdp_sock *sock, uint64_t deadline)
{
	return step_wait(sock, NULL, false, deadline);
}

int sdp_start_wait_shut(struct sdp_sock *sock, const _Atomic bool *is_shut,
			uint64_t deadline)
{
	return step_wait(sock, is_shut, true, deadline);
}

bool sdp_start_asked(struct sdp_sock *sock, uint64_t deadline)
{
	int ret;

	do {
		ret = step_wait(sock, &sock->start.is_asking, false, deadline);
	} while (ret == -EINTR);
	return !sdp_sock_is_asking(sock);
}

bool sdp_start_abandon(struct sdp_sock *sock)
{
	uint64_t one = 1;
	bool is_starting;

	util_lock(&sock->lock);
	is_starting = sdp_sock_state(sock) == SDP_SOCK_STARTING;
	if (is_starting) {
		sock->start.is_closed = true;
		if (sock->start.stop_fd >= 0)
			(void)!util_sys_write(sock->start.stop_fd, &one,
					      sizeof(one));
		/* No thread waits for it, and nothing must be sent. */
		if (sdp_sock_early_len(sock) == 0 && !sock->start.is_entering)
			syscall(SYS_shutdown, sock->tcp_fd, SHUT_RDWR);
	}
	util_unlock(&sock->lock);
	return is_starting;
}

/* Like close() without linger: the peer sees a reset. */
static void link_break(struct sdp_sock *sock)
{
	struct sdp_link *link = sdp_sock_link(sock);

	if (!link)
		return;
	sdp_link_set_notify(link, NULL, NULL);
	sdp_count_close(sock);
	/* Other threads may use it until the socket ends. */
	sdp_link_abort(link);
	if (sock->past_link)
		sdp_link_close(sock->past_link, 0);
	sock->past_link = link;
	sdp_sock_link_put(sock, NULL);
}

int sdp_start_undo(struct sdp_sock *sock)
{
	UTIL_UNINTERRUPTED(); /* as in sdp_ask_cancel() */
	int tcp_fd, ret = 0;

	/* The thread of the start sees that the socket is closed, and does
	 * nothing. */
	util_lock(&sock->lock);
	if (sdp_sock_state(sock) == SDP_SOCK_STARTING) {
		sock->start.is_undone = true;
		syscall(SYS_shutdown, sock->tcp_fd, SHUT_RDWR);
	}
	util_unlock(&sock->lock);
	(void)sdp_start_wait(sock, SDP_NEVER);
	util_lock(&sock->lock);
	sock->start.is_undone = false;
	if (sdp_sock_state(sock) != SDP_SOCK_STREAM)
		goto out;
	tcp_fd = (int)syscall(SYS_socket, sock->peer.sa.sa_family,
			      SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (tcp_fd < 0) {
		ret = -errno;
		goto out;
	}
	sdp_options_renew(sock, tcp_fd);
	link_break(sock);
	sdp_start_give_back(sock, tcp_fd);
	util_sys_close(tcp_fd);
	sock->is_accepting = false;
	sock->is_request = false;
	sock->is_by_cm = false;
	atomic_store_explicit(&sock->is_told, false, memory_order_relaxed);
	atomic_store_explicit(&sock->is_rd_shut, false, memory_order_release);
	atomic_store_explicit(&sock->is_wr_shut, false, memory_order_release);
	atomic_store_explicit(&sock->error, 0, memory_order_relaxed);
out:
	util_unlock(&sock->lock);
	return ret;
}

ssize_t sdp_start_send(struct sdp_sock *sock, const struct iovec *iov,
		       size_t cnt, size_t least, bool is_urgent)
{
	ssize_t ret = 0;

	util_lock(&sock->lock);
	if (sdp_sock_state(sock) != SDP_SOCK_STARTING)
		goto out;
	if (sdp_sock_is_asking(sock)) {
		ret = -EAGAIN;
		goto out;
	}
	ret = sdp_early_add(sock, iov, cnt, least, is_urgent);
	if (sock->start.early)
		sdp_owed_begin(sock);
out:
	util_unlock(&sock->lock);
	return ret;
}
