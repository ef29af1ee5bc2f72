/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See limit.h. */
#include "limit.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cancel.h"
#include "util/fd-high.h"
#include "util/lock.h"

/* Descriptors that a start needs, including a device that it opens. */
#define MARGIN 32u
/* With this hard limit or more, the number of open descriptors is not
 * checked. */
#define PLENTY 4096u

static struct util_lock lock = UTIL_LOCK_INIT(UTIL_RANK_LEAF);
static unsigned int raised_cnt;
static struct rlimit saved;

static bool is_used_up(int fd, int lowest, rlim_t limit)
{
	long next = syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, lowest);

	if (next < 0)
		return true;
	util_sys_close((int)next);
	return (rlim_t)next + MARGIN > limit;
}

/* The next number tells how many are used: of the program's, which are assigned
 * from below, and of the library's, which begin higher. */
static bool is_near(int fd, rlim_t limit)
{
	int own = limit > UTIL_FD_HIGH + MARGIN ? UTIL_FD_HIGH
						: UTIL_FD_HIGH_SMALL;

	return is_used_up(fd, 0, limit) || is_used_up(fd, own, limit);
}

bool sdp_limit_is_enough(int fd)
{
	struct rlimit limit;
	bool is_raised, is_enough;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_max > PLENTY)
		return true;
	/* The soft limit is reached: there may be room above it. */
	is_raised = sdp_limit_begin(fd);
	is_enough = !is_near(fd, limit.rlim_max);
	sdp_limit_end(is_raised);
	return is_enough;
}

bool sdp_limit_begin(int fd)
{
	struct rlimit limit;
	bool is_raised = false;

	util_lock(&lock);
	if (raised_cnt > 0) {
		is_raised = true;
	} else if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
		   limit.rlim_cur < limit.rlim_max &&
		   is_near(fd, limit.rlim_cur)) {
		saved = limit;
		limit.rlim_cur = limit.rlim_max;
		is_raised = setrlimit(RLIMIT_NOFILE, &limit) == 0;
	}
	raised_cnt += is_raised;
	util_unlock(&lock);
	return is_raised;
}

/* Restores the limit, unless the program has changed it. The lock is held. */
static void restore(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	    limit.rlim_cur == saved.rlim_max &&
	    limit.rlim_max == saved.rlim_max)
		(void)setrlimit(RLIMIT_NOFILE, &saved);
}

void sdp_limit_end(bool is_raised)
{
	if (!is_raised)
		return;
	util_lock(&lock);
	if (--raised_cnt == 0)
		restore();
	util_unlock(&lock);
}

void sdp_limit_fork_child(void)
{
	util_lock_init(&lock, UTIL_RANK_LEAF);
	if (raised_cnt > 0)
		restore();
	raised_cnt = 0;
}
