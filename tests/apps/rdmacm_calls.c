/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Calls of librdmacm that are built from commands of the file. */
#include "rdmacm.h"

#include <netdb.h>
#include <pthread.h>

#include <rdma/rdma_verbs.h>

static bool id_is_ca(const struct rdma_cm_id *id)
{
	return id->verbs->device->node_type == IBV_NODE_CA;
}

/* ---- rdma_getaddrinfo ---- */

/* EOPNOTSUPP with persona rnic, which has no datagrams. */
#define UD_ERR (-1)

static const struct {
	const char *node, *service;
	int flags, family, ps, qp_type;
	int rc;		/* result of getaddrinfo(); any error if not 0 */
	int ep_err;	/* result of rdma_create_ep() then, or UD_ERR */
	const char *is; /* the resulting address */
} infos[] = {
	{ "127.0.0.1", "0", RAI_PASSIVE, 0, RDMA_PS_TCP, 0, 0, 0, "127.0.0.1" },
	{ "::1", "0", RAI_PASSIVE, 0, RDMA_PS_TCP, 0, 0, 0, "::1" },
	{ NULL, "0", RAI_PASSIVE, AF_INET, RDMA_PS_TCP, IBV_QPT_RC, 0, 0,
	  "0.0.0.0" },
	{ NULL, "0", RAI_PASSIVE, AF_INET6, RDMA_PS_TCP, IBV_QPT_RC, 0, 0,
	  "::" },
	{ "127.0.0.1", "7471", RAI_NUMERICHOST, 0, RDMA_PS_TCP, IBV_QPT_RC, 0,
	  0, "127.0.0.1" },
	{ "::1", "7471", RAI_NUMERICHOST | RAI_NOROUTE, 0, RDMA_PS_TCP, 0, 0, 0,
	  "::1" },
	{ "127.0.0.1", "7471", RAI_NOROUTE, AF_INET, RDMA_PS_TCP, 0, 0, 0,
	  "127.0.0.1" },
	{ "127.0.0.1", "7471", RAI_FAMILY, AF_INET, RDMA_PS_TCP, 0, 0, 0,
	  "127.0.0.1" },
	{ "127.0.0.1", "7471", RAI_FAMILY, AF_INET6, RDMA_PS_TCP, 0, 1, 0,
	  NULL },
	{ "localhost", "7471", RAI_NUMERICHOST, 0, RDMA_PS_TCP, 0, 1, 0, NULL },
	{ "127.0.0.1", "no such service", 0, 0, RDMA_PS_TCP, 0, 1, 0, NULL },
	/* Unsupported values. */
	{ "::1", "7471", RAI_NUMERICHOST | RAI_FAMILY, AF_IB, RDMA_PS_TCP, 0, 0,
	  EINVAL, NULL },
	{ "127.0.0.1", "7471", 0, 0, RDMA_PS_UDP, 0, 0, UD_ERR, NULL },
	{ "127.0.0.1", "7471", 0, 0, RDMA_PS_IPOIB, IBV_QPT_UD, 0, UD_ERR,
	  NULL },
	{ "127.0.0.1", "7471", 0, 0, RDMA_PS_IB, 0, 0, EOPNOTSUPP, NULL },
};

static void info_is(const struct rdma_addrinfo *rai, const char *text,
		    int flags)
{
	bool is_passive = flags & RAI_PASSIVE;
	struct sockaddr *addr = is_passive ? rai->ai_src_addr
					   : rai->ai_dst_addr;
	socklen_t len = is_passive ? rai->ai_src_len : rai->ai_dst_len;
	char got[64];

	MUST((rai->ai_flags & RAI_PASSIVE) == (flags & RAI_PASSIVE));
	MUST(rai->ai_port_space == RDMA_PS_TCP);
	MUST(rai->ai_qp_type == IBV_QPT_RC);
	MUST(rai->ai_family == addr->sa_family);
	MUST(!rai->ai_route_len && !rai->ai_connect_len);
	MUST(getnameinfo(addr, len, got, sizeof(got), NULL, 0,
			 NI_NUMERICHOST) == 0);
	MUST(strcmp(got, text) == 0);
}

static int ep_err(size_t row, bool is_ca)
{
	if (infos[row].ep_err != UD_ERR)
		return infos[row].ep_err;
	return is_ca ? 0 : EOPNOTSUPP;
}

void rdmacm_addrinfo(void)
{
	bool is_ca = persona_is_ca();
	struct rdma_addrinfo *rai;
	struct rdma_cm_id *id;

	MUST(rdma_getaddrinfo(NULL, NULL, NULL, &rai) < 0 && errno == EINVAL);
	MUST(rdma_getaddrinfo("127.0.0.1", "7471", NULL, &rai) == 0);
	info_is(rai, "127.0.0.1", 0);
	rdma_freeaddrinfo(rai);
	for (size_t i = 0; i < sizeof(infos) / sizeof(infos[0]); i++) {
		struct rdma_addrinfo hints = { .ai_flags = infos[i].flags,
					       .ai_family = infos[i].family,
					       .ai_port_space = infos[i].ps,
					       .ai_qp_type = infos[i].qp_type };
		int ret = rdma_getaddrinfo(infos[i].node, infos[i].service,
					   &hints, &rai);

		if ((ret == 0) != (infos[i].rc == 0))
			fprintf(stderr, "row %zu: %d\n", i, ret);
		MUST((ret == 0) == (infos[i].rc == 0));
		if (ret)
			continue;
		if (infos[i].is)
			info_is(rai, infos[i].is, infos[i].flags);
		errno = 0;
		ret = rdma_create_ep(&id, rai, NULL, NULL);
		if ((ret ? errno : 0) != ep_err(i, is_ca))
			fprintf(stderr, "row %zu\n", i);
		MUST((ret ? errno : 0) == ep_err(i, is_ca));
		if (ret == 0) {
			MUST(id->verbs || strchr("0:", infos[i].is[0]));
			/* rdma_create_ep() itself destroys an identifier that
			 * failed. It must not change errno by that. */
			errno = EXDEV;
			rdma_destroy_ep(id);
			MUST(errno == EXDEV);
		}
		rdma_freeaddrinfo(rai);
	}
}

/* ---- synchronous identities ---- */

#define MESSAGE "by librdmacm alone"

struct endpoint {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	char buf[64];
};

static const struct ibv_qp_init_attr qp_attr = {
	.cap = { .max_send_wr = 2,
		 .max_recv_wr = 2,
		 .max_send_sge = 1,
		 .max_recv_sge = 1 },
	.sq_sig_all = 1,
};

static struct rdma_addrinfo *info_of(uint16_t port_be, int flags)
{
	struct rdma_addrinfo hints = { .ai_flags = flags,
				       .ai_port_space = RDMA_PS_TCP };
	struct rdma_addrinfo *rai;
	char service[8];

	snprintf(service, sizeof(service), "%u", ntohs(port_be));
	MUST(rdma_getaddrinfo("127.0.0.1", service, &hints, &rai) == 0);
	return rai;
}

static struct rdma_cm_id *ep_new(uint16_t port_be, int flags, const char *data)
{
	struct rdma_addrinfo *rai = info_of(port_be, flags);
	struct ibv_qp_init_attr attr = qp_attr;
	struct rdma_cm_id *id;

	if (data) {
		rai->ai_connect = strdup(data);
		rai->ai_connect_len = strlen(data);
	}
	MUST(rdma_create_ep(&id, rai, NULL, &attr) == 0);
	rdma_freeaddrinfo(rai);
	return id;
}

static void ep_receive(struct endpoint *ep)
{
	ep->mr = rdma_reg_msgs(ep->id, ep->buf, sizeof(ep->buf));
	MUST(ep->mr);
	MUST(rdma_post_recv(ep->id, NULL, ep->buf, sizeof(ep->buf), ep->mr) ==
	     0);
}

static void *ep_serve(void *arg)
{
	struct rdma_cm_id *listener = arg;
	struct rdma_conn_param param = { .private_data = "welcome",
					 .private_data_len = 7 };
	const struct rdma_conn_param *asked;
	struct endpoint ep;
	struct ibv_wc wc;

	/* The QP of rdma_create_ep()'s attributes comes with the request. */
	MUST(rdma_get_request(listener, &ep.id) == 0);
	MUST(ep.id->qp && ep.id->channel &&
	     ep.id->channel != listener->channel);
	asked = &ep.id->event->param.conn;
	MUST(asked->private_data_len >= 11);
	MUST(memcmp(asked->private_data, "hello world", 11) == 0);
	ep_receive(&ep);
	MUST(rdma_accept(ep.id, &param) == 0);
	MUST(rdma_get_recv_comp(ep.id, &wc) == 1);
	MUST(wc.status == IBV_WC_SUCCESS && wc.byte_len == sizeof(MESSAGE));
	MUST(strcmp(ep.buf, MESSAGE) == 0);
	MUST(rdma_post_send(ep.id, NULL, ep.buf, sizeof(MESSAGE), ep.mr, 0) ==
	     0);
	MUST(rdma_get_send_comp(ep.id, &wc) == 1);
	MUST(wc.status == IBV_WC_SUCCESS);
	/* It waits for the event itself. */
	MUST(rdma_disconnect(ep.id) == 0);
	MUST(ep.id->event->event == RDMA_CM_EVENT_DISCONNECTED);
	rdma_dereg_mr(ep.mr);
	rdma_destroy_ep(ep.id);
	return NULL;
}

static void ep_ask(uint16_t port_be)
{
	struct rdma_conn_param param = { .private_data = " world",
					 .private_data_len = 6 };
	struct endpoint ep = { .id = ep_new(port_be, 0, "hello") };
	struct ibv_wc wc;

	ep_receive(&ep);
	MUST(rdma_connect(ep.id, &param) == 0);
	MUST(ep.id->event->event == RDMA_CM_EVENT_ESTABLISHED);
	MUST(ep.id->event->param.conn.private_data_len >= 7);
	MUST(memcmp(ep.id->event->param.conn.private_data, "welcome", 7) == 0);
	strcpy(ep.buf, MESSAGE);
	MUST(rdma_post_send(ep.id, NULL, ep.buf, sizeof(MESSAGE), ep.mr, 0) ==
	     0);
	MUST(rdma_get_send_comp(ep.id, &wc) == 1);
	MUST(wc.status == IBV_WC_SUCCESS);
	MUST(rdma_get_recv_comp(ep.id, &wc) == 1);
	MUST(wc.status == IBV_WC_SUCCESS);
	/* The peer disconnects; both may do so. */
	MUST(rdma_disconnect(ep.id) == 0);
	MUST(ep.id->event->event == RDMA_CM_EVENT_DISCONNECTED);
	rdma_dereg_mr(ep.mr);
	rdma_destroy_ep(ep.id);
}

static void *reject_one(void *arg)
{
	struct rdma_cm_id *id;

	MUST(rdma_get_request(arg, &id) == 0);
	MUST(rdma_reject(id, "no", 2) == 0);
	rdma_destroy_ep(id);
	return NULL;
}

void rdmacm_endpoint(void)
{
	struct rdma_cm_id *listener = ep_new(0, RAI_PASSIVE, NULL), *id;
	uint16_t port_be;
	pthread_t thread;

	MUST(rdma_listen(listener, 4) == 0);
	port_be = rdma_get_src_port(listener);
	for (int i = 0; i < 3; i++) {
		MUST(!pthread_create(&thread, NULL, ep_serve, listener));
		ep_ask(port_be);
		MUST(!pthread_join(thread, NULL));
	}
	/* Where no events are read, errors are errnos. */
	MUST(!pthread_create(&thread, NULL, reject_one, listener));
	id = ep_new(port_be, 0, NULL);
	MUST(rdma_connect(id, NULL) < 0 && errno == ECONNREFUSED);
	MUST(id->event->event == RDMA_CM_EVENT_REJECTED);
	MUST(id->event->param.conn.private_data_len >= 2);
	MUST(!pthread_join(thread, NULL));
	rdma_destroy_ep(id);
	rdma_destroy_ep(listener);
	id = ep_new(port_be, 0, NULL);
	MUST(rdma_connect(id, NULL) < 0 && errno == ECONNREFUSED);
	rdma_destroy_ep(id);
}

/* Changes between synchronous and asynchronous, with pending events. */
void rdmacm_sync(void)
{
	struct rdma_event_channel *chan = chan_new(), *there = chan_new();
	struct rdma_cm_id *listener = id_new(NULL, NULL), *child, *id;
	struct sockaddr_in addr = addr_of("127.0.0.1", 0);
	struct rdma_cm_event *event;

	MUST(rdma_get_request(id_new(chan, NULL), &child) < 0 &&
	     errno == EINVAL);
	MUST(rdma_bind_addr(listener, (struct sockaddr *)&addr) == 0);
	MUST(rdma_listen(listener, 4) == 0);
	addr.sin_port = rdma_get_src_port(listener);
	/* No event has to be read. */
	id = id_new(NULL, NULL);
	MUST(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 2000) == 0);
	MUST(id->event->event == RDMA_CM_EVENT_ADDR_RESOLVED);
	MUST(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 2000) < 0 &&
	     errno == EINVAL);
	MUST(rdma_resolve_route(id, 2000) == 0);
	MUST(rdma_migrate_id(id, NULL) < 0 && errno == EINVAL);
	MUST(rdma_migrate_id(id, chan) == 0);
	qp_new(id);
	id_connect(id, "x", 1);
	MUST(rdma_get_request(listener, &child) == 0);
	qp_new(child);
	MUST(rdma_migrate_id(child, chan) == 0);
	MUST(rdma_accept(child, NULL) == 0);
	for (int i = 0; i < 2; i++)
		expect(chan, RDMA_CM_EVENT_ESTABLISHED);
	/* Each has a pending event. One migrates, the other stays. */
	MUST(rdma_disconnect(child) == 0);
	MUST(poll(&(struct pollfd){ .fd = chan->fd, .events = POLLIN }, 1,
		  WAIT_MS) == 1);
	MUST(rdma_migrate_id(child, there) == 0);
	expect(there, RDMA_CM_EVENT_DISCONNECTED);
	event = event_of(chan, RDMA_CM_EVENT_DISCONNECTED);
	MUST(event->id == id);
	rdma_ack_cm_event(event);
	MUST(rdma_migrate_id(id, NULL) == 0);
	MUST(id->channel != chan);
	id_end(id);
	id_end(child);
	id_end(listener);
}

/* ---- queue pairs of the application's own ---- */

static struct ibv_qp *own_qp(struct rdma_cm_id *id, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = qp_attr;
	struct ibv_qp *qp;

	attr.qp_type = IBV_QPT_RC;
	attr.send_cq = attr.recv_cq = cq;
	qp = ibv_create_qp(id->pd, &attr);
	MUST(qp);
	return qp;
}

static void own_move(struct rdma_cm_id *id, struct ibv_qp *qp,
		     enum ibv_qp_state from, enum ibv_qp_state to)
{
	for (int state = from; state <= (int)to; state++) {
		struct ibv_qp_attr attr = { .qp_state =
						    (enum ibv_qp_state)state };
		int mask = 0;

		MUST(rdma_init_qp_attr(id, &attr, &mask) == 0);
		if (mask) /* an iWARP manager has no attributes for RTS */
			MUST(ibv_modify_qp(qp, &attr, mask) == 0);
	}
}

static void await_one(struct ibv_cq *cq)
{
	uint64_t end_ms = now_ms() + WAIT_MS;
	struct ibv_wc wc;
	int ret;

	do {
		ret = ibv_poll_cq(cq, 1, &wc);
	} while (ret == 0 && now_ms() < end_ms);
	MUST(ret == 1 && wc.status == IBV_WC_SUCCESS);
}

static void own_send(struct ibv_qp *from, struct ibv_qp *to, struct ibv_mr *mr)
{
	struct ibv_sge sge = { .addr = (uintptr_t)mr->addr,
			       .length = 8,
			       .lkey = mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .sg_list = &sge,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND },
			   *bad_send;

	MUST(ibv_post_recv(to, &recv, &bad_recv) == 0);
	MUST(ibv_post_send(from, &send, &bad_send) == 0);
	await_one(from->send_cq);
	await_one(to->recv_cq);
}

struct own {
	struct rdma_event_channel *chan;
	struct rdma_cm_id *child;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
};

static void *own_serve(void *arg)
{
	struct rdma_conn_param param = { .responder_resources = 1 };
	struct rdma_cm_event *event;
	struct own *own = arg;

	event = event_of(own->chan, RDMA_CM_EVENT_CONNECT_REQUEST);
	own->child = event->id;
	rdma_ack_cm_event(event);
	own->cq = ibv_create_cq(own->child->verbs, 8, NULL, NULL, 0);
	own->qp = own_qp(own->child, own->cq);
	own_move(own->child, own->qp, IBV_QPS_INIT, IBV_QPS_RTS);
	param.qp_num = own->qp->qp_num;
	MUST(rdma_accept(own->child, &param) == 0);
	MUST(rdma_establish(own->child) < 0 && errno == EINVAL);
	expect(own->chan, RDMA_CM_EVENT_ESTABLISHED);
	return NULL;
}

static void own_resolve(struct rdma_cm_id *id, uint16_t port_be, bool is_sync)
{
	struct sockaddr_in addr = addr_of("127.0.0.1", port_be);

	if (!is_sync) {
		id_route(id, "127.0.0.1", port_be);
		return;
	}
	MUST(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 2000) == 0);
	MUST(rdma_resolve_route(id, 2000) == 0);
}

/* CONNECT_RESPONSE, and rdma_establish() when the QP is ready. */
static void establish(bool is_sync)
{
	struct own own = { .chan = chan_new() };
	struct rdma_event_channel *here = is_sync ? NULL : chan_new();
	struct rdma_cm_id *id = id_new(here, NULL), *listener;
	struct rdma_conn_param param = { .initiator_depth = 1 };
	static char buf[8];
	uint16_t port_be;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	pthread_t thread;

	listener = listener_new(own.chan, "127.0.0.1", &port_be);
	MUST(!pthread_create(&thread, NULL, own_serve, &own));
	own_resolve(id, port_be, is_sync);
	cq = ibv_create_cq(id->verbs, 8, NULL, NULL, 0);
	mr = ibv_reg_mr(id->pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	MUST(cq && mr);
	qp = own_qp(id, cq);
	param.qp_num = qp->qp_num;
	MUST(rdma_establish(id) < 0 && errno == EINVAL);
	MUST(rdma_connect(id, NULL) < 0 &&
	     errno == EINVAL); /* no QP is named */
	MUST(rdma_connect(id, &param) == 0);
	if (is_sync)
		MUST(id->event->event == RDMA_CM_EVENT_CONNECT_RESPONSE);
	else
		expect(here, RDMA_CM_EVENT_CONNECT_RESPONSE);
	own_move(id, qp, IBV_QPS_INIT, IBV_QPS_RTS);
	MUST(rdma_establish(id) == 0);
	MUST(rdma_establish(id) < 0 && errno == EINVAL);
	MUST(!pthread_join(thread, NULL));
	own_send(qp, own.qp, mr);
	own_send(own.qp, qp, mr);
	MUST(rdma_disconnect(id) == 0);
	if (is_sync)
		MUST(id->event->event == RDMA_CM_EVENT_DISCONNECTED);
	else
		expect(here, RDMA_CM_EVENT_DISCONNECTED);
	expect(own.chan, RDMA_CM_EVENT_DISCONNECTED);
	MUST(ibv_destroy_qp(qp) == 0 && ibv_destroy_qp(own.qp) == 0);
	MUST(ibv_dereg_mr(mr) == 0 && ibv_destroy_cq(cq) == 0);
	MUST(ibv_destroy_cq(own.cq) == 0);
	id_end(id);
	id_end(own.child);
	id_end(listener);
}

void rdmacm_establish(void)
{
	struct rdma_event_channel *chan = chan_new();
	struct rdma_cm_id *id = id_new(chan, NULL);

	id_route(id, "127.0.0.1", htons(7471));
	qp_new(id);
	/* librdmacm itself establishes its own QPs. */
	MUST(rdma_establish(id) < 0 && errno == EINVAL);
	id_end(id);
	establish(false);
	establish(true);
}

/* ---- a peer that accepts and disconnects ---- */

/* All of it happens before this side checks the result of its connect. */
void rdmacm_early(void)
{
	struct rdma_event_channel *there = chan_new(), *here = chan_new();
	struct rdma_cm_id *id = id_new(here, NULL), *listener, *child;
	struct rdma_cm_event *event;
	uint16_t port_be;

	listener = listener_new(there, "127.0.0.1", &port_be);
	id_route(id, "127.0.0.1", port_be);
	qp_new(id);
	id_connect(id, NULL, 0);
	event = event_of(there, RDMA_CM_EVENT_CONNECT_REQUEST);
	child = event->id;
	rdma_ack_cm_event(event);
	qp_new(child);
	MUST(rdma_accept(child, NULL) == 0);
	MUST(rdma_disconnect(child) == 0);
	id_end(child);
	expect(here, RDMA_CM_EVENT_ESTABLISHED);
	expect(here, RDMA_CM_EVENT_DISCONNECTED);
	MUST(!event_within(here, 0));
	MUST(rdma_disconnect(id) == 0);
	if (id_is_ca(id))
		expect(here, RDMA_CM_EVENT_TIMEWAIT_EXIT);
	else
		MUST(!event_within(here, 0));
	id_end(id);
	id_end(listener);
}

/* ---- queries of an identity ---- */

static void path_is(const struct rdma_cm_id *id)
{
	const struct ibv_sa_path_rec *path = id->route.path_rec;
	struct ibv_port_attr port;

	MUST(id->port_num == 1);
	if (!id_is_ca(id)) {
		MUST(id->route.num_paths == 0 && !path);
		return;
	}
	MUST(id->route.num_paths == 1 && path);
	MUST(ibv_query_port(id->verbs, 1, &port) == 0);
	MUST(path->mtu == port.active_mtu && path->mtu_selector == 2);
	MUST(path->hop_limit > 1 && path->traffic_class == 0);
	MUST(path->reversible == 1 && path->pkey == 0xffff);
	MUST(path->rate && path->packet_life_time);
	MUST(memcmp(&path->sgid, &id->route.addr.addr.ibaddr.sgid, 16) == 0);
	MUST(memcmp(&path->dgid, &id->route.addr.addr.ibaddr.dgid, 16) == 0);
	MUST(path->dgid.raw[15] == 1 && path->dgid.raw[10] == 0xff);
}

static void notify_says(struct rdma_cm_id *id, int ca_err)
{
	int err = id_is_ca(id) ? ca_err : 0;

	errno = 0;
	MUST(rdma_notify(id, IBV_EVENT_COMM_EST) == (err ? -1 : 0));
	MUST(errno == err);
}

/* For a connection of either side: its path, rdma_notify(), and its device. */
void rdmacm_path(void)
{
	struct rdma_event_channel *there = chan_new(), *here = chan_new();
	struct rdma_cm_id *id = id_new(here, NULL), *listener, *child;
	struct rdma_cm_event *event;
	struct ibv_ece ece = { .vendor_id = 1 };
	uint16_t port_be;

	listener = listener_new(there, "127.0.0.1", &port_be);
	MUST(listener->route.num_paths == 0);
	MUST(rdma_notify(id, IBV_EVENT_COMM_EST) < 0 && errno == EINVAL);
	id_route(id, "127.0.0.1", port_be);
	path_is(id);
	MUST(rdma_notify(id, IBV_EVENT_COMM_EST) < 0 && errno == EINVAL);
	MUST(rdma_resolve_route(id, 2000) < 0 && errno == EINVAL);
	/* Enhanced connection establishment is not sent to the peer. */
	MUST(rdma_set_local_ece(id, &ece) == 0);
	qp_new(id);
	id_connect(id, NULL, 0);
	event = event_of(there, RDMA_CM_EVENT_CONNECT_REQUEST);
	child = event->id;
	rdma_ack_cm_event(event);
	path_is(child);
	MUST(rdma_get_remote_ece(child, &ece) == 0 && ece.vendor_id == 0);
	MUST(rdma_get_dst_port(id) == port_be);
	MUST(rdma_get_src_port(child) == port_be);
	qp_new(child);
	MUST(rdma_accept(child, NULL) == 0);
	notify_says(child, 0);
	expect(here, RDMA_CM_EVENT_ESTABLISHED);
	expect(there, RDMA_CM_EVENT_ESTABLISHED);
	notify_says(child, EISCONN);
	/* Now both sides can read the ports of both. */
	MUST(rdma_get_dst_port(child) != 0);
	MUST(rdma_disconnect(child) == 0);
	expect(here, RDMA_CM_EVENT_DISCONNECTED);
	expect(there, RDMA_CM_EVENT_DISCONNECTED);
	MUST(rdma_disconnect(child) == 0); /* a second call is not an error */
	id_end(id);
	id_end(child);
	id_end(listener);
}
