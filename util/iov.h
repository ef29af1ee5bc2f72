/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Lists of memory. */
#ifndef UTIL_IOV_H
#define UTIL_IOV_H

#include <stddef.h>
#include <sys/uio.h>

/* The sum fits. */
static inline size_t util_iov_len(const struct iovec *iov, int cnt)
{
	size_t len = 0;

	for (int i = 0; i < cnt; i++)
		len += iov[i].iov_len;
	return len;
}

#endif
