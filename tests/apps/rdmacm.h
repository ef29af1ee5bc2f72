/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Common parts of rdmacm.c: channels, events, identities. */
#ifndef APPS_RDMACM_H
#define APPS_RDMACM_H

#include "rdmacm_must.h"

#include <rdma/rdma_cma.h>

static inline bool persona_is_ca(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	bool is_ca;

	MUST(list && list[0]);
	is_ca = list[0]->node_type == IBV_NODE_CA;
	ibv_free_device_list(list);
	return is_ca;
}

static inline struct rdma_event_channel *chan_new(void)
{
	struct rdma_event_channel *chan = rdma_create_event_channel();

	MUST(chan);
	MUST(fcntl(chan->fd, F_SETFL, O_NONBLOCK) == 0);
	return chan;
}

/* Return: NULL: no event within @ms. */
static inline struct rdma_cm_event *
event_within(struct rdma_event_channel *chan, int ms)
{
	struct epoll_event ready, want = { .events = EPOLLIN };
	struct rdma_cm_event *event = NULL;
	int epfd = epoll_create1(0), cnt;

	MUST(epfd >= 0);
	MUST(epoll_ctl(epfd, EPOLL_CTL_ADD, chan->fd, &want) == 0);
	do { /* a process that was stopped comes back with EINTR */
		cnt = epoll_wait(epfd, &ready, 1, ms);
	} while (cnt < 0 && errno == EINTR);
	if (cnt == 1)
		MUST(rdma_get_cm_event(chan, &event) == 0);
	else
		MUST(rdma_get_cm_event(chan, &event) < 0 && errno == EAGAIN);
	close(epfd);
	return event;
}

static inline struct rdma_cm_event *event_of(struct rdma_event_channel *chan,
					     enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = event_within(chan, WAIT_MS);

	MUST(event);
	if (event->event != type)
		fprintf(stderr, "%s, status %d, instead of %s\n",
			rdma_event_str(event->event), event->status,
			rdma_event_str(type));
	MUST(event->event == type);
	return event;
}

static inline void expect(struct rdma_event_channel *chan,
			  enum rdma_cm_event_type type)
{
	rdma_ack_cm_event(event_of(chan, type));
}

static inline struct rdma_cm_id *id_new(struct rdma_event_channel *chan,
					void *context)
{
	struct rdma_cm_id *id;

	MUST(rdma_create_id(chan, &id, context, RDMA_PS_TCP) == 0);
	return id;
}

static inline struct rdma_cm_id *listener_new(struct rdma_event_channel *chan,
					      const char *text,
					      uint16_t *ret_port_be)
{
	struct rdma_cm_id *id = id_new(chan, NULL);
	struct sockaddr_in addr = addr_of(text, 0);

	MUST(rdma_bind_addr(id, (struct sockaddr *)&addr) == 0);
	MUST(rdma_listen(id, AT_ONCE * 2) == 0);
	*ret_port_be = rdma_get_src_port(id);
	return id;
}

static inline void qp_new(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	MUST(rdma_create_qp(id, NULL, &attr) == 0);
}

static inline void id_end(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	MUST(rdma_destroy_id(id) == 0);
}

static inline void id_connect(struct rdma_cm_id *id, const void *pd,
			      uint8_t len)
{
	struct rdma_conn_param param = { .private_data = pd,
					 .private_data_len = len };

	MUST(rdma_connect(id, &param) == 0);
}

/* Resolves up to the point where a separate channel can wait for the
 * connection. */
static inline void id_route(struct rdma_cm_id *id, const char *text,
			    uint16_t port_be)
{
	struct sockaddr_in addr = addr_of(text, port_be);

	MUST(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 2000) == 0);
	expect(id->channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	MUST(rdma_resolve_route(id, 2000) == 0);
	expect(id->channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

#endif
