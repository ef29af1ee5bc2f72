/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* shm.c: allocations that do not overlap, read as zero, and are reused. */
#define _GNU_SOURCE
#include "../../harness/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/shm.h"

#define PAGE 4096u

static int setup(void **state)
{
	static struct rnic_shm shm;

	rnic_shm_init(&shm);
	*state = &shm;
	return 0;
}

static int teardown(void **state)
{
	rnic_shm_fini(*state);
	return 0;
}

#define SHM_CASE(name) CASE_WITH(name, setup, teardown)

static bool is_zero(const uint8_t *mem, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (mem[i])
			return false;
	return true;
}

/* Sizes around a page, around a chunk, and above the largest chunk. */
static const size_t sizes[] = { 1,	  PAGE - 1, PAGE,	    PAGE + 1,
				3 * PAGE, 1u << 20, (1u << 20) + 1, 5u << 20,
				65u << 20 };

#define SIZE_CNT (ARRAY_LEN(sizes))

SHM_CASE(gives_zeroed_aligned_pieces_apart)
{
	struct rnic_shm *shm = *state;
	void *mem[SIZE_CNT * 3];

	for (size_t i = 0; i < SIZE_CNT * 3; i++) {
		assert_int_equal(
			rnic_shm_alloc(shm, sizes[i % SIZE_CNT], &mem[i]), 0);
		assert_int_equal((uintptr_t)mem[i] % PAGE, 0);
	}
	for (size_t i = 0; i < SIZE_CNT * 3; i++) {
		size_t size = sizes[i % SIZE_CNT];
		uint8_t *a = mem[i];

		/* Checking both ends is enough to detect a shared page. */
		assert_true(is_zero(a, size < 2 * PAGE ? size : 2 * PAGE));
		assert_int_equal(a[size - 1], 0);
		for (size_t j = 0; j < i; j++) {
			uint8_t *b = mem[j];

			assert_true(a + size <= b ||
				    b + sizes[j % SIZE_CNT] <= a);
		}
		a[0] = 0xff;
		a[size - 1] = 0xff;
	}
}

SHM_CASE(gives_back_zeroed_what_was_freed)
{
	struct rnic_shm *shm = *state;
	void *first, *again;

	assert_int_equal(rnic_shm_alloc(shm, 3 * PAGE, &first), 0);
	memset(first, 0xaa, 3 * PAGE);
	rnic_shm_free(shm, first, 3 * PAGE);
	assert_int_equal(rnic_shm_alloc(shm, 3 * PAGE, &again), 0);
	assert_ptr_equal(again, first);
	assert_true(is_zero(again, 3 * PAGE));
	rnic_shm_free(shm, again, 3 * PAGE);
	rnic_shm_free(shm, NULL, PAGE);
}

/* Number of pages of a mapping that have memory. */
static size_t resident_cnt(uint8_t *mem, size_t page_cnt)
{
	unsigned char in_core[4096];
	size_t cnt = 0;

	assert_true(page_cnt <= sizeof(in_core));
	assert_int_equal(mincore(mem, page_cnt * PAGE, in_core), 0);
	for (size_t i = 0; i < page_cnt; i++)
		cnt += in_core[i] & 1;
	return cnt;
}

/* Some memory is kept for the next allocation. It reads as zero. */
SHM_CASE(keeps_some_pages_of_what_was_freed)
{
	struct rnic_shm *shm = *state;
	uint8_t *piece[2048], *again;
	size_t sum;

	assert_int_equal(rnic_shm_alloc(shm, 2048 * PAGE, (void **)&piece[0]),
			 0);
	memset(piece[0], 0xaa, 2048 * PAGE);
	assert_int_equal(resident_cnt(piece[0], 2048), 2048);
	rnic_shm_free(shm, piece[0], 2048 * PAGE);
	assert_int_equal(resident_cnt(piece[0], 2048), 0);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < 2048; i++) {
			assert_int_equal(
				rnic_shm_alloc(shm, PAGE, (void **)&piece[i]),
				0);
			assert_true(is_zero(piece[i], PAGE));
			memset(piece[i], 0xaa, PAGE);
		}
		for (size_t i = 0; i < 2048; i++)
			rnic_shm_free(shm, piece[i], PAGE);
		sum = 0;
		for (size_t i = 0; i < 2048; i++)
			sum += resident_cnt(piece[i], 1);
		assert_int_equal(sum, 256);
	}
	/* That memory is used first, wherever it is. */
	for (size_t i = 0; i < 2048; i++)
		assert_int_equal(rnic_shm_alloc(shm, PAGE, (void **)&piece[i]),
				 0);
	for (size_t i = 2048; i > 0; i--)
		rnic_shm_free(shm, piece[i - 1], PAGE);
	for (size_t i = 0; i < 256; i++) {
		assert_int_equal(rnic_shm_alloc(shm, PAGE, (void **)&piece[i]),
				 0);
		assert_int_equal(resident_cnt(piece[i], 1), 1);
	}
	for (size_t i = 0; i < 256; i++)
		rnic_shm_free(shm, piece[i], PAGE);
	/* Partly from kept memory. */
	assert_int_equal(rnic_shm_alloc(shm, 1000 * PAGE, (void **)&again), 0);
	assert_true(is_zero(again, 1000 * PAGE));
	rnic_shm_free(shm, again, 1000 * PAGE);
	assert_true(rnic_shm_is_empty(shm));
}

SHM_CASE(gives_a_tail_to_others)
{
	struct rnic_shm *shm = *state;
	uint8_t *first;
	void *other;

	assert_int_equal(rnic_shm_alloc(shm, 3 * PAGE - 5, (void **)&first), 0);
	memset(first, 0xaa, 3 * PAGE);
	/* Nothing beyond the part that is kept. */
	assert_int_equal(rnic_shm_trim(shm, first, 3 * PAGE - 5, 2 * PAGE + 1),
			 3 * PAGE - 5);
	assert_int_equal(rnic_shm_trim(shm, first, 3 * PAGE - 5, 128), PAGE);
	assert_int_equal(first[PAGE - 1], 0xaa);
	assert_int_equal(rnic_shm_alloc(shm, 2 * PAGE, &other), 0);
	assert_ptr_equal(other, first + PAGE);
	assert_true(is_zero(other, 2 * PAGE));
	rnic_shm_free(shm, other, 2 * PAGE);
	rnic_shm_free(shm, first, PAGE);
	assert_true(rnic_shm_is_empty(shm));
}

/* Random allocations: each one keeps what was written to it. */
SHM_CASE(keeps_each_piece_through_others_lives)
{
	struct {
		uint32_t *mem;
		size_t pages;
	} piece[64] = { 0 };
	struct rnic_shm *shm = *state;
	unsigned seed = 4711;

	for (uint32_t step = 1; step < 5000; step++) {
		unsigned i;

		seed = seed * 1103515245u + 12345u;
		i = (seed >> 16) % 64;
		if (piece[i].mem) {
			for (size_t p = 0; p < piece[i].pages; p++)
				assert_int_equal(piece[i].mem[p * PAGE / 4],
						 i + 1);
			rnic_shm_free(shm, piece[i].mem, piece[i].pages * PAGE);
			piece[i].mem = NULL;
			continue;
		}
		piece[i].pages = (seed >> 8) % 40 + 1;
		assert_int_equal(rnic_shm_alloc(shm, piece[i].pages * PAGE,
						(void **)&piece[i].mem),
				 0);
		for (size_t p = 0; p < piece[i].pages; p++) {
			assert_int_equal(piece[i].mem[p * PAGE / 4], 0);
			piece[i].mem[p * PAGE / 4] = i + 1;
		}
	}
}

/* RLIMIT_FSIZE ends a program that makes a larger file. */
SHM_CASE(is_no_file)
{
	struct rlimit old, none;
	void *mem;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	none = old;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	assert_int_equal(rnic_shm_alloc(*state, PAGE, &mem), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	rnic_shm_free(*state, mem, PAGE);
}

/* A forked child cannot even read the rings. */
SHM_CASE(is_not_inherited)
{
	struct rnic_shm *shm = *state;
	void *mem;
	int status;
	pid_t pid;

	assert_int_equal(rnic_shm_alloc(shm, PAGE, &mem), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int fd[2];

		if (pipe(fd))
			_exit(1);
		/* write() returns EFAULT where a load would kill the
		 * process. */
		_exit(write(fd[1], mem, 1) < 0 && errno == EFAULT ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static struct rnic_shm shared;

static void *alloc_and_free(void *arg)
{
	uintptr_t bad = 0;

	for (int i = 0; i < 2000; i++) {
		uint32_t *mem;

		if (rnic_shm_alloc(&shared, PAGE * 2, (void **)&mem)) {
			bad++;
			continue;
		}
		bad += mem[0] || mem[PAGE / 4];
		mem[0] = 1;
		mem[PAGE / 4] = 1;
		rnic_shm_free(&shared, mem, PAGE * 2);
	}
	(void)arg;
	return (void *)bad;
}

CASE(serves_threads_at_once)
{
	pthread_t thread[4];
	void *bad;

	rnic_shm_init(&shared);
	for (int i = 0; i < 4; i++)
		assert_int_equal(
			pthread_create(&thread[i], NULL, alloc_and_free, NULL),
			0);
	for (int i = 0; i < 4; i++) {
		pthread_join(thread[i], &bad);
		assert_null(bad);
	}
	rnic_shm_fini(&shared);
}
