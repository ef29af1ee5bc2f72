/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Threads that need nothing of each other: each sends to itself, by two queue
 * pairs and a CQ of its own, all on one context. A thread that has a CPU for
 * itself waits for nobody, so what several threads lose beside one is what
 * they share in the library, or in the machine.
 *
 *  usiw run -- bench-threads [OPTION]...
 *
 *  -o OP   send (default), write
 *  -s N    octets of a message (64)
 *  -w MS   the window of the measurement (300)
 *  -t N    threads (1)
 *  -c N    bind the threads, the first one to CPU N of those that the process
 *          may use, counted from 0, the next one to the next CPU, and so on,
 *          round (0)
 *
 * Messages are posted singly, 16 in turn; then the thread polls until all have
 * been received. The last of 16 WRITEs has immediate data. Prints the rate of
 * all threads together, in millions of messages per second.
 */
#include "measure.h"
#include "qp.h"

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TURN 16
#define WARM_DIVISOR 5
#define THREADS_MAX 64

struct options {
	bool is_write;
	uint32_t size;
	uint64_t window_ns;
	int thread_cnt, first_cpu;
};

static struct options opt = { .size = 64,
			      .window_ns = 300 * NS_PER_MS,
			      .thread_cnt = 1 };
static struct ibv_context *context;
static union ibv_gid gid;
static pthread_barrier_t start;

struct loop {
	pthread_t thread;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *from, *to;
	char *buf;
	double per_second;
};

/* The first half of the buffer is sent, the second one receives. */
static void loop_init(struct loop *loop)
{
	static const struct ibv_qp_cap cap = { .max_send_wr = 2 * TURN,
					       .max_recv_wr = 2 * TURN,
					       .max_send_sge = 1,
					       .max_recv_sge = 1 };

	NEEDS(loop->pd = ibv_alloc_pd(context));
	NEEDS(loop->cq = ibv_create_cq(context, 4 * TURN, NULL, NULL, 0));
	NEEDS(loop->buf = aligned_alloc(4096,
					(2ul * opt.size + 4095) / 4096 * 4096));
	memset(loop->buf, 0, 2ul * opt.size);
	NEEDS(loop->mr = ibv_reg_mr(loop->pd, loop->buf, 2ul * opt.size,
				    IBV_ACCESS_LOCAL_WRITE |
					    IBV_ACCESS_REMOTE_WRITE));
	loop->from = bench_qp_new(loop->pd, loop->cq, &cap);
	loop->to = bench_qp_new(loop->pd, loop->cq, &cap);
	bench_qp_connect(loop->from, loop->to, &gid);
	bench_qp_connect(loop->to, loop->from, &gid);
}

static void loop_fini(struct loop *loop)
{
	NEEDS(!ibv_destroy_qp(loop->from));
	NEEDS(!ibv_destroy_qp(loop->to));
	NEEDS(!ibv_dereg_mr(loop->mr));
	NEEDS(!ibv_destroy_cq(loop->cq));
	NEEDS(!ibv_dealloc_pd(loop->pd));
	free(loop->buf);
}

/* ---- messages ------------------------------------------------------------ */

static void recv_post(struct loop *loop)
{
	struct ibv_sge sge = { .addr = (uintptr_t)loop->buf + opt.size,
			       .length = opt.size,
			       .lkey = loop->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad_wr;

	NEEDS(!ibv_post_recv(loop->to, &wr, &bad_wr));
}

static void message_post(struct loop *loop, bool is_last)
{
	struct ibv_sge sge = { .addr = (uintptr_t)loop->buf,
			       .length = opt.size,
			       .lkey = loop->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = is_last ? IBV_SEND_SIGNALED : 0,
	}, *bad_wr;

	if (opt.is_write) {
		wr.opcode = is_last ? IBV_WR_RDMA_WRITE_WITH_IMM
				    : IBV_WR_RDMA_WRITE;
		wr.wr.rdma.remote_addr = (uintptr_t)loop->buf + opt.size;
		wr.wr.rdma.rkey = loop->mr->rkey;
	}
	NEEDS(!ibv_post_send(loop->from, &wr, &bad_wr));
}

static void turn_run(struct loop *loop)
{
	int recv_cnt = opt.is_write ? 1 : TURN, left = recv_cnt + 1;
	struct ibv_wc wc[TURN];

	for (int i = 0; i < recv_cnt; i++)
		recv_post(loop);
	for (int i = 0; i < TURN; i++)
		message_post(loop, i == TURN - 1);
	while (left > 0) {
		int cnt = ibv_poll_cq(loop->cq, TURN, wc);

		NEEDS(cnt >= 0);
		for (int i = 0; i < cnt; i++)
			NEEDS(wc[i].status == IBV_WC_SUCCESS);
		left -= cnt;
	}
}

static double phase_run(struct loop *loop, uint64_t window_ns)
{
	uint64_t begin = bench_now_ns(), now, cnt = 0;

	do {
		turn_run(loop);
		cnt += TURN;
		now = bench_now_ns();
	} while (now - begin < window_ns);
	return (double)cnt / ((double)(now - begin) / 1e9);
}

static void *loop_run(void *arg)
{
	struct loop *loop = arg;

	phase_run(loop, opt.window_ns / WARM_DIVISOR);
	pthread_barrier_wait(&start);
	loop->per_second = phase_run(loop, opt.window_ns);
	/* Nobody may stop to be busy before the others have measured. */
	pthread_barrier_wait(&start);
	return NULL;
}

/* ---- the program --------------------------------------------------------- */

static bool options_parse(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "o:s:w:t:c:")) != -1) {
		int number = optarg ? atoi(optarg) : 0;

		if (c == 'o' && strcmp(optarg, "write") == 0)
			opt.is_write = true;
		else if (c == 's' && number > 0)
			opt.size = (uint32_t)number;
		else if (c == 'w' && number > 0)
			opt.window_ns = (uint64_t)number * NS_PER_MS;
		else if (c == 't' && number > 0 && number <= THREADS_MAX)
			opt.thread_cnt = number;
		else if (c == 'c' && number >= 0)
			opt.first_cpu = number;
		else if (c != 'o' || strcmp(optarg, "send") != 0)
			return false;
	}
	return optind == argc;
}

int main(int argc, char **argv)
{
	static struct loop loops[THREADS_MAX];
	struct ibv_device **list;
	double per_second = 0;

	if (!options_parse(argc, argv)) {
		fprintf(stderr,
			"usage: bench-threads [-o send|write] [-s OCTETS] "
			"[-w MS] [-t THREADS] [-c CPU]\n");
		return 2;
	}
	list = ibv_get_device_list(NULL);
	NEEDS(list && list[0]);
	NEEDS(context = ibv_open_device(list[0]));
	ibv_free_device_list(list);
	NEEDS(!ibv_query_gid(context, 1, 0, &gid));
	NEEDS(!pthread_barrier_init(&start, NULL, (unsigned)opt.thread_cnt));
	for (int i = 0; i < opt.thread_cnt; i++)
		loop_init(&loops[i]);
	for (int i = 0; i < opt.thread_cnt; i++)
		bench_thread_start(&loops[i].thread, opt.first_cpu + i,
				   loop_run, &loops[i]);
	for (int i = 0; i < opt.thread_cnt; i++) {
		pthread_join(loops[i].thread, NULL);
		per_second += loops[i].per_second;
	}
	for (int i = 0; i < opt.thread_cnt; i++)
		loop_fini(&loops[i]);
	NEEDS(!ibv_close_device(context));
	bench_print("M/s", per_second / 1e6);
	return 0;
}
