/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See enter.h. */
#include "enter.h"

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/cancel.h"
#include "util/defer.h"
#include "util/keep-errno.h"
#include "util/lock.h"
#include "util/log.h"
#include "util/thread.h"
#include "sock/base/announce.h"
#include "sock/base/limit.h"
#include "sock/base/option.h"
#include "sock/base/tcp-state.h"
#include "sock/show/ready.h"
#include "sock/start/connect.h"
#include "sock/start/owed.h"
#include "sock/start/start.h"
#include "stat/sdp-stat.h"
#include "desk.h"
#include "other-end.h"
#include "tcp-count.h"
#include "verbs/sdp-link.h"

/* Time for the calls inside the kernel to return, because something came. */
#define CALLS_NS (1000 * NS_PER_MS)
/* The same for those that cannot sleep. */
#define FREEZE_NS (10 * NS_PER_MS)
/* Time for each message of the peer, while both sides can go back. */
#define PEER_MS 1000
/* Time for what follows: a side that goes back alone ends the connection. A
 * process that is gone is noticed at once. */
#define LAST_MS 10000
/* Time for the peer's kernel to take what TCP has. */
#define LINGER_NS (60000 * NS_PER_MS)
/* Connections of a process that are announced at a time. */
#define KNOWN_MAX 128
/* Octets that TCP may still have, more than its buffers hold. */
#define LEFT_MAX (64u << 20)

/* ---- messages between the two sides, before the Hello ---- */

#define MAGIC "usiwsdp1"

/* A name of a socket: an IPv6 address, also IPv4-mapped, and its port. */
struct wire_name {
	uint8_t addr[16];
	uint8_t port[2];
} __attribute__((packed));

struct wire_ask {
	char magic[8];
	struct wire_name own, peer;
} __attribute__((packed));

/* From each side: octets that it has written to TCP. */
struct wire_at {
	char magic[8];
	uint64_t octets; /* big-endian */
} __attribute__((packed));

static void wire_name_put(struct wire_name *wire, const union sdp_addr *name)
{
	union sdp_addr mapped = *name;

	sdp_addr_map(&mapped);
	memcpy(wire->addr, &mapped.in6.sin6_addr, sizeof(wire->addr));
	memcpy(wire->port, &mapped.in6.sin6_port, sizeof(wire->port));
}

static bool wire_name_is(const struct wire_name *wire,
			 const union sdp_addr *name)
{
	struct wire_name other;

	wire_name_put(&other, name);
	return memcmp(wire, &other, sizeof(other)) == 0;
}

static int message_send(int fd, const void *message, size_t len)
{
	return syscall(SYS_sendto, fd, message, len, MSG_NOSIGNAL, NULL, 0) ==
			       (long)len
		       ? 0
		       : -EPROTO;
}

/* All messages begin with MAGIC. */
static int message_recv(int fd, void *message, size_t len)
{
	if (syscall(SYS_recvfrom, fd, message, len, MSG_WAITALL, NULL, NULL) !=
	    (long)len)
		return -EPROTO;
	return memcmp(message, MAGIC, sizeof(MAGIC) - 1) == 0 ? 0 : -EPROTO;
}

static int at_send(int fd, uint64_t octets)
{
	struct wire_at at = { .octets = htobe64(octets) };

	memcpy(at.magic, MAGIC, sizeof(at.magic));
	return message_send(fd, &at, sizeof(at));
}

static int at_recv(int fd, uint64_t *ret_octets)
{
	struct wire_at at;
	int ret = message_recv(fd, &at, sizeof(at));

	if (ret == 0)
		*ret_octets = be64toh(at.octets);
	return ret;
}

static void limits_set(int fd)
{
	static const struct timeval limit = { .tv_sec = PEER_MS / 1000 };

	syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &limit,
		sizeof(limit));
	syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, &limit,
		sizeof(limit));
}

/* ---- calls inside the kernel ---- */

static void gate_put(struct sdp_sock *sock, enum sdp_enter_gate gate)
{
	/* seq_cst: pairs with sdp_enter_in() */
	atomic_store_explicit(&sock->enter.gate, gate, memory_order_seq_cst);
	if (gate == SDP_ENTER_OPEN)
		syscall(SYS_futex, &sock->enter.gate, FUTEX_WAKE_PRIVATE,
			INT_MAX, NULL, NULL, 0);
}

static uint32_t gate_get(const struct sdp_sock *sock)
{
	return atomic_load_explicit(&sock->enter.gate, memory_order_seq_cst);
}

int sdp_enter_in(struct sdp_sock *sock, bool may_sleep)
{
	uint32_t gate;

	/* seq_cst: the side that shuts the gate sees this call, or this call
	 * sees that it is shut. */
	atomic_fetch_add_explicit(&sock->enter.in_cnt, 1, memory_order_seq_cst);
	gate = gate_get(sock);
	if (sdp_sock_state(sock) == SDP_SOCK_TCP &&
	    (gate == SDP_ENTER_OPEN ||
	     (gate == SDP_ENTER_WANTED && !may_sleep)))
		return 1;
	sdp_enter_left(sock);
	if (sdp_sock_state(sock) != SDP_SOCK_TCP)
		return -EAGAIN;
	if (gate == SDP_ENTER_WANTED)
		return 0;
	syscall(SYS_futex, &sock->enter.gate, FUTEX_WAIT_PRIVATE,
		SDP_ENTER_SHUT, NULL, NULL, 0);
	return -EAGAIN;
}

void sdp_enter_left(struct sdp_sock *sock)
{
	UTIL_KEEP_ERRNO();

	if (atomic_fetch_sub_explicit(&sock->enter.in_cnt, 1,
				      memory_order_seq_cst) == 1 &&
	    gate_get(sock) != SDP_ENTER_OPEN)
		syscall(SYS_futex, &sock->enter.in_cnt, FUTEX_WAKE_PRIVATE,
			INT_MAX, NULL, NULL, 0);
}

/* Return: whether all calls have returned. */
static bool calls_wait(struct sdp_sock *sock, uint64_t limit_ns)
{
	uint64_t now = sdp_now_ns(), end = now + limit_ns;
	struct timespec left;
	uint32_t cnt;

	while ((cnt = atomic_load_explicit(&sock->enter.in_cnt,
					   memory_order_seq_cst)) > 0) {
		now = sdp_now_ns();
		if (now >= end)
			return false;
		left = util_timespec(end - now);
		syscall(SYS_futex, &sock->enter.in_cnt, FUTEX_WAIT_PRIVATE, cnt,
			&left, NULL, 0);
	}
	return true;
}

/* ---- from TCP to the start ---- */

static uint64_t octets(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* Others have not moved octets: stdio, a program before this one. The kernel
 * counts the SYN of a socket that has connected. */
static bool is_own(const struct sdp_sock *sock)
{
	uint64_t syn =
		atomic_load_explicit(&sock->enter.role, memory_order_relaxed) ==
		SDP_ENTER_CONNECTED;
	struct sdp_tcp_count count;

	return sdp_tcp_count(sock->tcp_fd, &count) &&
	       count.rx == octets(&sock->enter.rx) &&
	       count.tx == octets(&sock->enter.tx) + syn;
}

/* The lock is held, and no call is in the kernel. */
static int cover(struct sdp_sock *sock)
{
	bool is_raised;
	int ret;

	if (!sdp_enter_is_possible(sock) || sdp_sock_any_fd(sock) < 0)
		return -ECANCELED;
	if (!is_own(sock))
		return -EBUSY;
	sock->is_accepting =
		atomic_load_explicit(&sock->enter.role, memory_order_relaxed) ==
		SDP_ENTER_ACCEPTED;
	sock->peer = sock->enter.peer;
	sock->port = sdp_addr_port(&sock->enter.own);
	sock->start.is_entering = true;
	is_raised = sdp_limit_begin(sock->tcp_fd);
	ret = sdp_start_cover(sock, false);
	sdp_limit_end(is_raised);
	if (ret < 0) {
		sock->start.is_entering = false;
		return ret;
	}
	sdp_sock_watch(sock, sdp_sock_any_fd(sock));
	/* An exit waits, also if the program has closed the socket. */
	sdp_owed_add();
	return 0;
}

/* From now on the program writes nothing to TCP. */
static int freeze(struct sdp_sock *sock)
{
	int ret = -EBUSY;

	gate_put(sock, SDP_ENTER_SHUT);
	if (calls_wait(sock, FREEZE_NS)) {
		util_lock(&sock->lock);
		ret = cover(sock);
		util_unlock(&sock->lock);
	}
	gate_put(sock, SDP_ENTER_OPEN);
	return ret;
}

/* Calls no longer sleep in the kernel. Return: 0; -EBUSY; -EALREADY: another
 * thread is at it; -errno. */
static int want(struct sdp_sock *sock)
{
	uint32_t open = SDP_ENTER_OPEN;
	int ret;

	util_lock(&sock->lock);
	ret = sdp_enter_is_possible(sock) ? sdp_sock_below_take(sock)
					  : -ECANCELED;
	util_unlock(&sock->lock);
	if (ret < 0)
		return ret;
	if (!atomic_compare_exchange_strong_explicit(
		    &sock->enter.gate, &open, SDP_ENTER_WANTED,
		    memory_order_seq_cst, memory_order_seq_cst))
		return -EALREADY;
	if (calls_wait(sock, CALLS_NS))
		return 0;
	gate_put(sock, SDP_ENTER_OPEN);
	return -EBUSY;
}

/* ---- from the start to SDP ---- */

static int link_make(const struct sdp_sock *sock, int fd,
		     struct sdp_link **ret_link, struct sdp_outcome *outcome)
{
	struct sdp_link_options opt = SDP_LINK_OPTIONS_INIT;
	/* The peer stands as soon as it has answered. */
	uint32_t ms = sock->is_accepting ? PEER_MS : LAST_MS;
	uint64_t deadline = sdp_now_ns() + ms * NS_PER_MS;

	sdp_options_of_link(sock, &opt);
	opt.hello_ms = ms;
	opt.conn.start_ms = ms;
	opt.conn.carrier = SDP_STREAM;
	return sock->is_accepting ? sdp_link_accept_fd(ret_link, fd, &opt,
						       deadline, outcome)
				  : sdp_link_connect_fd(ret_link, fd, &opt,
							deadline, outcome);
}

/* The rest of what the peer has written to TCP. Return: 0; -errno. */
static int left_read(int tcp_fd, uint8_t *buf, size_t len)
{
	struct pollfd pfd = { .fd = tcp_fd, .events = POLLIN };
	size_t done = 0;
	long n;

	while (done < len) {
		n = syscall(SYS_recvfrom, tcp_fd, buf + done, len - done,
			    MSG_DONTWAIT, NULL, NULL);
		if (n > 0)
			done += (size_t)n;
		else if (n == 0)
			return -ECONNRESET;
		else if (errno != EAGAIN)
			return -errno;
		else if (util_sys_poll(&pfd, 1, LAST_MS) == 0)
			return -ETIMEDOUT;
	}
	return 0;
}

static int left_feed(struct sdp_sock *sock, struct sdp_link *link,
		     uint64_t peer_at)
{
	uint8_t *buf = NULL;
	size_t len;
	int ret = 0;

	/* Calls of the program read TCP no more. */
	util_lock(&sock->lock);
	len = (size_t)(peer_at - octets(&sock->enter.rx));
	atomic_store_explicit(&sock->start.is_draining, len > 0,
			      memory_order_relaxed);
	util_unlock(&sock->lock);
	if (len == 0)
		return 0;
	buf = malloc(len);
	if (!buf)
		return -ENOMEM;
	ret = left_read(sock->tcp_fd, buf, len);
	if (ret < 0)
		free(buf);
	else
		sdp_link_feed(link, buf, len);
	return ret;
}

ssize_t sdp_enter_recv(struct sdp_sock *sock, const struct iovec *iov,
		       size_t cnt, int flags)
{
	struct msghdr msg = { .msg_iov = (struct iovec *)(uintptr_t)iov,
			      .msg_iovlen = cnt };
	ssize_t ret = -EAGAIN;

	util_lock(&sock->lock);
	/* Another thread may have taken what the caller saw. Then the kernel
	 * would tell of an error, once, that is for the start, or for the
	 * program after it. */
	if (sdp_sock_state(sock) == SDP_SOCK_STARTING &&
	    sock->start.is_entering && !sock->start.is_draining &&
	    sdp_tcp_unread(sock->tcp_fd) > 0) {
		ret = syscall(SYS_recvmsg, sock->tcp_fd, &msg,
			      (flags & (MSG_PEEK | MSG_TRUNC)) | MSG_DONTWAIT);
		if (ret < 0)
			ret = errno == EFAULT ? -EFAULT : -EAGAIN;
		else if (ret == 0)
			ret = -EAGAIN; /* the start shows the end */
		else if (!(flags & MSG_PEEK))
			atomic_fetch_add_explicit(&sock->enter.rx,
						  (uint64_t)ret,
						  memory_order_relaxed);
	}
	util_unlock(&sock->lock);
	return ret;
}

/* Octets in the direction of the last call, since the last turn. relaxed: calls
 * of several threads may be counted to the wrong run. */
static uint64_t run_now(const struct sdp_sock *sock)
{
	bool is_send = atomic_load_explicit(&sock->enter.is_sending,
					    memory_order_relaxed);
	uint64_t now = octets(is_send ? &sock->enter.tx : &sock->enter.rx);
	uint64_t turn_at = octets(&sock->enter.turn_at);

	return now > turn_at ? now - turn_at : 0;
}

/* Later the peer may be announced, or its program sleeps less long. */
static void try_later(struct sdp_sock *sock)
{
	/* release: this attempt no longer uses the names */
	atomic_store_explicit(&sock->enter.next_at, 4 * run_now(sock) + 1,
			      memory_order_release);
}

static void enter_failed(struct sdp_sock *sock, void *arg)
{
	const int *err = arg;

	/* What was stored is sent uncounted. */
	atomic_store_explicit(&sock->enter.role, SDP_ENTER_NEVER,
			      memory_order_relaxed);
	util_info("sdp", "SDP cannot enter a connection: %s: TCP goes on",
		  strerror(-*err));
	sdp_start_return(sock);
}

/* A part of what TCP had is missing. An end in order of the link must not hide
 * that. */
static void enter_lost(struct sdp_sock *sock, void *arg)
{
	const int *err = arg;

	util_warn("sdp", "SDP has entered a connection whose TCP is lost: %s",
		  strerror(-*err));
	sdp_tcp_end_by_reset(sock->tcp_fd, true);
	atomic_store_explicit(
		&sock->error,
		sdp_link_is_lost(-*err)
			? -*err
			: sdp_answer_error(SDP_CAUSE_RESET, SDP_PHASE_OPEN),
		memory_order_relaxed);
	sdp_sock_become(sock, SDP_SOCK_STREAM);
}

/* Keeps TCP until the peer's kernel has what was written to it. */
static void tcp_linger(int tcp_fd)
{
	static const struct timespec nap = { .tv_nsec = 1000000 };
	uint64_t end = sdp_now_ns() + LINGER_NS;
	int left = 0;

	if (tcp_fd < 0)
		return;
	while (syscall(SYS_ioctl, tcp_fd, SIOCOUTQ, &left) == 0 && left > 0 &&
	       sdp_now_ns() < end)
		nanosleep(&nap, NULL);
	sdp_private_close(tcp_fd);
}

/* STARTING. @fd is the second connection, and both sides know where TCP ends,
 * or @err. */
static void finish(struct sdp_sock *sock, int fd, uint64_t peer_at, int err)
{
	struct sdp_outcome outcome = { .reason = SDP_REASON_NONE };
	void (*fail)(struct sdp_sock *sock, void *arg) = enter_failed;
	struct sdp_link *link = NULL;
	uint64_t rx = octets(&sock->enter.rx);
	int tcp_fd = -1;

	if (err == 0 && (peer_at < rx || peer_at - rx > LEFT_MAX))
		err = -EPROTO;
	if (err == 0)
		err = link_make(sock, fd, &link, &outcome);
	/* The peer begins before anyone may have read from it. */
	if (err == 0) {
		fail = enter_lost;
		err = left_feed(sock, link, peer_at);
		if (err < 0)
			sdp_link_close(link, 0);
	}
	/* What is sent from now on goes by the link. A peer that goes back must
	 * not read an orderly end of TCP. */
	if (err == 0) {
		sdp_tcp_end_by_reset(sock->tcp_fd, true);
		tcp_fd = sdp_private_dup(sock->tcp_fd);
	}
	sdp_sock_hold(sock);
	sdp_start_conclude(sock, err < 0 ? NULL : link, fail, &err);
	sock->start.is_entering = sock->start.is_draining = false;
	sdp_sock_drop(sock);
	tcp_linger(tcp_fd);
	sdp_owed_end();
}

/* ---- the connecting side ---- */

/* The peer announces the connection when its program has read about as much as
 * this one has written. Return: 0; -errno. */
static int desk_find(const struct sdp_sock *sock, uint16_t *ret_port)
{
	static const long naps_ms[] = { 1, 4, 20, 100, 400 };
	struct timespec nap = { 0 };
	int ret = -ENOENT;

	for (size_t i = 0; i <= sizeof(naps_ms) / sizeof(naps_ms[0]); i++) {
		ret = sdp_other_end_find(&sock->enter.own, &sock->enter.peer,
					 ret_port);
		if (ret != -ENOENT || !sdp_enter_is_possible(sock) ||
		    i == sizeof(naps_ms) / sizeof(naps_ms[0]))
			break;
		nap.tv_nsec = naps_ms[i] * (long)NS_PER_MS;
		nanosleep(&nap, NULL);
	}
	return ret;
}

/* Binds the socket of the second connection, and announces its port with the
 * first. Return: the announcement; -errno. */
static int desk_announce(const struct sdp_sock *sock, int fd)
{
	union sdp_addr own = sock->enter.own;
	int ret;

	sdp_addr_set_port(&own, 0);
	if (syscall(SYS_bind, fd, &own, sdp_addr_len(&own)) < 0)
		return -errno;
	ret = sdp_addr_get(fd, false, &own);
	if (ret == 0)
		ret = sdp_announce(sock->tcp_fd, sdp_addr_port(&own), false);
	return ret;
}

/* Return: descriptor of the second connection, and the announcement that proves
 * whose it is; -errno. */
static int desk_connect(const struct sdp_sock *sock, uint16_t port,
			int *ret_note_fd)
{
	union sdp_addr peer = sock->enter.peer;
	int ret, fd;

	sdp_addr_set_port(&peer, port);
	fd = sdp_private_take((int)syscall(SYS_socket, peer.sa.sa_family,
					   SOCK_STREAM | SOCK_CLOEXEC, 0));
	if (fd < 0)
		return fd;
	limits_set(fd);
	ret = *ret_note_fd = desk_announce(sock, fd);
	if (ret >= 0 &&
	    syscall(SYS_connect, fd, &peer, sdp_addr_len(&peer)) == 0)
		return fd;
	ret = ret < 0 ? ret : -errno;
	sdp_private_close(fd);
	return ret;
}

static int ask(const struct sdp_sock *sock, int fd, uint64_t *ret_peer_at)
{
	struct wire_ask message;
	int ret;

	memcpy(message.magic, MAGIC, sizeof(message.magic));
	wire_name_put(&message.own, &sock->enter.own);
	wire_name_put(&message.peer, &sock->enter.peer);
	ret = message_send(fd, &message, sizeof(message));
	return ret < 0 ? ret : at_recv(fd, ret_peer_at);
}

/* The peer's side does not speak SDP. */
static void tell_why(struct sdp_sock *sock, int err)
{
	if (!sock->enter.is_told && sdp_enter_is_possible(sock))
		sdp_stat_fell_back(NULL, sdp_connect_fallback_of(err));
	sock->enter.is_told = true;
}

/* Before a freeze nothing has to be undone. Return: whether @sock, which the
 * thread holds, has started. */
static bool connect_begin(struct sdp_sock *sock, int *ret_fd,
			  uint64_t *ret_peer_at, int *ret_err)
{
	uint16_t port;
	int ret = desk_find(sock, &port), note_fd = -1;

	*ret_fd = -1;
	if (ret < 0)
		tell_why(sock, ret);
	else
		ret = want(sock);
	if (ret < 0)
		goto out;
	ret = *ret_fd = desk_connect(sock, port, &note_fd);
	if (ret >= 0)
		ret = ask(sock, *ret_fd, ret_peer_at);
	/* Who has answered has seen it. */
	sdp_private_close(note_fd);
	if (ret == 0)
		ret = freeze(sock);
	else
		gate_put(sock, SDP_ENTER_OPEN);
out:
	*ret_err = ret;
	return ret == 0;
}

static void *connect_thread(void *arg)
{
	struct sdp_sock *sock = arg;
	uint64_t peer_at = 0;
	int fd, err;

	sdp_inside_enter();
	sdp_verbs_own_thread();
	if (connect_begin(sock, &fd, &peer_at, &err)) {
		err = at_send(fd, octets(&sock->enter.tx));
		finish(sock, fd, peer_at, err);
	} else {
		util_debug("sdp", "SDP does not enter a connection: %s",
			   strerror(-err));
		try_later(sock);
		sdp_sock_drop(sock);
	}
	sdp_private_close(fd);
	return NULL;
}

/* ---- the accepting side ---- */

static struct util_lock known_lock = UTIL_LOCK_INIT(UTIL_RANK_LEAF);
static struct sdp_sock *known; /* announced, newest first; each holds memory */
static uint32_t known_cnt;

/* Return: held; NULL. */
static struct sdp_sock *known_find(const struct wire_ask *ask)
{
	struct sdp_sock *sock;

	util_lock(&known_lock);
	for (sock = known; sock; sock = sock->enter.next)
		if (wire_name_is(&ask->own, &sock->enter.peer) &&
		    wire_name_is(&ask->peer, &sock->enter.own))
			break;
	if (sock)
		sdp_sock_hold(sock);
	util_unlock(&known_lock);
	return sock;
}

static void known_remove(struct sdp_sock *sock)
{
	struct sdp_sock **at = &known;
	int note_fd = -1;

	util_lock(&known_lock);
	while (*at && *at != sock)
		at = &(*at)->enter.next;
	if (*at) {
		*at = sock->enter.next;
		known_cnt--;
		note_fd = sock->enter.note_fd;
		sock->enter.note_fd = -1;
	}
	util_unlock(&known_lock);
	sdp_private_close(note_fd);
	if (note_fd >= 0)
		sdp_sock_drop(sock);
}

/* Peers that speak no SDP do not come. Their announcements must not use up the
 * program's descriptors. */
static void known_add(struct sdp_sock *sock, int note_fd)
{
	struct sdp_sock *oldest = NULL;

	sdp_sock_hold(sock);
	util_lock(&known_lock);
	sock->enter.note_fd = note_fd;
	sock->enter.next = known;
	known = sock;
	if (++known_cnt > KNOWN_MAX) {
		for (oldest = known; oldest->enter.next;)
			oldest = oldest->enter.next;
		sdp_sock_hold(oldest);
	}
	util_unlock(&known_lock);
	if (!oldest)
		return;
	known_remove(oldest);
	sdp_sock_drop(oldest);
}

/* From this address the other end of an announced connection may come. */
static bool expects(const union sdp_addr *from)
{
	struct sdp_sock *sock;

	util_lock(&known_lock);
	for (sock = known; sock; sock = sock->enter.next)
		if (sdp_addr_is_same_host(&sock->enter.peer, from))
			break;
	util_unlock(&known_lock);
	return sock;
}

/* The second connection comes from who has the other end of the first: from the
 * address and port that were announced with it. */
static bool is_other_end(const struct sdp_sock *sock, int fd)
{
	union sdp_addr from;
	uint16_t port;
	int ret =
		sdp_other_end_find(&sock->enter.own, &sock->enter.peer, &port);

	if (ret == -EADDRNOTAVAIL)
		util_info("sdp", "SDP does not enter a connection: no sdp-pmd "
				 "answers on the host of the client");
	return ret == 0 && sdp_addr_get(fd, true, &from) == 0 &&
	       sdp_addr_is_same_host(&sock->enter.peer, &from) &&
	       sdp_addr_port(&from) == port;
}

/* @sock is held. */
static void serve_sock(struct sdp_sock *sock, int fd)
{
	uint64_t peer_at = 0;
	int err;

	if (!is_other_end(sock, fd) || want(sock) < 0 || freeze(sock) < 0) {
		sdp_sock_drop(sock);
		return;
	}
	known_remove(sock);
	err = at_send(fd, octets(&sock->enter.tx));
	if (err == 0)
		err = at_recv(fd, &peer_at);
	finish(sock, fd, peer_at, err);
}

static void serve(int fd)
{
	struct wire_ask message;
	struct sdp_sock *sock = NULL;

	limits_set(fd);
	if (message_recv(fd, &message, sizeof(message)) == 0)
		sock = known_find(&message);
	if (sock)
		serve_sock(sock, fd);
	sdp_private_close(fd);
}

static void announce(struct sdp_sock *sock, int fd)
{
	int ret = sdp_desk_open(expects, serve);

	if (ret > 0)
		ret = sdp_announce(fd, (uint16_t)ret, false);
	if (ret < 0)
		util_info("sdp", "cannot announce a connection for SDP: %s",
			  strerror(-ret));
	else
		known_add(sock, ret);
}

/* ---- when ---- */

/* The number is the program's, in a call of it. */
static void try_now(struct sdp_sock *sock, int fd)
{
	/* A handler that does not return here would leave it half done. */
	UTIL_UNINTERRUPTED();
	bool old = sdp_inside_enter();

	util_lock(&sock->lock);
	if (sdp_enter_is_possible(sock) && sdp_sock_has_fd(sock, fd) &&
	    sdp_addr_get(fd, false, &sock->enter.own) == 0 &&
	    sdp_addr_get(fd, true, &sock->enter.peer) == 0) {
		if (atomic_load_explicit(&sock->enter.role,
					 memory_order_relaxed) ==
		    SDP_ENTER_ACCEPTED)
			announce(sock, fd);
		else
			(void)sdp_sock_thread(sock, connect_thread);
	}
	util_unlock(&sock->lock);
	sdp_inside_leave(old);
}

/* A program that turns often waits for its peer each time, and gains
 * nothing. */
static void turn_note(struct sdp_sock *sock, bool is_send, uint64_t before)
{
	if (atomic_load_explicit(&sock->enter.is_sending,
				 memory_order_relaxed) == is_send)
		return;
	atomic_store_explicit(&sock->enter.is_sending, is_send,
			      memory_order_relaxed);
	atomic_store_explicit(&sock->enter.turn_at, before,
			      memory_order_relaxed);
}

void sdp_enter_out(struct sdp_sock *sock, int fd, bool is_send, size_t cnt)
{
	UTIL_KEEP_ERRNO();
	uint64_t at;

	/* relaxed: who shuts the gate sees them by in_cnt */
	turn_note(sock, is_send,
		  atomic_fetch_add_explicit(is_send ? &sock->enter.tx
						    : &sock->enter.rx,
					    cnt, memory_order_relaxed));
	sdp_enter_left(sock);
	/* Only one of the calls that come so far tries. acquire: with
	 * try_later() */
	at = octets(&sock->enter.next_at);
	if (run_now(sock) >= at &&
	    atomic_compare_exchange_strong_explicit(
		    &sock->enter.next_at, &at, UINT64_MAX, memory_order_acquire,
		    memory_order_relaxed))
		try_now(sock, fd);
}

void sdp_enter_end(struct sdp_sock *sock)
{
	if (atomic_load_explicit(&sock->enter.role, memory_order_relaxed) ==
	    SDP_ENTER_NEVER)
		return;
	/* No entry begins behind this lock. */
	util_lock(&sock->lock);
	atomic_store_explicit(&sock->enter.role, SDP_ENTER_NEVER,
			      memory_order_relaxed);
	util_unlock(&sock->lock);
	known_remove(sock);
}

void sdp_enter_never(struct sdp_sock *sock)
{
	UTIL_KEEP_ERRNO();
	UTIL_UNINTERRUPTED(); /* as in try_now() */

	if (atomic_load_explicit(&sock->enter.role, memory_order_relaxed) ==
	    SDP_ENTER_NEVER)
		return;
	sdp_enter_end(sock);
	/* The steps of one that has begun have limits. */
	if (atomic_load_explicit(&sock->start.is_entering,
				 memory_order_relaxed))
		while (sdp_start_wait(sock, SDP_NEVER) == -EINTR)
			;
}

void sdp_enter_fork_child(void)
{
	util_lock_init(&known_lock, UTIL_RANK_LEAF);
	sdp_desk_fork_child();
	known_cnt = 0;
	for (; known; known = known->enter.next) {
		sdp_private_close(known->enter.note_fd);
		known->enter.note_fd = -1;
	}
}
