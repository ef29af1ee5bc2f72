/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See fd-high.h. */
#include "fd-high.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cancel.h"

static int first_high(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 ||
	    limit.rlim_cur > UTIL_FD_HIGH)
		return UTIL_FD_HIGH;
	return UTIL_FD_HIGH_SMALL;
}

static int dup_by_system_call(int fd, int lowest)
{
	return (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, lowest);
}

int util_fd_high_dup(int fd, util_fd_dup_fn *dup)
{
	const int lowest[] = { UTIL_FD_HIGH, UTIL_FD_HIGH_SMALL, 0 };
	int moved = -1;

	if (!dup)
		dup = dup_by_system_call;
	for (size_t i = 0; i < 3 && moved < 0; i++)
		moved = dup(fd, lowest[i]);
	return moved < 0 ? -errno : moved;
}

int util_fd_high_move(int fd, util_fd_dup_fn *dup, int (*close)(int fd))
{
	int moved;

	if (fd < 0 || fd >= first_high())
		return fd;
	moved = util_fd_high_dup(fd, dup);
	if (moved < 0)
		return fd;
	if (close)
		close(fd);
	else
		util_sys_close(fd);
	return moved;
}
