/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A source buffer is written to while it is being sent, as in qemu's live
 * migration. The peer must get the old or the new octets, and nothing may fail.
 * Runs alone under `usiw run`, and connects to itself.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "loop.h"

#define LEN ((size_t)1 << 20)
/* Number of operations of each kind during which the source must have
 * changed. */
#define CHANGED_CNT 40
/* An octet of the source always has one of these values. */
#define OLD 0x55
#define NEW 0xaa

struct world {
	struct loop loop;
	struct ibv_pd *pd;
	struct ibv_cq *scq, *rcq;
	struct ibv_mr *mr;
	uint8_t *source, *sink;
	_Atomic uint64_t change_cnt;
	atomic_bool is_over;
};

static void *scribble(void *arg)
{
	struct world *w = arg;
	volatile uint8_t *octet = w->source;
	size_t at = 0;

	while (!atomic_load_explicit(&w->is_over, memory_order_relaxed)) {
		at = (at + 4097) % LEN;
		octet[at] ^= OLD ^ NEW;
		atomic_fetch_add_explicit(&w->change_cnt, 1,
					  memory_order_relaxed);
	}
	return NULL;
}

static void world_open(struct world *w)
{
	struct ibv_qp_init_attr_ex attr = {
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = 4,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	};
	struct ibv_context *context;

	loop_open(&w->loop);
	context = w->loop.active->verbs;
	w->pd = ibv_alloc_pd(context);
	w->scq = ibv_create_cq(context, 16, NULL, NULL, 0);
	w->rcq = ibv_create_cq(context, 16, NULL, NULL, 0);
	w->source = malloc(2 * LEN);
	NEEDS(w->pd && w->scq && w->rcq && w->source);
	w->sink = w->source + LEN;
	memset(w->source, OLD, LEN);
	w->mr = ibv_reg_mr(w->pd, w->source, 2 * LEN,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ);
	NEEDS(w->mr);
	attr.pd = w->pd;
	attr.send_cq = w->scq;
	attr.recv_cq = w->rcq;
	loop_connect(&w->loop, &attr);
}

static void world_close(struct world *w)
{
	loop_close(&w->loop);
	NEEDS(ibv_dereg_mr(w->mr) == 0);
	NEEDS(ibv_destroy_cq(w->scq) == 0);
	NEEDS(ibv_destroy_cq(w->rcq) == 0);
	NEEDS(ibv_dealloc_pd(w->pd) == 0);
	free(w->source);
}

static void expect_success(struct ibv_cq *cq, const char *what)
{
	struct ibv_wc wc;

	loop_wc(cq, &wc);
	if (wc.status == IBV_WC_SUCCESS)
		return;
	printf("%s: %s\n", what, ibv_wc_status_str(wc.status));
	exit(1);
}

/* Return: whether the source was changed between post and completion. */
static bool move_once(struct world *w, enum ibv_wr_opcode opcode,
		      const char *name)
{
	bool is_read = opcode == IBV_WR_RDMA_READ;
	uint8_t *local = is_read ? w->sink : w->source;
	uint8_t *remote = is_read ? w->source : w->sink;
	struct ibv_sge sge = { (uintptr_t)local, LEN, w->mr->lkey };
	struct ibv_sge recv_sge = { (uintptr_t)w->sink, LEN, w->mr->lkey };
	struct ibv_recv_wr recv_wr = { .sg_list = &recv_sge, .num_sge = 1 };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)remote, w->mr->rkey },
	};
	struct ibv_recv_wr *bad_recv;
	struct ibv_send_wr *bad;
	uint64_t before;

	memset(w->sink, 0, LEN);
	if (opcode == IBV_WR_SEND)
		NEEDS(!ibv_post_recv(w->loop.passive->qp, &recv_wr, &bad_recv));
	before = atomic_load_explicit(&w->change_cnt, memory_order_relaxed);
	NEEDS(!ibv_post_send(w->loop.active->qp, &wr, &bad));
	expect_success(w->scq, name);
	if (opcode == IBV_WR_SEND)
		expect_success(w->rcq, "RECV");
	return atomic_load_explicit(&w->change_cnt, memory_order_relaxed) !=
	       before;
}

/* A WRITE does not report that it is placed. The answer to a READ of its last
 * octet shows it. */
static void settle(struct world *w)
{
	struct ibv_sge sge = { (uintptr_t)w->sink, 1, w->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)w->source, w->mr->rkey },
	};
	struct ibv_send_wr *bad;

	NEEDS(!ibv_post_send(w->loop.active->qp, &wr, &bad));
	expect_success(w->scq, "READ after a WRITE");
}

static void move(struct world *w, enum ibv_wr_opcode opcode, const char *name)
{
	unsigned int changed_cnt = 0, cnt = 0;
	size_t i;

	while (changed_cnt < CHANGED_CNT) {
		changed_cnt += move_once(w, opcode, name);
		cnt++;
		if (opcode == IBV_WR_RDMA_WRITE)
			settle(w);
		for (i = 0; i < LEN; i++)
			if (w->sink[i] != OLD && w->sink[i] != NEW)
				break;
		if (i == LEN)
			continue;
		printf("%s: octet %zu is 0x%02x\n", name, i, w->sink[i]);
		exit(1);
	}
	printf("%s: %u, in %u of them the source changed\n", name, cnt,
	       changed_cnt);
}

int main(void)
{
	struct world w = { .is_over = false };
	pthread_t thread;

	world_open(&w);
	NEEDS(!pthread_create(&thread, NULL, scribble, &w));
	move(&w, IBV_WR_RDMA_WRITE, "WRITE");
	move(&w, IBV_WR_SEND, "SEND");
	move(&w, IBV_WR_RDMA_READ, "READ");
	atomic_store_explicit(&w.is_over, true, memory_order_relaxed);
	NEEDS(!pthread_join(thread, NULL));
	world_close(&w);
	return 0;
}
