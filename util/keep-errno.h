/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A scope that leaves errno as it was.
 *
 * POSIX lets a call that succeeds change errno.  But on RDMA hardware a post or
 * a poll makes no system call, and programs rely on that: librdmacm's rsockets
 * post between a call that sets errno and their look at it.
 */
#ifndef UTIL_KEEP_ERRNO_H
#define UTIL_KEEP_ERRNO_H

#include <errno.h>

static inline void util_errno_restore(const int *saved_errno)
{
	errno = *saved_errno;
}

/* errno is as it was, once the scope is left.  It is a declaration; put it at
 * the beginning of the scope. */
#define UTIL_KEEP_ERRNO()                                                      \
	__attribute__((cleanup(util_errno_restore), unused))                   \
	const int util_saved_errno = errno

#endif
