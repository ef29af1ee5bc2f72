/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The answering side of bench-verbs: accepts connections until the last one has
 * ended. See verbs_link.h.
 */
#include "verbs_server.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define GROUPS_MAX 64

struct served {
	struct bench_group group;
	pthread_t thread;
	bool has_thread, is_used;
};

/* There is one server per process. */
static struct served served[GROUPS_MAX];
static atomic_bool is_stopping;

static bool may_go_on(void)
{
	/* Pairs with the release in bench_serve(). */
	return !atomic_load_explicit(&is_stopping, memory_order_acquire);
}

/* Serves the receives of a group until all are flushed. Polling also drives
 * READs and atomics, which have no completion here. */
static void receives_serve(struct bench_group *group)
{
	struct ibv_wc wc[WC_BATCH];
	uint32_t flushed_cnt = 0;

	/* Links may come yet. */
	while (flushed_cnt < group->recv_cnt &&
	       (group->channel || may_go_on())) {
		int cnt = bench_group_poll(group, wc);

		for (int i = 0; i < cnt; i++) {
			struct bench_link *link =
				(struct bench_link *)(uintptr_t)wc[i].wr_id;

			if (!link)
				continue;
			/* Flushed: its connection has ended. */
			if (wc[i].status != IBV_WC_SUCCESS) {
				flushed_cnt++;
				continue;
			}
			if (group->hello.is_touched)
				bench_lines_read(bench_recv_next(link),
						 group->hello.size);
			bench_recv_post(link);
			if (group->hello.kind == KIND_PING)
				bench_ping_post(link, 0, 0);
		}
	}
}

/* Spins on memory, and answers each WRITE with one. */
static void writes_serve(struct bench_group *group)
{
	const volatile char *mark = group->buf + group->hello.size - 1;
	char *answer = group->buf + 2 * group->hello.size - 1;
	struct ibv_wc wc;

	for (uint64_t turn = 0;; turn++) {
		while (*mark != bench_ping_mark(turn))
			if (!may_go_on())
				return;
		*answer = bench_ping_mark(turn);
		bench_ping_post(&group->links[0], group->hello.addr,
				group->hello.rkey);
		while (ibv_poll_cq(group->cq, 1, &wc) == 0)
			if (!may_go_on())
				return;
	}
}

static void *group_serve(void *arg)
{
	struct bench_group *group = arg;

	if (group->hello.kind == KIND_PING && group->hello.op == OP_WRITE)
		writes_serve(group);
	else
		receives_serve(group);
	return NULL;
}

/* Writes and READs complete nothing here, so there is nothing to sleep for. */
static bool is_served(const struct bench_hello *hello)
{
	if (hello->kind != KIND_STREAM || hello->op == OP_SEND)
		return hello->kind != KIND_IDLE;
	return !hello->is_passive && !hello->is_events;
}

static void request_take(const struct rdma_cm_event *event)
{
	struct bench_grant grant;
	struct rdma_conn_param param;
	struct bench_hello hello;
	struct served *s;

	NEEDS(event->param.conn.private_data_len >= sizeof(hello));
	memcpy(&hello, event->param.conn.private_data, sizeof(hello));
	NEEDS(hello.group_idx < GROUPS_MAX);
	s = &served[hello.group_idx];
	if (!s->is_used) {
		bench_group_init(&s->group, &hello, event->id);
		s->is_used = true;
	}
	bench_link_add(&s->group, event->id);
	if (!s->has_thread && is_served(&hello)) {
		NEEDS(!pthread_create(&s->thread, NULL, group_serve,
				      &s->group));
		s->has_thread = true;
	}
	grant = (struct bench_grant){ .addr = (uintptr_t)s->group.buf,
				      .rkey = s->group.mr->rkey };
	param = bench_conn_param(event->id, &grant, sizeof(grant));
	NEEDS(!rdma_accept(event->id, &param));
}

static void all_end(void)
{
	for (int i = 0; i < GROUPS_MAX; i++) {
		struct served *s = &served[i];

		if (s->has_thread)
			pthread_join(s->thread, NULL);
		for (uint32_t n = 0; n < s->group.link_cnt; n++) {
			struct rdma_cm_id *id = s->group.links[n].id;

			rdma_destroy_qp(id);
			NEEDS(!rdma_destroy_id(id));
		}
		if (s->is_used)
			bench_group_fini(&s->group);
	}
}

void bench_serve(const struct bench_options *opt)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in addr = { .sin_family = AF_INET };
	struct rdma_cm_id *listener;
	int open_cnt = 0;
	uint64_t cpu_ns = 0;

	addr.sin_port = htons((uint16_t)atoi(opt->port));
	NEEDS(channel);
	NEEDS(!rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP));
	NEEDS(!rdma_bind_addr(listener, (struct sockaddr *)&addr));
	NEEDS(!rdma_listen(listener, 128));
	do {
		struct rdma_cm_event *event;

		NEEDS(!rdma_get_cm_event(channel, &event));
		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
			request_take(event);
			open_cnt++;
		} else if (event->event == RDMA_CM_EVENT_ESTABLISHED) {
			/* Set last when the client starts to measure. */
			cpu_ns = bench_cpu_ns();
		} else if (event->event == RDMA_CM_EVENT_DISCONNECTED) {
			open_cnt--;
		}
		NEEDS(!rdma_ack_cm_event(event));
	} while (open_cnt > 0);
	cpu_ns = bench_cpu_ns() - cpu_ns;
	/* Pairs with the acquire in may_go_on(). */
	atomic_store_explicit(&is_stopping, true, memory_order_release);
	all_end();
	NEEDS(!rdma_destroy_id(listener));
	rdma_destroy_event_channel(channel);
	bench_print("CPU s", (double)cpu_ns / 1e9);
}
