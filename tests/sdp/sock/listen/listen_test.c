/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* listen() with and without a twin, the state after a partial failure, and
 * which connection accept() returns. */
#include "addr.h"
#include "descriptors.h"
#include "loopback.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pm/registry.h"
#include "sock/listen/acceptor.h"
#include "sock/show/epoll.h"
#include "sock/base/limit.h"
#include "sock/listen/listen.h"
#include "sock/base/mark.h"
#include "sock/base/option.h"
#include "sock/base/policy.h"
#include "sock/base/signals.h"
#include "stat/sdp-stat.h"

#include "fake-sock.h"
#include "sock-fixture.h"

/* ---- the rest of the layer ---- */

#define ACCEPTOR FAKE_ACCEPTOR
#define LINK FAKE_LINK

static enum sdp_use policy;
static bool announced_cm;
static int announce_ret, acceptor_ret, time_ms;
static int listen_cnt, watch_cnt, links, backlog_now;
static int acceptor_fd;
static int free_cnt, put_back_cnt;
static uint16_t announced;
static struct sdp_mark mark;

enum sdp_use sdp_policy_use(const struct sdp_sock *of, enum sdp_rule_role role,
			    const struct sockaddr *addr)
{
	assert_int_equal(role, SDP_RULE_SERVER);
	assert_int_equal(addr->sa_family, AF_INET);
	return of->family == SDP_AF_INET_SDP ? SDP_USE_SDP : policy;
}

int sdp_registry_announce(int fd, uint16_t sdp_port, bool is_cm)
{
	(void)fd;
	announced = sdp_port;
	announced_cm = is_cm;
	return announce_ret < 0 ? announce_ret : memfd_create("note", 0);
}

int sdp_acceptor_new(struct sdp_acceptor **ret_acceptor,
		     const union sdp_addr *name, bool is_dual, int backlog,
		     uint16_t *ret_port, int *ret_fd)
{
	assert_int_equal(name->in.sin_port, 0);
	assert_false(is_dual);
	if (acceptor_ret < 0)
		return acceptor_ret;
	backlog_now = backlog;
	*ret_acceptor = ACCEPTOR;
	*ret_port = 4242;
	acceptor_fd = memfd_create("acceptor", MFD_CLOEXEC);
	*ret_fd = acceptor_fd;
	return 0;
}

void sdp_acceptor_set_backlog(struct sdp_acceptor *acceptor, int backlog)
{
	assert_ptr_equal(acceptor, ACCEPTOR);
	backlog_now = backlog;
}

struct sdp_link *sdp_acceptor_take(struct sdp_acceptor *acceptor)
{
	assert_ptr_equal(acceptor, ACCEPTOR);
	return links > 0 ? links--, LINK : NULL;
}

void sdp_acceptor_put_back(struct sdp_acceptor *acceptor, struct sdp_link *link)
{
	assert_ptr_equal(acceptor, ACCEPTOR);
	assert_ptr_equal(link, LINK);
	links++;
	put_back_cnt++;
}

static struct sdp_sock *sock;

void sdp_acceptor_free(struct sdp_acceptor *acceptor)
{
	assert_ptr_equal(acceptor, ACCEPTOR);
	close(acceptor_fd);
	free_cnt++;
}

void sdp_mark_put(int fd, const struct sdp_mark *put)
{
	(void)fd;
	mark = *put;
}

void sdp_options_copy(int from, int to)
{
	assert_true(from >= 0 && to >= 0);
}

int sdp_option_time_ms(const struct sdp_sock *of, int fd, int name)
{
	(void)fd;
	assert_int_equal(name, SO_RCVTIMEO);
	return time_ms;
}

void sdp_stat_count(enum sdp_stat_event event)
{
	assert_int_equal(event, SDP_STAT_listens);
	listen_cnt++;
}

void sdp_watch_twin(struct sdp_sock *of, int how, int twin_fd)
{
	assert_ptr_equal(of, sock);
	assert_true(how == EPOLL_CTL_ADD && twin_fd >= 0);
	watch_cnt++;
}

/* ---- fixture ---- */

static int fd;
static union sdp_addr name;

static void bind_to(int of, const union sdp_addr *addr)
{
	int one = 1;

	assert_int_equal(
		setsockopt(of, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	assert_int_equal(bind(of, &addr->sa, sizeof(addr->in)), 0);
}

static int begin_unbound(void **state)
{
	policy = SDP_USE_BOTH;
	fake_reset();
	fake.sdp_policy_way.ret = SDP_WAY_FD;
	fake.sdp_limit_is_enough.ret = true;
	announced_cm = false;
	announce_ret = acceptor_ret = 0;
	time_ms = -1;
	listen_cnt = watch_cnt = links = backlog_now = announced = 0;
	free_cnt = put_back_cnt = 0;
	fd = test_tcp_socket();
	sock = sock_add(fd, end_nothing);
	sock->listening.twin_fd = sock->listening.note_fd = -1;
	return 0;
}

static int begin(void **state)
{
	struct sockaddr_storage any = test_addr("127.0.0.1", 0);
	socklen_t len = sizeof(name);

	begin_unbound(state);
	memcpy(&name, &any, sizeof(name.in));
	bind_to(fd, &name);
	return getsockname(fd, &name.sa, &len);
}

/* As the end of the socket does. */
static void below_close(void)
{
	sdp_private_close(sock->tcp_fd);
	sock->tcp_fd = -1;
}

static int end(void **state)
{
	if (sdp_sock_state(sock) == SDP_SOCK_LISTENING)
		sdp_listen_end(sock);
	below_close();
	program_close(fd);
	sdp_sock_drop(sock);
	return 0;
}

#define FILE_CASE(name) CASE_WITH(name, begin, end)

static int dial(uint16_t port_be)
{
	union sdp_addr to = name;
	int client = test_tcp_socket();

	to.in.sin_port = port_be;
	if (connect(client, &to.sa, sizeof(to.in)) == 0)
		return client;
	close(client);
	return -1;
}

static bool listens(uint16_t port_be)
{
	int client = dial(port_be);

	close(client);
	return client >= 0;
}

/* Waits until accept() would return a connection. */
static void wait_in(int of)
{
	struct pollfd pfd = { .fd = of, .events = POLLIN };

	assert_int_equal(poll(&pfd, 1, -1), 1);
}

/* ---- listen() ---- */

static const struct {
	const char *name;
	enum sdp_use policy;
	enum sdp_way way;
	bool is_enough;
	int announce_ret, acceptor_ret;
	int ret;
	bool has_tcp, has_twin;
} rows[] = {
	{ "TCP by the rules", SDP_USE_TCP, SDP_WAY_FD, true, 0, 0, 0, true,
	  false },
	{ "both", SDP_USE_BOTH, SDP_WAY_FD, true, 0, 0, 0, true, true },
	{ "both by rdma_cm", SDP_USE_BOTH, SDP_WAY_CM, true, 0, 0, 0, true,
	  true },
	{ "no device", SDP_USE_BOTH, SDP_WAY_NONE, true, 0, 0, 0, true, false },
	{ "no descriptors", SDP_USE_BOTH, SDP_WAY_FD, false, 0, 0, 0, true,
	  false },
	{ "no announcement", SDP_USE_BOTH, SDP_WAY_FD, true, -EACCES, 0, 0,
	  true, false },
	{ "no announcement of rdma_cm's", SDP_USE_BOTH, SDP_WAY_CM, true,
	  -EACCES, 0, 0, true, false },
	{ "no acceptor", SDP_USE_BOTH, SDP_WAY_CM, true, 0, -ENODEV, 0, true,
	  false },
	{ "SDP only", SDP_USE_SDP, SDP_WAY_FD, true, 0, 0, 0, true, true },
	{ "SDP only, no device", SDP_USE_SDP, SDP_WAY_NONE, true, 0, 0, -ENODEV,
	  false, false },
	{ "SDP only, no descriptors", SDP_USE_SDP, SDP_WAY_FD, false, 0, 0,
	  -EMFILE, false, false },
	{ "SDP only, no announcement", SDP_USE_SDP, SDP_WAY_FD, true, -EACCES,
	  0, -EACCES, false, false },
};

CASE(has_a_twin_where_sdp_is_possible)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int before;

		begin(state);
		before = test_fd_cnt();
		policy = rows[i].policy;
		fake.sdp_policy_way.ret = rows[i].way;
		fake.sdp_limit_is_enough.ret = rows[i].is_enough;
		announce_ret = rows[i].announce_ret;
		acceptor_ret = rows[i].acceptor_ret;
		assert_row(rows[i].name,
			   sdp_listen(sock, fd, 5) == rows[i].ret);
		assert_row(rows[i].name,
			   (sdp_sock_state(sock) == SDP_SOCK_LISTENING) ==
				   rows[i].has_twin);
		assert_row(rows[i].name,
			   listens(name.in.sin_port) == rows[i].has_tcp);
		assert_row(rows[i].name, listen_cnt == rows[i].has_twin);
		assert_row(rows[i].name, watch_cnt == rows[i].has_twin);
		/* Twin, announcement and the listener's own descriptor; or
		 * nothing. */
		assert_row(rows[i].name,
			   test_fd_cnt() == before + 3 * rows[i].has_twin);
		if (rows[i].has_twin && fake.sdp_policy_way.ret == SDP_WAY_FD)
			assert_row(rows[i].name, listens(htons(announced)));
		assert_row(rows[i].name,
			   !rows[i].has_twin ||
				   announced_cm == (fake.sdp_policy_way.ret ==
						    SDP_WAY_CM));
		if (rows[i].has_twin)
			sdp_listen_end(sock);
		below_close();
		assert_row(rows[i].name, test_fd_cnt() == before);
		assert_row(rows[i].name,
			   free_cnt == (fake.sdp_policy_way.ret == SDP_WAY_CM &&
					!rows[i].acceptor_ret));
		sdp_sock_become(sock, SDP_SOCK_TCP);
		end(state);
	}
}

FILE_CASE(the_twins_mark_has_the_sockets_port)
{
	assert_int_equal(sdp_listen(sock, fd, 5), 0);
	assert_int_equal(mark.port, ntohs(name.in.sin_port));
	assert_true(mark.is_accepting);
	assert_int_equal(sock->port, ntohs(name.in.sin_port));
	assert_true(fcntl(sock->listening.twin_fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(sock->listening.twin_fd, F_GETFL) & O_NONBLOCK);
	assert_true(announced != ntohs(name.in.sin_port));
}

CASE_WITH(listen_binds_what_was_not_bound, begin_unbound, end)
{
	union sdp_addr own;
	socklen_t len = sizeof(own);

	assert_int_equal(sdp_listen(sock, fd, 5), 0);
	assert_int_equal(getsockname(fd, &own.sa, &len), 0);
	assert_true(own.in.sin_port != 0);
	assert_int_equal(sock->port, ntohs(own.in.sin_port));
	assert_int_equal(sdp_sock_state(sock), SDP_SOCK_LISTENING);
}

/* Another listener has the port: nothing of the library is left. */
FILE_CASE(the_twin_is_closed_if_listen_fails)
{
	int other = test_tcp_socket(), before;

	bind_to(other, &name);
	assert_int_equal(listen(other, 1), 0);
	before = test_fd_cnt();
	assert_int_equal(sdp_listen(sock, fd, 5), -EADDRINUSE);
	below_close();
	assert_int_equal(test_fd_cnt(), before);
	assert_int_equal(sdp_sock_state(sock), SDP_SOCK_TCP);
	assert_int_equal(listen_cnt, 0);
	close(other);
	assert_int_equal(sdp_listen(sock, fd, 5), 0);
}

FILE_CASE(listening_again_changes_the_backlog)
{
	fake.sdp_policy_way.ret = SDP_WAY_CM;
	assert_int_equal(sdp_listen(sock, fd, 5), 0);
	assert_int_equal(backlog_now, 5);
	assert_int_equal(sdp_listen(sock, fd, 7), 0);
	assert_int_equal(backlog_now, 7);
	assert_int_equal(listen_cnt, 1);
	sdp_listen_end(sock);
	sdp_sock_become(sock, SDP_SOCK_STREAM);
	assert_int_equal(sdp_listen(sock, fd, 7), -EINVAL);
	sdp_sock_become(sock, SDP_SOCK_TCP);
}

/* ---- accept() ---- */

static int take(struct sdp_came *came)
{
	return sdp_listen_accept(sock, NULL, NULL, SOCK_CLOEXEC, came);
}

FILE_CASE(accepts_connections_of_the_twin_first)
{
	struct sdp_came came;
	int tcp, sdp, first, second;

	assert_int_equal(sdp_listen(sock, fd, 5), 0);
	tcp = dial(name.in.sin_port);
	sdp = dial(htons(announced));
	wait_in(sock->listening.twin_fd);
	wait_in(fd);
	first = take(&came);
	assert_true(first >= 0 && came.is_sdp && !came.link);
	second = take(&came);
	assert_true(second >= 0 && !came.is_sdp);
	/* The listener stays blocking. */
	assert_false(fcntl(fd, F_GETFL) & O_NONBLOCK);
	atomic_store(&sock->is_nonblock, true);
	assert_int_equal(take(&came), -EAGAIN);
	close(tcp);
	close(sdp);
	close(first);
	close(second);
}

FILE_CASE(sdp_only_resets_what_comes_by_tcp)
{
	struct sdp_came came;
	int tcp, ret;
	char octet;

	policy = SDP_USE_SDP;
	assert_int_equal(sdp_listen(sock, fd, 5), 0);
	atomic_store(&sock->is_nonblock, true);
	tcp = dial(name.in.sin_port);
	wait_in(fd);
	assert_int_equal(take(&came), -EAGAIN);
	ret = (int)recv(tcp, &octet, 1, 0);
	assert_true(ret < 0 && errno == ECONNRESET);
	close(tcp);
}

static void on_signal(int sig)
{
	(void)sig;
}

static _Atomic bool has_returned;

static void *connect_main(void *arg)
{
	pthread_t thread = *(pthread_t *)arg;

	/* Until accept() has returned. */
	while (!atomic_load(&has_returned)) {
		pthread_kill(thread, SIGUSR1);
		sched_yield();
	}
	return NULL;
}

FILE_CASE(waits_as_long_as_it_may)
{
	struct sigaction sa = { .sa_handler = on_signal };
	pthread_t self = pthread_self(), thread;
	struct sdp_came came;

	assert_int_equal(sdp_listen(sock, fd, 5), 0);
	time_ms = 10;
	assert_int_equal(take(&came), -EAGAIN);
	/* A handler without SA_RESTART. */
	time_ms = -1;
	sigaction(SIGUSR1, &sa, NULL);
	assert_int_equal(pthread_create(&thread, NULL, connect_main, &self), 0);
	assert_int_equal(take(&came), -EINTR);
	atomic_store(&has_returned, true);
	pthread_join(thread, NULL);
}

FILE_CASE(takes_links_of_rdma_cm)
{
	struct sdp_came came;
	struct rlimit old;
	int got;

	fake.sdp_policy_way.ret = SDP_WAY_CM;
	assert_int_equal(sdp_listen(sock, fd, 5), 0);
	links = 2;
	got = take(&came);
	assert_true(got >= 0 && came.is_sdp);
	assert_ptr_equal(came.link, LINK);
	assert_true(fcntl(got, F_GETFD) & FD_CLOEXEC);
	close(got);
	assert_int_equal(sdp_listen_accept(sock, NULL, NULL, 12345, &came),
			 -EINVAL);
	assert_int_equal(links, 1);
	/* The link waits until there is a descriptor for it. */
	old = test_fd_leave(0);
	assert_int_equal(take(&came), -EMFILE);
	test_fd_restore(old);
	assert_int_equal(links, 1);
	assert_int_equal(put_back_cnt, 1);
	got = take(&came);
	assert_ptr_equal(came.link, LINK);
	close(got);
}

/* ---- fork() ---- */

FILE_CASE(a_fork_leaves_rdma_cm_to_the_parent)
{
	fake.sdp_policy_way.ret = SDP_WAY_CM;
	assert_int_equal(sdp_listen(sock, fd, 5), 0);
	sdp_listen_fork(sock);
	assert_int_equal(fake.sdp_acceptor_stop.cnt, 1);
	assert_int_equal(sock->listening.note_fd, -1);
	assert_int_equal(sdp_sock_state(sock), SDP_SOCK_LISTENING);
	/* As in a child. */
	close(sock->listening.twin_fd);
	sdp_listen_fork_child(sock);
	assert_int_equal(fake.sdp_acceptor_forget.cnt, 1);
	assert_int_equal(free_cnt, 0);
	assert_int_equal(sdp_sock_state(sock), SDP_SOCK_TCP);
	assert_true(listens(name.in.sin_port));
}

FILE_CASE(a_fork_keeps_a_twin_with_a_kernel_socket)
{
	assert_int_equal(sdp_listen(sock, fd, 5), 0);
	sdp_listen_fork(sock);
	sdp_listen_fork_child(sock);
	assert_int_equal(sdp_sock_state(sock), SDP_SOCK_LISTENING);
	assert_true(sock->listening.note_fd >= 0 && listens(htons(announced)));
}

ALL_CASES_WITH(table_start, NULL);
