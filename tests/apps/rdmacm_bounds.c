/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Limits, orders and time-outs of rdma_cm. */
#include "rdmacm.h"

#include <pthread.h>

/* ---- backlog ---- */

#define DIALLERS 3

static const struct {
	int backlog, wait_cnt; /* how many of DIALLERS may wait at once */
} backlogs[] = { { 1, 1 },	   { 2, 2 },	       { 0, DIALLERS },
		 { -1, DIALLERS }, { 4096, DIALLERS }, { 1 << 30, DIALLERS } };

static void backlog_of(int backlog, int wait_cnt)
{
	struct rdma_event_channel *there = chan_new(), *here[DIALLERS];
	struct rdma_cm_id *listener = id_new(there, NULL), *id[DIALLERS];
	struct sockaddr_in addr = addr_of("127.0.0.1", 0);
	struct rdma_cm_event *event;

	MUST(rdma_bind_addr(listener, (struct sockaddr *)&addr) == 0);
	MUST(rdma_listen(listener, backlog) == 0);
	for (int i = 0; i < DIALLERS; i++) {
		here[i] = chan_new();
		id[i] = id_new(here[i], NULL);
		id_route(id[i], "127.0.0.1", rdma_get_src_port(listener));
		qp_new(id[i]);
		id_connect(id[i], NULL, 0);
		if (i >= wait_cnt)
			expect(here[i], RDMA_CM_EVENT_REJECTED);
		else if (i == 0) /* the others come after it */
			MUST(poll(&(struct pollfd){ .fd = there->fd,
						    .events = POLLIN },
				  1, WAIT_MS) == 1);
	}
	for (int i = 0; i < wait_cnt; i++) {
		struct rdma_cm_id *child;

		event = event_of(there, RDMA_CM_EVENT_CONNECT_REQUEST);
		child = event->id;
		rdma_ack_cm_event(event);
		/* A peer that is released gets an event. */
		id_end(child);
		expect(here[i], RDMA_CM_EVENT_REJECTED);
	}
	MUST(!event_within(there, 0));
	for (int i = 0; i < DIALLERS; i++) {
		id_end(id[i]);
		rdma_destroy_event_channel(here[i]);
	}
	id_end(listener);
	rdma_destroy_event_channel(there);
}

void rdmacm_backlog(void)
{
	for (size_t i = 0; i < sizeof(backlogs) / sizeof(backlogs[0]); i++)
		backlog_of(backlogs[i].backlog, backlogs[i].wait_cnt);
}

/* ---- private data ---- */

static void data_is(const struct rdma_conn_param *conn, const void *data,
		    uint8_t len)
{
	MUST(conn->private_data_len == len);
	MUST(len == 0 || memcmp(conn->private_data, data, len) == 0);
}

static void data_both_ways(uint8_t len, bool is_rejected)
{
	struct rdma_event_channel *there = chan_new(), *here = chan_new();
	struct rdma_cm_id *id = id_new(here, NULL), *listener, *child;
	struct rdma_conn_param param = { .private_data_len = len };
	struct rdma_cm_event *event;
	uint8_t ask[255], answer[255];
	uint16_t port_be;

	for (int i = 0; i < 255; i++) {
		ask[i] = (uint8_t)rand();
		answer[i] = (uint8_t)rand();
	}
	listener = listener_new(there, "127.0.0.1", &port_be);
	id_route(id, "127.0.0.1", port_be);
	qp_new(id);
	id_connect(id, ask, len);
	event = event_of(there, RDMA_CM_EVENT_CONNECT_REQUEST);
	data_is(&event->param.conn, ask, len);
	child = event->id;
	rdma_ack_cm_event(event);
	param.private_data = answer;
	if (is_rejected) {
		MUST(rdma_reject(child, answer, len) == 0);
		/* A second reject is refused. */
		MUST(rdma_reject(child, answer, len) < 0 && errno == EINVAL);
		MUST(rdma_accept(child, &param) < 0);
		event = event_of(here, RDMA_CM_EVENT_REJECTED);
	} else {
		qp_new(child);
		MUST(rdma_accept(child, &param) == 0);
		MUST(rdma_reject(child, NULL, 0) < 0 && errno == EINVAL);
		event = event_of(here, RDMA_CM_EVENT_ESTABLISHED);
		expect(there, RDMA_CM_EVENT_ESTABLISHED);
	}
	data_is(&event->param.conn, answer, len);
	rdma_ack_cm_event(event);
	id_end(id);
	id_end(child);
	id_end(listener);
	rdma_destroy_event_channel(here);
	rdma_destroy_event_channel(there);
}

void rdmacm_data(void)
{
	static const uint8_t lens[] = { 0, 1, 56, 148, 196, 254, 255 };

	for (size_t i = 0; i < sizeof(lens); i++) {
		data_both_ways(lens[i], false);
		data_both_ways(lens[i], true);
	}
}

/* ---- an edge per event ---- */

/* Read until EAGAIN after each edge, as EPOLLET requires. */
void rdmacm_edge(void)
{
	struct rdma_event_channel *chan = chan_new();
	struct sockaddr_in addr = addr_of("127.0.0.1", htons(9));
	struct epoll_event ready,
		want = { .events = EPOLLIN | EPOLLET, .data.u32 = 7 };
	struct rdma_cm_event *event;
	struct rdma_cm_id *id[8];
	int epfd = epoll_create1(0);

	MUST(epoll_ctl(epfd, EPOLL_CTL_ADD, chan->fd, &want) == 0);
	MUST(epoll_wait(epfd, &ready, 1, 0) == 0);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 8; i++) {
			id[i] = id_new(chan, NULL);
			MUST(rdma_resolve_addr(id[i], NULL,
					       (struct sockaddr *)&addr,
					       2000) == 0);
		}
		MUST(epoll_wait(epfd, &ready, 1, WAIT_MS) == 1);
		MUST(ready.events == EPOLLIN && ready.data.u32 == 7);
		/* No new edge, although there is something to read. */
		MUST(epoll_wait(epfd, &ready, 1, 0) == 0);
		for (int i = 0; i < 8; i++) {
			MUST(rdma_get_cm_event(chan, &event) == 0);
			MUST(event->id == id[i]);
			rdma_ack_cm_event(event);
		}
		MUST(rdma_get_cm_event(chan, &event) < 0 && errno == EAGAIN);
		MUST(epoll_wait(epfd, &ready, 1, 0) == 0);
		for (int i = 0; i < 8; i++)
			id_end(id[i]);
	}
	close(epfd);
	rdma_destroy_event_channel(chan);
}

/* ---- the end, in any order ---- */

struct link {
	struct rdma_event_channel *chan[2];
	struct rdma_cm_id *listener,
		*id[2]; /* the dialling one, the accepted one */
	struct ibv_qp *qp[2];
	struct ibv_cq *cq[2];
	struct ibv_pd *pd[2];
	struct ibv_context *context;
};

/* The queue pairs have a domain of the program, not of librdmacm, so they can
 * outlive their identities. */
static void link_qp(struct link *l, int side)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = 1,
						  .max_recv_wr = 1,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 } };

	l->pd[side] = ibv_alloc_pd(l->id[side]->verbs);
	l->cq[side] = ibv_create_cq(l->id[side]->verbs, 4, NULL, NULL, 0);
	MUST(l->pd[side] && l->cq[side]);
	attr.send_cq = attr.recv_cq = l->cq[side];
	MUST(rdma_create_qp(l->id[side], l->pd[side], &attr) == 0);
	l->qp[side] = l->id[side]->qp;
}

static void link_up(struct link *l)
{
	struct rdma_cm_event *event;
	struct ibv_recv_wr recv = { .wr_id = 5 }, *bad;
	uint16_t port_be;

	for (int i = 0; i < 2; i++)
		l->chan[i] = chan_new();
	l->listener = listener_new(l->chan[1], "127.0.0.1", &port_be);
	l->id[0] = id_new(l->chan[0], NULL);
	id_route(l->id[0], "127.0.0.1", port_be);
	link_qp(l, 0);
	id_connect(l->id[0], NULL, 0);
	event = event_of(l->chan[1], RDMA_CM_EVENT_CONNECT_REQUEST);
	l->id[1] = event->id;
	rdma_ack_cm_event(event);
	link_qp(l, 1);
	MUST(rdma_accept(l->id[1], NULL) == 0);
	for (int i = 0; i < 2; i++) {
		expect(l->chan[i], RDMA_CM_EVENT_ESTABLISHED);
		MUST(ibv_post_recv(l->qp[i], &recv, &bad) == 0);
	}
}

/* Posted work completes when the connection ends. */
static void link_flushed(const struct link *l, int side)
{
	uint64_t end_ms = now_ms() + WAIT_MS;
	struct ibv_wc wc;
	int ret;

	do {
		ret = ibv_poll_cq(l->cq[side], 1, &wc);
	} while (ret == 0 && now_ms() < end_ms);
	MUST(ret == 1 && wc.wr_id == 5 && wc.status == IBV_WC_WR_FLUSH_ERR);
}

enum step { QP0, QP1, ID0, ID1, CHAN0, CHAN1, DISC0, DISC1, STEPS };

/* A destroyed identity gets no event, but its peer does. */
static void link_step(struct link *l, enum step step)
{
	int side = step % 2;

	switch (step) {
	case QP0:
	case QP1:
		MUST(ibv_destroy_qp(l->qp[side]) == 0);
		if (l->id[side])
			l->id[side]->qp = NULL;
		l->qp[side] = NULL;
		break;
	case ID0:
	case ID1:
		MUST(rdma_destroy_id(l->id[side]) == 0);
		l->id[side] = NULL;
		break;
	case CHAN0:
	case CHAN1:
		/* librdmacm forgets the channel's identities; the file does
		 * not. */
		rdma_destroy_event_channel(l->chan[side]);
		l->chan[side] = NULL;
		l->id[side] = NULL;
		if (side == 1)
			l->listener = NULL;
		break;
	case DISC0:
	case DISC1:
		MUST(rdma_disconnect(l->id[side]) == 0);
		break;
	case STEPS:
		break;
	}
}

static void link_down(struct link *l)
{
	for (int i = 0; i < 2; i++) {
		if (l->qp[i]) {
			link_flushed(l, i);
			MUST(ibv_destroy_qp(l->qp[i]) == 0);
		}
		if (l->id[i]) {
			l->id[i]->qp = NULL;
			MUST(rdma_destroy_id(l->id[i]) == 0);
		}
		MUST(ibv_destroy_cq(l->cq[i]) == 0);
		MUST(ibv_dealloc_pd(l->pd[i]) == 0);
	}
	if (l->listener)
		MUST(rdma_destroy_id(l->listener) == 0);
	for (int i = 0; i < 2; i++)
		if (l->chan[i])
			rdma_destroy_event_channel(l->chan[i]);
}

static const struct {
	enum step first, second;
	int told; /* the side that gets DISCONNECTED; -1: neither exists */
} orders[] = {
	{ QP0, ID0, 1 },      { QP1, ID1, 0 },	   { ID0, QP0, 1 },
	{ ID1, QP1, 0 },      { ID0, STEPS, 1 },   { ID1, STEPS, 0 },
	{ QP0, STEPS, 1 },    { QP1, STEPS, 0 },   { CHAN0, STEPS, 1 },
	{ CHAN1, STEPS, 0 },  { CHAN0, QP0, 1 },   { DISC0, STEPS, 1 },
	{ DISC1, ID1, 0 },    { DISC0, DISC1, 1 }, { ID0, ID1, -1 },
	{ CHAN0, CHAN1, -1 }, { QP0, QP1, 1 },	   { DISC0, CHAN0, 1 },
};

void rdmacm_order(void)
{
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		struct link l = { .listener = NULL };

		link_up(&l);
		link_step(&l, orders[i].first);
		link_step(&l, orders[i].second);
		if (orders[i].told >= 0)
			expect(l.chan[orders[i].told],
			       RDMA_CM_EVENT_DISCONNECTED);
		link_down(&l);
	}
}

/* ---- an event that is not acknowledged ---- */

static struct rdma_cm_event *held;
static _Atomic bool is_acked, is_destroying;

/* Whether the program's first thread sleeps. */
static bool main_is_asleep(void)
{
	char path[64], line[256] = "", *state;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", getpid());
	file = fopen(path, "re");
	MUST(file);
	MUST(fgets(line, sizeof(line), file));
	fclose(file);
	state = strrchr(line, ')');
	MUST(state);
	return state[2] == 'S';
}

/* It has slept longer than any delay by a lock. */
static void *ack_late(void *arg)
{
	for (int cnt = 0; cnt < 20; cnt++) {
		usleep(1000);
		if (!is_destroying || !main_is_asleep())
			cnt = 0;
	}
	is_acked = true;
	rdma_ack_cm_event(held);
	return arg;
}

/* Destroying an identity waits for the acknowledgement. */
void rdmacm_unacked(void)
{
	struct rdma_event_channel *chan = chan_new();
	struct rdma_cm_id *id = id_new(chan, NULL);
	struct sockaddr_in addr = addr_of("127.0.0.1", htons(9));
	pthread_t thread;

	MUST(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 2000) == 0);
	held = event_of(chan, RDMA_CM_EVENT_ADDR_RESOLVED);
	/* A further event that is never fetched does not count. */
	MUST(rdma_resolve_route(id, 2000) == 0);
	MUST(!pthread_create(&thread, NULL, ack_late, NULL));
	is_destroying = true;
	MUST(rdma_destroy_id(id) == 0);
	MUST(is_acked);
	MUST(!pthread_join(thread, NULL));
	MUST(!event_within(chan, 0));
	rdma_destroy_event_channel(chan);
}

/* ---- addresses that cannot be reached; in a namespace of its own ---- */

static void shell(const char *command)
{
	if (system(command) != 0) {
		fprintf(stderr, "%s\n", command);
		exit(1);
	}
}

static void resolve_fails(const char *text, int err)
{
	struct rdma_event_channel *chan = chan_new();
	struct rdma_cm_id *id = id_new(chan, NULL);
	struct sockaddr_in addr = addr_of(text, htons(7471));
	struct sockaddr_in self = addr_of("127.0.0.1", htons(7471));
	struct rdma_cm_event *event;

	MUST(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 2000) == 0);
	event = event_of(chan, RDMA_CM_EVENT_ADDR_ERROR);
	if (event->status != -err)
		fprintf(stderr, "%s: status %d\n", text, event->status);
	MUST(event->status == -err);
	rdma_ack_cm_event(event);
	/* The identity may try another address. */
	MUST(rdma_resolve_addr(id, NULL, (struct sockaddr *)&self, 2000) == 0);
	expect(chan, RDMA_CM_EVENT_ADDR_RESOLVED);
	id_end(id);
	rdma_destroy_event_channel(chan);
}

/* Return: time until the event in milliseconds. */
static uint64_t connect_fails(const char *text, int err)
{
	struct rdma_event_channel *chan = chan_new();
	struct rdma_cm_id *id = id_new(chan, NULL);
	struct rdma_cm_event *event;
	uint64_t begin_ms;

	id_route(id, text, htons(7471));
	qp_new(id);
	begin_ms = now_ms();
	id_connect(id, NULL, 0);
	event = event_of(chan, RDMA_CM_EVENT_UNREACHABLE);
	if (event->status != -err)
		fprintf(stderr, "%s: status %d\n", text, event->status);
	MUST(event->status == -err);
	rdma_ack_cm_event(event);
	id_end(id);
	rdma_destroy_event_channel(chan);
	return now_ms() - begin_ms;
}

/* USIW_START_MS is 700 here. */
void rdmacm_unreachable(char **words)
{
	struct rdma_event_channel *chan = chan_new();
	struct rdma_cm_id *id;
	uint64_t ms;

	(void)words;
	resolve_fails("203.0.113.1", ENETUNREACH);
	shell("ip route add unreachable 203.0.113.2");
	resolve_fails("203.0.113.2", EHOSTUNREACH);
	shell("ip route add prohibit 203.0.113.3");
	resolve_fails("203.0.113.3", EACCES);
	shell("ip route add blackhole 203.0.113.4");
	resolve_fails("203.0.113.4", EINVAL);
	/* ARP is not answered: the neighbour is unknown after three tries,
	 * before the time limit. The time limit would give ETIMEDOUT. */
	shell("echo 100 > /proc/sys/net/ipv4/neigh/d0/retrans_time_ms");
	(void)connect_fails("192.0.2.9", EHOSTUNREACH);
	/* ARP is answered, and packets are dropped. */
	shell("ip neigh add 192.0.2.10 lladdr 02:00:00:00:00:01 dev d0");
	ms = connect_fails("192.0.2.10", ETIMEDOUT);
	MUST(ms >= 700 && ms < 5000);
	/* The source address is removed after the route was resolved. */
	id = id_new(chan, NULL);
	id_route(id, "192.0.2.1", htons(7471));
	qp_new(id);
	shell("ip addr del 192.0.2.1/24 dev d0");
	MUST(rdma_connect(id, &(struct rdma_conn_param){ 0 }) < 0 &&
	     errno == EADDRNOTAVAIL);
	MUST(!event_within(chan, 0));
	id_end(id);
	rdma_destroy_event_channel(chan);
}
