/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A program that listens by TCP and by rdma_cm on one port, like UCX, tgtd,
 * cmtime and targets of NVMe, and a program that connects to both.
 */
#include "rdmacm.h"

enum step { END, TCP_BIND, TCP_LISTEN, RDMA_BIND, RDMA_LISTEN };

static const struct {
	const char *name;
	enum step step[5];
} orders[] = {
	{ "tcp-first", { TCP_BIND, TCP_LISTEN, RDMA_BIND, RDMA_LISTEN } },
	{ "rdma-first", { RDMA_BIND, RDMA_LISTEN, TCP_BIND, TCP_LISTEN } },
	{ "tcp-around", { TCP_BIND, RDMA_BIND, RDMA_LISTEN, TCP_LISTEN } },
	{ "rdma-around", { RDMA_BIND, TCP_BIND, TCP_LISTEN, RDMA_LISTEN } },
};

struct server {
	struct rdma_cm_id *id;
	int fd;
	struct sockaddr_in addr;
};

static void tcp_bind(struct server *s)
{
	socklen_t len = sizeof(s->addr);
	int one = 1;

	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	MUST(s->fd >= 0);
	setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	MUST(bind(s->fd, (struct sockaddr *)&s->addr, len) == 0);
	MUST(getsockname(s->fd, (struct sockaddr *)&s->addr, &len) == 0);
}

/* The second listener uses the port of the first. */
static void take(struct server *s, enum step step)
{
	switch (step) {
	case TCP_BIND:
		tcp_bind(s);
		break;
	case TCP_LISTEN:
		MUST(listen(s->fd, 8) == 0);
		break;
	case RDMA_BIND:
		MUST(rdma_bind_addr(s->id, (struct sockaddr *)&s->addr) == 0);
		s->addr.sin_port = rdma_get_src_port(s->id);
		break;
	case RDMA_LISTEN:
		MUST(rdma_listen(s->id, 8) == 0);
		break;
	case END:
		break;
	}
}

static void serve_tcp(struct server *s)
{
	struct pollfd pfd = { .fd = s->fd, .events = POLLIN };
	char octet;
	int fd;

	MUST(poll(&pfd, 1, WAIT_MS) == 1);
	fd = accept(s->fd, NULL, NULL);
	MUST(fd >= 0);
	MUST(recv(fd, &octet, 1, MSG_WAITALL) == 1 && octet == '?');
	MUST(send(fd, "!", 1, 0) == 1);
	MUST(recv(fd, &octet, 1, MSG_WAITALL) == 0);
	close(fd);
}

static void serve_rdma(struct server *s, struct rdma_event_channel *chan)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *child;

	event = event_of(chan, RDMA_CM_EVENT_CONNECT_REQUEST);
	child = event->id;
	rdma_ack_cm_event(event);
	MUST(rdma_get_src_port(child) == s->addr.sin_port);
	qp_new(child);
	MUST(rdma_accept(child, NULL) == 0);
	expect(chan, RDMA_CM_EVENT_ESTABLISHED);
	expect(chan, RDMA_CM_EVENT_DISCONNECTED);
	id_end(child);
}

/* Arguments: an address, and an order. Prints the port. */
void rdmacm_ports_serve(char **words)
{
	struct rdma_event_channel *chan = chan_new();
	struct server s = { .addr = addr_of(words[0], 0), .fd = -1 };
	size_t i = 0;

	while (strcmp(orders[i].name, words[1]) != 0)
		MUST(++i < sizeof(orders) / sizeof(orders[0]));
	s.id = id_new(chan, NULL);
	for (const enum step *step = orders[i].step; *step; step++)
		take(&s, *step);
	MUST(rdma_get_src_port(s.id) == s.addr.sin_port);
	printf("port %u\n", ntohs(s.addr.sin_port));
	fflush(stdout);
	serve_tcp(&s);
	serve_rdma(&s, chan);
	serve_tcp(&s);
	/* No connection reached the wrong listener. */
	MUST(accept(s.fd, NULL, NULL) < 0 && errno == EAGAIN);
	id_end(s.id);
	close(s.fd);
}

static void dial_tcp(const struct sockaddr_in *addr)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char octet;

	MUST(connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0);
	MUST(send(fd, "?", 1, 0) == 1);
	MUST(recv(fd, &octet, 1, MSG_WAITALL) == 1 && octet == '!');
	close(fd);
}

/* Arguments: an address, and a port. */
void rdmacm_ports_dial(char **words)
{
	struct rdma_event_channel *chan = chan_new();
	struct rdma_cm_id *id = id_new(chan, NULL);
	uint16_t port_be = htons((uint16_t)atoi(words[1]));
	struct sockaddr_in addr = addr_of(words[0], port_be);

	dial_tcp(&addr);
	id_route(id, words[0], port_be);
	qp_new(id);
	id_connect(id, NULL, 0);
	expect(chan, RDMA_CM_EVENT_ESTABLISHED);
	MUST(rdma_get_dst_port(id) == port_be);
	MUST(rdma_disconnect(id) == 0);
	expect(chan, RDMA_CM_EVENT_DISCONNECTED);
	dial_tcp(&addr);
	id_end(id);
}

/* With USIW_PORT_SPACE=shared only one of them can listen. */
void rdmacm_ports_shared(void)
{
	struct rdma_event_channel *chan = chan_new();
	struct server s = { .addr = addr_of("127.0.0.1", 0), .fd = -1 };
	int fd;

	s.id = id_new(chan, NULL);
	tcp_bind(&s);
	MUST(listen(s.fd, 8) == 0);
	MUST(rdma_bind_addr(s.id, (struct sockaddr *)&s.addr) < 0 &&
	     errno == EADDRINUSE);
	s.addr.sin_port = 0;
	MUST(rdma_bind_addr(s.id, (struct sockaddr *)&s.addr) == 0);
	MUST(rdma_listen(s.id, 8) == 0);
	s.addr.sin_port = rdma_get_src_port(s.id);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	MUST(bind(fd, (struct sockaddr *)&s.addr, sizeof(s.addr)) < 0 &&
	     errno == EADDRINUSE);
	close(fd);
	id_end(s.id);
	close(s.fd);
}
