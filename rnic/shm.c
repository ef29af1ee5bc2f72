/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shared ring memory: first fit over the page maps of memfd chunks. */
#define _GNU_SOURCE
#include "shm.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SHM_PAGE 4096u
#define SHM_CHUNK_MIN ((size_t)1 << 20)

struct rnic_shm_chunk {
	struct rnic_shm_chunk *next;
	uint8_t *base;
	size_t page_cnt;
	size_t free_cnt;
	bool used[]; /* one per page */
};

void rnic_shm_init(struct rnic_shm *shm)
{
	util_lock_init(&shm->lock, UTIL_RANK_LEAF);
	shm->chunks = NULL;
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
	bool is_empty = true;

	util_lock(&shm->lock);
	for (struct rnic_shm_chunk *c = shm->chunks; c && is_empty; c = c->next)
		is_empty = c->free_cnt == c->page_cnt;
	util_unlock(&shm->lock);
	return is_empty;
}

static int chunk_map(size_t size, uint8_t **ret_base)
{
	void *base;
	int fd = memfd_create("usiw-rings", MFD_CLOEXEC);
	int rc = 0;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)size) < 0) {
		rc = -ENOMEM;
		goto close_fd;
	}
	base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED) {
		rc = -ENOMEM;
		goto close_fd;
	}
	/* The child of a fork must not even be able to touch the rings. */
	madvise(base, size, MADV_DONTFORK);
	*ret_base = base;
close_fd:
	/* The mapping keeps the memory. */
	close(fd);
	return rc;
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
	chunk = calloc(1, sizeof(*chunk) + want * sizeof(chunk->used[0]));
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

static void *chunk_take(struct rnic_shm_chunk *chunk, size_t page_cnt)
{
	size_t run = 0;

	if (chunk->free_cnt < page_cnt)
		return NULL;
	for (size_t i = 0; i < chunk->page_cnt; i++) {
		run = chunk->used[i] ? 0 : run + 1;
		if (run == page_cnt) {
			size_t first = i + 1 - page_cnt;

			memset(&chunk->used[first], true, page_cnt);
			chunk->free_cnt -= page_cnt;
			return chunk->base + first * SHM_PAGE;
		}
	}
	return NULL;
}

static void *shm_take(struct rnic_shm *shm, size_t page_cnt)
{
	void *mem = NULL;

	for (struct rnic_shm_chunk *c = shm->chunks; c && !mem; c = c->next)
		mem = chunk_take(c, page_cnt);
	return mem;
}

int rnic_shm_alloc(struct rnic_shm *shm, size_t size, void **ret_mem)
{
	size_t page_cnt = (size + SHM_PAGE - 1) / SHM_PAGE;
	void *mem;
	int rc = 0;

	util_lock(&shm->lock);
	mem = shm_take(shm, page_cnt);
	if (!mem) {
		rc = chunk_new(shm, page_cnt);
		if (rc == 0)
			mem = shm_take(shm, page_cnt);
	}
	util_unlock(&shm->lock);
	if (mem)
		*ret_mem = mem;
	return rc;
}

void rnic_shm_free(struct rnic_shm *shm, void *mem, size_t size)
{
	size_t page_cnt = (size + SHM_PAGE - 1) / SHM_PAGE;
	uint8_t *octets = mem;

	if (!mem)
		return;
	/* Gives the pages back and makes them read as zero again. */
	if (madvise(mem, page_cnt * SHM_PAGE, MADV_REMOVE) < 0)
		memset(mem, 0, page_cnt * SHM_PAGE);
	util_lock(&shm->lock);
	for (struct rnic_shm_chunk *c = shm->chunks; c; c = c->next) {
		if (octets < c->base ||
		    octets >= c->base + c->page_cnt * SHM_PAGE)
			continue;
		memset(&c->used[(size_t)(octets - c->base) / SHM_PAGE], false,
		       page_cnt);
		c->free_cnt += page_cnt;
		break;
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
