/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * errno is the application's.  On a device of hardware a post or a poll makes
 * no system call, so programs look at the errno of an earlier call after one:
 * librdmacm's rsockets do.  POSIX lets a call that succeeds change errno; the
 * calls of the data path do not.
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
