/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Memory that processes share: files whose size cannot change. */
#ifndef RNIC_LOCAL_SEALED_H
#define RNIC_LOCAL_SEALED_H

#include <stddef.h>

/*
 * A memfd of that size, sealed so that its size cannot change: a mapping then
 * never faults.  Pages cost memory from their first use on.
 * Return: the descriptor, which is the caller's; -EFBIG: RLIMIT_FSIZE is below
 * the size; other -errno.
 */
int rnic_sealed_new(size_t size);

/* Is it such memory, whoever has made it?  Does not block.  Return: 0; -EPROTO:
 * another size or kind of file, or not sealed. */
int rnic_sealed_check(int fd, size_t size);

/* Not inherited over fork.  Return: 0; -errno.  The descriptor can be closed
 * then. */
int rnic_sealed_map(int fd, size_t size, void **ret_mem);

#endif
