/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A program that adds to one word of its own memory, through 16 connections to
 * itself and by the CPU, all at once. No addition may be lost, and no old value
 * may be returned twice.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "endpoint.h"

#define QP_CNT 16
#define DEPTH 8
#define ADDITIONS 2000
#define CPU_ADDITIONS 200000
#define TOTAL (QP_CNT * ADDITIONS + CPU_ADDITIONS)

static uint64_t word __attribute__((aligned(64)));
static uint8_t is_seen[TOTAL]; /* indexed by old value, including the CPU's */
static char port[8];

static void seen(uint64_t old)
{
	NEEDS(old < TOTAL);
	NEEDS(!__atomic_exchange_n(&is_seen[old], 1, __ATOMIC_RELAXED));
}

static void post(struct rdma_cm_id *id, const struct where *where,
		 struct ibv_mr *mr, uint64_t *old)
{
	struct ibv_sge sge = { (uintptr_t)old, sizeof(*old), mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = (uintptr_t)old,
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.atomic = { .remote_addr = where->addr,
			       .compare_add = 1,
			       .rkey = where->rkey },
	};

	NEEDS(!ibv_post_send(id->qp, &wr, &bad));
}

static void *adder(void *arg)
{
	struct rdma_conn_param param = { .responder_resources = DEPTH,
					 .initiator_depth = DEPTH };
	struct ibv_qp_init_attr attr = endpoint_attr(DEPTH, 1);
	struct rdma_cm_id *id = endpoint(port, &attr);
	uint64_t old[DEPTH];
	struct ibv_mr *mr = rdma_reg_msgs(id, old, sizeof(old));
	struct where where;
	struct ibv_wc wc;

	(void)arg;
	NEEDS(mr);
	NEEDS(!rdma_connect(id, &param));
	memcpy(&where, id->event->param.conn.private_data, sizeof(where));
	for (int i = 0; i < DEPTH; i++)
		post(id, &where, mr, &old[i]);
	for (int i = 0; i < ADDITIONS; i++) {
		uint64_t *done;

		NEEDS(rdma_get_send_comp(id, &wc) == 1);
		NEEDS(wc.status == IBV_WC_SUCCESS);
		NEEDS(wc.opcode == IBV_WC_FETCH_ADD && wc.byte_len == 8);
		done = (uint64_t *)(uintptr_t)wc.wr_id;
		seen(*done);
		if (i + DEPTH < ADDITIONS)
			post(id, &where, mr, done);
	}
	rdma_disconnect(id);
	rdma_dereg_mr(mr);
	rdma_destroy_ep(id);
	return NULL;
}

static void *cpu(void *arg)
{
	(void)arg;
	for (int i = 0; i < CPU_ADDITIONS; i++)
		seen(__atomic_fetch_add(&word, 1, __ATOMIC_RELAXED));
	return NULL;
}

static struct rdma_cm_id *serve(struct rdma_cm_id *listener,
				struct ibv_mr **ret_mr)
{
	struct ibv_qp_init_attr attr = endpoint_attr(DEPTH, 1);
	struct where where = { (uintptr_t)&word, 0 };
	struct rdma_conn_param param = { .private_data = &where,
					 .private_data_len = sizeof(where),
					 .responder_resources = DEPTH,
					 .initiator_depth = DEPTH };
	struct rdma_cm_id *id;

	NEEDS(!rdma_get_request(listener, &id));
	NEEDS(!rdma_create_qp(id, NULL, &attr));
	*ret_mr = ibv_reg_mr(id->pd, &word, sizeof(word),
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
	NEEDS(*ret_mr);
	where.rkey = (*ret_mr)->rkey;
	NEEDS(!rdma_accept(id, &param));
	return id;
}

int main(void)
{
	pthread_t thread[QP_CNT], cpu_thread;
	struct rdma_cm_id *listener, *id[QP_CNT];
	struct ibv_device_attr device;
	struct ibv_mr *mr[QP_CNT];

	listener = endpoint_listen(QP_CNT, port);
	for (int i = 0; i < QP_CNT; i++)
		NEEDS(!pthread_create(&thread[i], NULL, adder, NULL));
	NEEDS(!pthread_create(&cpu_thread, NULL, cpu, NULL));
	for (int i = 0; i < QP_CNT; i++)
		id[i] = serve(listener, &mr[i]);
	NEEDS(!ibv_query_device(id[0]->verbs, &device));
	/* The CPU accesses the word too. HCA would not promise atomicity for
	 * that. */
	NEEDS(device.atomic_cap ==
	      (id[0]->verbs->device->node_type == IBV_NODE_CA
		       ? IBV_ATOMIC_HCA
		       : IBV_ATOMIC_GLOB));
	for (int i = 0; i < QP_CNT; i++)
		NEEDS(!pthread_join(thread[i], NULL));
	NEEDS(!pthread_join(cpu_thread, NULL));
	NEEDS(__atomic_load_n(&word, __ATOMIC_SEQ_CST) == TOTAL);
	for (int i = 0; i < QP_CNT; i++) {
		rdma_disconnect(id[i]);
		ibv_dereg_mr(mr[i]);
		rdma_destroy_qp(id[i]);
		rdma_destroy_id(id[i]);
	}
	rdma_destroy_ep(listener);
	puts("good");
	return 0;
}
