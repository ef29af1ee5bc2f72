/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See traffic.h. */
#define _GNU_SOURCE
#include "doctor/traffic.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "verbs.h"

#define MESSAGE_LEN 512
#define POLL_NS 1000000
#define POLL_MAX 5000

struct traffic {
	struct ibv_context *ctx;
	int gid_idx;
	union ibv_gid gid;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp[2];
	char octets[2 * MESSAGE_LEN]; /* what is written, and where */
	const char *step;
};

static int gid_find(struct traffic *traffic)
{
	static const union ibv_gid none;
	struct ibv_port_attr port;

	memset(&port, 0, sizeof(port));
	traffic->step = "ibv_query_port()";
	if (verbs.ibv_query_port(traffic->ctx, 1,
				 (struct _compat_ibv_port_attr *)&port))
		return -1;
	traffic->step = "a GID that is not empty";
	for (int i = 0; i < port.gid_tbl_len; i++) {
		if (verbs.ibv_query_gid(traffic->ctx, 1, i, &traffic->gid) ==
			    0 &&
		    memcmp(&traffic->gid, &none, sizeof(none)) != 0) {
			traffic->gid_idx = i;
			return 0;
		}
	}
	errno = ENODATA;
	return -1;
}

static int objects_make(struct traffic *traffic)
{
	traffic->step = "ibv_alloc_pd()";
	traffic->pd = verbs.ibv_alloc_pd(traffic->ctx);
	if (!traffic->pd)
		return -1;
	traffic->step = "ibv_create_cq()";
	traffic->cq = verbs.ibv_create_cq(traffic->ctx, TRAFFIC_MESSAGES, NULL,
					  NULL, 0);
	if (!traffic->cq)
		return -1;
	traffic->step = "ibv_reg_mr()";
	traffic->mr = verbs.ibv_reg_mr(
		traffic->pd, traffic->octets, sizeof(traffic->octets),
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!traffic->mr)
		return -1;
	traffic->step = "ibv_create_qp()";
	for (int i = 0; i < 2; i++) {
		struct ibv_qp_init_attr attr = {
			.send_cq = traffic->cq,
			.recv_cq = traffic->cq,
			.cap = { .max_send_wr = TRAFFIC_MESSAGES,
				 .max_recv_wr = 1,
				 .max_send_sge = 1,
				 .max_recv_sge = 1 },
			.qp_type = IBV_QPT_RC,
		};

		traffic->qp[i] = verbs.ibv_create_qp(traffic->pd, &attr);
		if (!traffic->qp[i])
			return -1;
	}
	return 0;
}

/* Return: 0; an errno, as the verb returns it. */
static int qp_connect(const struct traffic *traffic, int which)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = traffic->qp[!which]->qp_num,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .dgid = traffic->gid,
				      .sgid_index = (uint8_t)traffic->gid_idx,
				      .hop_limit = 1 } },
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};
	struct ibv_qp *qp = traffic->qp[which];
	int ret;

	ret = verbs.ibv_modify_qp(qp, &attr,
				  IBV_QP_STATE | IBV_QP_PKEY_INDEX |
					  IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (ret)
		return ret;
	attr.qp_state = IBV_QPS_RTR;
	ret = verbs.ibv_modify_qp(qp, &attr,
				  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					  IBV_QP_MAX_DEST_RD_ATOMIC |
					  IBV_QP_MIN_RNR_TIMER);
	if (ret)
		return ret;
	attr.qp_state = IBV_QPS_RTS;
	return verbs.ibv_modify_qp(qp, &attr,
				   IBV_QP_STATE | IBV_QP_TIMEOUT |
					   IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					   IBV_QP_SQ_PSN |
					   IBV_QP_MAX_QP_RD_ATOMIC);
}

/* Return: 0; -1: errno says why; 1: a completion has an error. */
static int done_wait(const struct traffic *traffic, struct ibv_wc *ret_wc)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };

	for (int i = 0; i < POLL_MAX; i++) {
		int cnt = ibv_poll_cq(traffic->cq, 1, ret_wc);

		if (cnt < 0)
			return -1;
		if (cnt)
			return ret_wc->status != IBV_WC_SUCCESS;
		nanosleep(&pause, NULL);
	}
	errno = ETIMEDOUT;
	return -1;
}

static int message_write(struct traffic *traffic, uint64_t num,
			 struct ibv_wc *ret_wc)
{
	char *to = traffic->octets + MESSAGE_LEN;
	struct ibv_sge sge = { .addr = (uintptr_t)traffic->octets,
			       .length = MESSAGE_LEN,
			       .lkey = traffic->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = num,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)to, traffic->mr->rkey },
	};
	int ret;

	memset(traffic->octets, (int)num + 1, MESSAGE_LEN);
	ret = ibv_post_send(traffic->qp[0], &wr, &bad);
	if (ret) {
		errno = ret;
		return -1;
	}
	ret = done_wait(traffic, ret_wc);
	if (ret || memcmp(traffic->octets, to, MESSAGE_LEN) == 0)
		return ret;
	errno = EBADMSG;
	return -1;
}

static int octets_move(struct traffic *traffic, struct ibv_wc *ret_wc)
{
	int ret;

	if (gid_find(traffic) < 0 || objects_make(traffic) < 0)
		return -1;
	traffic->step = "ibv_modify_qp()";
	for (int i = 0; i < 2; i++) {
		ret = qp_connect(traffic, i);
		if (ret) {
			errno = ret;
			return -1;
		}
	}
	traffic->step = "a write";
	for (uint64_t num = 0; num < TRAFFIC_MESSAGES; num++) {
		ret = message_write(traffic, num, ret_wc);
		if (ret)
			return ret;
	}
	return 0;
}

int traffic_try(struct ibv_context *ctx, char *ret_why, size_t size)
{
	struct traffic traffic = { .ctx = ctx };
	struct ibv_wc wc;
	int ret = octets_move(&traffic, &wc);

	if (ret < 0)
		snprintf(ret_why, size, "%s: %s", traffic.step,
			 strerror(errno));
	else if (ret > 0)
		snprintf(ret_why, size,
			 "%s: it completes with status %d (ibv_wc_status)",
			 traffic.step, wc.status);
	for (int i = 0; i < 2; i++)
		if (traffic.qp[i])
			verbs.ibv_destroy_qp(traffic.qp[i]);
	if (traffic.mr)
		verbs.ibv_dereg_mr(traffic.mr);
	if (traffic.cq)
		verbs.ibv_destroy_cq(traffic.cq);
	if (traffic.pd)
		verbs.ibv_dealloc_pd(traffic.pd);
	return ret ? -1 : 0;
}
