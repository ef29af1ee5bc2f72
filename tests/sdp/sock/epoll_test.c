/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Registrations: noted, out of the sets and in again, forgotten. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "sock/epoll.h"

static int set_fd, pair[2];
static struct sdp_sock *sock;

static void nothing(struct util_file *file)
{
	sdp_watch_forget(sdp_sock_of(file), -1);
}

static int begin(void **state)
{
	(void)state;
	set_fd = epoll_create1(EPOLL_CLOEXEC);
	sdp_epoll_add(set_fd);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return 1;
	if (write(pair[1], "x", 1) != 1)
		return 1;
	sock = sdp_sock_add(pair[0], AF_INET, nothing);
	return !sock;
}

static int end(void **state)
{
	struct util_fdtab *tab = atomic_load(&sdp_fds);

	(void)state;
	util_fdtab_uninstall(tab, pair[0], NULL);
	util_fdtab_uninstall(tab, set_fd, NULL);
	close(pair[0]);
	close(pair[1]);
	close(set_fd);
	return 0;
}

static void ctl(int op, uint32_t events, uint64_t data)
{
	struct epoll_event ev = { .events = events, .data.u64 = data };

	assert_int_equal(epoll_ctl(set_fd, op, pair[0], &ev), 0);
	assert_int_equal(sdp_watch_note(set_fd, op, pair[0], &ev, sock), 0);
}

/* Return: the data that the set reports; 0: nothing. */
static uint64_t reported(void)
{
	struct epoll_event ev;

	return epoll_wait(set_fd, &ev, 1, 0) == 1 ? ev.data.u64 : 0;
}

static void leaves_and_returns(void **state)
{
	(void)state;
	ctl(EPOLL_CTL_ADD, EPOLLIN, 7);
	assert_int_equal(reported(), 7);
	sdp_watch_leave(sock);
	assert_int_equal(reported(), 0);
	sdp_watch_return(sock);
	assert_int_equal(reported(), 7);
}

static void returns_as_it_was_changed(void **state)
{
	bool has_edges;

	(void)state;
	ctl(EPOLL_CTL_ADD, EPOLLOUT, 7);
	ctl(EPOLL_CTL_MOD, EPOLLIN | EPOLLET, 8);
	sdp_watch_leave(sock);
	sdp_watch_return(sock);
	assert_int_equal(reported(), 8);
	assert_true(sdp_watch_any(sock, &has_edges));
	assert_true(has_edges);
}

static void forgets_what_is_deleted(void **state)
{
	bool has_edges;

	(void)state;
	ctl(EPOLL_CTL_ADD, EPOLLIN, 7);
	ctl(EPOLL_CTL_DEL, 0, 0);
	assert_false(sdp_watch_any(sock, &has_edges));
	sdp_watch_return(sock);
	assert_int_equal(reported(), 0);
}

/* The set is reached by a number that still stands for it. */
static void reaches_a_set_by_its_duplicate(void **state)
{
	struct util_fdtab *tab = atomic_load(&sdp_fds);
	int other = dup(set_fd);
	struct util_file *file = util_fdtab_get(tab, set_fd, SDP_FD_EPOLL);

	(void)state;
	assert_non_null(file);
	ctl(EPOLL_CTL_ADD, EPOLLIN, 7);
	assert_int_equal(util_fdtab_install(tab, other, SDP_FD_EPOLL, file), 0);
	util_file_put(file);
	util_fdtab_uninstall(tab, set_fd, NULL);
	close(set_fd);
	set_fd = other;
	sdp_watch_leave(sock);
	assert_int_equal(reported(), 0);
	sdp_watch_return(sock);
	assert_int_equal(reported(), 7);
}

static void forgets_a_set_that_is_closed(void **state)
{
	bool has_edges;

	(void)state;
	ctl(EPOLL_CTL_ADD, EPOLLIN, 7);
	util_fdtab_uninstall(atomic_load(&sdp_fds), set_fd, NULL);
	assert_false(sdp_watch_any(sock, &has_edges));
}

static void finds_what_waits_for_its_start(void **state)
{
	struct epoll_event ev[2] = { { .data.u64 = 9 }, { .data.u64 = 7 } };
	struct sdp_wait waits[4];

	(void)state;
	ctl(EPOLL_CTL_ADD, EPOLLIN, 7);
	assert_int_equal(sdp_watch_pending(set_fd, ev, 2, waits, 4), 0);
	sdp_sock_become(sock, SDP_SOCK_PENDING);
	assert_int_equal(atomic_load(&sdp_pending_cnt), 1);
	assert_int_equal(sdp_watch_pending(set_fd, ev, 1, waits, 4), 0);
	assert_int_equal(sdp_watch_pending(set_fd, ev, 2, waits, 4), 1);
	assert_ptr_equal(waits[0].sock, sock);
	assert_int_equal(waits[0].data, 7);
	sdp_sock_put(sock);
	sdp_sock_become(sock, SDP_SOCK_TCP);
	assert_int_equal(atomic_load(&sdp_pending_cnt), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
		TEST(leaves_and_returns),
		TEST(returns_as_it_was_changed),
		TEST(forgets_what_is_deleted),
		TEST(reaches_a_set_by_its_duplicate),
		TEST(forgets_a_set_that_is_closed),
		TEST(finds_what_waits_for_its_start),
	};

	if (sdp_table_start() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
