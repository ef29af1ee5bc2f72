/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which one-shot registrations the kernel has reported. */
#include "test.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "sock/show/spent.h"

static int set;

static int begin(void **state)
{
	set = epoll_create1(EPOLL_CLOEXEC);
	return set < 0;
}

static int end(void **state)
{
	return close(set);
}

static int add(uint32_t events, bool is_ready)
{
	int fd = eventfd(is_ready, EFD_CLOEXEC);
	struct epoll_event ev = { .events = events, .data.fd = fd };

	assert_int_equal(epoll_ctl(set, EPOLL_CTL_ADD, fd, &ev), 0);
	return fd;
}

static void report(void)
{
	struct epoll_event ev[8];

	assert_true(epoll_wait(set, ev, ARRAY_LEN(ev), 0) >= 0);
}

CASE_WITH(is_spent_when_it_was_reported, begin, end)
{
	static const struct {
		const char *name;
		uint32_t events;
		bool is_ready, is_spent;
	} rows[] = {
		{ "reported", EPOLLIN | EPOLLONESHOT, true, true },
		{ "edge too", EPOLLIN | EPOLLET | EPOLLONESHOT, true, true },
		{ "not reported", EPOLLIN | EPOLLONESHOT, false, false },
		{ "level", EPOLLIN, true, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int fd = add(rows[i].events, rows[i].is_ready);
		struct epoll_event ev = { .events = rows[i].events };

		assert_row(rows[i].name, !sdp_epoll_is_spent(set, fd));
		report();
		assert_row(rows[i].name,
			   sdp_epoll_is_spent(set, fd) == rows[i].is_spent);
		assert_int_equal(epoll_ctl(set, EPOLL_CTL_MOD, fd, &ev), 0);
		assert_row(rows[i].name, !sdp_epoll_is_spent(set, fd));
		close(fd);
	}
}

/* More lines than one read takes; the one wanted is in the middle of a read, or
 * across two. */
CASE_WITH(finds_it_among_many, begin, end)
{
	enum { CNT = 200 };
	int fds[CNT];

	for (int i = 0; i < CNT; i++)
		fds[i] = add(EPOLLIN | EPOLLONESHOT, i % 3 == 1);
	for (int i = 0; i < CNT; i++)
		report();
	for (int i = 0; i < CNT; i++)
		assert_int_equal(sdp_epoll_is_spent(set, fds[i]), i % 3 == 1);
	for (int i = 0; i < CNT; i++)
		close(fds[i]);
}

CASE(is_not_where_there_is_no_set)
{
	assert_false(sdp_epoll_is_spent(-1, 0));
	assert_false(sdp_epoll_is_spent(0, 0));
}
