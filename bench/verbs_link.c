/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Groups of queue pairs, the same on both sides. */
#include "verbs_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Number of posted receives for each Send: Sends may come before one is
 * free. */
#define RECV_FACTOR 2

static uint32_t recv_depth(const struct bench_hello *hello)
{
	if (hello->kind == KIND_STREAM && hello->op == OP_SEND)
		return RECV_FACTOR * hello->depth;
	return hello->kind == KIND_PING && hello->op == OP_SEND ? 4 : 1;
}

void bench_group_init(struct bench_group *group,
		      const struct bench_hello *hello, struct rdma_cm_id *id)
{
	size_t len = (size_t)hello->size * hello->buf_cnt;
	uint32_t entries = hello->depth + recv_depth(hello) + 1;
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		     IBV_ACCESS_REMOTE_READ;

	*group = (struct bench_group){ .hello = *hello };
	NEEDS(hello->link_cnt > 0 && hello->link_cnt <= LINKS_MAX);
	NEEDS(group->links = calloc(hello->link_cnt, sizeof(*group->links)));
	NEEDS(group->pd = ibv_alloc_pd(id->verbs));
	if (hello->is_events)
		NEEDS(group->channel = ibv_create_comp_channel(id->verbs));
	/* Idle queue pairs complete nothing. */
	if (hello->kind != KIND_IDLE)
		entries *= hello->link_cnt;
	NEEDS(group->cq = ibv_create_cq(id->verbs, (int)entries, NULL,
					group->channel, 0));
	NEEDS(group->buf = aligned_alloc(4096, (len + 4095) / 4096 * 4096));
	memset(group->buf, 1, len);
	if (hello->op == OP_ATOMIC)
		access |= IBV_ACCESS_REMOTE_ATOMIC;
	NEEDS(group->mr = ibv_reg_mr(group->pd, group->buf, len, access));
}

void bench_group_fini(struct bench_group *group)
{
	NEEDS(!ibv_dereg_mr(group->mr));
	NEEDS(!ibv_destroy_cq(group->cq));
	if (group->channel)
		NEEDS(!ibv_destroy_comp_channel(group->channel));
	NEEDS(!ibv_dealloc_pd(group->pd));
	free(group->buf);
	free(group->links);
}

char *bench_recv_next(const struct bench_link *link)
{
	const struct bench_group *group = link->group;

	/* All of them are posted, and the oldest is done. */
	return group->buf +
	       bench_offset(group, link->recv_turn - recv_depth(&group->hello));
}

void bench_recv_post(struct bench_link *link)
{
	struct bench_group *group = link->group;
	struct ibv_sge sge = {
		.addr = (uintptr_t)group->buf +
			bench_offset(group, link->recv_turn++),
		.length = group->hello.size,
		.lkey = group->mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = (uintptr_t)link,
				  .sg_list = &sge,
				  .num_sge = 1 },
			   *bad_wr;

	NEEDS(!ibv_post_recv(link->id->qp, &wr, &bad_wr));
}

void bench_ping_post(struct bench_link *link, uint64_t addr, uint32_t rkey)
{
	static const enum ibv_wr_opcode opcodes[] = {
		[OP_WRITE] = IBV_WR_RDMA_WRITE,
		[OP_SEND] = IBV_WR_SEND,
		[OP_READ] = IBV_WR_RDMA_READ,
		[OP_ATOMIC] = IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	struct bench_group *group = link->group;
	struct ibv_sge sge = { .addr = (uintptr_t)group->buf +
				       group->hello.size,
			       .length = group->hello.size,
			       .lkey = group->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = opcodes[group->hello.op],
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad_wr;

	if (group->hello.op == OP_ATOMIC) {
		wr.wr.atomic.remote_addr = addr;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = addr;
		wr.wr.rdma.rkey = rkey;
	}
	NEEDS(!ibv_post_send(link->id->qp, &wr, &bad_wr));
}

struct bench_link *bench_link_add(struct bench_group *group,
				  struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.send_cq = group->cq,
		.recv_cq = group->cq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = group->hello.depth + 1,
			 .max_recv_wr = recv_depth(&group->hello),
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct bench_link *link = &group->links[group->link_cnt++];

	NEEDS(group->link_cnt <= group->hello.link_cnt);
	NEEDS(!rdma_create_qp(id, group->pd, &init));
	link->group = group;
	link->id = id;
	if (group->hello.kind != KIND_IDLE) {
		for (uint32_t i = 0; i < recv_depth(&group->hello); i++) {
			bench_recv_post(link);
			group->recv_cnt++;
		}
	}
	return link;
}

/* Sleeps until the CQ may have a completion. */
static void group_wait(struct bench_group *group)
{
	struct ibv_cq *cq;
	void *context;

	NEEDS(!ibv_get_cq_event(group->channel, &cq, &context));
	ibv_ack_cq_events(cq, 1);
}

int bench_group_poll(struct bench_group *group, struct ibv_wc *wc)
{
	int cnt = ibv_poll_cq(group->cq, WC_BATCH, wc);

	if (cnt == 0 && group->channel) {
		NEEDS(!ibv_req_notify_cq(group->cq, 0));
		cnt = ibv_poll_cq(group->cq, WC_BATCH, wc);
		if (cnt == 0) {
			group_wait(group);
			cnt = ibv_poll_cq(group->cq, WC_BATCH, wc);
		}
	}
	NEEDS(cnt >= 0);
	return cnt;
}

struct rdma_conn_param bench_conn_param(struct rdma_cm_id *id, const void *data,
					size_t len)
{
	struct ibv_device_attr attr;
	struct rdma_conn_param param = { .private_data = data,
					 .private_data_len = (uint8_t)len,
					 .retry_count = 7,
					 .rnr_retry_count = 7 };

	NEEDS(!ibv_query_device(id->verbs, &attr));
	param.responder_resources = (uint8_t)(attr.max_qp_rd_atom < 128
						      ? attr.max_qp_rd_atom
						      : 128);
	param.initiator_depth = (uint8_t)(attr.max_qp_init_rd_atom < 128
						  ? attr.max_qp_init_rd_atom
						  : 128);
	return param;
}

struct rdma_cm_event *bench_cm_expect(struct rdma_event_channel *channel,
				      enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	NEEDS(!rdma_get_cm_event(channel, &event));
	if (event->event != type) {
		fprintf(stderr, "%s (%d) instead of %s\n",
			rdma_event_str(event->event), event->status,
			rdma_event_str(type));
		exit(2);
	}
	return event;
}
