/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Numbers of the library's descriptors, and who hears of them. */
#include "descriptors.h"
#include "test.h"

#include <sys/eventfd.h>

#include "util/fd-high.h"
#include "verbs/dev/high.h"
#include "verbs/sdp-link.h"

static int kept_fd, kept_cnt, released_fd, released_cnt;

static void on_keep(int fd, bool is_kept)
{
	assert_true(fcntl(fd, F_GETFD) >= 0);
	*(is_kept ? &kept_fd : &released_fd) = fd;
	*(is_kept ? &kept_cnt : &released_cnt) += 1;
}

static int fd_new(void)
{
	int fd = eventfd(0, EFD_CLOEXEC);

	assert_true(fd >= 0 && fd < UTIL_FD_HIGH_SMALL);
	return fd;
}

/* Without the socket layer. */
FIRST_CASE(needs_no_listener)
{
	int low = fd_new(), fd = low;

	sdp_high_keep(&fd);
	assert_true(fd >= UTIL_FD_HIGH_SMALL);
	assert_true(fcntl(low, F_GETFD) < 0);
	sdp_high_release(fd);
	close(fd);
}

CASE(what_is_kept_is_told)
{
	int low = fd_new(), fd = low, high;

	sdp_verbs_on_keep(on_keep);
	sdp_high_move(&fd);
	assert_true(fd >= UTIL_FD_HIGH_SMALL);
	assert_int_equal(kept_cnt, 0);
	/* It need not move. */
	high = fd;
	sdp_high_keep(&fd);
	assert_true(kept_cnt == 1 && kept_fd == fd);
	assert_true(fd == high || fcntl(high, F_GETFD) < 0);
	assert_true(fcntl(fd, F_GETFD) == FD_CLOEXEC);
	sdp_high_release(fd);
	assert_true(released_cnt == 1 && released_fd == fd);
	close(fd);
}
