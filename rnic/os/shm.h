/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Memory for rings: page-granular pieces of large mappings.  A fork does not
 * inherit them.
 */
#ifndef RNIC_SHM_H
#define RNIC_SHM_H

#include <stdbool.h>
#include <stddef.h>

#include "util/lock.h"

struct rnic_shm_chunk;

struct rnic_shm {
	struct util_lock lock;
	/* guarded by lock */
	struct rnic_shm_chunk *chunks;
	size_t warm_cnt;
};

void rnic_shm_init(struct rnic_shm *shm);

/* Unmaps everything, allocated or not. */
void rnic_shm_fini(struct rnic_shm *shm);

/* Is nothing allocated from it? */
bool rnic_shm_is_empty(struct rnic_shm *shm);

/* @size octets, zeroed, page-aligned.  Return: 0; -ENOMEM. */
int rnic_shm_alloc(struct rnic_shm *shm, size_t size, void **ret_mem);

/*
 * Frees the memory after the first @keep octets, as far as whole pages.
 * Return: the new size of @mem.
 */
size_t rnic_shm_trim(struct rnic_shm *shm, void *mem, size_t size, size_t keep);

/* @mem NULL: nothing.  @size as given to alloc. */
void rnic_shm_free(struct rnic_shm *shm, void *mem, size_t size);

#endif
