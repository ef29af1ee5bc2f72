/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The eventfd behind an event channel. */
#define _GNU_SOURCE /* RWF_NOWAIT */
#include "evfd.h"

#include "util/cancel.h"
#include "util/keep-errno.h"
#include "util/lock.h"
#include "util/log.h"
#include "fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/uio.h>

/*
 * libc's own read().  It is a cancellation point, as a wait for an event must
 * be, and the preload library does not wrap it: a wrapped read() would come
 * back here.
 */
extern ssize_t __read(int fd, void *buf, size_t size);

int rnic_evfd_open(void)
{
	static atomic_flag is_told = ATOMIC_FLAG_INIT;
	int fd = rnic_fd_own(eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC));

	/* rnic_fd_own() names the limit of descriptors. */
	if (fd < 0 && fd != -EMFILE && !atomic_flag_test_and_set(&is_told))
		util_err("rnic",
			 "eventfd() fails: %s; allow this call to the program",
			 strerror(-fd));
	return fd;
}

int rnic_evfd_share(int fd)
{
	long shared = syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0);

	return shared < 0 ? -errno : (int)shared;
}

int rnic_evfd_share_as(int fd, int inherited_fd)
{
	long status = syscall(SYS_fcntl, inherited_fd, F_GETFL);
	long flags = syscall(SYS_fcntl, inherited_fd, F_GETFD);

	if (status < 0 || flags < 0 ||
	    syscall(SYS_dup3, fd, inherited_fd,
		    flags & FD_CLOEXEC ? O_CLOEXEC : 0) < 0)
		return -errno;
	syscall(SYS_fcntl, fd, F_SETFL, status);
	return 0;
}

void rnic_evfd_post(int fd)
{
	const uint64_t token = 1;

	/* To block it would take 2^64 - 2 tokens. */
	util_sys_write(fd, &token, sizeof(token));
}

/*
 * Kernels before 5.8 have no RWF_NOWAIT for eventfds.  There the file itself
 * becomes non-blocking for the moment of the read; readers that see EAGAIN
 * then find out under the lock whether it was meant for them.
 */
static _Atomic bool is_nowait_missing;

static bool token_take_old(int fd)
{
	long flags = syscall(SYS_fcntl, fd, F_GETFL);
	uint64_t token;
	ssize_t ret;

	if (flags < 0 || syscall(SYS_fcntl, fd, F_SETFL, flags | O_NONBLOCK))
		return false;
	ret = util_sys_read(fd, &token, sizeof(token));
	syscall(SYS_fcntl, fd, F_SETFL, flags);
	return ret == (ssize_t)sizeof(token);
}

/* Return: 1: taken; 0: there is none; -1: the kernel cannot tell. */
static int token_take_nowait(int fd)
{
	uint64_t token;
	struct iovec iov = { .iov_base = &token, .iov_len = sizeof(token) };

	if (syscall(SYS_preadv2, fd, &iov, 1, -1L, -1L, RWF_NOWAIT) >= 0)
		return 1;
	if (errno == EAGAIN)
		return 0;
	atomic_store_explicit(&is_nowait_missing, true, memory_order_relaxed);
	return -1;
}

bool rnic_evfd_take(int fd)
{
	UTIL_KEEP_ERRNO();
	int ret = token_take_nowait(fd);

	return ret < 0 ? token_take_old(fd) : ret;
}

bool rnic_evfd_take_unlocked(int fd, struct util_lock *lock)
{
	UTIL_KEEP_ERRNO();
	int ret = token_take_nowait(fd);

	if (ret >= 0)
		return ret;
	UTIL_LOCKED(lock);
	return token_take_old(fd);
}

bool rnic_evfd_is_nonblocking(int fd)
{
	long flags = syscall(SYS_fcntl, fd, F_GETFL);

	return flags < 0 || (flags & O_NONBLOCK) != 0;
}

/* A read answered EAGAIN: because the application wants it so? */
static bool evfd_is_refused(int fd, struct util_lock *lock)
{
	if (!atomic_load_explicit(&is_nowait_missing, memory_order_relaxed))
		return true;
	UTIL_LOCKED(lock);
	return rnic_evfd_is_nonblocking(fd);
}

int rnic_evfd_wait(int fd, struct util_lock *lock)
{
	int saved_errno = errno;
	uint64_t token;
	int ret;

	do {
		ret = __read(fd, &token, sizeof(token)) < 0 ? -errno : 0;
		errno = saved_errno;
	} while (ret == -EAGAIN && !evfd_is_refused(fd, lock));
	return ret;
}
