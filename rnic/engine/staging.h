/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Staging memory, lent to streams while octets are being sent or received.
 * Guarded by the engine's lead.
 */
#ifndef RNIC_STAGING_H
#define RNIC_STAGING_H

#include <stddef.h>

struct rnic_staging {
	struct rnic_staging *next;
};

struct rnic_staging_pool {
	struct rnic_staging *free_list;
	size_t size; /* of a piece */
};

/* NULL: out of memory. */
void *rnic_staging_get(struct rnic_staging_pool *pool);
/* NULL: nothing. */
void rnic_staging_put(struct rnic_staging_pool *pool, void *mem);
/* Pieces that are still lent are lost. */
void rnic_staging_fini(struct rnic_staging_pool *pool);

#endif
