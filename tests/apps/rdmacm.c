/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Uses of rdma_cm that the stock programs do not cover. Both ends are in this
 * process, on stock librdmacm. main() lists the arguments.
 */
#include "rdmacm.h"

#include <sys/resource.h>

#define CONN_CNT 1000

/* ---- many connections ---- */

struct greeting {
	uint32_t index, nonce, filler[20];
};

struct end {
	struct rdma_cm_id *id;
	bool is_up, is_down;
};

static struct end
	ends[2][CONN_CNT]; /* of the dialling and of the accepting side */
static struct greeting greetings[CONN_CNT];
static uint16_t crowd_port_be;
static int begun_cnt, up_cnt, down_cnt;

static void crowd_begin(struct rdma_event_channel *chan)
{
	struct sockaddr_in addr = addr_of("127.0.0.1", crowd_port_be);
	uint32_t i = (uint32_t)begun_cnt++;
	struct greeting *greeting = &greetings[i];

	greeting->index = i;
	greeting->nonce = (uint32_t)rand();
	for (int j = 0; j < 20; j++)
		greeting->filler[j] = (uint32_t)rand();
	ends[0][i].id = id_new(chan, &ends[0][i]);
	MUST(rdma_resolve_addr(ends[0][i].id, NULL, (struct sockaddr *)&addr,
			       2000) == 0);
}

static void crowd_request(const struct rdma_cm_event *event)
{
	struct rdma_conn_param param = { .private_data_len = 4 };
	struct greeting got;
	uint32_t answer;

	MUST(event->param.conn.private_data_len >= sizeof(got));
	memcpy(&got, event->param.conn.private_data, sizeof(got));
	MUST(got.index < CONN_CNT && !ends[1][got.index].id);
	MUST(memcmp(&got, &greetings[got.index], sizeof(got)) == 0);
	answer = ~got.nonce;
	param.private_data = &answer;
	ends[1][got.index].id = event->id;
	event->id->context = &ends[1][got.index];
	qp_new(event->id);
	MUST(rdma_accept(event->id, &param) == 0);
}

static void crowd_established(const struct rdma_cm_event *event)
{
	struct end *end = event->id->context;
	uint32_t answer;

	MUST(!end->is_up);
	end->is_up = true;
	up_cnt++;
	if (end >= ends[1])
		return;
	MUST(event->param.conn.private_data_len >= sizeof(answer));
	memcpy(&answer, event->param.conn.private_data, sizeof(answer));
	MUST(answer == ~greetings[end - ends[0]].nonce);
}

static void crowd_event(const struct rdma_cm_event *event)
{
	struct end *end = event->id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		MUST(rdma_resolve_route(event->id, 2000) == 0);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		qp_new(event->id);
		id_connect(event->id, &greetings[end - ends[0]],
			   sizeof(greetings[0]));
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		crowd_request(event);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		crowd_established(event);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		MUST(end->is_up && !end->is_down);
		end->is_down = true;
		down_cnt++;
		break;
	/* With persona ca, 500 ms after the end: only on a slow machine. */
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		MUST(end->is_down);
		break;
	default:
		fprintf(stderr, "%s, status %d\n", rdma_event_str(event->event),
			event->status);
		MUST(!"an expected event");
	}
}

/* Handles one event of either channel. Both are non-blocking. */
static void crowd_step(int epfd)
{
	struct epoll_event ready;
	struct rdma_cm_event *event, copy;

	MUST(epoll_wait(epfd, &ready, 1, WAIT_MS) == 1);
	MUST(rdma_get_cm_event(ready.data.ptr, &event) == 0);
	copy = *event;
	crowd_event(&copy);
	rdma_ack_cm_event(event);
}

/* Ends each connection at one end, with or without a disconnect. */
static int crowd_part(void)
{
	int awaited_cnt = 0;

	for (int i = 0; i < CONN_CNT; i++) {
		int other = rand() % CONN_CNT;
		struct greeting swap = greetings[i];

		greetings[i] = greetings[other];
		greetings[other] = swap;
	}
	for (int i = 0; i < CONN_CNT; i++) {
		struct end *end = &ends[rand() % 2][greetings[i].index];

		if (rand() % 3) {
			MUST(rdma_disconnect(end->id) == 0);
			awaited_cnt += 2;
		} else {
			id_end(end->id);
			end->id = NULL;
			awaited_cnt++;
		}
	}
	return awaited_cnt;
}

static void many(void)
{
	struct rdma_event_channel *chan[2] = { chan_new(), chan_new() };
	struct rdma_cm_id *listener =
		listener_new(chan[1], "127.0.0.1", &crowd_port_be);
	struct rlimit limit;
	int epfd = epoll_create1(0), awaited_cnt;

	MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	limit.rlim_cur = limit.rlim_max;
	MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	for (int i = 0; i < 2; i++) {
		struct epoll_event want = { .events = EPOLLIN,
					    .data.ptr = chan[i] };

		MUST(epoll_ctl(epfd, EPOLL_CTL_ADD, chan[i]->fd, &want) == 0);
	}
	while (up_cnt < 2 * CONN_CNT) {
		while (begun_cnt < CONN_CNT && begun_cnt - up_cnt / 2 < AT_ONCE)
			crowd_begin(chan[0]);
		crowd_step(epfd);
	}
	awaited_cnt = crowd_part();
	while (down_cnt < awaited_cnt)
		crowd_step(epfd);
	id_end(listener);
	for (int side = 0; side < 2; side++) {
		for (int i = 0; i < CONN_CNT; i++) {
			if (ends[side][i].id)
				id_end(ends[side][i].id);
		}
		MUST(!event_within(chan[side], 0));
		rdma_destroy_event_channel(chan[side]);
	}
	close(epfd);
}

/* ---- one at a time ---- */

static void reject(void)
{
	struct rdma_event_channel *there = chan_new(), *here = chan_new();
	struct rdma_cm_id *id = id_new(here, NULL), *listener, *child;
	struct rdma_cm_event *event;
	char why[148];
	uint16_t port_be;

	memset(why, 'y', sizeof(why));
	listener = listener_new(there, "127.0.0.1", &port_be);
	id_route(id, "127.0.0.1", port_be);
	qp_new(id);
	id_connect(id, NULL, 0);
	event = event_of(there, RDMA_CM_EVENT_CONNECT_REQUEST);
	child = event->id;
	rdma_ack_cm_event(event);
	MUST(rdma_reject(child, why, sizeof(why)) == 0);
	id_end(child);
	event = event_of(here, RDMA_CM_EVENT_REJECTED);
	MUST(event->status == (id->verbs->device->node_type == IBV_NODE_CA
				       ? 28 /* InfiniBand's reason: consumer */
				       : -ECONNREFUSED));
	MUST(event->param.conn.private_data_len >= sizeof(why));
	MUST(memcmp(event->param.conn.private_data, why, sizeof(why)) == 0);
	rdma_ack_cm_event(event);
	id_end(id);
	id_end(listener);
}

/* Pending events migrate with the identity, those of a listener with the new
 * identity. */
static void migrate(void)
{
	struct rdma_event_channel *from = chan_new(), *to = chan_new();
	struct rdma_event_channel *there = chan_new();
	struct rdma_conn_param param = { 0 };
	struct rdma_cm_id *id = id_new(from, NULL), *listener, *child;
	struct rdma_cm_event *event;
	struct sockaddr_in addr;
	uint16_t port_be;

	listener = listener_new(from, "127.0.0.1", &port_be);
	addr = addr_of("127.0.0.1", port_be);
	MUST(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 2000) == 0);
	MUST(rdma_migrate_id(id, to) == 0);
	MUST(id->channel == to && !event_within(from, 0));
	expect(to, RDMA_CM_EVENT_ADDR_RESOLVED);
	MUST(rdma_resolve_route(id, 2000) == 0);
	expect(to, RDMA_CM_EVENT_ROUTE_RESOLVED);
	qp_new(id);
	id_connect(id, NULL, 0);
	/* The event is there, but not fetched. */
	MUST(poll(&(struct pollfd){ .fd = from->fd, .events = POLLIN }, 1,
		  WAIT_MS) == 1);
	MUST(rdma_migrate_id(listener, there) == 0);
	MUST(!event_within(from, 0));
	event = event_of(there, RDMA_CM_EVENT_CONNECT_REQUEST);
	child = event->id;
	MUST(child->channel == there && event->listen_id == listener);
	rdma_ack_cm_event(event);
	rdma_destroy_event_channel(from);
	qp_new(child);
	MUST(rdma_accept(child, &param) == 0);
	/* With persona ca the passive side waits for the active one. */
	expect(to, RDMA_CM_EVENT_ESTABLISHED);
	expect(there, RDMA_CM_EVENT_ESTABLISHED);
	MUST(rdma_disconnect(child) == 0);
	expect(there, RDMA_CM_EVENT_DISCONNECTED);
	expect(to, RDMA_CM_EVENT_DISCONNECTED);
	id_end(id);
	id_end(child);
	id_end(listener);
}

/* A peer that accepts TCP's connection and sends nothing: USIW_START_MS. */
static void mute(void)
{
	struct rdma_event_channel *chan = chan_new();
	struct rdma_cm_id *id = id_new(chan, NULL);
	struct sockaddr_in addr = addr_of("127.0.0.1", 0);
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct rdma_cm_event *event;
	uint64_t begin_ms;

	MUST(bind(fd, (struct sockaddr *)&addr, len) == 0);
	MUST(listen(fd, 1) == 0);
	MUST(getsockname(fd, (struct sockaddr *)&addr, &len) == 0);
	id_route(id, "127.0.0.1", addr.sin_port);
	qp_new(id);
	begin_ms = now_ms();
	id_connect(id, NULL, 0);
	event = event_of(chan, RDMA_CM_EVENT_UNREACHABLE);
	MUST(event->status == -ETIMEDOUT);
	MUST(now_ms() - begin_ms >= 500);
	rdma_ack_cm_event(event);
	id_end(id);
	close(fd);
}

static void refused(void)
{
	static const enum rdma_port_space spaces[] = { RDMA_PS_UDP,
						       RDMA_PS_IPOIB,
						       RDMA_PS_IB };
	struct rdma_event_channel *chan = chan_new();
	struct sockaddr_in local = addr_of("127.0.0.1", 0);
	struct sockaddr_in group = addr_of("239.1.2.3", 0);
	struct sockaddr_in foreign = addr_of("192.0.2.77", 0);
	struct sockaddr_storage ib = { .ss_family = AF_IB };
	struct rdma_cm_id *id, *other;

	/* With persona ca there are datagrams. */
	for (int i = persona_is_ca() ? 2 : 0; i < 3; i++) {
		errno = 0;
		MUST(rdma_create_id(chan, &id, NULL, spaces[i]) < 0 &&
		     errno == EOPNOTSUPP);
	}
	id = id_new(chan, NULL);
	MUST(rdma_bind_addr(id, (struct sockaddr *)&ib) < 0 && errno == EINVAL);
	MUST(rdma_bind_addr(id, (struct sockaddr *)&foreign) < 0 &&
	     errno == EADDRNOTAVAIL);
	MUST(rdma_bind_addr(id, (struct sockaddr *)&local) == 0);
	MUST(rdma_join_multicast(id, (struct sockaddr *)&group, NULL) < 0 &&
	     errno == (persona_is_ca() ? EINVAL : EOPNOTSUPP));
	/* Its port stays in use until it is destroyed. */
	local.sin_port = rdma_get_src_port(id);
	other = id_new(chan, NULL);
	MUST(rdma_bind_addr(other, (struct sockaddr *)&local) < 0 &&
	     errno == EADDRINUSE);
	id_end(id);
	MUST(rdma_bind_addr(other, (struct sockaddr *)&local) == 0);
	MUST(!event_within(chan, 0));
	id_end(other);
}

/* ---- two devices; arguments: word, address and device of each ---- */

static void device_is(const struct rdma_cm_id *id, const char *name)
{
	MUST(id->verbs);
	if (strcmp(id->verbs->device->name, name) != 0)
		fprintf(stderr, "%s, not %s\n", id->verbs->device->name, name);
	MUST(strcmp(id->verbs->device->name, name) == 0);
}

static void wildcard(char **words)
{
	struct rdma_event_channel *there = chan_new(), *here = chan_new();
	struct rdma_conn_param param = { 0 };
	struct rdma_cm_id *listener;
	uint16_t port_be;

	listener = listener_new(there, "0.0.0.0", &port_be);
	MUST(!listener->verbs);
	for (; words[0]; words += 2) {
		struct rdma_cm_id *id = id_new(here, NULL), *child;
		struct sockaddr_in want = addr_of(words[0], port_be);
		struct rdma_cm_event *event;

		id_route(id, words[0], port_be);
		qp_new(id);
		device_is(id, words[1]);
		id_connect(id, NULL, 0);
		event = event_of(there, RDMA_CM_EVENT_CONNECT_REQUEST);
		child = event->id;
		rdma_ack_cm_event(event);
		device_is(child, words[1]);
		MUST(memcmp(rdma_get_local_addr(child), &want, 8) == 0);
		qp_new(child);
		MUST(rdma_accept(child, &param) == 0);
		expect(here, RDMA_CM_EVENT_ESTABLISHED);
		expect(there, RDMA_CM_EVENT_ESTABLISHED);
		id_end(child);
		expect(here, RDMA_CM_EVENT_DISCONNECTED);
		id_end(id);
	}
	id_end(listener);
}

/* The destination and its device. A shell command changes the route in
 * between. */
static void route(char **words)
{
	struct rdma_event_channel *chan = chan_new();

	for (; words[0] && words[1]; words += 3) {
		struct sockaddr_in addr = addr_of(words[0], htons(7471));
		struct rdma_cm_id *id = id_new(chan, NULL);

		MUST(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr,
				       2000) == 0);
		expect(chan, RDMA_CM_EVENT_ADDR_RESOLVED);
		device_is(id, words[1]);
		id_end(id);
		if (!words[2])
			break;
		MUST(system(words[2]) == 0);
	}
}

static const struct {
	const char *word;
	void (*run)(void);
} cases[] = {
	{ "many", many },
	{ "reject", reject },
	{ "migrate", migrate },
	{ "mute", mute },
	{ "refused", refused },
	{ "commands", rdmacm_commands },
	{ "addrinfo", rdmacm_addrinfo },
	{ "endpoint", rdmacm_endpoint },
	{ "sync", rdmacm_sync },
	{ "establish", rdmacm_establish },
	{ "early", rdmacm_early },
	{ "path", rdmacm_path },
	{ "tos", rdmacm_tos },
	{ "ack-timeout", rdmacm_ack_timeout },
	{ "ack-stopped", rdmacm_ack_stopped },
	{ "reuseaddr", rdmacm_reuseaddr },
	{ "afonly", rdmacm_afonly },
	{ "no-option", rdmacm_no_option },
	{ "backlog", rdmacm_backlog },
	{ "data", rdmacm_data },
	{ "edge", rdmacm_edge },
	{ "order", rdmacm_order },
	{ "unacked", rdmacm_unacked },
	{ "ports-shared", rdmacm_ports_shared },
};

static const struct {
	const char *word;
	void (*run)(char **words);
} cases_with_words[] = {
	{ "wildcard", wildcard },
	{ "route", route },
	{ "unreachable", rdmacm_unreachable },
	{ "ack-gone", rdmacm_ack_gone },
	{ "ports-serve", rdmacm_ports_serve },
	{ "ports-dial", rdmacm_ports_dial },
	{ "afonly-default", rdmacm_afonly_default },
};

int main(int argc, char **argv)
{
	srand((unsigned)now_ms());
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (argc == 2 && strcmp(argv[1], cases[i].word) == 0) {
			cases[i].run();
			return 0;
		}
	}
	for (size_t i = 0;
	     i < sizeof(cases_with_words) / sizeof(cases_with_words[0]); i++) {
		if (argc > 2 &&
		    strcmp(argv[1], cases_with_words[i].word) == 0) {
			cases_with_words[i].run(argv + 2);
			return 0;
		}
	}
	return 2;
}
