/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Registrations: recorded, removed from the sets and added again, forgotten. */
#include "test.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake-sock.h"
#include "sock-fixture.h"
#include "sock/show/epoll.h"
#include "sock/show/ready.h"
#include "verbs/sdp-link.h"

/* Events of the socket's link. */

static int set_fd, pair[2];
static struct sdp_sock *sock;

static void nothing(struct util_file *file)
{
	sdp_watch_forget(sdp_sock_of(file), -1);
}

static void no_end(struct sdp_sock *ended)
{
	(void)ended;
}

static int begin(void **state)
{
	set_fd = epoll_create1(EPOLL_CLOEXEC);
	sdp_epoll_add(set_fd);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return 1;
	if (write(pair[1], "x", 1) != 1)
		return 1;
	sock = sdp_sock_add(pair[0], AF_INET, nothing, no_end);
	return !sock;
}

static int end(void **state)
{
	struct util_fdtab *tab = atomic_load(&sdp_fds);

	util_fdtab_uninstall(tab, pair[0], NULL);
	util_fdtab_uninstall(tab, set_fd, NULL);
	close(pair[0]);
	close(pair[1]);
	close(set_fd);
	return 0;
}

#define FILE_CASE(name) CASE_WITH(name, begin, end)

/* The rules leave the program to TCP. */
FILE_CASE(no_set_is_taken_without_a_table)
{
	int other = epoll_create1(EPOLL_CLOEXEC);
	struct util_fdtab *tab = atomic_exchange(&sdp_fds, NULL);

	sdp_epoll_add(other);
	atomic_store(&sdp_fds, tab);
	assert_int_equal(sdp_fd_kind(other), SDP_FD_NONE);
	assert_int_equal(sdp_fd_kind(set_fd), SDP_FD_EPOLL);
	close(other);
}

static void ctl(int op, uint32_t events, uint64_t data)
{
	struct epoll_event ev = { .events = events, .data.u64 = data };

	assert_int_equal(epoll_ctl(set_fd, op, pair[0], &ev), 0);
	assert_int_equal(sdp_watch_note(set_fd, op, pair[0], &ev, sock), 0);
}

/* Return: the data of the reported event; 0: none. */
static uint64_t reported(void)
{
	struct epoll_event ev;

	return epoll_wait(set_fd, &ev, 1, 0) == 1 ? ev.data.u64 : 0;
}

FILE_CASE(leaves_and_returns)
{
	ctl(EPOLL_CTL_ADD, EPOLLIN, 7);
	assert_int_equal(reported(), 7);
	sdp_watch_leave(sock);
	assert_int_equal(reported(), 0);
	sdp_watch_return(sock);
	assert_int_equal(reported(), 7);
}

FILE_CASE(returns_as_it_was_changed)
{
	uint32_t events;

	ctl(EPOLL_CTL_ADD, EPOLLOUT, 7);
	ctl(EPOLL_CTL_MOD, EPOLLIN | EPOLLET, 8);
	sdp_watch_leave(sock);
	sdp_watch_return(sock);
	assert_int_equal(reported(), 8);
	assert_true(sdp_watch_any(sock, &events));
	assert_int_equal(events, EPOLLIN | EPOLLET);
}

FILE_CASE(forgets_what_is_deleted)
{
	uint32_t events;

	ctl(EPOLL_CTL_ADD, EPOLLIN, 7);
	ctl(EPOLL_CTL_DEL, 0, 0);
	assert_false(sdp_watch_any(sock, &events));
	sdp_watch_return(sock);
	assert_int_equal(reported(), 0);
}

/* A set can be used through any number that still refers to it. */
FILE_CASE(reaches_a_set_by_its_duplicate)
{
	struct util_fdtab *tab = atomic_load(&sdp_fds);
	int other = dup(set_fd);
	struct util_file *file = util_fdtab_get(tab, set_fd, SDP_FD_EPOLL);

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

FILE_CASE(forgets_a_set_that_is_closed)
{
	uint32_t events;

	ctl(EPOLL_CTL_ADD, EPOLLIN, 7);
	util_fdtab_uninstall(atomic_load(&sdp_fds), set_fd, NULL);
	assert_false(sdp_watch_any(sock, &events));
}

FILE_CASE(finds_what_waits_for_its_start)
{
	struct epoll_event ev[2] = { { .data.u64 = 9 }, { .data.u64 = 7 } };
	struct sdp_wait waits[4];

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

/* ---- SDP streams: the queue instead of the kernel ---- */

/* Only its address is used. */
#define LINK FAKE_LINK

static int begin_stream(void **state)
{
	int ret = begin(state);

	if (ret)
		return ret;
	fake.sdp_link_state.ret = 0;
	sock->link = LINK;
	sdp_sock_become(sock, SDP_SOCK_STREAM);
	return 0;
}

#define STREAM_CASE(name) CASE_WITH(name, begin_stream, end)

/* As the program calls it. */
static void ctl_stream(int op, uint32_t events, uint64_t data)
{
	struct epoll_event ev = { .events = events, .data.u64 = data };

	assert_int_equal(sdp_watch_ctl(set_fd, op, pair[0], &ev, sock), 1);
}

static void become_ready(unsigned int bits)
{
	fake.sdp_link_state.ret |= bits;
	sdp_sock_notify(sock, fake.sdp_link_state.ret, bits);
}

/* Return: the events in the queue, if they have @data; ~0: others. */
static uint32_t queued(uint64_t data)
{
	struct sdp_epoll *set = sdp_epoll_get(set_fd);
	struct epoll_event ev[4];
	int cnt = sdp_epoll_collect(set, ev, 4);

	util_file_put(&set->file);
	if (cnt == 0)
		return 0;
	return cnt == 1 && ev[0].data.u64 == data ? ev[0].events : ~0u;
}

STREAM_CASE(keeps_a_stream_from_the_kernel)
{
	ctl(EPOLL_CTL_ADD, EPOLLIN, 7);
	assert_int_equal(reported(), 0);
	assert_int_equal(queued(7), 0);
	become_ready(SDP_LINK_IN);
	assert_int_equal(reported(), 0);
	assert_int_equal(queued(7), EPOLLIN);
}

STREAM_CASE(adds_a_stream_without_the_kernel)
{
	struct sdp_epoll *set = sdp_epoll_get(set_fd);
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = 9 };

	fake.sdp_link_state.ret = SDP_LINK_IN;
	ctl_stream(EPOLL_CTL_ADD, EPOLLIN, 7);
	assert_int_equal(queued(7), EPOLLIN);
	assert_int_equal(
		sdp_watch_ctl(set_fd, EPOLL_CTL_ADD, pair[0], &ev, sock),
		-EEXIST);
	ctl_stream(EPOLL_CTL_DEL, 0, 0);
	assert_int_equal(queued(7), 0);
	/* It was never in the kernel's set. */
	assert_int_equal(epoll_ctl(set_fd, EPOLL_CTL_DEL, pair[0], NULL), -1);
	assert_int_equal(errno, ENOENT);
	/* Where the kernel wakes a sleeper, or has its own rules, the kernel is
	 * used. */
	ev.events = EPOLLIN | EPOLLEXCLUSIVE;
	assert_int_equal(
		sdp_watch_ctl(set_fd, EPOLL_CTL_ADD, pair[0], &ev, sock), 0);
	ev.events = EPOLLIN;
	atomic_fetch_add(&set->kernel_wait_cnt, 1);
	assert_int_equal(
		sdp_watch_ctl(set_fd, EPOLL_CTL_ADD, pair[0], &ev, sock), 0);
	util_file_put(&set->file);
}

/* A thread that sleeps in the kernel for the set can only be woken by the
 * kernel. */
STREAM_CASE(leaves_a_thread_in_epoll_wait_to_the_kernel)
{
	struct sdp_epoll *set = sdp_epoll_get(set_fd);

	atomic_fetch_add(&set->kernel_wait_cnt, 1);
	ctl(EPOLL_CTL_ADD, EPOLLIN, 7);
	assert_int_equal(reported(), 7);
	util_file_put(&set->file);
}

enum { ROUNDS = 3000 };

static void *make_ready(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		while (atomic_load(&fake.sdp_link_state.ret))
			sched_yield();
		become_ready(SDP_LINK_IN);
	}
	return NULL;
}

static void sleep_for(struct sdp_epoll *set)
{
	struct sdp_sleeper sleeper;
	struct pollfd pfd = { .events = POLLIN };

	sdp_sleeper_init(&sleeper);
	assert_true(sleeper.fd >= 0);
	pfd.fd = sleeper.fd;
	sdp_epoll_sleep_begin(set, &sleeper);
	if (!sdp_epoll_has_ready(set))
		assert_int_equal(poll(&pfd, 1, 60000), 1);
	sdp_epoll_sleep_end(set, &sleeper, pfd.revents);
}

STREAM_CASE(wakes_a_sleeper_each_time)
{
	struct sdp_epoll *set = sdp_epoll_get(set_fd);
	pthread_t thread;
	int seen = 0;

	ctl(EPOLL_CTL_ADD, EPOLLIN | EPOLLET, 7);
	assert_int_equal(pthread_create(&thread, NULL, make_ready, NULL), 0);
	while (seen < ROUNDS) {
		sleep_for(set);
		if (!queued(7))
			continue;
		seen++;
		atomic_store(&fake.sdp_link_state.ret, 0);
	}
	pthread_join(thread, NULL);
	util_file_put(&set->file);
}

ALL_CASES_WITH(table_start, NULL);
