/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The shadow: the kernel reports the events that it should show. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sock-fixture.h"
#include "sock/show/shadow.h"

#define ASKED (POLLIN | POLLOUT | POLLRDHUP | POLLPRI)

static struct sdp_shadow shadow;
static int program_fd;

static int open_pair(void **state)
{
	shadow = (struct sdp_shadow){ .lib_fd = -1 };
	program_fd = sdp_shadow_open(&shadow, O_NONBLOCK);
	return program_fd < 0;
}

static int close_pair(void **state)
{
	close(program_fd);
	if (shadow.lib_fd >= 0)
		sdp_shadow_close(&shadow);
	return 0;
}

#define FILE_CASE(name) CASE_WITH(name, open_pair, close_pair)

static short kernel_says(void)
{
	struct pollfd pfd = { .fd = program_fd, .events = ASKED };

	assert_true(poll(&pfd, 1, 0) >= 0);
	return pfd.revents;
}

static void show(short events)
{
	sdp_shadow_show(&shadow, program_fd, events, 0);
}

FILE_CASE(shows_the_present_state)
{
	static const short steps[] = {
		POLLOUT, POLLIN | POLLOUT, POLLIN,	     0, POLLIN, POLLOUT,
		0,	 POLLOUT,	   POLLIN | POLLOUT,
	};

	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		show(steps[i]);
		assert_int_equal(kernel_says(), steps[i]);
	}
}

FILE_CASE(is_fit_for_a_thousand_changes)
{
	for (int i = 0; i < 1000; i++) {
		show(i & 1 ? POLLIN : POLLOUT);
		assert_int_equal(kernel_says(), i & 1 ? POLLIN : POLLOUT);
	}
}

/* The library's threads have no number of the program. */
FILE_CASE(takes_back_only_in_a_call_of_the_program)
{
	show(POLLIN | POLLOUT);
	sdp_shadow_show(&shadow, -1, 0, 0);
	assert_int_equal(kernel_says(), POLLIN | POLLOUT);
	show(0);
	assert_int_equal(kernel_says(), 0);
	sdp_shadow_show(&shadow, -1, POLLIN | POLLOUT, 0);
	assert_int_equal(kernel_says(), POLLIN | POLLOUT);
}

FILE_CASE(shows_the_end_of_the_peer)
{
	show(POLLIN | POLLOUT | POLLRDHUP);
	assert_int_equal(kernel_says(), POLLIN | POLLOUT | POLLRDHUP);
	/* After it was read to its end, it still reports the end. */
	show(POLLOUT | POLLIN | POLLRDHUP);
	assert_int_equal(kernel_says(), POLLIN | POLLOUT | POLLRDHUP);
}

FILE_CASE(shows_the_end_of_both)
{
	show(0);
	show(POLLIN | POLLOUT | POLLRDHUP | POLLHUP);
	assert_int_equal(kernel_says(), POLLIN | POLLOUT | POLLRDHUP | POLLHUP);
	assert_int_equal(shadow.lib_fd, -1);
	/* Nothing can change any more. */
	show(0);
}

FILE_CASE(shows_a_reset)
{
	int err = 0;
	socklen_t len = sizeof(err);

	show(POLLOUT);
	sdp_shadow_show(&shadow, -1,
			POLLIN | POLLOUT | POLLRDHUP | POLLERR | POLLHUP, 0);
	assert_int_equal(kernel_says(),
			 POLLIN | POLLOUT | POLLRDHUP | POLLERR | POLLHUP);
	assert_int_equal(
		getsockopt(program_fd, SOL_SOCKET, SO_ERROR, &err, &len), 0);
	assert_int_equal(err, ECONNRESET);
}

static int edges(int set_fd)
{
	struct epoll_event ev;

	return epoll_wait(set_fd, &ev, 1, 0);
}

FILE_CASE(makes_an_edge_for_each_arrival)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };
	int set_fd = epoll_create1(EPOLL_CLOEXEC);

	shadow.has_edges = true;
	assert_int_equal(epoll_ctl(set_fd, EPOLL_CTL_ADD, program_fd, &ev), 0);
	assert_int_equal(edges(set_fd), 0);
	for (int i = 0; i < 1000; i++) {
		sdp_shadow_show(&shadow, -1, POLLIN | POLLOUT, POLLIN);
		assert_int_equal(edges(set_fd), 1);
		assert_int_equal(edges(set_fd), 0);
		/* The program reads a part. */
		if (i % 10 == 0)
			show(POLLIN | POLLOUT);
		assert_int_equal(edges(set_fd), 0);
	}
	/* Unread arrivals are one edge, in bounded memory. */
	for (int i = 0; i < 1000; i++)
		sdp_shadow_show(&shadow, -1, POLLIN | POLLOUT, POLLIN);
	assert_int_equal(edges(set_fd), 1);
	assert_int_equal(edges(set_fd), 0);
	/* Showing the same again without an arrival is no edge. */
	sdp_shadow_show(&shadow, -1, POLLIN | POLLOUT, 0);
	assert_int_equal(edges(set_fd), 0);
	/* Everything is read, and more arrives. */
	show(POLLOUT);
	assert_int_equal(kernel_says(), POLLOUT);
	sdp_shadow_show(&shadow, -1, POLLIN | POLLOUT, POLLIN);
	assert_int_equal(edges(set_fd), 1);
	close(set_fd);
}

/* The octet for POLLPRI causes POLLIN too. Both are cleared together. */
FILE_CASE(shows_urgent_data)
{
	for (int i = 0; i < 100; i++) {
		show(POLLOUT | POLLPRI);
		assert_true(kernel_says() & POLLPRI);
		show(POLLOUT | POLLIN | POLLPRI);
		assert_true(kernel_says() & POLLPRI);
		show(POLLOUT | POLLIN);
		assert_int_equal(kernel_says(), POLLOUT | POLLIN);
		show(POLLOUT);
		assert_int_equal(kernel_says(), POLLOUT);
	}
}

FILE_CASE(makes_an_edge_for_each_urgent_octet)
{
	struct epoll_event ev = { .events = EPOLLPRI | EPOLLET };
	int set_fd = epoll_create1(EPOLL_CLOEXEC);

	assert_int_equal(epoll_ctl(set_fd, EPOLL_CTL_ADD, program_fd, &ev), 0);
	for (int i = 0; i < 100; i++) {
		sdp_shadow_show(&shadow, -1, POLLOUT | POLLPRI, POLLPRI);
		assert_int_equal(edges(set_fd), 1);
		assert_int_equal(edges(set_fd), 0);
		if (i % 3 == 0)
			show(POLLOUT);
	}
	close(set_fd);
}

FILE_CASE(has_the_flags_of_the_socket)
{
	assert_true(fcntl(program_fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(fcntl(program_fd, F_GETFD), FD_CLOEXEC);
	assert_true(shadow.lib_fd >= 3);
	assert_int_equal(sdp_fd_kind(shadow.lib_fd), SDP_FD_PRIVATE);
}

ALL_CASES_WITH(table_start, NULL);
