/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The measuring side of bench-verbs: streams of one operation by several
 * threads, or a ping-pong with other traffic. See verbs_link.h.
 */
#include "verbs_client.h"

#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define TIMES_MAX 1000000u
#define RESOLVE_MS 5000
#define MIB 1048576.0
/* One completion for this many work requests, if the depth allows. */
#define SIGNAL_EVERY 16
/* The first part of a window is for warming up caches and TCP's buffers. */
#define WARM_DIVISOR 5
#define BULK_SIZE 65536
#define BULK_DEPTH 32
#define LIST_MAX 128

struct client {
	const struct bench_options *opt;
	struct rdma_event_channel *channel;
	struct addrinfo *addr;
};

/* One thread with one group. */
struct streamer {
	struct bench_group group;
	const struct bench_options *opt;
	int list_len;
	pthread_t thread;
	atomic_bool *is_over; /* NULL: runs until the window ends */
	double per_second;    /* messages */
	uint64_t total;	      /* messages, with those before the window */
};

static void link_connect(struct client *c, struct bench_group *group,
			 const struct bench_hello *wanted)
{
	struct bench_hello hello = *wanted;
	struct rdma_cm_event *event;
	struct rdma_conn_param param;
	struct bench_link *link;
	struct rdma_cm_id *id;

	NEEDS(!rdma_create_id(c->channel, &id, NULL, RDMA_PS_TCP));
	NEEDS(!rdma_resolve_addr(id, NULL, c->addr->ai_addr, RESOLVE_MS));
	event = bench_cm_expect(c->channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	NEEDS(!rdma_ack_cm_event(event));
	NEEDS(!rdma_resolve_route(id, RESOLVE_MS));
	event = bench_cm_expect(c->channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	NEEDS(!rdma_ack_cm_event(event));
	if (!group->pd)
		bench_group_init(group, &hello, id);
	link = bench_link_add(group, id);
	hello.addr = (uintptr_t)group->buf;
	hello.rkey = group->mr->rkey;
	param = bench_conn_param(id, &hello, sizeof(hello));
	NEEDS(!rdma_connect(id, &param));
	event = bench_cm_expect(c->channel, RDMA_CM_EVENT_ESTABLISHED);
	NEEDS(event->param.conn.private_data_len >= sizeof(link->grant));
	memcpy(&link->grant, event->param.conn.private_data,
	       sizeof(link->grant));
	NEEDS(!rdma_ack_cm_event(event));
}

static void group_connect(struct client *c, struct bench_group *group,
			  const struct bench_hello *hello)
{
	for (uint32_t i = 0; i < hello->link_cnt; i++)
		link_connect(c, group, hello);
}

static void group_disconnect(struct bench_group *group)
{
	for (uint32_t i = 0; i < group->link_cnt; i++)
		NEEDS(!rdma_disconnect(group->links[i].id));
	for (uint32_t i = 0; i < group->link_cnt; i++) {
		rdma_destroy_qp(group->links[i].id);
		NEEDS(!rdma_destroy_id(group->links[i].id));
	}
	bench_group_fini(group);
}

/* ---- streams ------------------------------------------------------------ */

static const enum ibv_wr_opcode opcodes[] = {
	[OP_WRITE] = IBV_WR_RDMA_WRITE,
	[OP_SEND] = IBV_WR_SEND,
	[OP_READ] = IBV_WR_RDMA_READ,
};

/* Work requests for each completion. */
static uint64_t signal_every(const struct streamer *s)
{
	uint64_t every = SIGNAL_EVERY;

	if (every > s->group.hello.depth / 2)
		every = s->group.hello.depth / 2;
	if (every < 1)
		every = 1;
	return (every + (uint64_t)s->list_len - 1) / (uint64_t)s->list_len *
	       (uint64_t)s->list_len;
}

static void list_post(struct streamer *s, struct bench_link *link)
{
	const struct bench_group *group = &s->group;
	struct ibv_send_wr wr[LIST_MAX], *bad_wr;
	struct ibv_sge sge[LIST_MAX];

	for (int i = 0; i < s->list_len; i++) {
		size_t offset = bench_offset(group, link->posted++);

		if (group->hello.is_touched && group->hello.op != OP_READ)
			bench_lines_write(group->buf + offset,
					  group->hello.size, link->posted);
		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)group->buf + offset,
			.length = group->hello.size,
			.lkey = group->mr->lkey,
		};
		wr[i] = (struct ibv_send_wr){
			.wr_id = (uintptr_t)link,
			.next = i + 1 < s->list_len ? &wr[i + 1] : NULL,
			.sg_list = &sge[i],
			.num_sge = 1,
			.opcode = opcodes[group->hello.op],
			.wr.rdma = { .remote_addr = link->grant.addr + offset,
				     .rkey = link->grant.rkey },
		};
	}
	if (link->posted % signal_every(s) == 0)
		wr[s->list_len - 1].send_flags = IBV_SEND_SIGNALED;
	NEEDS(!ibv_post_send(link->id->qp, wr, &bad_wr));
}

static void streamer_reap(struct streamer *s, uint64_t each)
{
	const struct bench_hello *hello = &s->group.hello;
	bool is_read = hello->is_touched && hello->op == OP_READ;
	struct ibv_wc wc[WC_BATCH];
	struct bench_link *link;
	int cnt = bench_group_poll(&s->group, wc);

	for (int i = 0; i < cnt; i++) {
		NEEDS(wc[i].status == IBV_WC_SUCCESS);
		link = (struct bench_link *)(uintptr_t)wc[i].wr_id;
		for (uint64_t k = 0; is_read && k < each; k++)
			bench_lines_read(
				s->group.buf +
					bench_offset(&s->group, link->done + k),
				s->group.hello.size);
		link->done += each;
	}
}

/* The response of a READ comes after everything sent before it is placed. */
static void link_flush(struct streamer *s, struct bench_link *link)
{
	struct ibv_sge sge = { .addr = (uintptr_t)s->group.buf,
			       .length = 1,
			       .lkey = s->group.mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = (uintptr_t)link,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = link->grant.addr,
			     .rkey = link->grant.rkey },
	}, *bad_wr;

	NEEDS(!ibv_post_send(link->id->qp, &wr, &bad_wr));
	link->done = 0;
	while (!link->done)
		streamer_reap(s, 1);
}

static bool streamer_may_post(const struct streamer *s, uint64_t end_ns)
{
	if (s->is_over)
		/* Only a flag: it publishes no other data. */
		return !atomic_load_explicit(s->is_over, memory_order_relaxed);
	return bench_now_ns() < end_ns;
}

/* Messages per second, until the last octet is placed. */
static double streamer_phase(struct streamer *s, uint64_t window_ns)
{
	uint64_t begin = bench_now_ns(), sum = 0, outstanding;
	uint64_t each = signal_every(s), depth = s->group.hello.depth;
	uint64_t list_len = (uint64_t)s->list_len;
	bool may_post;

	do {
		may_post = streamer_may_post(s, begin + window_ns);
		outstanding = 0;
		for (uint32_t i = 0; i < s->group.link_cnt; i++) {
			struct bench_link *link = &s->group.links[i];

			/* A list that was begun is posted up to its
			 * completion. */
			while ((may_post || link->posted % each) &&
			       link->posted - link->done + list_len <= depth)
				list_post(s, link);
			outstanding += link->posted - link->done;
		}
		if (outstanding)
			streamer_reap(s, each);
	} while (may_post || outstanding);
	for (uint32_t i = 0; i < s->group.link_cnt; i++) {
		struct bench_link *link = &s->group.links[i];

		sum += link->posted;
		link_flush(s, link);
		link->posted = link->done = 0;
	}
	s->total += sum;
	return (double)sum / ((double)(bench_now_ns() - begin) / 1e9);
}

static void *streamer_run(void *arg)
{
	struct streamer *s = arg;

	if (!s->is_over)
		streamer_phase(s, s->opt->window_ns / WARM_DIVISOR);
	s->per_second = streamer_phase(s, s->opt->window_ns);
	return NULL;
}

static void stream(struct client *c)
{
	const struct bench_options *opt = c->opt;
	struct streamer *all = calloc((size_t)opt->thread_cnt, sizeof(*all));
	double per_second = 0, total = 0;
	uint64_t cpu_ns;

	NEEDS(all);
	for (int i = 0; i < opt->thread_cnt; i++) {
		struct bench_hello hello = opt->hello;

		hello.group_idx = (uint32_t)i;
		all[i].opt = opt;
		all[i].list_len = opt->list_len;
		group_connect(c, &all[i].group, &hello);
	}
	cpu_ns = bench_cpu_ns();
	for (int i = 0; i < opt->thread_cnt; i++)
		NEEDS(!pthread_create(&all[i].thread, NULL, streamer_run,
				      &all[i]));
	for (int i = 0; i < opt->thread_cnt; i++) {
		pthread_join(all[i].thread, NULL);
		per_second += all[i].per_second;
		total += (double)all[i].total;
	}
	cpu_ns = bench_cpu_ns() - cpu_ns;
	bench_print("MiB/s", per_second * opt->hello.size / MIB);
	bench_print("M/s", per_second / 1e6);
	bench_print("GB", total * opt->hello.size / 1e9);
	bench_print("CPU s", (double)cpu_ns / 1e9);
	for (int i = 0; i < opt->thread_cnt; i++)
		group_disconnect(&all[i].group);
	free(all);
}

/* ---- ping-pong ---------------------------------------------------------- */

/* Sleeps or polls for @left completions. */
static void ping_reap(struct bench_group *group, int left)
{
	struct ibv_wc wc[WC_BATCH];

	while (left > 0) {
		int cnt = bench_group_poll(group, wc);

		for (int i = 0; i < cnt; i++) {
			NEEDS(wc[i].status == IBV_WC_SUCCESS);
			if (wc[i].opcode == IBV_WC_RECV)
				bench_recv_post(&group->links[0]);
		}
		left -= cnt;
	}
}

static void ping_once(struct bench_group *group, uint64_t turn)
{
	struct bench_link *link = &group->links[0];
	const volatile char *mark = group->buf + group->hello.size - 1;
	bool is_write = group->hello.op == OP_WRITE;

	if (is_write)
		group->buf[2 * group->hello.size - 1] = bench_ping_mark(turn);
	bench_ping_post(link, link->grant.addr, link->grant.rkey);
	/* Its own completion; for a Send also that of the answer. */
	ping_reap(group, group->hello.op == OP_SEND ? 2 : 1);
	while (is_write && *mark != bench_ping_mark(turn))
		;
}

static void ping_run(struct bench_group *group, uint64_t window_ns,
		     struct bench_times *times)
{
	uint64_t now = bench_now_ns(), start, end = now + window_ns;

	while (now < end) {
		start = now;
		ping_once(group, group->links[0].posted++);
		now = bench_now_ns();
		bench_times_add(times, now - start);
	}
}

static void ping(struct client *c)
{
	const struct bench_options *opt = c->opt;
	struct bench_hello hello = opt->hello;
	struct bench_group group = { .pd = NULL }, idle = { .pd = NULL };
	atomic_bool is_over = false;
	struct streamer bulk = { .opt = opt,
				 .list_len = 1,
				 .is_over = &is_over };
	struct bench_times times;

	if (opt->idle_cnt) {
		struct bench_hello hello_idle = {
			.group_idx = 2,
			.kind = KIND_IDLE,
			.size = 8,
			.buf_cnt = 1,
			.depth = 1,
			.link_cnt = (uint32_t)opt->idle_cnt
		};

		group_connect(c, &idle, &hello_idle);
	}
	if (opt->is_beside_bulk) {
		struct bench_hello hello_bulk = { .group_idx = 1,
						  .kind = KIND_STREAM,
						  .op = OP_WRITE,
						  .size = BULK_SIZE,
						  .buf_cnt = 1,
						  .depth = BULK_DEPTH,
						  .link_cnt = 1 };

		group_connect(c, &bulk.group, &hello_bulk);
	}
	hello.kind = KIND_PING;
	hello.link_cnt = 1;
	hello.buf_cnt = 2;
	group_connect(c, &group, &hello);
	bench_times_init(&times, TIMES_MAX);
	ping_run(&group, opt->window_ns / WARM_DIVISOR, &times);
	times.cnt = 0;
	if (opt->is_beside_bulk)
		NEEDS(!pthread_create(&bulk.thread, NULL, streamer_run, &bulk));
	ping_run(&group, opt->window_ns, &times);
	if (opt->is_beside_bulk) {
		atomic_store_explicit(&is_over, true, memory_order_relaxed);
		pthread_join(bulk.thread, NULL);
		bench_print("MiB/s", bulk.per_second * BULK_SIZE / MIB);
		group_disconnect(&bulk.group);
	}
	/* A READ or atomic is a whole round trip. */
	bench_times_print(&times,
			  hello.op == OP_READ || hello.op == OP_ATOMIC ? 1 : 2);
	bench_times_fini(&times);
	group_disconnect(&group);
	if (opt->idle_cnt)
		group_disconnect(&idle);
}

void bench_connect(const struct bench_options *opt)
{
	struct client c = { .opt = opt };

	NEEDS(!getaddrinfo(opt->host, opt->port, NULL, &c.addr));
	NEEDS(c.channel = rdma_create_event_channel());
	(opt->is_ping ? ping : stream)(&c);
	rdma_destroy_event_channel(c.channel);
	freeaddrinfo(c.addr);
}
