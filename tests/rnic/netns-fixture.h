/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A separate network namespace, and changes in it. The including file defines
 * _GNU_SOURCE for unshare().
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
 * Root needs no user namespace, which a process with several threads, as under
 * TSan, may not create.
 */
static inline bool netns_enter(void)
{
	if (unshare(CLONE_NEWNET) == 0 ||
	    unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0)
		return true;
	print_error("no separate network namespace: %s\n", strerror(errno));
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
