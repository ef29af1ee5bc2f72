/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * pthread_cancel() and verbs. A verb is not a cancellation point: each one runs
 * in a thread with a pending cancellation, and returns. The exception is
 * ibv_query_gid(), for which libibverbs itself reads a file. A wait for an
 * event is a cancellation point: it ends the thread, and the next wait works.
 * Runs alone under `usiw run`.
 */
#define _GNU_SOURCE /* gettid */
#include <stdint.h>

#include "waiter.h"

#define CNT(array) (sizeof(array) / sizeof((array)[0]))
/* STags are taken from a buffer of random octets, which must be refilled. */
#define MANY 100
#define MSG 4096
#define LEAK 8

static struct loop loop;
static struct ibv_context *verbs;
static struct ibv_pd *pd;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static union ibv_gid gid;
static char buf[2 * MSG];

/* ---- verbs ---- */

static void mr_cycle(void)
{
	for (int i = 0; i < MANY; i++) {
		struct ibv_mr *own = ibv_reg_mr(pd, buf, sizeof(buf), 0);

		NEEDS(own);
		NEEDS(!ibv_dereg_mr(own));
	}
}

static void mw_cycle(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);

	NEEDS(mw);
	NEEDS(!ibv_dealloc_mw(mw));
}

static void cq_cycle(void)
{
	struct ibv_pd *own_pd = ibv_alloc_pd(verbs);
	struct ibv_comp_channel *own = ibv_create_comp_channel(verbs);
	struct ibv_cq *own_cq = ibv_create_cq(verbs, 10, NULL, own, 0);

	NEEDS(own_pd && own && own_cq);
	NEEDS(!ibv_req_notify_cq(own_cq, 0));
	NEEDS(!ibv_resize_cq(own_cq, 20));
	NEEDS(!ibv_destroy_cq(own_cq));
	NEEDS(!ibv_destroy_comp_channel(own));
	NEEDS(!ibv_dealloc_pd(own_pd));
}

static void srq_cycle(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4,
						    .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &init);

	NEEDS(srq);
	NEEDS(!ibv_destroy_srq(srq));
}

/* A QP that connects without rdma_cm: it binds a port, takes numbers, dials. */
static void qp_cycle(void)
{
	struct ibv_qp_init_attr init = { .send_cq = cq,
					 .recv_cq = cq,
					 .qp_type = IBV_QPT_RC,
					 .cap = { 4, 4, 1, 1, 0 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	NEEDS(qp);
	NEEDS(!ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				     IBV_QP_ACCESS_FLAGS));
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = IBV_MTU_1024;
	attr.dest_qp_num = 0xffff00;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.grh.dgid = gid;
	NEEDS(!ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				     IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER));
	NEEDS(!ibv_destroy_qp(qp));
}

static void query(void)
{
	struct ibv_device_attr device;
	struct ibv_port_attr port;

	NEEDS(!ibv_query_device(verbs, &device));
	NEEDS(!ibv_query_port(verbs, 1, &port));
}

static void context_cycle(void)
{
	struct ibv_context *own = ibv_open_device(verbs->device);

	NEEDS(own);
	NEEDS(!ibv_close_device(own));
}

static void message(void)
{
	struct ibv_sge sge = { (uintptr_t)buf, MSG, mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_sge from = { (uintptr_t)buf + MSG, MSG, mr->lkey };
	struct ibv_send_wr send = { .sg_list = &from,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED },
			   *bad_send;
	struct ibv_wc wc;

	NEEDS(!ibv_post_recv(loop.passive->qp, &recv, &bad_recv));
	NEEDS(!ibv_post_send(loop.active->qp, &send, &bad_send));
	for (int i = 0; i < 2; i++) {
		loop_wc(cq, &wc);
		NEEDS(wc.status == IBV_WC_SUCCESS);
	}
	NEEDS(ibv_poll_cq(cq, 1, &wc) == 0);
}

static void cm_cycle(void)
{
	struct rdma_event_channel *own = rdma_create_event_channel();
	struct sockaddr_in addr = { .sin_family = AF_INET };
	struct rdma_cm_id *id;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	NEEDS(own);
	NEEDS(!rdma_create_id(own, &id, NULL, RDMA_PS_TCP));
	NEEDS(!rdma_bind_addr(id, (struct sockaddr *)&addr));
	NEEDS(!rdma_listen(id, 1));
	addr.sin_port = rdma_get_src_port(id);
	NEEDS(!rdma_destroy_id(id));
	NEEDS(!rdma_create_id(own, &id, NULL, RDMA_PS_TCP));
	NEEDS(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 1000));
	NEEDS(!rdma_destroy_id(id));
	rdma_destroy_event_channel(own);
}

static void disconnect(void)
{
	NEEDS(!rdma_disconnect(loop.active));
}

static const struct {
	const char *name;
	void (*run)(void);
} verb_rows[] = {
	{ "memory regions", mr_cycle },
	{ "memory windows", mw_cycle },
	{ "completion queues", cq_cycle },
	{ "shared receive queues", srq_cycle },
	{ "queue pairs", qp_cycle },
	{ "queries", query },
	{ "posting and polling", message },
	{ "rdma_cm identities", cm_cycle },
	{ "contexts", context_cycle },
	{ "rdma_disconnect", disconnect },
};

/* Written by the thread under test, read after it has ended. */
static bool has_returned;

static void *verb_main(void *arg)
{
	const size_t *row = arg;

	has_returned = false;
	pthread_cancel(pthread_self());
	verb_rows[*row].run();
	has_returned = true;
	pthread_testcancel();
	return NULL;
}

static void verbs_are_no_cancellation_points(void)
{
	pthread_t thread;
	void *result;

	for (size_t row = 0; row < CNT(verb_rows); row++) {
		NEEDS(!pthread_create(&thread, NULL, verb_main, &row));
		NEEDS(!pthread_join(thread, &result));
		if (!has_returned || result != PTHREAD_CANCELED) {
			printf("%s: the thread did not return\n",
			       verb_rows[row].name);
			/* Not exit(): it would wait for locks that are held. */
			fflush(stdout);
			_exit(1);
		}
	}
}

/* ---- waits ---- */

static void cq_wait(void)
{
	struct ibv_cq *ev_cq;
	void *ev_context;

	NEEDS(!ibv_get_cq_event(channel, &ev_cq, &ev_context));
	ibv_ack_cq_events(ev_cq, 1);
}

static void cq_cause(void)
{
	struct ibv_sge sge = { (uintptr_t)buf, MSG, mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad;

	NEEDS(!ibv_req_notify_cq(cq, 0));
	/* The connection has ended, so it is flushed. */
	NEEDS(!ibv_post_recv(loop.passive->qp, &recv, &bad));
}

static void async_wait(void)
{
	struct ibv_async_event event;

	NEEDS(!ibv_get_async_event(verbs, &event));
	NEEDS(event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED);
	ibv_ack_async_event(&event);
}

/* An SRQ without receives is below any limit. */
static void async_cause(void)
{
	static struct ibv_srq *srq;
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4,
						    .max_sge = 1 } };
	struct ibv_srq_attr attr = { .srq_limit = 1 };

	if (!srq)
		srq = ibv_create_srq(pd, &init);
	NEEDS(srq);
	NEEDS(!ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
}

static struct rdma_event_channel *cm_channel;

static void cm_wait(void)
{
	struct rdma_cm_event *event;

	NEEDS(!rdma_get_cm_event(cm_channel, &event));
	NEEDS(event->event == RDMA_CM_EVENT_ADDR_RESOLVED);
	NEEDS(!rdma_ack_cm_event(event));
}

static void cm_cause(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = 1 };
	static struct rdma_cm_id *id;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	NEEDS(!rdma_create_id(cm_channel, &id, NULL, RDMA_PS_TCP));
	NEEDS(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 1000));
}

static const struct wait_row {
	const char *name;
	void (*wait)(void);
	void (*cause)(void);
} wait_rows[] = {
	{ "ibv_get_cq_event", cq_wait, cq_cause },
	{ "ibv_get_async_event", async_wait, async_cause },
	{ "rdma_get_cm_event", cm_wait, cm_cause },
};

static void *wait_main(void *arg)
{
	const struct wait_row *row = arg;

	waiter_begin();
	row->wait();
	return NULL;
}

static int fd_cnt(void)
{
	int cnt = 0;

	for (int fd = 0; fd < 1024; fd++)
		cnt += syscall(SYS_fcntl, fd, F_GETFD) >= 0;
	return cnt;
}

static void wait_is_cancelled(const struct wait_row *row)
{
	pthread_t thread;
	void *result;

	waiter_start(&thread, wait_main, (void *)(uintptr_t)row);
	NEEDS(!pthread_cancel(thread));
	NEEDS(!pthread_join(thread, &result));
	NEEDS(result == PTHREAD_CANCELED);
}

/* The cancelled thread left no lock held, and nothing was lost. */
static void waits_are_cancellation_points(void)
{
	int cnt;

	cm_channel = rdma_create_event_channel();
	NEEDS(cm_channel);
	for (size_t i = 0; i < CNT(wait_rows); i++) {
		wait_rows[i].cause();
		wait_rows[i].wait();
		cnt = fd_cnt();
		for (int n = 0; n < 2 * LEAK; n++)
			wait_is_cancelled(&wait_rows[i]);
		/* The descriptors of the connection may be closed meanwhile. */
		if (fd_cnt() >= cnt + LEAK) {
			printf("%s: %d descriptors, then %d\n",
			       wait_rows[i].name, cnt, fd_cnt());
			exit(1);
		}
		wait_rows[i].cause();
		wait_rows[i].wait();
	}
}

int main(void)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_RC,
					    .cap = { 64, 64, 1, 1, 0 },
					    .comp_mask = IBV_QP_INIT_ATTR_PD };

	loop_open(&loop);
	verbs = loop.active->verbs;
	pd = ibv_alloc_pd(verbs);
	channel = ibv_create_comp_channel(verbs);
	NEEDS(pd && channel);
	NEEDS(!ibv_query_gid(verbs, 1, 0, &gid));
	cq = ibv_create_cq(verbs, 128, NULL, channel, 0);
	mr = ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	NEEDS(cq && mr);
	init.pd = pd;
	init.send_cq = init.recv_cq = cq;
	loop_connect(&loop, &init);
	verbs_are_no_cancellation_points();
	waits_are_cancellation_points();
	printf("%zu groups of verbs, %zu waits\n", CNT(verb_rows),
	       CNT(wait_rows));
	return 0;
}
