/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* evfd.c: one file with two numbers. chan_test.c covers old kernels. */
#define _GNU_SOURCE
#include "os/evfd.h"
#include "test.h"

#include "os/fd.h"
#include "util/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

static struct util_lock lock = UTIL_LOCK_INIT(UTIL_RANK_CHAN);

static bool is_readable(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

CASE(both_numbers_are_one_file)
{
	int own = rnic_evfd_open(), shared;

	assert_true(own >= 0);
	shared = rnic_evfd_share(own);
	assert_true(shared >= 0 && shared != own);
	assert_true(fcntl(shared, F_GETFD) & FD_CLOEXEC);
	assert_false(is_readable(shared));
	rnic_evfd_post(own);
	rnic_evfd_post(own);
	assert_true(is_readable(shared));
	assert_int_equal(rnic_evfd_wait(own, &lock), 0);
	assert_true(rnic_evfd_take(own));
	assert_false(rnic_evfd_take(own));
	assert_false(is_readable(shared));
	assert_int_equal(fcntl(shared, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(rnic_evfd_wait(own, &lock), -EAGAIN);
	close(shared);
	rnic_evfd_post(own);
	assert_int_equal(rnic_evfd_wait(own, &lock), 0);
	rnic_fd_close(own);
	assert_int_equal(rnic_evfd_share(own), -EBADF);
}

CASE(errno_is_the_callers)
{
	int own = rnic_evfd_open();

	assert_int_equal(fcntl(own, F_SETFL, O_NONBLOCK), 0);
	errno = ENOTTY;
	assert_false(rnic_evfd_take(own));
	assert_int_equal(rnic_evfd_wait(own, &lock), -EAGAIN);
	assert_int_equal(errno, ENOTTY);
	rnic_fd_close(own);
}
