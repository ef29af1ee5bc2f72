/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A program that posts its receive late. It connects to itself with librdmacm.
 * One side sends at once. The other side first READs the memory that the
 * sender's private data names, and posts its receive after the message has
 * arrived, or never.
 *
 *   late       as soon as the message is there
 *   very-late  after three times what USIW_RNR_MS says
 *   never      and waits for the connection to end
 *   leave      never, and disconnects while the message waits
 *
 * usage: apps-late-recv late|very-late|never|leave [srq] [limit]
 *
 * Its rnr_retry_count is 7, as librdmacm's without parameters, or with "limit"
 * 6.
 */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "endpoint.h"

#define LEN 50000

static uint8_t sent[LEN], got[LEN], read_here[LEN];
static char port[8];
static sem_t is_sent, is_done;

static void *sender(void *arg)
{
	struct ibv_qp_init_attr attr = endpoint_attr(4, 4);
	struct rdma_cm_id *id = endpoint(port, &attr);
	struct ibv_mr *mr =
		ibv_reg_mr(id->pd, sent, LEN,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	struct where where = { (uintptr_t)sent, 0 };
	struct rdma_conn_param param = { .private_data = &where,
					 .private_data_len = sizeof(where),
					 .responder_resources = 4,
					 .initiator_depth = 4 };
	struct ibv_wc wc;

	(void)arg;
	NEEDS(mr);
	where.rkey = mr->rkey;
	NEEDS(!rdma_connect(id, &param));
	NEEDS(!rdma_post_send(id, NULL, sent, LEN, mr, 0));
	NEEDS(rdma_get_send_comp(id, &wc) == 1);
	NEEDS(wc.status == IBV_WC_SUCCESS);
	sem_post(&is_sent);
	sem_wait(&is_done);
	rdma_disconnect(id);
	ibv_dereg_mr(mr);
	rdma_destroy_ep(id);
	return NULL;
}

/* The sender's memory can be read although its Send waits. */
static void read_source(struct rdma_cm_id *id, const struct where *where)
{
	struct ibv_mr *mr = rdma_reg_msgs(id, read_here, LEN);
	struct ibv_wc wc;

	NEEDS(mr);
	NEEDS(!rdma_post_read(id, NULL, read_here, LEN, mr, 0, where->addr,
			      where->rkey));
	NEEDS(rdma_get_send_comp(id, &wc) == 1);
	NEEDS(wc.status == IBV_WC_SUCCESS);
	NEEDS(!memcmp(read_here, sent, LEN));
	rdma_dereg_mr(mr);
}

/* A READ that begins after the Send was given to TCP is answered after it. */
static void wait_arrived(struct rdma_cm_id *id, const struct where *where)
{
	sem_wait(&is_sent);
	read_source(id, where);
}

static void receive_late(struct rdma_cm_id *id, struct ibv_srq *srq)
{
	struct ibv_mr *mr = rdma_reg_msgs(id, got, LEN);
	struct ibv_sge sge;
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_wc wc;

	NEEDS(mr);
	sge = (struct ibv_sge){ (uintptr_t)got, LEN, mr->lkey };
	NEEDS(!(srq ? ibv_post_srq_recv(srq, &wr, &bad)
		    : ibv_post_recv(id->qp, &wr, &bad)));
	NEEDS(rdma_get_recv_comp(id, &wc) == 1);
	NEEDS(wc.status == IBV_WC_SUCCESS);
	NEEDS(wc.byte_len == LEN);
	NEEDS(!memcmp(got, sent, LEN));
	rdma_dereg_mr(mr);
}

static void receive_never(struct rdma_cm_id *id)
{
	struct ibv_async_event event;

	NEEDS(!ibv_get_async_event(id->verbs, &event));
	NEEDS(event.event_type == IBV_EVENT_QP_REQ_ERR);
	NEEDS(event.element.qp == id->qp);
	ibv_ack_async_event(&event);
}

static void wait_very_long(void)
{
	const char *rnr_ms = getenv("USIW_RNR_MS");

	NEEDS(rnr_ms);
	poll(NULL, 0, 3 * atoi(rnr_ms));
}

static void act(const char *how, struct rdma_cm_id *id, struct ibv_srq *srq,
		const struct where *where)
{
	if (!strcmp(how, "never")) {
		receive_never(id);
		return;
	}
	read_source(id, where);
	wait_arrived(id, where);
	if (!strcmp(how, "leave"))
		return;
	if (!strcmp(how, "very-late"))
		wait_very_long();
	receive_late(id, srq);
}

static bool has_word(char **argv, const char *word)
{
	while (*argv)
		if (!strcmp(*argv++, word))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	bool has_srq = has_word(argv, "srq");
	struct rdma_conn_param limit = { .responder_resources = 4,
					 .initiator_depth = 4,
					 .rnr_retry_count = 6 };
	struct ibv_qp_init_attr attr = endpoint_attr(4, 4);
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 4,
							.max_sge = 1 } };
	struct rdma_cm_id *listener, *id;
	struct ibv_srq *srq = NULL;
	struct where where;
	pthread_t thread;

	NEEDS(argc > 1);
	sem_init(&is_sent, 0, 0);
	sem_init(&is_done, 0, 0);
	listener = endpoint_listen(1, port);
	for (int i = 0; i < LEN; i++)
		sent[i] = (uint8_t)(i * 7);
	NEEDS(!pthread_create(&thread, NULL, sender, NULL));
	NEEDS(!rdma_get_request(listener, &id));
	memcpy(&where, id->event->param.conn.private_data, sizeof(where));
	if (has_srq) {
		srq = ibv_create_srq(id->pd, &srq_attr);
		NEEDS(srq);
		attr.srq = srq;
	}
	NEEDS(!rdma_create_qp(id, NULL, &attr));
	NEEDS(!rdma_accept(id, has_word(argv, "limit") ? &limit : NULL));
	act(argv[1], id, srq, &where);
	if (strcmp(argv[1], "leave"))
		sem_post(&is_done);
	/* DISCONNECTED arrives before it returns. */
	rdma_disconnect(id);
	sem_post(&is_done);
	pthread_join(thread, NULL);
	rdma_destroy_qp(id);
	if (srq)
		NEEDS(!ibv_destroy_srq(srq));
	rdma_destroy_id(id);
	rdma_destroy_ep(listener);
	puts("good");
	return 0;
}
