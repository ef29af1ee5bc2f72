/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See share.h. */
#include "share.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cancel.h"
#include "util/defer.h"
#include "util/keep-errno.h"
#include "util/thread.h"
#include "sock/enter/enter.h"
#include "sock/start/ask.h"
#include "sock/start/start.h"
#include "sock/base/limit.h"
#include "sock/listen/listen.h"
#include "relay.h"
#include "relay-name.h"
#include "sock/base/rights.h"

/* The answers to a child: its number is the relay's; it gets another one. */
#define ANSWER_SAME 's'
#define ANSWER_OTHER 'o'
/* How often a child asks. The parent may raise its limit of descriptors in
 * between, or may have no thread for a relay at the moment. */
#define ASK_TRIES 5

/* Number of children that may hold sockets of this process, and number of
 * sockets of this process that belong to its parent and were not used. */
static _Atomic uint32_t child_cnt;
static _Atomic uint32_t unasked_cnt;

/* ---- the parent ---- */

/* What this thread looks for: an address in another process, and the socket
 * that it is, with a reference. */
static _Thread_local struct {
	const struct sdp_sock *asked;
	struct sdp_sock *found;
} wanted;

static void wanted_look(struct sdp_sock *sock)
{
	if (sock != wanted.asked || wanted.found)
		return;
	util_file_get(&sock->file);
	wanted.found = sock;
}

/* Handles a child's request for @asked. The address of the socket is the same
 * in both processes. A socket that this process has closed is a relay
 * already. */
static void answer(const struct sdp_sock *asked, int reply_fd)
{
	static const char same = ANSWER_SAME, other = ANSWER_OTHER;
	int ret = 0, fd = -1;

	wanted.asked = asked;
	wanted.found = NULL;
	sdp_table_each_sock(wanted_look);
	if (wanted.found) {
		ret = sdp_relay_enter(wanted.found);
		if (ret == 0 && wanted.found->relay.is_renewed)
			fd = sdp_sock_any_fd(wanted.found);
	}
	if (ret == 0 && fd >= 0)
		(void)sdp_rights_send(reply_fd, &other, 1, fd);
	else if (ret == 0)
		util_sys_write(reply_fd, &same, 1);
	if (wanted.found)
		sdp_sock_put(wanted.found);
	util_sys_close(reply_fd);
}

static void *share_thread(void *arg)
{
	int way = (int)(intptr_t)arg, reply_fd;
	bool is_raised = false;
	struct sdp_sock *asked;

	sdp_inside_enter();
	/* Until no child holds the other end. */
	for (;;) {
		reply_fd = sdp_rights_receive(way, &asked, sizeof(asked));
		sdp_limit_end(is_raised);
		is_raised = false;
		if (reply_fd >= 0)
			answer(asked, reply_fd);
		else if (reply_fd == -EMFILE)
			is_raised =
				sdp_limit_begin(way); /* the child asks again */
		else
			break;
	}
	sdp_private_close(way);
	atomic_fetch_sub_explicit(&child_cnt, 1, memory_order_relaxed);
	return NULL;
}

static void count_fd(int fd, void *arg)
{
	(void)fd;
	++*(int *)arg;
}

void sdp_share_close(int fd)
{
	struct sdp_sock *sock;
	int cnt = 0;

	if (!atomic_load_explicit(&child_cnt, memory_order_relaxed))
		return;
	sock = sdp_sock_get(fd);
	if (!sock)
		return;
	if (sock->is_shared && sdp_sock_is_stream(sock)) {
		sdp_sock_each_fd(sock, count_fd, &cnt);
		if (cnt == 1)
			(void)sdp_relay_enter(sock);
	}
	sdp_sock_put(sock);
}

/* ---- the child ---- */

static bool answer_take(struct sdp_sock *sock, int way)
{
	char octet = 0;
	int fd = sdp_rights_receive(way, &octet, 1);

	if (fd < 0)
		return octet == ANSWER_SAME;
	sdp_relay_cover(sock, fd);
	return true;
}

/* Return: false: the parent could not be asked, or has no relay. A later
 *   request may succeed. */
static bool parent_ask(struct sdp_sock *sock)
{
	struct pollfd pfd[2] = { { .events = POLLIN }, { .fd = -1 } };
	bool is_answered = false;
	int ways[2];

	if (sock->relay.share_fd < 0 ||
	    syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
		    ways) < 0)
		return false;
	pfd[0].fd = ways[0];
	/* If the parent has exited, the number shows it. */
	pfd[1].fd = sdp_sock_any_fd(sock);
	if (sdp_rights_send(sock->relay.share_fd, &sock, sizeof(sock),
			    ways[1])) {
		util_sys_close(ways[1]);
		ways[1] = -1;
		while (util_sys_poll(pfd, 2, -1) < 0 && errno == EINTR)
			;
		is_answered = pfd[0].revents && answer_take(sock, ways[0]);
	}
	if (ways[1] >= 0)
		util_sys_close(ways[1]);
	util_sys_close(ways[0]);
	return is_answered;
}

/* No data will come through the number. It shows a reset, because nothing else
 * would end the calls that wait for data. */
static void number_end(struct sdp_sock *sock)
{
	int pair[2];

	if (syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
		    pair) < 0)
		return;
	/* Stays unread in an end that is closed. */
	syscall(SYS_sendto, pair[0], "", 1, MSG_NOSIGNAL, NULL, 0);
	util_sys_close(pair[1]);
	sdp_relay_cover(sock, pair[0]);
}

/* Whether what the number shows is true although the parent does not answer: it
 * has relayed it until it ended. */
static bool is_relayed(struct sdp_sock *sock)
{
	union sdp_addr local, peer;

	return sdp_relay_name_get(sdp_sock_any_fd(sock), &local, &peer);
}

void sdp_share_ask(struct sdp_sock *sock)
{
	/* The thread sleeps with the lock held. */
	UTIL_UNINTERRUPTED();
	UTIL_KEEP_ERRNO();
	bool is_answered = false;

	util_lock(&sock->lock);
	if (sock->relay.is_unasked) {
		for (int i = 0; i < ASK_TRIES && !is_answered; i++)
			is_answered = parent_ask(sock);
		if (!is_answered && !is_relayed(sock))
			number_end(sock);
		/* release: pairs with sdp_share_use() */
		atomic_store_explicit(&sock->relay.is_unasked, false,
				      memory_order_release);
		atomic_fetch_sub_explicit(&unasked_cnt, 1,
					  memory_order_relaxed);
	}
	util_unlock(&sock->lock);
}

void sdp_share_use_all(void)
{
	if (atomic_load_explicit(&unasked_cnt, memory_order_relaxed))
		sdp_table_each_sock(sdp_share_use);
}

/* ---- whom this process passes sockets to ---- */

/* Others will use @sock. A relay of another process is asked for. */
static void others_use(struct sdp_sock *sock)
{
	sdp_enter_never(sock);
	(void)sdp_relay_enter(sock);
	sdp_share_use(sock);
}

void sdp_share_stdio(int fd)
{
	/* In a vfork child the table belongs to the parent. */
	struct sdp_sock *sock = sdp_is_owner() ? sdp_sock_get(fd) : NULL;
	UTIL_KEEP_ERRNO();
	bool old;

	if (!sock)
		return;
	old = sdp_inside_enter();
	sdp_enter_never(sock); /* only a socket that stays what it is */
	(void)sdp_start(sock, fd, SDP_START_WRITE);
	others_use(sock);
	sdp_inside_leave(old);
	sdp_sock_put(sock);
}

void sdp_share_inherited(void)
{
	for (int fd = 0; fd <= SDP_STDIO_MAX; fd++)
		sdp_share_stdio(fd);
}

static void fd_pass(int fd)
{
	struct sdp_sock *sock = sdp_sock_get(fd);

	if (!sock)
		return;
	others_use(sock);
	sdp_sock_put(sock);
}

void sdp_share_message(const struct msghdr *msg)
{
	sdp_rights_each(msg, fd_pass);
}

static void fd_is_inheritable(int fd, void *arg)
{
	bool *is_any = arg;
	long flags = syscall(SYS_fcntl, fd, F_GETFD);

	*is_any |= flags >= 0 && !(flags & FD_CLOEXEC);
}

static bool is_inheritable(struct sdp_sock *sock)
{
	bool is_any = false;

	sdp_sock_each_fd(sock, fd_is_inheritable, &is_any);
	return is_any;
}

/* A relay would end with this program, and so would SDP if it began now. */
static void exec_share(struct sdp_sock *sock)
{
	sdp_enter_never(sock);
	if (is_inheritable(sock))
		sdp_share_use(sock);
}

static void spawn_share(struct sdp_sock *sock)
{
	if (is_inheritable(sock))
		others_use(sock);
}

void sdp_share_spawn(void)
{
	/* relaxed: this thread sees what it started itself */
	if (sdp_is_owner() &&
	    (sdp_enter_is_on() ||
	     atomic_load_explicit(&sdp_begun, memory_order_relaxed)))
		sdp_table_each_sock(spawn_share);
}

void sdp_share_exec(void)
{
	if (sdp_is_owner() &&
	    (sdp_enter_is_on() ||
	     atomic_load_explicit(&unasked_cnt, memory_order_relaxed)))
		sdp_table_each_sock(exec_share);
}

/* ---- fork ---- */

/* All handlers of a fork run in the thread that forks. */
static _Thread_local struct {
	bool has_any;
	int ways[2]; /* the parent's end, the child's end */
} forking = { .ways = { -1, -1 } };

static void fork_share(struct sdp_sock *sock)
{
	sdp_enter_never(sock);
	/* Not connected yet: it will be soon, or uses TCP. */
	if (sdp_sock_is_asking(sock))
		sdp_ask_settle(sock);
	sdp_listen_fork(sock);
	if (!sdp_sock_is_stream(sock))
		return;
	sock->is_shared = true;
	forking.has_any = true;
}

static void fork_relay(struct sdp_sock *sock)
{
	(void)sdp_relay_enter(sock);
}

static bool ways_open(void)
{
	int ways[2];

	if (syscall(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
		    ways) < 0)
		return false;
	for (int i = 0; i < 2; i++) {
		forking.ways[i] = sdp_private_add(ways[i]);
		if (forking.ways[i] < 0)
			util_sys_close(ways[i]);
	}
	return forking.ways[0] >= 0 && forking.ways[1] >= 0;
}

static void ways_close(void)
{
	sdp_private_close(forking.ways[0]);
	sdp_private_close(forking.ways[1]);
	forking.ways[0] = forking.ways[1] = -1;
}

void sdp_share_fork_prepare(void)
{
	forking.has_any = false;
	sdp_table_each_sock(fork_share);
	if (!forking.has_any)
		return;
	atomic_fetch_add_explicit(&child_cnt, 1, memory_order_relaxed);
	if (ways_open() &&
	    util_thread_run(share_thread, (void *)(intptr_t)forking.ways[0],
			    UTIL_THREAD_STACK) == 0)
		return;
	/* The child could not ask the parent. */
	atomic_fetch_sub_explicit(&child_cnt, 1, memory_order_relaxed);
	ways_close();
	sdp_table_each_sock(fork_relay);
}

void sdp_share_fork_parent(void)
{
	sdp_private_close(forking.ways[1]);
	forking.ways[0] = forking.ways[1] = -1;
}

/* The link and the descriptors below the socket belong to the parent. */
static void fork_child(struct sdp_sock *sock)
{
	util_lock_init(&sock->lock, UTIL_RANK_SDP_SOCK);
	util_lock_init(&sock->shadow.lock, UTIL_RANK_SDP_SHADOW);
	sock->pollers = NULL;
	sock->enter = (struct sdp_sock_enter){ .note_fd = -1 };
	sock->start.is_owing = false;
	/* Calls of other threads belong to the parent. One reference belongs to
	 * the walk. */
	atomic_store_explicit(&sock->file.ref_cnt, sock->file.fd_cnt + 1,
			      memory_order_relaxed);
	sock->is_shared = false;
	sdp_listen_fork_child(sock);
	if (sdp_sock_is_stream(sock)) {
		sock->relay.is_on = true;
		sock->relay.share_fd = forking.ways[1];
		sock->relay.is_unasked = true;
		atomic_fetch_add_explicit(&unasked_cnt, 1,
					  memory_order_relaxed);
	}
	if (sdp_sock_state(sock) != SDP_SOCK_LISTENING) {
		sdp_private_close(sock->tcp_fd);
		sock->tcp_fd = -1;
	}
	if (!sock->relay.is_on)
		return;
	sdp_sock_link_put(sock, NULL);
	sock->relay.thread_cnt = 0;
	sdp_private_close(sock->shadow.lib_fd);
	sock->shadow.lib_fd = -1;
	sdp_sock_become(sock, SDP_SOCK_RELAY);
}

void sdp_share_fork_child(void)
{
	atomic_store_explicit(&child_cnt, 0, memory_order_relaxed);
	sdp_relay_fork_child();
	sdp_private_close(forking.ways[0]);
	sdp_table_each_sock(fork_child);
	forking.ways[0] = forking.ways[1] = -1;
}
