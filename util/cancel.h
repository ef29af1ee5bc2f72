/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Thread cancellation.
 *
 * Verbs are not cancellation points, because a thread that is cancelled inside
 * one would keep its locks.  Some system calls are cancellation points in libc.
 * The RNIC makes them through the functions here, which skip libc's check.
 * Where a library makes them (libnl, stdio, pthread_join()), the scope starts
 * with UTIL_CANCEL_OFF().  Waits for an event of the application remain
 * cancellation points.  meta-symbols checks every file.
 *
 * The functions also bypass the preload library and its look-up of descriptors.
 * Errors are those of libc: -1 and errno.
 */
#ifndef UTIL_CANCEL_H
#define UTIL_CANCEL_H

#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static inline int util_cancel_off(void)
{
	int old_state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old_state);
	return old_state;
}

static inline void util_cancel_restore(const int *old_state)
{
	pthread_setcancelstate(*old_state, NULL);
}

/* No cancellation until the scope is left.  It is a declaration; put it at the
 * beginning of the scope. */
#define UTIL_CANCEL_OFF()                                                      \
	__attribute__((cleanup(util_cancel_restore), unused))                  \
	const int util_old_cancel_state = util_cancel_off()

static inline ssize_t util_sys_read(int fd, void *buf, size_t len)
{
	return syscall(SYS_read, fd, buf, len);
}

static inline ssize_t util_sys_write(int fd, const void *buf, size_t len)
{
	return syscall(SYS_write, fd, buf, len);
}

static inline int util_sys_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

static inline ssize_t util_sys_getrandom(void *buf, size_t len)
{
	return syscall(SYS_getrandom, buf, len, 0);
}

static inline int util_sys_epoll_wait(int fd, struct epoll_event *ev, int max,
				      int timeout_ms)
{
	return (int)syscall(SYS_epoll_pwait, fd, ev, max, timeout_ms, NULL,
			    (size_t)0);
}

/* @timeout_ms < 0: no limit. */
static inline int util_sys_poll(struct pollfd *pfd, unsigned int cnt,
				int timeout_ms)
{
	struct timespec timeout = { .tv_sec = timeout_ms / 1000,
				    .tv_nsec = timeout_ms % 1000 * 1000000l };

	return (int)syscall(SYS_ppoll, pfd, cnt,
			    timeout_ms < 0 ? NULL : &timeout, NULL, (size_t)0);
}

#endif
