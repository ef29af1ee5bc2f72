/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See fd.h. */
#include "verbs/wait/fd.h"

#include <errno.h>
#include <poll.h>

#include "util/clock.h"
#include "util/cancel.h"
#include "verbs/sdp-link.h"

#define MS_MAX 3600000ull

int sdp_wait_fd(int fd, short events, int stop_fd, uint64_t deadline)
{
	struct pollfd pfd[2] = {
		{ .fd = fd, .events = events },
		{ .fd = stop_fd > 0 ? stop_fd : -1, .events = POLLIN },
	};
	uint64_t now = sdp_now_ns(), left_ms;

	if (now >= deadline)
		return -ETIMEDOUT;
	left_ms = (deadline - now) / NS_PER_MS + 1;
	if (util_sys_poll(pfd, 2, (int)(left_ms < MS_MAX ? left_ms : MS_MAX)) <
	    0)
		return errno != EINTR ? -errno : 0;
	return pfd[1].revents && !pfd[0].revents ? -ECANCELED : 0;
}
