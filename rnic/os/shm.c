/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Ring memory: first fit over the page maps of large mappings. */
#define _GNU_SOURCE
#include "shm.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SHM_PAGE 4096u
#define SHM_CHUNK_MIN ((size_t)1 << 20)
/*
 * Pages that were given back and keep their memory for the next user: a
 * queue pair made for each connection would otherwise pay for a system call and
 * a fault per ring.  Clearing a page costs a fraction.
 */
#define SHM_WARM_MAX 256u

enum shm_page { SHM_COLD, SHM_WARM, SHM_USED };

struct rnic_shm_chunk {
	struct rnic_shm_chunk *next;
	uint8_t *base;
	size_t page_cnt;
	size_t free_cnt;
	size_t first;	/* pages before it are used */
	uint8_t page[]; /* enum shm_page */
};

void rnic_shm_init(struct rnic_shm *shm)
{
	util_lock_init(&shm->lock, UTIL_RANK_LEAF);
	shm->chunks = NULL;
	shm->warm_cnt = 0;
}

void rnic_shm_fini(struct rnic_shm *shm)
{
	struct rnic_shm_chunk *chunk = shm->chunks;

	while (chunk) {
		struct rnic_shm_chunk *next = chunk->next;

		munmap(chunk->base, chunk->page_cnt * SHM_PAGE);
		free(chunk);
		chunk = next;
	}
	shm->chunks = NULL;
}

bool rnic_shm_is_empty(struct rnic_shm *shm)
{
	UTIL_LOCKED(&shm->lock);

	for (struct rnic_shm_chunk *c = shm->chunks; c; c = c->next)
		if (c->free_cnt != c->page_cnt)
			return false;
	return true;
}

static int chunk_map(size_t size, uint8_t **ret_base)
{
	void *base = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (base == MAP_FAILED)
		return -ENOMEM;
	/* The child of a fork must not even be able to touch the rings. */
	madvise(base, size, MADV_DONTFORK);
	*ret_base = base;
	return 0;
}

static int chunk_new(struct rnic_shm *shm, size_t page_cnt)
{
	struct rnic_shm_chunk *chunk;
	size_t want = SHM_CHUNK_MIN / SHM_PAGE;
	int rc;

	/* Each chunk doubles, so that many objects need few mappings. */
	if (shm->chunks)
		want = shm->chunks->page_cnt * 2;
	if (want > (size_t)64 << 20 >> 12)
		want = (size_t)64 << 20 >> 12;
	if (want < page_cnt)
		want = page_cnt;
	chunk = calloc(1, sizeof(*chunk) + want * sizeof(chunk->page[0]));
	if (!chunk)
		return -ENOMEM;
	rc = chunk_map(want * SHM_PAGE, &chunk->base);
	if (rc < 0) {
		free(chunk);
		return rc;
	}
	chunk->page_cnt = want;
	chunk->free_cnt = want;
	chunk->next = shm->chunks;
	shm->chunks = chunk;
	return 0;
}

/* Warm ones only, or any that are free? */
static bool page_fits(uint8_t page, bool is_warm)
{
	return is_warm ? page == SHM_WARM : page != SHM_USED;
}

/* A run of free pages; @chunk->page_cnt: there is none. */
static size_t chunk_find(struct rnic_shm_chunk *chunk, size_t page_cnt,
			 bool is_warm)
{
	size_t run = 0;

	while (chunk->first < chunk->page_cnt &&
	       chunk->page[chunk->first] == SHM_USED)
		chunk->first++;
	for (size_t i = chunk->first; i < chunk->page_cnt; i++) {
		run = page_fits(chunk->page[i], is_warm) ? run + 1 : 0;
		if (run == page_cnt)
			return i + 1 - page_cnt;
	}
	return chunk->page_cnt;
}

static void *chunk_take(struct rnic_shm *shm, struct rnic_shm_chunk *chunk,
			size_t page_cnt, bool is_warm)
{
	size_t first;

	if (chunk->free_cnt < page_cnt)
		return NULL;
	first = chunk_find(chunk, page_cnt, is_warm);
	if (first == chunk->page_cnt)
		return NULL;
	for (size_t i = first; i < first + page_cnt; i++) {
		if (chunk->page[i] == SHM_WARM) {
			memset(chunk->base + i * SHM_PAGE, 0, SHM_PAGE);
			shm->warm_cnt--;
		}
		chunk->page[i] = SHM_USED;
	}
	chunk->free_cnt -= page_cnt;
	return chunk->base + first * SHM_PAGE;
}

static void *shm_take(struct rnic_shm *shm, size_t page_cnt)
{
	struct rnic_shm_chunk *c;
	void *mem = NULL;

	if (shm->warm_cnt >= page_cnt)
		for (c = shm->chunks; c && !mem; c = c->next)
			mem = chunk_take(shm, c, page_cnt, true);
	for (c = shm->chunks; c && !mem; c = c->next)
		mem = chunk_take(shm, c, page_cnt, false);
	return mem;
}

int rnic_shm_alloc(struct rnic_shm *shm, size_t size, void **ret_mem)
{
	size_t page_cnt = (size + SHM_PAGE - 1) / SHM_PAGE;
	UTIL_LOCKED(&shm->lock);
	void *mem = shm_take(shm, page_cnt);

	if (!mem) {
		int rc = chunk_new(shm, page_cnt);

		if (rc < 0)
			return rc;
		mem = shm_take(shm, page_cnt);
	}
	*ret_mem = mem;
	return 0;
}

static struct rnic_shm_chunk *shm_chunk_of(struct rnic_shm *shm,
					   const uint8_t *mem)
{
	struct rnic_shm_chunk *c = shm->chunks;

	while (c && (mem < c->base || mem >= c->base + c->page_cnt * SHM_PAGE))
		c = c->next;
	return c;
}

/* Return: whether so many pages may stay warm; they are counted then. */
static bool shm_keep_warm(struct rnic_shm *shm, size_t page_cnt)
{
	UTIL_LOCKED(&shm->lock);

	if (page_cnt > SHM_WARM_MAX - shm->warm_cnt)
		return false;
	shm->warm_cnt += page_cnt;
	return true;
}

void rnic_shm_free(struct rnic_shm *shm, void *mem, size_t size)
{
	size_t page_cnt = (size + SHM_PAGE - 1) / SHM_PAGE;
	enum shm_page now = SHM_WARM;
	struct rnic_shm_chunk *chunk;

	if (!mem)
		return;
	if (!shm_keep_warm(shm, page_cnt)) {
		now = SHM_COLD;
		/* Gives the pages back and makes them read as zero again. */
		madvise(mem, page_cnt * SHM_PAGE, MADV_DONTNEED);
	}
	util_lock(&shm->lock);
	chunk = shm_chunk_of(shm, mem);
	if (chunk) {
		size_t first =
			(size_t)((uint8_t *)mem - chunk->base) / SHM_PAGE;

		memset(&chunk->page[first], now, page_cnt);
		chunk->free_cnt += page_cnt;
		if (first < chunk->first)
			chunk->first = first;
	}
	util_unlock(&shm->lock);
}

size_t rnic_shm_trim(struct rnic_shm *shm, void *mem, size_t size, size_t keep)
{
	size_t kept = (keep + SHM_PAGE - 1) / SHM_PAGE * SHM_PAGE;

	if (kept >= size)
		return size;
	rnic_shm_free(shm, (uint8_t *)mem + kept, size - kept);
	return kept;
}
