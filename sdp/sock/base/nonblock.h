/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Whether the kernel's calls on a descriptor sleep. Other processes that have
 * the socket may change that, too, so the kernel is asked. */
#ifndef SDP_SOCK_NONBLOCK_H
#define SDP_SOCK_NONBLOCK_H

#include <fcntl.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Not of a number that is none. */
static inline bool sdp_is_blocking(int fd)
{
	return !(syscall(SYS_fcntl, fd, F_GETFL) & O_NONBLOCK);
}

/* Calls on @fd do not sleep from now on. Return: for sdp_nonblock_end(). */
static inline long sdp_nonblock_begin(int fd)
{
	long old = syscall(SYS_fcntl, fd, F_GETFL);

	if (!(old & O_NONBLOCK))
		syscall(SYS_fcntl, fd, F_SETFL, old | O_NONBLOCK);
	return old;
}

static inline void sdp_nonblock_end(int fd, long old)
{
	if (!(old & O_NONBLOCK))
		syscall(SYS_fcntl, fd, F_SETFL, old);
}

#endif
