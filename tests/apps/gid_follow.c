/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A program with QPs that connect without rdma_cm, by GID index, while the
 * addresses of the interface change. port_test.py makes each change when the
 * program requests it.
 *
 * usage: apps-gid-follow DEVICE INTERFACE
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "needs.h"

#define LIMIT_MS 20000
#define LEN 64
/* 4.096 us * 2^18 is one second, with four tries. */
#define TIMEOUT 18
#define RETRY_CNT 3

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static uint8_t buf[2][LEN];
static uint32_t ifindex;
static int table_len;

/* ---- the table ---- */

static union ibv_gid mapped(const char *addr)
{
	union ibv_gid gid = { .raw = { [10] = 0xff, [11] = 0xff } };

	NEEDS(inet_pton(AF_INET, addr, gid.raw + 12) == 1);
	return gid;
}

static bool is_zero(const union ibv_gid *gid)
{
	static const union ibv_gid zero;

	return !memcmp(gid, &zero, sizeof(zero));
}

/* Every index can be read, and all functions return the same. */
static void table_check(void)
{
	struct ibv_gid_entry all[64];
	ssize_t cnt = ibv_query_gid_table(ctx, all, 64, 0);
	union ibv_gid gid;
	int there = 0;

	NEEDS(cnt >= 1);
	for (int i = 0; i < table_len; i++) {
		struct ibv_gid_entry one;
		int err = ibv_query_gid_ex(ctx, 1, (uint32_t)i, &one, 0);

		NEEDS(!ibv_query_gid(ctx, 1, i, &gid));
		if (is_zero(&gid)) {
			NEEDS(err == ENODATA);
			continue;
		}
		NEEDS(!err && !memcmp(&one.gid, &gid, sizeof(gid)));
		NEEDS(one.gid_index == (uint32_t)i && one.port_num == 1);
		NEEDS(one.ndev_ifindex == ifindex);
		NEEDS(there < cnt && all[there].gid_index == (uint32_t)i);
		NEEDS(!memcmp(&all[there].gid, &gid, sizeof(gid)));
		NEEDS(all[there].ndev_ifindex == ifindex);
		there++;
	}
	NEEDS(there == cnt);
	NEEDS(ibv_query_gid(ctx, 1, table_len, &gid));
}

/* Return: the index; -1: not found. */
static int index_of(const char *addr)
{
	union ibv_gid want = mapped(addr), gid;

	table_check();
	for (int i = 0; i < table_len; i++) {
		NEEDS(!ibv_query_gid(ctx, 1, i, &gid));
		if (!memcmp(&gid, &want, sizeof(gid)))
			return i;
	}
	return -1;
}

/* Requests a change of addresses and waits until it has happened. */
static void change(const char *what)
{
	struct pollfd pfd = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event ev;

	printf("%s\n", what);
	fflush(stdout);
	NEEDS(poll(&pfd, 1, LIMIT_MS) == 1);
	NEEDS(!ibv_get_async_event(ctx, &ev));
	NEEDS(ev.event_type == IBV_EVENT_GID_CHANGE);
	NEEDS(ev.element.port_num == 1);
	ibv_ack_async_event(&ev);
}

/* ---- queue pairs ---- */

static struct ibv_qp *qp_new(void)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = 4,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	NEEDS(qp);
	NEEDS(!ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				     IBV_QP_ACCESS_FLAGS));
	return qp;
}

static int qp_rtr(struct ibv_qp *qp, int gid_idx, const char *peer,
		  uint32_t peer_num)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer_num,
		.max_dest_rd_atomic = 1,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .dgid = mapped(peer),
				      .sgid_index = (uint8_t)gid_idx,
				      .hop_limit = 64 } },
	};

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				     IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER);
}

static void qp_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .timeout = TIMEOUT,
				    .retry_cnt = RETRY_CNT,
				    .rnr_retry = 7,
				    .max_rd_atomic = 1 };

	NEEDS(!ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
				     IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_MAX_QP_RD_ATOMIC));
}

static void post(struct ibv_qp *qp, bool is_recv)
{
	struct ibv_sge sge = { (uintptr_t)buf[is_recv], LEN, mr->lkey };
	struct ibv_send_wr send = { .sg_list = &sge,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr *bad_send;

	if (is_recv)
		NEEDS(!ibv_post_recv(qp, &recv, &bad_recv));
	else
		NEEDS(!ibv_post_send(qp, &send, &bad_send));
}

static enum ibv_wc_status take(void)
{
	time_t end = time(NULL) + LIMIT_MS / 1000;
	struct ibv_wc wc;
	int cnt;

	while ((cnt = ibv_poll_cq(cq, 1, &wc)) == 0)
		NEEDS(time(NULL) < end);
	NEEDS(cnt == 1);
	return wc.status;
}

static void connect_by(struct ibv_qp *qp[2], const char *addr)
{
	int idx = index_of(addr);

	for (int i = 0; i < 2; i++) {
		qp[i] = qp_new();
		post(qp[i], true);
	}
	for (int i = 0; i < 2; i++) {
		NEEDS(!qp_rtr(qp[i], idx, addr, qp[!i]->qp_num));
		qp_rts(qp[i]);
	}
	memset(buf[0], 0x5a, LEN);
	memset(buf[1], 0, LEN);
	post(qp[0], false);
	NEEDS(take() == IBV_WC_SUCCESS);
	NEEDS(take() == IBV_WC_SUCCESS);
	NEEDS(!memcmp(buf[0], buf[1], LEN));
}

/* ---- the course ---- */

static void open_all(const char *device)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_port_attr port;

	NEEDS(list);
	while (*list && strcmp(ibv_get_device_name(*list), device))
		list++;
	NEEDS(*list);
	ctx = ibv_open_device(*list);
	NEEDS(ctx);
	NEEDS(!ibv_query_port(ctx, 1, &port));
	table_len = port.gid_tbl_len;
	pd = ibv_alloc_pd(ctx);
	cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	mr = ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	NEEDS(pd && cq && mr);
}

int main(int argc, char **argv)
{
	struct ibv_qp *first[2], *second[2], *late;
	int idx;

	NEEDS(argc == 3);
	ifindex = if_nametoindex(argv[2]);
	open_all(argv[1]);
	idx = index_of("192.0.2.0");
	NEEDS(idx == 0 && index_of("198.51.100.7") < 0);
	connect_by(first, "192.0.2.0");

	change("add 198.51.100.7/24");
	NEEDS(index_of("192.0.2.0") == idx);
	idx = index_of("198.51.100.7");
	NEEDS(idx > 0);
	connect_by(second, "198.51.100.7");

	/* The address is in use: its QP notices within its time limit. Other
	 * QPs are not affected. */
	change("del 192.0.2.0/24");
	NEEDS(index_of("198.51.100.7") == idx && index_of("192.0.2.0") < 0);
	late = qp_new();
	NEEDS(qp_rtr(late, 0, "198.51.100.7", second[0]->qp_num) == EINVAL);
	NEEDS(!ibv_destroy_qp(late));
	post(first[0], false);
	NEEDS(take() == IBV_WC_RETRY_EXC_ERR);
	NEEDS(take() == IBV_WC_WR_FLUSH_ERR); /* its receive */
	post(second[1], true);
	post(second[0], false);
	NEEDS(take() == IBV_WC_SUCCESS);
	NEEDS(take() == IBV_WC_SUCCESS);

	change("add 192.0.2.0/24");
	NEEDS(index_of("192.0.2.0") == 0 && index_of("198.51.100.7") == idx);
	puts("done");
	return 0;
}
