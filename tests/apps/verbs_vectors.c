/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A verb leaves the upper halves of the vector registers unused, whatever
 * library it has called.  Otherwise the application's own code may become slow.
 * Runs alone under `usiw run`, and connects to itself.
 */
#include <stdbool.h>
#include <stdint.h>

#include "loop.h"
#include "vectors.h"

#define SIZE_MAX_OCTETS 65536

struct world {
	struct loop loop;
	struct ibv_cq *cq; /* of both ends */
	struct ibv_mr *mr;
	uint8_t *buf; /* the active end's half, then the passive end's */
};

#define CLEAN(call)                                                            \
	({                                                                     \
		__auto_type result_ = (call);                                  \
		if (vectors_upper_in_use()) {                                  \
			printf("FAILED %s leaves upper halves in use\n",       \
			       #call);                                         \
			exit(1);                                               \
		}                                                              \
		result_;                                                       \
	})

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

	loop_open(&w->loop);
	attr.pd = ibv_alloc_pd(w->loop.active->verbs);
	NEEDS(attr.pd);
	w->cq = ibv_create_cq(w->loop.active->verbs, 16, NULL, NULL, 0);
	NEEDS(w->cq);
	w->buf = calloc(2, SIZE_MAX_OCTETS);
	NEEDS(w->buf);
	w->mr = CLEAN(ibv_reg_mr(
		attr.pd, w->buf, 2 * SIZE_MAX_OCTETS,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC));
	NEEDS(w->mr);
	attr.send_cq = w->cq;
	attr.recv_cq = w->cq;
	loop_connect(&w->loop, &attr);
}

static void completions_take(struct world *w, int cnt)
{
	time_t end = time(NULL) + LOOP_LIMIT_S;
	struct ibv_wc wc;

	while (cnt > 0) {
		int got = CLEAN(ibv_poll_cq(w->cq, 1, &wc));

		NEEDS(got >= 0 && time(NULL) < end);
		NEEDS(!got || wc.status == IBV_WC_SUCCESS);
		cnt -= got;
	}
}

static void operate(struct world *w, enum ibv_wr_opcode opcode, uint32_t len)
{
	struct ibv_sge own = { (uintptr_t)w->buf, len, w->mr->lkey };
	struct ibv_sge theirs = { (uintptr_t)w->buf + SIZE_MAX_OCTETS, len,
				  w->mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &theirs, .num_sge = 1 };
	struct ibv_send_wr send = { .sg_list = &own,
				    .num_sge = 1,
				    .opcode = opcode,
				    .send_flags = IBV_SEND_SIGNALED };
	bool is_atomic = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	bool is_send = opcode == IBV_WR_SEND;
	struct ibv_recv_wr *bad_recv;
	struct ibv_send_wr *bad_send;

	if (is_send)
		NEEDS(!CLEAN(
			ibv_post_recv(w->loop.passive->qp, &recv, &bad_recv)));
	if (is_atomic) {
		send.wr.atomic.remote_addr = theirs.addr;
		send.wr.atomic.rkey = w->mr->rkey;
	} else {
		send.wr.rdma.remote_addr = theirs.addr;
		send.wr.rdma.rkey = w->mr->rkey;
	}
	NEEDS(!CLEAN(ibv_post_send(w->loop.active->qp, &send, &bad_send)));
	completions_take(w, is_send ? 2 : 1);
}

int main(void)
{
	static const uint32_t lens[] = { 8, 256, 1024, 4096, SIZE_MAX_OCTETS };
	struct world w;

	if (!vectors_can_tell()) {
		printf("skipped: this CPU does not tell which registers are in use\n");
		return 77;
	}
	world_open(&w);
	/* More often than a connection needs to leave TCP. */
	for (int round = 0; round < 20; round++) {
		for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
			operate(&w, IBV_WR_SEND, lens[i]);
			operate(&w, IBV_WR_RDMA_WRITE, lens[i]);
			operate(&w, IBV_WR_RDMA_READ, lens[i]);
		}
		operate(&w, IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
	}
	NEEDS(!CLEAN(ibv_dereg_mr(w.mr)));
	return 0;
}
