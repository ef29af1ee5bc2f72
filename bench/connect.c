/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Connections per second on loopback, each with its first message delivered: by
 * ibv_modify_qp() alone, by rdma_cm, and, for comparison, by a plain loop of
 * connect(), accept(), send() and recv(). Everything runs in one process and
 * one thread, in rounds of each in turn. The results are medians.
 *
 *  usiw run -- bench-connect [rounds [connections [way]]]
 *
 * A single way (tcp, modify, cm) is meant for perf and strace. The measured
 * time includes making and destroying the queue pairs. Exit code 1: less than
 * 5,000 by ibv_modify_qp() or 2,000 by rdma_cm.
 */
#include "measure.h"
#include "qp.h"

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROUNDS_MAX 99
#define MODIFY_GOAL 5000
#define CM_GOAL 2000
/* Programs that use ibv_modify_qp() connect all to all, so several are in
 * progress at once. */
#define BATCH 64

struct device {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	union ibv_gid gid;
	uint32_t octets[16];
};

static double now_s(void)
{
	return (double)bench_now_ns() * 1e-9;
}

static int double_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *figures, int cnt)
{
	qsort(figures, (size_t)cnt, sizeof(*figures), double_compare);
	return figures[cnt / 2];
}

/* ---- plain TCP ---------------------------------------------------------- */

static double raw_round(struct device *unused, int cnt)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	double begin;
	char octet = 'x';

	(void)unused;
	NEEDS(!bind(listener, (struct sockaddr *)&addr, sizeof(addr)));
	NEEDS(!listen(listener, SOMAXCONN));
	NEEDS(!getsockname(listener, (struct sockaddr *)&addr, &len));
	begin = now_s();
	for (int i = 0; i < cnt; i++) {
		int a = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), b;

		NEEDS(!connect(a, (struct sockaddr *)&addr, sizeof(addr)));
		b = accept(listener, NULL, NULL);
		NEEDS(b >= 0 && send(a, &octet, 1, 0) == 1);
		NEEDS(recv(b, &octet, 1, 0) == 1);
		close(a);
		close(b);
	}
	begin = now_s() - begin;
	close(listener);
	return cnt / begin;
}

/* ---- verbs -------------------------------------------------------------- */

static void device_open(struct device *dev)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	NEEDS(list && list[0]);
	dev->context = ibv_open_device(list[0]);
	NEEDS(dev->context);
	ibv_free_device_list(list);
	NEEDS(!ibv_query_gid(dev->context, 1, 0, &dev->gid));
	dev->pd = ibv_alloc_pd(dev->context);
	dev->cq = ibv_create_cq(dev->context, 4 * BATCH, NULL, NULL, 0);
	NEEDS(dev->pd && dev->cq);
	dev->mr = ibv_reg_mr(dev->pd, dev->octets, sizeof(dev->octets),
			     IBV_ACCESS_LOCAL_WRITE);
	NEEDS(dev->mr);
}

static void post_message(struct device *dev, struct ibv_qp *from,
			 struct ibv_qp *to)
{
	struct ibv_sge sge = { .addr = (uintptr_t)dev->octets,
			       .length = 8,
			       .lkey = dev->mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .sg_list = &sge,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED },
			   *bad_send;

	NEEDS(!ibv_post_recv(to, &recv, &bad_recv));
	NEEDS(!ibv_post_send(from, &send, &bad_send));
}

/* Both completions of each message. */
static void reap(struct device *dev, int messages)
{
	struct ibv_wc wc[16];

	for (int left = 2 * messages; left > 0;) {
		int cnt = ibv_poll_cq(dev->cq, 16, wc);

		NEEDS(cnt >= 0);
		for (int i = 0; i < cnt; i++)
			NEEDS(wc[i].status == IBV_WC_SUCCESS);
		left -= cnt;
	}
}

static const struct ibv_qp_cap caps = {
	.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1
};

static double modify_round(struct device *dev, int cnt)
{
	struct ibv_qp *qp[2 * BATCH];
	double begin = now_s();

	for (int done = 0; done < cnt; done += BATCH) {
		for (int i = 0; i < 2 * BATCH; i++)
			qp[i] = bench_qp_new(dev->pd, dev->cq, &caps);
		for (int i = 0; i < 2 * BATCH; i++)
			bench_qp_connect(qp[i], qp[i ^ 1], &dev->gid);
		for (int i = 0; i < 2 * BATCH; i += 2)
			post_message(dev, qp[i], qp[i + 1]);
		reap(dev, BATCH);
		for (int i = 0; i < 2 * BATCH; i++)
			NEEDS(!ibv_destroy_qp(qp[i]));
	}
	return (cnt + BATCH - 1) / BATCH * BATCH / (now_s() - begin);
}

/* ---- rdma_cm ------------------------------------------------------------ */

static struct rdma_cm_id *cm_expect(struct rdma_event_channel *channel,
				    enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	NEEDS(!rdma_get_cm_event(channel, &event));
	if (event->event != type) {
		fprintf(stderr, "%s instead of %s\n",
			rdma_event_str(event->event), rdma_event_str(type));
		exit(2);
	}
	id = event->id;
	NEEDS(!rdma_ack_cm_event(event));
	return id;
}

static void cm_qp(struct rdma_cm_id *id, struct device *dev)
{
	struct ibv_qp_init_attr init = { .send_cq = dev->cq,
					 .recv_cq = dev->cq,
					 .qp_type = IBV_QPT_RC,
					 .cap = caps };

	/* librdmacm opens the device itself. Its objects belong to that
	 * context. */
	if (!dev->context) {
		dev->context = id->verbs;
		dev->pd = ibv_alloc_pd(id->verbs);
		dev->cq = ibv_create_cq(id->verbs, 4 * BATCH, NULL, NULL, 0);
		NEEDS(dev->pd && dev->cq);
		dev->mr = ibv_reg_mr(dev->pd, dev->octets, sizeof(dev->octets),
				     IBV_ACCESS_LOCAL_WRITE);
		NEEDS(dev->mr);
		init.send_cq = init.recv_cq = dev->cq;
	}
	NEEDS(!rdma_create_qp(id, dev->pd, &init));
}

static void cm_one(struct device *dev, struct rdma_event_channel *here,
		   struct rdma_event_channel *there, struct sockaddr *addr)
{
	struct rdma_conn_param param = { .responder_resources = 1,
					 .initiator_depth = 1 };
	struct rdma_cm_id *id, *child;

	NEEDS(!rdma_create_id(here, &id, NULL, RDMA_PS_TCP));
	NEEDS(!rdma_resolve_addr(id, NULL, addr, 1000));
	cm_expect(here, RDMA_CM_EVENT_ADDR_RESOLVED);
	NEEDS(!rdma_resolve_route(id, 1000));
	cm_expect(here, RDMA_CM_EVENT_ROUTE_RESOLVED);
	cm_qp(id, dev);
	NEEDS(!rdma_connect(id, &param));
	child = cm_expect(there, RDMA_CM_EVENT_CONNECT_REQUEST);
	cm_qp(child, dev);
	NEEDS(!rdma_accept(child, &param));
	cm_expect(there, RDMA_CM_EVENT_ESTABLISHED);
	cm_expect(here, RDMA_CM_EVENT_ESTABLISHED);
	post_message(dev, id->qp, child->qp);
	reap(dev, 1);
	rdma_destroy_qp(id);
	rdma_destroy_qp(child);
	NEEDS(!rdma_destroy_id(id));
	NEEDS(!rdma_destroy_id(child));
}

static double cm_round(struct device *dev, int cnt)
{
	struct rdma_event_channel *here = rdma_create_event_channel();
	struct rdma_event_channel *there = rdma_create_event_channel();
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct rdma_cm_id *listener;
	double begin;

	NEEDS(here && there);
	NEEDS(!rdma_create_id(there, &listener, NULL, RDMA_PS_TCP));
	NEEDS(!rdma_bind_addr(listener, (struct sockaddr *)&addr));
	NEEDS(!rdma_listen(listener, 128));
	addr.sin_port = rdma_get_src_port(listener);
	begin = now_s();
	for (int i = 0; i < cnt; i++)
		cm_one(dev, here, there, (struct sockaddr *)&addr);
	begin = now_s() - begin;
	NEEDS(!rdma_destroy_id(listener));
	rdma_destroy_event_channel(here);
	rdma_destroy_event_channel(there);
	return cnt / begin;
}

int main(int argc, char **argv)
{
	static struct device by_hand, by_cm;
	struct {
		const char *arg;
		const char *name;
		double (*round)(struct device *dev, int cnt);
		struct device *dev;
		double goal;
		double figure[ROUNDS_MAX];
	} way[] = { { "tcp", "plain TCP", raw_round, NULL, 0, { 0 } },
		    { "modify",
		      "ibv_modify_qp",
		      modify_round,
		      &by_hand,
		      MODIFY_GOAL,
		      { 0 } },
		    { "cm", "rdma_cm", cm_round, &by_cm, CM_GOAL, { 0 } } };
	int rounds = argc > 1 ? atoi(argv[1]) : 5;
	int cnt = argc > 2 ? atoi(argv[2]) : 2048;
	const char *only = argc > 3 ? argv[3] : NULL;
	int rc = 0;

	if (rounds < 1 || rounds > ROUNDS_MAX || cnt < 1) {
		fprintf(stderr, "bench-connect [rounds [connections [way]]]\n");
		return 2;
	}
	if (!only || !strcmp(only, "modify"))
		device_open(&by_hand);
	for (int r = 0; r < rounds; r++)
		for (int w = 0; w < 3; w++)
			if (!only || !strcmp(only, way[w].arg))
				way[w].figure[r] =
					way[w].round(way[w].dev, cnt);
	printf("connections with one message, per second, median of %d rounds "
	       "of %d:\n",
	       rounds, cnt);
	for (int w = 0; w < 3; w++) {
		double figure = median(way[w].figure, rounds);

		if (!figure)
			continue;
		printf("%-16s %8.0f", way[w].name, figure);
		if (way[w].goal) {
			printf("   goal %5.0f: %s", way[w].goal,
			       figure >= way[w].goal ? "met" : "MISSED");
			rc |= figure < way[w].goal;
		}
		printf("\n");
	}
	return rc;
}
