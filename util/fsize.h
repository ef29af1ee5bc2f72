/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * RLIMIT_FSIZE: a call that makes a file larger than that, a memfd too, ends
 * the program by SIGXFSZ.  So the size is compared before such a call.
 */
#ifndef UTIL_FSIZE_H
#define UTIL_FSIZE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

/* May this process make a file of so many octets?  The limit may change. */
static inline bool util_fsize_allows(uint64_t size)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) < 0 ||
	       limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur;
}

#endif
