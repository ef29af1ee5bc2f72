/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * For programs under `usiw run` that connect to themselves by rdma_cm: both
 * ends in one thread, on objects of the caller.
 */
#ifndef LOOP_H
#define LOOP_H

#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "needs.h"

/* Longer than any operation takes here, also under a sanitizer. */
#define LOOP_LIMIT_S 20

struct loop {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener, *active, *passive;
};

static inline struct rdma_cm_id *loop_expect(struct loop *l,
					     enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	NEEDS(rdma_get_cm_event(l->channel, &event) == 0);
	if (event->event != type) {
		printf("got %s (%d), want %s\n", rdma_event_str(event->event),
		       event->status, rdma_event_str(type));
		exit(1);
	}
	id = event->id;
	NEEDS(rdma_ack_cm_event(event) == 0);
	return id;
}

/* Opens a listener, and an identity with a resolved route to it, which has
 * verbs. */
static inline void loop_open(struct loop *l)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	l->channel = rdma_create_event_channel();
	NEEDS(l->channel);
	NEEDS(!rdma_create_id(l->channel, &l->listener, NULL, RDMA_PS_TCP));
	NEEDS(!rdma_bind_addr(l->listener, (struct sockaddr *)&addr));
	NEEDS(!rdma_listen(l->listener, 1));
	addr.sin_port = rdma_get_src_port(l->listener);
	NEEDS(!rdma_create_id(l->channel, &l->active, NULL, RDMA_PS_TCP));
	NEEDS(!rdma_resolve_addr(l->active, NULL, (struct sockaddr *)&addr,
				 2000));
	loop_expect(l, RDMA_CM_EVENT_ADDR_RESOLVED);
	NEEDS(!rdma_resolve_route(l->active, 2000));
	loop_expect(l, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

/* Makes a QP for each end by @attr and connects them. */
static inline void loop_connect(struct loop *l,
				const struct ibv_qp_init_attr_ex *attr)
{
	struct rdma_conn_param param = { .responder_resources = 8,
					 .initiator_depth = 8 };
	struct ibv_qp_init_attr_ex own = *attr;

	NEEDS(!rdma_create_qp_ex(l->active, &own));
	NEEDS(!rdma_connect(l->active, &param));
	l->passive = loop_expect(l, RDMA_CM_EVENT_CONNECT_REQUEST);
	own = *attr;
	NEEDS(!rdma_create_qp_ex(l->passive, &own));
	NEEDS(!rdma_accept(l->passive, &param));
	loop_expect(l, RDMA_CM_EVENT_ESTABLISHED);
	loop_expect(l, RDMA_CM_EVENT_ESTABLISHED);
}

/* Closes @l. The QPs are destroyed first, so that no event results. */
static inline void loop_close(struct loop *l)
{
	rdma_destroy_qp(l->active);
	rdma_destroy_qp(l->passive);
	NEEDS(!rdma_destroy_id(l->active));
	NEEDS(!rdma_destroy_id(l->passive));
	NEEDS(!rdma_destroy_id(l->listener));
	rdma_destroy_event_channel(l->channel);
}

static inline void loop_wc(struct ibv_cq *cq, struct ibv_wc *wc)
{
	time_t end = time(NULL) + LOOP_LIMIT_S;
	int cnt;

	do
		cnt = ibv_poll_cq(cq, 1, wc);
	while (cnt == 0 && time(NULL) < end);
	if (cnt != 1) {
		printf("no completion: %d\n", cnt);
		exit(1);
	}
}

#endif
