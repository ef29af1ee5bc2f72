/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Staging memory: taken from the kernel piece by piece, kept for the next. */
#include "staging.h"

#include <sys/mman.h>

void *rnic_staging_get(struct rnic_staging_pool *pool)
{
	struct rnic_staging *staging = pool->free_list;
	void *mem;

	if (staging) {
		pool->free_list = staging->next;
		return staging;
	}
	mem = mmap(NULL, pool->size, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return mem == MAP_FAILED ? NULL : mem;
}

void rnic_staging_put(struct rnic_staging_pool *pool, void *mem)
{
	struct rnic_staging *staging = mem;

	if (!mem)
		return;
	staging->next = pool->free_list;
	pool->free_list = staging;
}

void rnic_staging_fini(struct rnic_staging_pool *pool)
{
	while (pool->free_list) {
		struct rnic_staging *staging = pool->free_list;

		pool->free_list = staging->next;
		munmap(staging, pool->size);
	}
}
