/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The memory that queue pairs use in the process: resident octets per connected
 * and idle queue pair with queues of 128, its rings among them; and of a new
 * queue pair with long queues, which programs ask for and hardly use. Also
 * checks that making and destroying queue pairs leaves nothing allocated.
 *
 *  usiw run -- bench-memory [pairs]
 *
 * Exit code 1: an idle queue pair uses more than 24 KiB, or a round of 10,000
 * made and destroyed left memory allocated, or long queues cost memory before
 * they are used.
 */
#include "measure.h"

#include <arpa/inet.h>
#include <infiniband/usiwdv.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define DEPTH 128
#define QP_KIB_MAX 24.0
#define LONG_DEPTH 16000
#define LONG_QPS 100
#define LONG_KIB_MAX 32.0
#define ROUND_QPS 10000
#define ROUND_KIB_MAX 256
#define MSG_LEN 65536

struct side {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp **qp;
	uint8_t *buf;
};

/* Resident octets of this process, in KiB. */
static long rss_now(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[128];
	long kib = 0;

	NEEDS(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "VmRSS: %ld", &kib) == 1)
			break;
	fclose(file);
	NEEDS(kib > 0);
	return kib;
}

static struct ibv_context *device_open(void)
{
	int cnt;
	struct ibv_device **list = ibv_get_device_list(&cnt);
	struct ibv_context *context = NULL;

	NEEDS(list);
	for (int i = 0; i < cnt && !context; i++)
		if (strcmp(ibv_get_device_name(list[i]), "usiw_lo") == 0)
			context = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	NEEDS(context);
	return context;
}

static void side_open(struct side *s, int pairs)
{
	s->context = device_open();
	NEEDS(s->pd = ibv_alloc_pd(s->context));
	/* At most one queue's entries are outstanding at a time. */
	NEEDS(s->cq = ibv_create_cq(s->context, 4 * DEPTH, NULL, NULL, 0));
	NEEDS(s->buf = calloc(1, MSG_LEN));
	NEEDS(s->mr = ibv_reg_mr(s->pd, s->buf, MSG_LEN,
				 IBV_ACCESS_LOCAL_WRITE));
	NEEDS(s->qp = calloc((size_t)pairs, sizeof(*s->qp)));
}

static struct ibv_qp *qp_new(struct side *s, uint32_t depth)
{
	struct ibv_qp_init_attr init = {
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.cap = { .max_send_wr = depth,
			 .max_recv_wr = depth,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	struct ibv_qp *qp = ibv_create_qp(s->pd, &init);

	NEEDS(qp);
	NEEDS(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0);
	return qp;
}

struct attachment {
	struct ibv_qp *qp;
	int fd;
	uint32_t role;
};

static void *attach(void *arg)
{
	const struct attachment *a = arg;
	struct usiwdv_attach_attr attr = {
		.size = sizeof(attr), .role = a->role, .ird = 16, .ord = 16
	};

	NEEDS(usiwdv_qp_attach_fd(a->qp, a->fd, &attr) == 0);
	close(a->fd);
	return NULL;
}

static void pair_connect(int listener, const struct sockaddr_in *addr,
			 struct ibv_qp *active, struct ibv_qp *passive)
{
	struct attachment a = { active, -1, USIWDV_INITIATOR };
	struct attachment b = { passive, -1, USIWDV_RESPONDER };
	pthread_t thread;

	a.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	NEEDS(a.fd >= 0);
	NEEDS(connect(a.fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0);
	b.fd = accept(listener, NULL, NULL);
	NEEDS(b.fd >= 0);
	NEEDS(pthread_create(&thread, NULL, attach, &b) == 0);
	attach(&a);
	pthread_join(thread, NULL);
}

static void completion_wait(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int cnt;

	do {
		cnt = ibv_poll_cq(cq, 1, &wc);
	} while (cnt == 0);
	NEEDS(cnt == 1 && wc.status == IBV_WC_SUCCESS);
}

/* One message each, so that all of the measured pairs have been used. */
static void pair_use(struct side *from, struct side *to, int n)
{
	struct ibv_sge src = { (uintptr_t)from->buf, MSG_LEN, from->mr->lkey };
	struct ibv_sge dst = { (uintptr_t)to->buf, MSG_LEN, to->mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &dst, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .sg_list = &src,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED },
			   *bad_send;

	NEEDS(ibv_post_recv(to->qp[n], &recv, &bad_recv) == 0);
	NEEDS(ibv_post_send(from->qp[n], &send, &bad_send) == 0);
	completion_wait(from->cq);
	completion_wait(to->cq);
}

static void pairs_connect(struct side *side, int pairs)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	NEEDS(listener >= 0);
	NEEDS(bind(listener, (struct sockaddr *)&addr, sizeof(addr)) == 0);
	NEEDS(listen(listener, 8) == 0);
	NEEDS(getsockname(listener, (struct sockaddr *)&addr, &len) == 0);
	for (int n = 0; n < pairs; n++) {
		side[0].qp[n] = qp_new(&side[0], DEPTH);
		side[1].qp[n] = qp_new(&side[1], DEPTH);
		pair_connect(listener, &addr, side[0].qp[n], side[1].qp[n]);
		pair_use(&side[0], &side[1], n);
		pair_use(&side[1], &side[0], n);
	}
	close(listener);
}

static bool idle_measure(struct side *side, int pairs)
{
	long before = rss_now();
	double kib;

	pairs_connect(side, pairs);
	kib = (double)(rss_now() - before) / (2 * pairs);
	printf("%d connected pairs, queues of %d: %.1f KiB per queue pair\n",
	       pairs, DEPTH, kib);
	for (int n = 0; n < pairs; n++)
		for (int i = 0; i < 2; i++)
			NEEDS(ibv_destroy_qp(side[i].qp[n]) == 0);
	return kib <= QP_KIB_MAX;
}

static bool long_measure(struct side *s)
{
	long before = rss_now(), after;
	struct ibv_qp *qp[LONG_QPS];
	double kib;

	for (int n = 0; n < LONG_QPS; n++)
		qp[n] = qp_new(s, LONG_DEPTH);
	after = rss_now();
	for (int n = 0; n < LONG_QPS; n++)
		NEEDS(ibv_destroy_qp(qp[n]) == 0);
	kib = (double)(after - before) / LONG_QPS;
	printf("queues of %d, unused: %.1f KiB per queue pair\n", LONG_DEPTH,
	       kib);
	return kib <= LONG_KIB_MAX;
}

static long round_run(struct side *s, struct ibv_qp **qp)
{
	for (int n = 0; n < ROUND_QPS; n++)
		qp[n] = qp_new(s, DEPTH);
	for (int n = 0; n < ROUND_QPS; n++)
		NEEDS(ibv_destroy_qp(qp[n]) == 0);
	return rss_now();
}

static bool growth_measure(struct side *s)
{
	struct ibv_qp **qp = calloc(ROUND_QPS, sizeof(*qp));
	long first, kib = 0;

	NEEDS(qp);
	first = round_run(s, qp);
	for (int round = 0; round < 3; round++)
		kib = round_run(s, qp) - first;
	free(qp);
	printf("three more rounds of %d made and destroyed: %+ld KiB\n",
	       ROUND_QPS, kib);
	return kib <= ROUND_KIB_MAX;
}

int main(int argc, char *argv[])
{
	int pairs = argc > 1 ? atoi(argv[1]) : 1000;
	struct rlimit files = { 0 };
	struct side side[2];
	bool is_good;

	NEEDS(pairs > 0);
	NEEDS(getrlimit(RLIMIT_NOFILE, &files) == 0);
	files.rlim_cur = files.rlim_max;
	NEEDS(setrlimit(RLIMIT_NOFILE, &files) == 0);
	for (int i = 0; i < 2; i++)
		side_open(&side[i], pairs);
	is_good = idle_measure(side, pairs);
	is_good &= long_measure(&side[0]);
	is_good &= growth_measure(&side[0]);
	return is_good ? 0 : 1;
}
