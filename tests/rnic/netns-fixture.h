/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A network of the test's own, and what happens in it.  Whoever includes this
 * defines _GNU_SOURCE for unshare().
 */
#ifndef NETNS_FIXTURE_H
#define NETNS_FIXTURE_H

#include "test.h"

#include <stdbool.h>

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * Root has no need of a user namespace, which a process of many threads, as
 * under TSan, may not make.
 */
static inline bool netns_enter(void)
{
	if (unshare(CLONE_NEWNET) == 0 ||
	    unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0)
		return true;
	print_error("no network of our own: %s\n", strerror(errno));
	return false;
}

static inline void netns_lo_set_up(bool is_up)
{
	struct ifreq req = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(ioctl(fd, SIOCGIFFLAGS, &req), 0);
	req.ifr_flags =
		(short)((req.ifr_flags & ~IFF_UP) | (is_up ? IFF_UP : 0));
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &req), 0);
	close(fd);
}

#endif
