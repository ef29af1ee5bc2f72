/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which epoll sets and sleeping threads are notified that a socket is ready. */
#include "test.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sock/show/epoll.h"
#include "sock/show/ready.h"
#include "sock/show/shadow.h"
#include "sock/show/sleeper.h"
#include "verbs/sdp-link.h"

#include "fake-sock.h"
#include "sock-fixture.h"

/* Events of the socket's link. */

#define LINK FAKE_LINK

static int fd, set_fd;
static struct sdp_sock *sock;

static void forget(struct util_file *file)
{
	sdp_watch_forget(sdp_sock_of(file), -1);
}

static void shadow_end(struct sdp_sock *ended)
{
	if (ended->shadow.lib_fd >= 0)
		sdp_shadow_close(&ended->shadow);
}

/* A stream with its shadow, and an epoll set. */
static int begin(void **state)
{
	struct sdp_shadow shadow = { .lib_fd = -1 };

	fake_reset();
	set_fd = epoll_create1(EPOLL_CLOEXEC);
	sdp_epoll_add(set_fd);
	fd = sdp_shadow_open(&shadow, O_NONBLOCK);
	sock = sdp_sock_add(fd, AF_INET, forget, shadow_end);
	if (!sock)
		return 1;
	util_lock_init(&shadow.lock, UTIL_RANK_SDP_SHADOW);
	sock->shadow = shadow;
	sock->link = LINK;
	sdp_sock_become(sock, SDP_SOCK_STREAM);
	return 0;
}

static int end(void **state)
{
	program_close(fd);
	program_close(set_fd);
	return 0;
}

#define FILE_CASE(name) CASE_WITH(name, begin, end)

static short kernel_says(void)
{
	struct pollfd pfd = {
		.fd = fd, .events = POLLIN | POLLOUT | POLLPRI | POLLRDHUP
	};

	assert_true(poll(&pfd, 1, 0) >= 0);
	return pfd.revents;
}

static void bits_change(unsigned int bits)
{
	unsigned int news = fake.sdp_link_state.ret ^ bits;

	fake.sdp_link_state.ret = bits;
	sdp_sock_notify(sock, bits, news);
}

/* ---- threads that sleep ---- */

/* Each case: a thread sleeps for @events, and the link's bits become @bits. */
static const struct {
	const char *name;
	short events;
	unsigned int bits;
	bool is_woken;
} rows[] = {
	{ "octets for a reader", POLLIN, SDP_LINK_IN, true },
	{ "octets, by their other name", POLLRDNORM, SDP_LINK_IN, true },
	{ "octets for a writer", POLLOUT, SDP_LINK_IN, false },
	{ "space for a writer", POLLOUT, SDP_LINK_OUT, true },
	{ "space, by its other name", POLLWRNORM, SDP_LINK_OUT, true },
	{ "space for a reader", POLLIN, SDP_LINK_OUT, false },
	{ "an urgent octet", POLLPRI, SDP_LINK_PRI, true },
	{ "octets, while urgent ones are awaited", POLLPRI, SDP_LINK_IN,
	  false },
	{ "the peer's end for a reader", POLLIN, SDP_LINK_RDHUP, true },
	{ "a fault, with no events asked for", 0, SDP_LINK_ERR, true },
	{ "both ends, with no events asked for", 0, SDP_LINK_HUP, true },
	{ "nothing", POLLIN | POLLOUT, SDP_LINK_DRAINED, false },
};

FILE_CASE(wakes_a_waiting_thread)
{
	struct sdp_sleeper sleeper;
	struct sdp_poller poller;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		fake.sdp_link_state.ret = 0;
		sdp_sleeper_init(&sleeper);
		sdp_sock_sleep_begin(sock, &poller, rows[i].events, &sleeper);
		sdp_sleeper_begin(&sleeper);
		bits_change(rows[i].bits);
		assert_row(rows[i].name,
			   atomic_load(&sleeper.is_asleep) != rows[i].is_woken);
		sdp_sock_sleep_end(sock, &poller);
		sdp_sleeper_end(&sleeper, rows[i].is_woken);
		assert_row(rows[i].name, !sock->pollers);
	}
}

/* Threads may come and go in any order. */
FILE_CASE(wakes_all_waiting_threads)
{
	struct sdp_sleeper sleepers[3];
	struct sdp_poller pollers[3];

	for (int i = 0; i < 3; i++) {
		sdp_sleeper_init(&sleepers[i]);
		sdp_sock_sleep_begin(sock, &pollers[i], POLLIN, &sleepers[i]);
		sdp_sleeper_begin(&sleepers[i]);
	}
	sdp_sock_sleep_end(sock, &pollers[1]);
	bits_change(SDP_LINK_IN);
	assert_false(atomic_load(&sleepers[0].is_asleep));
	assert_true(atomic_load(&sleepers[1].is_asleep));
	assert_false(atomic_load(&sleepers[2].is_asleep));
	sdp_sock_sleep_end(sock, &pollers[2]);
	sdp_sock_sleep_end(sock, &pollers[0]);
	assert_null(sock->pollers);
	assert_null(pollers[0].sleeper);
	sdp_sleeper_end(&sleepers[0], true);
}

/* The thread of the start notifies when it has ended. */
FILE_CASE(a_socket_that_starts_wakes_no_thread)
{
	struct sdp_sleeper sleeper;
	struct sdp_poller poller;

	sdp_sock_become(sock, SDP_SOCK_STARTING);
	sdp_sleeper_init(&sleeper);
	sdp_sock_sleep_begin(sock, &poller, POLLIN, &sleeper);
	sdp_sleeper_begin(&sleeper);
	bits_change(SDP_LINK_IN);
	assert_true(atomic_load(&sleeper.is_asleep));
	sdp_sock_become(sock, SDP_SOCK_STREAM);
	sdp_sock_tell(sock, fd, SDP_NEWS_ALL);
	assert_false(atomic_load(&sleeper.is_asleep));
	sdp_sock_sleep_end(sock, &poller);
	sdp_sleeper_end(&sleeper, true);
}

FILE_CASE(a_sleeper_wakes_for_events_of_the_kernel)
{
	struct sdp_sleeper sleeper;
	struct sdp_poller poller;

	sdp_sleeper_init(&sleeper);
	sdp_sock_sleep_begin(sock, &poller, 0, &sleeper);
	sdp_sleeper_begin(&sleeper);
	sdp_sock_wake(sock);
	assert_false(atomic_load(&sleeper.is_asleep));
	sdp_sock_sleep_end(sock, &poller);
	sdp_sleeper_end(&sleeper, true);
}

/* ---- the shadow ---- */

FILE_CASE(a_shadow_without_an_observer_is_left_alone)
{
	short before = kernel_says();

	bits_change(SDP_LINK_IN | SDP_LINK_RDHUP);
	sdp_sock_show(sock, fd, POLLIN);
	sdp_sock_settle(sock, fd);
	assert_int_equal(kernel_says(), before);
}

static void registered(uint32_t events)
{
	struct epoll_event ev = { .events = events };

	assert_int_equal(epoll_ctl(set_fd, EPOLL_CTL_ADD, fd, &ev), 0);
	assert_int_equal(sdp_watch_note(set_fd, EPOLL_CTL_ADD, fd, &ev, sock),
			 0);
}

FILE_CASE(a_set_of_the_kernels_sees_the_shadow)
{
	registered(EPOLLIN);
	bits_change(SDP_LINK_OUT);
	sdp_ready_give(set_fd);
	assert_true(sock->shadow.is_watched);
	assert_false(sock->shadow.has_edges);
	assert_int_equal(kernel_says(), POLLOUT);
	bits_change(SDP_LINK_IN);
	/* Only a call of the program clears POLLOUT. */
	assert_int_equal(kernel_says(), POLLIN | POLLOUT);
	sdp_sock_settle(sock, fd);
	assert_int_equal(kernel_says(), POLLIN);
	bits_change(SDP_LINK_OUT);
	sdp_sock_settle(sock, fd);
	assert_int_equal(kernel_says(), POLLOUT);
}

FILE_CASE(urgent_octets_are_reported_on_request)
{
	struct epoll_event again = { .events = 0 };

	registered(EPOLLIN);
	sdp_ready_give(set_fd);
	bits_change(SDP_LINK_PRI | SDP_LINK_OUT);
	assert_int_equal(kernel_says(), POLLOUT);
	assert_false(sock->shadow.has_pri);
	again.events = EPOLLPRI | EPOLLET;
	assert_int_equal(epoll_ctl(set_fd, EPOLL_CTL_MOD, fd, &again), 0);
	assert_int_equal(
		sdp_watch_note(set_fd, EPOLL_CTL_MOD, fd, &again, sock), 0);
	sdp_sock_watch(sock, fd);
	assert_true(sock->shadow.has_pri);
	assert_true(sock->shadow.has_edges);
	assert_true(sock->shadow.is_pri);
}

/* Each step: bits that the link reports, and whether SIGURG follows. */
static const struct {
	const char *name;
	unsigned int bits, news;
	bool is_signalled;
	short events;
} urgent_rows[] = {
	{ "announced", SDP_LINK_URGENT, SDP_LINK_URGENT, true, 0 },
	{ "octets before it", SDP_LINK_URGENT | SDP_LINK_IN, SDP_LINK_IN, false,
	  POLLIN },
	{ "it arrived", SDP_LINK_URGENT | SDP_LINK_IN | SDP_LINK_PRI,
	  SDP_LINK_PRI, false, POLLIN | POLLPRI },
	{ "read", SDP_LINK_IN, SDP_LINK_URGENT | SDP_LINK_PRI, false, POLLIN },
	{ "with its announcement", SDP_LINK_URGENT | SDP_LINK_IN | SDP_LINK_PRI,
	  SDP_LINK_URGENT | SDP_LINK_PRI, true, POLLIN | POLLPRI },
	{ "another one is announced",
	  SDP_LINK_URGENT | SDP_LINK_IN | SDP_LINK_PRI, SDP_LINK_URGENT, true,
	  POLLIN | POLLPRI },
};

FILE_CASE(signals_when_an_urgent_octet_is_announced)
{
	static const struct timespec none = { 0 };
	sigset_t set, old;

	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	assert_int_equal(sigprocmask(SIG_BLOCK, &set, &old), 0);
	sock->tcp_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(fcntl(sock->tcp_fd, F_SETOWN, getpid()), 0);
	for (size_t i = 0; i < ARRAY_LEN(urgent_rows); i++) {
		fake.sdp_link_state.ret = urgent_rows[i].bits;
		sdp_sock_notify(sock, fake.sdp_link_state.ret,
				urgent_rows[i].news);
		assert_row(urgent_rows[i].name,
			   (sigtimedwait(&set, NULL, &none) == SIGURG) ==
				   urgent_rows[i].is_signalled);
		assert_row(urgent_rows[i].name,
			   sdp_sock_events(sock) == urgent_rows[i].events);
	}
	assert_int_equal(sigprocmask(SIG_SETMASK, &old, NULL), 0);
}

FILE_CASE(signals_need_the_shadow_as_well)
{
	sdp_sock_watch(sock, fd);
	assert_false(sock->shadow.is_watched);
	sock->is_async = true;
	bits_change(SDP_LINK_IN | SDP_LINK_OUT);
	sdp_sock_watch(sock, fd);
	assert_true(sock->shadow.is_watched);
	assert_true(sock->shadow.has_edges);
	assert_int_equal(kernel_says(), POLLIN | POLLOUT);
	sock->is_async = false;
	sdp_sock_watch(sock, fd);
	assert_false(sock->shadow.is_watched);
}

FILE_CASE(a_relays_shadow_is_its_own)
{
	short before = kernel_says();

	sock->is_async = true;
	sock->relay.is_on = true;
	bits_change(SDP_LINK_IN);
	sdp_sock_watch(sock, fd);
	assert_int_equal(kernel_says(), before);
}

ALL_CASES_WITH(table_start, NULL);
