/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Slabs of Private Buffers.
 *
 * A slab is one mapping and one memory region. Where memory is registered on
 * demand, pages that were never used take no memory. A few empty slabs are
 * kept. Without them a stream that fills and empties its windows in turn would
 * map, register and fault in its memory each time.
 */
#include "pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SLAB_BUFS 16u
/* Number of empty slabs to keep: enough for two streams. */
#define SLABS_KEPT 4u

struct sdp_slab {
	struct sdp_slab *next, *prev;
	uint8_t *mem;
	size_t len;
	struct ibv_mr *mr;
	struct sdp_pbuf *free;
	uint32_t used;
	struct sdp_pbuf bufs[SLAB_BUFS];
};

void sdp_pool_init(struct sdp_pool *pool, struct ibv_pd *pd, uint32_t buf_size,
		   bool is_on_demand)
{
	memset(pool, 0, sizeof(*pool));
	util_lock_init(&pool->lock, UTIL_RANK_SDP_POOL);
	pool->pd = pd;
	pool->buf_size = buf_size;
	pool->access = IBV_ACCESS_LOCAL_WRITE |
		       (is_on_demand ? IBV_ACCESS_ON_DEMAND : 0);
}

static void slab_link(struct sdp_pool *pool, struct sdp_slab *slab)
{
	slab->prev = NULL;
	slab->next = pool->slabs;
	if (slab->next)
		slab->next->prev = slab;
	pool->slabs = slab;
}

static void slab_unlink(struct sdp_pool *pool, struct sdp_slab *slab)
{
	if (slab->prev)
		slab->prev->next = slab->next;
	else
		pool->slabs = slab->next;
	if (slab->next)
		slab->next->prev = slab->prev;
}

static void slab_free(struct sdp_slab *slab)
{
	ibv_dereg_mr(slab->mr);
	munmap(slab->mem, slab->len);
	free(slab);
}

static void buf_init(struct sdp_slab *slab, struct sdp_pbuf *buf, uint8_t *base,
		     uint32_t size)
{
	buf->mem = (struct sdp_mem){ base, slab->mr->lkey, size };
	buf->slab = slab;
	buf->sge = (struct ibv_sge){ (uintptr_t)base, size, slab->mr->lkey };
	buf->wr.wr_id = (uintptr_t)buf;
	buf->wr.sg_list = &buf->sge;
	buf->wr.num_sge = 1;
	buf->next = slab->free;
	slab->free = buf;
}

static struct sdp_slab *slab_new(struct sdp_pool *pool)
{
	struct sdp_slab *slab = calloc(1, sizeof(*slab));
	uint32_t size = (pool->buf_size + 63) & ~63u;

	if (!slab)
		return NULL;
	slab->len = (size_t)size * SLAB_BUFS;
	slab->mem = mmap(NULL, slab->len, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (slab->mem == MAP_FAILED)
		goto free_slab;
	/* The function, not the macro: with rights that are no constant that
	 * needs a newer libibverbs. */
	slab->mr = (ibv_reg_mr)(pool->pd, slab->mem, slab->len, pool->access);
	if (!slab->mr)
		goto unmap;
	for (uint32_t i = SLAB_BUFS; i-- > 0;)
		buf_init(slab, &slab->bufs[i], slab->mem + (size_t)i * size,
			 pool->buf_size);
	return slab;
unmap:
	munmap(slab->mem, slab->len);
free_slab:
	free(slab);
	return NULL;
}

struct sdp_pbuf *sdp_pool_get(struct sdp_pool *pool)
{
	struct sdp_pbuf *buf = NULL;
	struct sdp_slab *slab;

	util_lock(&pool->lock);
	slab = pool->slabs;
	if (!slab) {
		slab = slab_new(pool);
		if (!slab)
			goto unlock;
		slab_link(pool, slab);
		pool->empty_cnt++;
	}
	buf = slab->free;
	slab->free = buf->next;
	pool->empty_cnt -= !slab->used;
	slab->used++;
	pool->used += pool->buf_size;
	if (!slab->free)
		slab_unlink(pool, slab);
unlock:
	util_unlock(&pool->lock);
	if (!buf)
		return NULL;
	buf->mem.base = (uint8_t *)(uintptr_t)buf->sge.addr;
	buf->mem.len = pool->buf_size;
	buf->next = NULL;
	buf->filled = 0;
	buf->given = 0;
	return buf;
}

void sdp_pool_put(struct sdp_pool *pool, struct sdp_pbuf *buf)
{
	struct sdp_slab *slab = buf->slab;

	util_lock(&pool->lock);
	if (!slab->free)
		slab_link(pool, slab);
	buf->next = slab->free;
	slab->free = buf;
	pool->used -= pool->buf_size;
	if (--slab->used) {
		slab = NULL;
	} else if (pool->empty_cnt < SLABS_KEPT) {
		pool->empty_cnt++;
		slab = NULL;
	} else {
		slab_unlink(pool, slab);
	}
	util_unlock(&pool->lock);
	if (slab)
		slab_free(slab);
}
