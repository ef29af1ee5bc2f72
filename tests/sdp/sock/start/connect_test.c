/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The destination of connect(), and what happens if the port refuses. */
#include "addr.h"
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/env.h"
#include "fake-sock.h"
#include "sock/base/count-tcp.h"
#include "sock/base/signals.h"
#include "sock/start/connect.h"
#include "sock/base/limit.h"
#include "sock/base/mark.h"
#include "sock/base/option.h"
#include "sock/base/policy.h"
#include "sock/base/tcp-state.h"
#include "stat/sdp-stat.h"
#include "verbs/sdp-link.h"

#include "ports-fixture.h"
#include "until.h"

/* ---- the rest of the layer ---- */

static enum sdp_use policy;
static int find_ret, ask_ret, ask_cnt, avoid_cnt;
static bool has_mark;
static struct sdp_mark mark;
static struct sdp_target target;
static int options_from, options_to;

enum sdp_use sdp_policy_use(const struct sdp_sock *of, enum sdp_rule_role role,
			    const struct sockaddr *addr)
{
	assert_int_equal(role, SDP_RULE_CLIENT);
	assert_int_equal(addr->sa_family, AF_INET);
	return of->family == SDP_AF_INET_SDP ? SDP_USE_SDP : policy;
}

int sdp_policy_find(const union sdp_addr *dst, struct sdp_target *ret_target)
{
	(void)dst;
	*ret_target = target;
	return find_ret;
}

int sdp_policy_ask(int fd, const union sdp_addr *dst, int stop_fd,
		   struct sdp_target *ret_target)
{
	(void)fd;
	(void)dst;
	assert_int_equal(stop_fd, -1);
	ask_cnt++;
	*ret_target = target;
	return ask_ret;
}

void sdp_policy_avoid(const struct sockaddr *dst)
{
	assert_int_equal(dst->sa_family, AF_INET);
	avoid_cnt++;
}

void sdp_mark_put(int fd, const struct sdp_mark *put)
{
	(void)fd;
	has_mark = true;
	mark = *put;
}

void sdp_mark_remove(int fd)
{
	(void)fd;
	has_mark = false;
}

void sdp_options_renew(const struct sdp_sock *of, int to)
{
	options_from = of->tcp_fd;
	options_to = to;
}

/* ---- fixture ---- */

static struct sdp_sock sock;
static int fd;

static int begin(void **state)
{
	ports_open();
	policy = SDP_USE_BOTH;
	fake_reset();
	fake.sdp_signals_go_on.ret = true;
	fake.sdp_policy_way.ret = SDP_WAY_FD;
	find_ret = ask_ret = ask_cnt = avoid_cnt = 0;
	fake.sdp_limit_is_enough.ret = true;
	has_mark = false;
	target = (struct sdp_target){ .addr = addrs[SDP_PORT] };
	sock = (struct sdp_sock){ .tcp_fd = -1, .family = AF_INET };
	util_lock_init(&sock.lock, UTIL_RANK_SDP_SOCK);
	fd = test_tcp_socket();
	return 0;
}

static int end(void **state)
{
	/* Corrects the global count of such sockets. */
	if (sdp_sock_state(&sock) != SDP_SOCK_TCP)
		sdp_sock_become(&sock, SDP_SOCK_TCP);
	ports_close();
	return close(fd);
}

#define FILE_CASE(name) CASE_WITH(name, begin, end)

static int dial(enum port port)
{
	return sdp_connect(&sock, fd, &addrs[port].sa,
			   sizeof(struct sockaddr_in));
}

static void set_nonblocking(void)
{
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

/* ---- cases ---- */

#define FB(name) SDP_STAT_FALLBACK_##name

/* A blocking connect() to the program's port. */
static const struct {
	const char *name;
	enum sdp_use policy;
	int find_ret;
	enum sdp_way way;
	int ask_ret;
	enum port sdp_port;
	int ret;
	enum port where;
	enum sdp_sock_state state;
	int fallback, avoid_cnt, ask_cnt;
} rows[] = {
	{ "the rules say TCP", SDP_USE_TCP, 0, SDP_WAY_FD, 0, SDP_PORT, 0,
	  TCP_PORT, SDP_SOCK_TCP, FAKE_NO_FALLBACK, 0, 0 },
	{ "a listener with SDP", SDP_USE_BOTH, 0, SDP_WAY_FD, 0, SDP_PORT, 0,
	  SDP_PORT, SDP_SOCK_PENDING, FAKE_NO_FALLBACK, 0, 0 },
	{ "a listener without", SDP_USE_BOTH, -ENOENT, SDP_WAY_FD, 0, SDP_PORT,
	  0, TCP_PORT, SDP_SOCK_TCP, FB(no_listener), 0, 0 },
	{ "another user's", SDP_USE_BOTH, -EPERM, SDP_WAY_FD, 0, SDP_PORT, 0,
	  TCP_PORT, SDP_SOCK_TCP, FB(foreign), 0, 0 },
	{ "one that is avoided", SDP_USE_BOTH, -ECONNREFUSED, SDP_WAY_FD, 0,
	  SDP_PORT, 0, TCP_PORT, SDP_SOCK_TCP, FB(refused), 0, 0 },
	{ "no device", SDP_USE_BOTH, 0, SDP_WAY_NONE, 0, SDP_PORT, 0, TCP_PORT,
	  SDP_SOCK_TCP, FB(no_device), 0, 0 },
	{ "SDP only, without a listener", SDP_USE_SDP, -ENOENT, SDP_WAY_FD, 0,
	  SDP_PORT, -ECONNREFUSED, PORT_CNT, SDP_SOCK_TCP, FAKE_NO_FALLBACK, 0,
	  0 },
	{ "SDP only, no device", SDP_USE_SDP, 0, SDP_WAY_NONE, 0, SDP_PORT,
	  -ECONNREFUSED, PORT_CNT, SDP_SOCK_TCP, FAKE_NO_FALLBACK, 0, 0 },
	/* T90 */
	{ "the SDP port refuses", SDP_USE_BOTH, 0, SDP_WAY_FD, 0, CLOSED_PORT,
	  0, TCP_PORT, SDP_SOCK_TCP, FB(refused), 1, 0 },
	{ "SDP only, the port refuses", SDP_USE_SDP, 0, SDP_WAY_FD, 0,
	  CLOSED_PORT, -ECONNREFUSED, PORT_CNT, SDP_SOCK_TCP, FAKE_NO_FALLBACK,
	  0, 0 },
	{ "the Port Mapper accepts", SDP_USE_BOTH, -EINPROGRESS, SDP_WAY_FD, 0,
	  SDP_PORT, 0, SDP_PORT, SDP_SOCK_PENDING, FAKE_NO_FALLBACK, 0, 1 },
	{ "it denies", SDP_USE_BOTH, -EINPROGRESS, SDP_WAY_FD, -EACCES,
	  SDP_PORT, 0, TCP_PORT, SDP_SOCK_TCP, FB(denied), 0, 1 },
	{ "it does not answer", SDP_USE_BOTH, -EINPROGRESS, SDP_WAY_FD,
	  -EADDRNOTAVAIL, SDP_PORT, 0, TCP_PORT, SDP_SOCK_TCP, FB(no_answer), 0,
	  1 },
	{ "it accepts, the port refuses", SDP_USE_BOTH, -EINPROGRESS,
	  SDP_WAY_FD, 0, CLOSED_PORT, 0, TCP_PORT, SDP_SOCK_TCP, FB(refused), 1,
	  1 },
	{ "rdma_cm", SDP_USE_BOTH, 0, SDP_WAY_CM, 0, SDP_PORT, SDP_CONNECT_ASK,
	  PORT_CNT, SDP_SOCK_TCP, FAKE_NO_FALLBACK, 0, 0 },
	{ "rdma_cm and the Port Mapper", SDP_USE_BOTH, -EINPROGRESS, SDP_WAY_CM,
	  0, SDP_PORT, SDP_CONNECT_ASK, PORT_CNT, SDP_SOCK_TCP,
	  FAKE_NO_FALLBACK, 0, 0 },
};

CASE(connects_as_the_reply_says)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(begin(state), 0);
		policy = rows[i].policy;
		find_ret = rows[i].find_ret;
		fake.sdp_policy_way.ret = rows[i].way;
		ask_ret = rows[i].ask_ret;
		target.addr = addrs[rows[i].sdp_port];
		assert_row(rows[i].name, dial(TCP_PORT) == rows[i].ret);
		assert_row(rows[i].name, port_of(fd) == rows[i].where);
		assert_row(rows[i].name,
			   sdp_sock_state(&sock) == rows[i].state);
		assert_row(rows[i].name, fake.fallback == rows[i].fallback);
		assert_row(rows[i].name, avoid_cnt == rows[i].avoid_cnt);
		assert_row(rows[i].name, ask_cnt == rows[i].ask_cnt);
		/* exec() recognises an SDP connection by its mark. */
		assert_row(rows[i].name,
			   has_mark == (rows[i].state == SDP_SOCK_PENDING));
		end(state);
	}
}

/* Where SDP enters later, it is TCP, and no one is asked. */
CASE(a_connection_begins_as_tcp)
{
	static const struct {
		const char *name;
		enum sdp_use policy;
		enum sdp_way way;
		bool is_enough, want;
	} firsts[] = {
		{ "by default", SDP_USE_BOTH, SDP_WAY_FD, true, true },
		{ "SDP by rule", SDP_USE_SDP, SDP_WAY_FD, true, false },
		{ "TCP by rule", SDP_USE_TCP, SDP_WAY_FD, true, false },
		{ "by rdma_cm", SDP_USE_BOTH, SDP_WAY_CM, true, false },
		{ "no device", SDP_USE_BOTH, SDP_WAY_NONE, true, false },
		{ "no descriptors", SDP_USE_BOTH, SDP_WAY_FD, false, false },
	};
	struct util_settings *settings =
		(struct util_settings *)(uintptr_t)util_settings();

	settings->sdp_after = 10000;
	for (size_t i = 0; i < ARRAY_LEN(firsts); i++) {
		assert_int_equal(begin(state), 0);
		policy = firsts[i].policy;
		fake.sdp_policy_way.ret = firsts[i].way;
		fake.sdp_limit_is_enough.ret = firsts[i].is_enough;
		find_ret = firsts[i].want ? -EINPROGRESS : 0;
		(void)dial(TCP_PORT);
		assert_row(firsts[i].name,
			   (sock.enter.role == SDP_ENTER_CONNECTED) ==
				   firsts[i].want);
		assert_row(firsts[i].name,
			   !firsts[i].want ||
				   (port_of(fd) == TCP_PORT && ask_cnt == 0 &&
				    fake.fallback == FAKE_NO_FALLBACK));
		end(state);
	}
	settings->sdp_after = 0;
}

FILE_CASE(the_mark_has_the_programs_port)
{
	target.is_request = true;
	assert_int_equal(dial(TCP_PORT), 0);
	assert_int_equal(mark.port, ntohs(addrs[TCP_PORT].in.sin_port));
	assert_true(mark.is_request && sock.is_request);
	assert_false(mark.is_accepting);
	assert_memory_equal(&sock.peer, &addrs[TCP_PORT],
			    sizeof(struct sockaddr_in));
}

/* AF_INET_SDP, which no rule can change. */
FILE_CASE(family_sdp_has_no_fallback)
{
	policy = SDP_USE_TCP;
	sock.family = SDP_AF_INET_SDP;
	find_ret = -ENOENT;
	assert_int_equal(dial(TCP_PORT), -ECONNREFUSED);
	assert_int_equal(port_of(fd), PORT_CNT);
	find_ret = 0;
	assert_int_equal(dial(TCP_PORT), 0);
	assert_int_equal(port_of(fd), SDP_PORT);
}

FILE_CASE(without_descriptors_it_is_tcp)
{
	fake.sdp_limit_is_enough.ret = false;
	assert_int_equal(dial(TCP_PORT), 0);
	assert_int_equal(port_of(fd), TCP_PORT);
	assert_int_equal(fake.fallback, FB(no_memory));
}

/* rdma_cm binds the connection itself. */
FILE_CASE(a_bound_socket_is_not_for_rdma_cm)
{
	struct sockaddr_storage any = test_addr("127.0.0.1", 0);

	fake.sdp_policy_way.ret = SDP_WAY_CM;
	assert_int_equal(
		bind(fd, (struct sockaddr *)&any, sizeof(struct sockaddr_in)),
		0);
	assert_int_equal(dial(TCP_PORT), 0);
	assert_int_equal(port_of(fd), TCP_PORT);
	assert_int_equal(fake.fallback, FB(unsupported));
}

FILE_CASE(a_nonblocking_connect_leaves_the_query_to_a_thread)
{
	set_nonblocking();
	find_ret = -EINPROGRESS;
	assert_int_equal(dial(TCP_PORT), SDP_CONNECT_ASK);
	assert_int_equal(ask_cnt, 0);
	assert_int_equal(sock.peer.in.sin_port, addrs[TCP_PORT].in.sin_port);
	/* And no thread can be started. */
	assert_int_equal(sdp_connect_plain(&sock, fd, -ENOMEM), -EINPROGRESS);
	assert_int_equal(fake.fallback, FB(no_memory));
	policy = SDP_USE_SDP;
	assert_int_equal(sdp_connect_plain(&sock, fd, -ENOMEM), -ECONNREFUSED);
}

static void wait_for_out(void)
{
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };

	assert_int_equal(poll(&pfd, 1, -1), 1);
}

FILE_CASE(a_nonblocking_connect_is_checked_later)
{
	int ret;

	assert_false(sdp_connect_look(&sock, fd)); /* not begun */
	set_nonblocking();
	ret = dial(TCP_PORT);
	assert_true(ret == 0 || ret == -EINPROGRESS);
	assert_int_equal(sdp_sock_state(&sock), SDP_SOCK_PENDING);
	wait_for_out();
	assert_true(sdp_connect_look(&sock, fd));
	assert_int_equal(sdp_sock_state(&sock), SDP_SOCK_PENDING);
	assert_int_equal(port_of(fd), SDP_PORT);
	/* The kernel returns 0 once, and then EISCONN. */
	ret = dial(TCP_PORT);
	assert_true(ret == 0 || ret == -EISCONN);
	assert_int_equal(dial(TCP_PORT), -EISCONN);
}

/* The second call asks only the kernel. */
FILE_CASE(a_fallback_is_counted_once)
{
	int ret;

	set_nonblocking();
	find_ret = -ENOENT;
	assert_int_equal(dial(TCP_PORT), -EINPROGRESS);
	assert_int_equal(fake.fallback, FB(no_listener));
	find_ret = 0;
	wait_for_out();
	ret = dial(TCP_PORT);
	assert_true(ret == 0 || ret == -EISCONN);
	assert_int_equal(port_of(fd), TCP_PORT);
	assert_int_equal(sdp_sock_state(&sock), SDP_SOCK_TCP);
	assert_false(has_mark);
}

/* The registry has seen the listener a moment before. */
FILE_CASE(a_listener_that_has_just_closed_refuses)
{
	int err = -1;
	socklen_t len = sizeof(err);

	set_nonblocking();
	target.addr = addrs[CLOSED_PORT];
	/* The kernel may report it at once: then TCP follows. */
	assert_int_equal(dial(TCP_PORT), -EINPROGRESS);
	if (sdp_sock_state(&sock) == SDP_SOCK_PENDING) {
		wait_for_out();
		sdp_connect_settle(&sock, fd);
		assert_int_equal(
			getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len), 0);
		assert_int_equal(err, ECONNREFUSED);
	}
	assert_int_equal(sdp_sock_state(&sock), SDP_SOCK_TCP);
	assert_false(has_mark);
}

/* Nobody has seen that this port listens. */
FILE_CASE(a_thread_looks_whether_the_port_of_another_host_listens)
{
	target.is_request = true;
	set_nonblocking();
	assert_int_equal(dial(TCP_PORT), SDP_CONNECT_ASK);
	assert_int_equal(port_of(fd), PORT_CNT);
}

/* If the attempt fails and TCP does not follow, the socket is as it was. */
FILE_CASE(a_failed_attempt_leaves_a_fresh_socket)
{
	int other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	struct sockaddr_storage any = test_addr("127.0.0.1", 0);
	socklen_t len = sizeof(struct sockaddr_in);

	assert_int_equal(
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	assert_int_equal(
		setsockopt(other, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)),
		0);
	assert_int_equal(bind(other, (struct sockaddr *)&any, len), 0);
	assert_int_equal(getsockname(other, (struct sockaddr *)&any, &len), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&any, len), 0);
	assert_int_equal(
		connect(other, &addrs[SDP_PORT].sa, sizeof(struct sockaddr_in)),
		0);
	assert_int_equal(dial(TCP_PORT), -EADDRNOTAVAIL);
	assert_int_equal(sdp_sock_state(&sock), SDP_SOCK_TCP);
	assert_false(has_mark);
	assert_int_equal(avoid_cnt, 0);
	close(other);
}

FILE_CASE(bad_addresses_get_the_kernels_error)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };

	assert_int_equal(sdp_connect(&sock, fd, (void *)16, 16), -EFAULT);
	assert_int_equal(sdp_connect(&sock, fd, &addrs[TCP_PORT].sa, 1),
			 -EINVAL);
	assert_int_equal(sdp_connect(&sock, fd, &addrs[TCP_PORT].sa, 4096),
			 -EINVAL);
	assert_int_equal(
		sdp_connect(&sock, fd, (struct sockaddr *)&six, sizeof(none)),
		-EAFNOSUPPORT);
	assert_int_equal(sdp_connect(&sock, fd, &none, sizeof(none)), 0);
	assert_int_equal(fake.fallback, FAKE_NO_FALLBACK);
	/* PENDING: the connection is dissolved. */
	assert_int_equal(dial(TCP_PORT), 0);
	assert_int_equal(sdp_connect(&sock, fd, &none, sizeof(none)), 0);
	assert_int_equal(sdp_sock_state(&sock), SDP_SOCK_TCP);
	assert_int_equal(port_of(fd), PORT_CNT);
	assert_false(has_mark);
}

FILE_CASE(no_address_undoes_a_connection_of_sdp)
{
	static const struct {
		const char *name;
		enum sdp_sock_state state;
		bool is_relay, is_to_none, is_undone;
	} cases[] = {
		{ "stream", SDP_SOCK_STREAM, false, true, true },
		{ "starting", SDP_SOCK_STARTING, false, true, true },
		{ "to an address", SDP_SOCK_STREAM, false, false, false },
		{ "pending", SDP_SOCK_PENDING, false, true, false },
		{ "tcp", SDP_SOCK_TCP, false, true, false },
		{ "a relay", SDP_SOCK_STREAM, true, true, false },
	};
	struct sockaddr none = { .sa_family = AF_UNSPEC };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct sdp_sock of = { .state = cases[i].state,
				       .relay.is_on = cases[i].is_relay };

		assert_row(cases[i].name,
			   sdp_connect_is_undone(
				   &of,
				   cases[i].is_to_none ? &none
						       : &addrs[TCP_PORT].sa,
				   sizeof(none)) == cases[i].is_undone);
	}
	sock.state = SDP_SOCK_STREAM;
	assert_false(sdp_connect_is_undone(&sock, (void *)16, 16));
	assert_false(sdp_connect_is_undone(&sock, &none, 1));
	sock.state = SDP_SOCK_TCP;
}

/* connect() on a connected socket: the kernel's result, once. */
FILE_CASE(a_second_connect_is_eisconn)
{
	sock.state = SDP_SOCK_STREAM;
	sock.is_by_cm = true;
	assert_int_equal(sdp_connect(&sock, fd, (void *)16, 16), -EFAULT);
	assert_int_equal(dial(TCP_PORT), 0);
	assert_int_equal(dial(TCP_PORT), -EISCONN);
	atomic_store(&sock.start.is_asking, true);
	assert_int_equal(dial(TCP_PORT), -EALREADY);
	sock.state = SDP_SOCK_TCP;
}

FILE_CASE(another_tcp_connection_has_the_options)
{
	int other;

	sock.peer = addrs[TCP_PORT];
	sock.tcp_fd = fd;
	other = sdp_connect_tcp(&sock);
	assert_true(other >= 0);
	assert_int_equal(port_of(other), TCP_PORT);
	assert_true(fcntl(other, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(options_from, fd);
	assert_int_equal(options_to, other);
	close(other);
	/* Refused: the descriptor is closed again. */
	sock.peer = addrs[CLOSED_PORT];
	assert_int_equal(sdp_connect_tcp(&sock), -ECONNREFUSED);
	assert_int_equal(dup(0), other);
	close(other);
	policy = SDP_USE_SDP;
	assert_int_equal(sdp_connect_tcp(&sock), -EPERM);
	sock.tcp_fd = -1;
}

static void *dial_main(void *arg)
{
	*(int *)arg = dial(TCP_PORT);
	return NULL;
}

/* The error of connect() is not a refusal by the SDP port. Repeated, because
 * the two threads must meet. */
FILE_CASE(shutdown_ends_an_attempt)
{
	int first = test_tcp_socket();

	/* A queue of one connection, which is full. */
	assert_int_equal(listen(listeners[SDP_PORT], 0), 0);
	assert_int_equal(
		connect(first, &addrs[SDP_PORT].sa, sizeof(struct sockaddr_in)),
		0);
	for (int i = 0; i < 200; i++) {
		pthread_t thread;
		int ret = 0;

		assert_int_equal(pthread_create(&thread, NULL, dial_main, &ret),
				 0);
		wait_until(sdp_tcp_state(fd) == TCP_SYN_SENT);
		assert_int_equal(sdp_connect_shutdown(&sock, fd, SHUT_RDWR), 0);
		pthread_join(thread, NULL);
		assert_int_equal(ret, -ECONNRESET);
		assert_int_equal(sdp_sock_state(&sock), SDP_SOCK_TCP);
		assert_int_equal(port_of(fd), PORT_CNT);
		assert_false(has_mark);
		assert_int_equal(avoid_cnt, 0);
	}
	close(first);
	/* An established connection is shut down elsewhere, an unconnected one
	 * not at all. */
	has_mark = true;
	assert_int_equal(sdp_connect_shutdown(&sock, fd, SHUT_WR), -ENOTCONN);
	sdp_sock_become(&sock, SDP_SOCK_PENDING);
	assert_int_equal(sdp_connect_shutdown(&sock, fd, SHUT_WR), -ENOTCONN);
	assert_int_equal(sdp_sock_state(&sock), SDP_SOCK_PENDING);
	assert_true(has_mark);
}

BEFORE_CASES()
{
	/* Otherwise a connection of this host begins as TCP. */
	setenv("USIW_SDP_AFTER", "0", 1);
}
