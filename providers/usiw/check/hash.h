/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A hash of memory, to see whether it has changed. */
#ifndef USIW_CHECK_HASH_H
#define USIW_CHECK_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* @hash: of what comes before. */
uint64_t usiw_check_hash(uint64_t hash, const void *data, size_t len);

/*
 * The hash of memory that may not be there.  Under the lock of shadow.h.
 * Return: 0; -EFAULT: not all of it can be read; another -errno: the system
 *   does not say.
 */
int usiw_check_hash_memory(uint64_t addr, size_t len, uint64_t *ret_hash);

/* Copies memory that may not be there.  Return: as above.
 * Context: any. */
int usiw_check_copy_memory(uint64_t addr, void *to, size_t len);

/* May the memory be read?  As above; only its first and last octet. */
int usiw_check_is_mapped(uint64_t addr, size_t len);

#endif
