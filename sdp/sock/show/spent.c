/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See spent.h. The kernel clears the events of a registration that is spent,
 * and fdinfo shows them. */
#include "spent.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cancel.h"

/* Bits that only say how to report. */
#define HOW (EPOLLONESHOT | EPOLLET | EPOLLWAKEUP | EPOLLEXCLUSIVE)

/* "tfd:        5 events:       19 data: ..." */
static bool line_is_spent(const char *line, int fd)
{
	unsigned int events;
	int tfd;

	return sscanf(line, "tfd: %d events: %x", &tfd, &events) == 2 &&
	       tfd == fd && !(events & ~(unsigned int)HOW);
}

/* Lines are shorter than half of @buf. Return: whether one is. */
static bool file_is_spent(int info_fd, int fd, char *buf, size_t size)
{
	size_t len = 0;
	char *line, *end;
	ssize_t got;

	while ((got = util_sys_read(info_fd, buf + len, size - 1 - len)) > 0) {
		len += (size_t)got;
		buf[len] = '\0';
		for (line = buf; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			if (line_is_spent(line, fd))
				return true;
		}
		len -= (size_t)(line - buf);
		memmove(buf, line, len);
	}
	return false;
}

bool sdp_epoll_is_spent(int set_fd, int fd)
{
	char path[48], buf[4096];
	bool is_spent;
	int info_fd;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", set_fd);
	info_fd =
		(int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (info_fd < 0)
		return false;
	is_spent = file_is_spent(info_fd, fd, buf, sizeof(buf));
	util_sys_close(info_fd);
	return is_spent;
}
