/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * For usiw check: programs that free or unmap the memory of a work request, or
 * nearly.  The Write is done when they do it, so that nobody else uses the
 * memory; its completion is polled later.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check_pair.h"

/* What is freed; the peer's memory is that of the pair. */
static uint8_t *own;
static struct ibv_mr *own_mr;
static uint32_t own_at;

static uint8_t *pages_map(size_t cnt)
{
	uint8_t *pages = mmap(NULL, cnt * LEN, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEEDS(pages != MAP_FAILED);
	return pages;
}

/* A pair, and @len octets at @memory as a region. */
static void own_make(void *memory, size_t len)
{
	struct want want = WANT_USUAL;

	NEEDS(memory);
	want.has_channel = true;
	want.inline_len = 64;
	pair_make(&want);
	pair_connect();
	own = memory;
	own_mr = ibv_reg_mr(pd, own, len, IBV_ACCESS_LOCAL_WRITE);
	NEEDS(own_mr);
}

static void own_write(uint32_t len, unsigned int flags)
{
	struct ibv_sge sge = { (uintptr_t)own + own_at, len, own_mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = flags,
		.wr.rdma = { (uintptr_t)buf + LEN, mr->rkey },
	}, *bad;
	struct ibv_cq *event_cq;
	void *cookie;

	NEEDS(!ibv_req_notify_cq(cq, 0));
	NEEDS(!ibv_post_send(qp[0], &wr, &bad));
	NEEDS(!ibv_get_cq_event(channel, &event_cq, &cookie));
	ibv_ack_cq_events(cq, 1);
}

static void own_recv(void)
{
	struct ibv_sge sge = { (uintptr_t)own, LEN, own_mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	NEEDS(!ibv_post_recv(qp[0], &wr, &bad));
}

/* Polls, if something is posted, and ends the region. */
static void own_end(int cnt)
{
	wcs_wait(cnt);
	NEEDS(!ibv_dereg_mr(own_mr));
}

static void block_write(void)
{
	own_make(calloc(1, LEN), LEN);
	own_write(LEN, 0);
}

static void pages_write(size_t cnt)
{
	own_make(pages_map(cnt), cnt * LEN);
	own_write(LEN, 0);
}

/* ---- in use ------------------------------------------------------------ */

static void freed_in_use(void)
{
	block_write();
	free(own);
	own_end(1);
}

/* The memory is registered, and the receive is none of a QP that is gone. */
static void freed_receive(void)
{
	own_make(calloc(1, LEN), LEN);
	own_recv();
	free(own);
	own_end(0);
}

static void reallocated_in_use(void)
{
	void *grown;

	block_write();
	grown = realloc(own, (size_t)64 * LEN);
	NEEDS(grown);
	own_end(1);
	free(grown);
}

/* Only the first octet of the page is named. */
static void munmapped_in_use(void)
{
	pages_write(1);
	NEEDS(!munmap(own, 1));
	own_end(1);
}

static void mremapped_in_use(void)
{
	pages_write(1);
	NEEDS(mremap(own, LEN, (size_t)64 * LEN, MREMAP_MAYMOVE) != MAP_FAILED);
	own_end(1);
}

static void mremapped_over(void)
{
	uint8_t *other = pages_map(1);

	pages_write(1);
	NEEDS(mremap(other, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, own) ==
	      own);
	own_end(1);
}

static void madvised_in_use(void)
{
	pages_write(1);
	NEEDS(!madvise(own, LEN, MADV_DONTNEED));
	own_end(1);
}

/* ---- nearly ------------------------------------------------------------ */

static void freed_after(void)
{
	block_write();
	own_end(1);
	free(own);
}

/* The blocks of one page. */
static void freed_beside(void)
{
	void *one = malloc(64), *two = malloc(64), *three = malloc(64);

	NEEDS(one && three);
	own_make(two, 64);
	own_write(64, 0);
	free(one);
	free(three);
	own_end(1);
	free(two);
}

static void freed_inline(void)
{
	own_make(calloc(1, 64), 64);
	own_write(64, IBV_SEND_INLINE);
	free(own);
	own_end(1);
}

/* RESET has taken the receive. */
static void freed_after_reset(void)
{
	own_make(calloc(1, LEN), LEN);
	own_recv();
	to_reset(qp[0]);
	free(own);
	own_end(0);
}

static void freed_after_destroy(void)
{
	own_make(calloc(1, LEN), LEN);
	own_recv();
	NEEDS(!ibv_destroy_qp(qp[0]));
	qp[0] = NULL;
	free(own);
	own_end(0);
}

/* It is a copy. */
static void freed_by_child(void)
{
	int status;
	pid_t pid;

	block_write();
	pid = fork();
	NEEDS(pid >= 0);
	if (pid == 0) {
		free(own);
		_exit(0);
	}
	NEEDS(waitpid(pid, &status, 0) == pid && status == 0);
	own_end(1);
	free(own);
}

static void reallocated_after(void)
{
	void *grown;

	block_write();
	own_end(1);
	grown = realloc(own, (size_t)64 * LEN);
	NEEDS(grown);
	free(grown);
}

static void munmapped_beside(void)
{
	own_at = LEN;
	pages_write(3);
	NEEDS(!munmap(own, LEN));
	NEEDS(!munmap(own + (size_t)2 * LEN, LEN));
	own_end(1);
}

/* What is left keeps its place. */
static void mremapped_beside(void)
{
	pages_write(2);
	NEEDS(mremap(own, (size_t)2 * LEN, LEN, MREMAP_MAYMOVE) == own);
	own_end(1);
}

static void madvised_beside(void)
{
	pages_write(1);
	NEEDS(!madvise(own, LEN, MADV_WILLNEED));
	own_end(1);
}

/* ---- other threads and handlers ---------------------------------------- */

#define THREAD_CNT 3
#define ROUNDS 2000

static void *_Atomic blocks[THREAD_CNT]; /* one for each other thread */

/* Each block is freed by another thread than the one that made it. */
static void *blocks_swap(void *arg)
{
	size_t i = (size_t)(uintptr_t)arg;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		void *block = malloc(1 + (round * 37 + i) % 9000);

		NEEDS(block);
		block = atomic_exchange(&blocks[(i + round) % THREAD_CNT],
					realloc(block, 1 + round % 300));
		free(block);
		NEEDS(!munmap(pages_map(1), LEN));
	}
	return NULL;
}

static void threads_run(bool is_fault)
{
	pthread_t threads[THREAD_CNT];

	block_write();
	wcs_wait(1);
	for (size_t i = 0; i < THREAD_CNT; i++)
		NEEDS(!pthread_create(&threads[i], NULL, blocks_swap,
				      (void *)(uintptr_t)i));
	for (int i = 0; i < 200; i++) {
		own_write(LEN, 0);
		wcs_wait(1);
	}
	if (is_fault)
		own_write(LEN, 0);
	free(own);
	for (size_t i = 0; i < THREAD_CNT; i++)
		NEEDS(!pthread_join(threads[i], NULL));
	own_end(is_fault);
	for (size_t i = 0; i < THREAD_CNT; i++)
		free(blocks[i]);
}

static void freed_in_use_threads(void)
{
	threads_run(true);
}

static void freed_after_threads(void)
{
	threads_run(false);
}

static volatile sig_atomic_t handled_cnt;

/* munmap() may be called there. */
static void page_swap(int sig)
{
	void *page =
		mmap(NULL, LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)sig;
	if (page != MAP_FAILED)
		munmap(page, LEN);
	handled_cnt++;
}

static void munmapped_by_handler(void)
{
	struct sigaction action = { .sa_handler = page_swap,
				    .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 100 }, { 0, 100 } }, never = { 0 };

	pages_write(1);
	wcs_wait(1);
	NEEDS(!sigaction(SIGALRM, &action, NULL));
	NEEDS(!setitimer(ITIMER_REAL, &often, NULL));
	while (handled_cnt < 500) {
		NEEDS(!send_post(0, IBV_WR_RDMA_WRITE, LEN, 0, 1));
		wcs_wait(1);
	}
	NEEDS(!setitimer(ITIMER_REAL, &never, NULL));
	own_end(0);
}

const struct check_case memory_cases[] = {
	CHECK_CASE(freed_in_use),
	CHECK_CASE(freed_receive),
	CHECK_CASE(reallocated_in_use),
	CHECK_CASE(munmapped_in_use),
	CHECK_CASE(mremapped_in_use),
	CHECK_CASE(mremapped_over),
	CHECK_CASE(madvised_in_use),
	CHECK_CASE(freed_after),
	CHECK_CASE(freed_beside),
	CHECK_CASE(freed_inline),
	CHECK_CASE(freed_after_reset),
	CHECK_CASE(freed_after_destroy),
	CHECK_CASE(freed_by_child),
	CHECK_CASE(reallocated_after),
	CHECK_CASE(munmapped_beside),
	CHECK_CASE(mremapped_beside),
	CHECK_CASE(madvised_beside),
	CHECK_CASE(freed_in_use_threads),
	CHECK_CASE(freed_after_threads),
	CHECK_CASE(munmapped_by_handler),
	{ NULL, NULL },
};
