/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* rdma_set_option(), checked by its effects outside of the process. */
#include "rdmacm.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static const char *v4_text = "127.0.0.1";

static union address loopback(int family, uint16_t port_be)
{
	union address addr = { .v4 = { 0 } };

	if (family == AF_INET) {
		addr.v4 = addr_of(v4_text, port_be);
	} else {
		addr.v6.sin6_family = AF_INET6;
		addr.v6.sin6_port = port_be;
		addr.v6.sin6_addr = in6addr_loopback;
	}
	return addr;
}

static union address any_of(int family, uint16_t port_be)
{
	union address addr = loopback(family, port_be);

	if (family == AF_INET)
		addr.v4.sin_addr.s_addr = htonl(INADDR_ANY);
	else
		addr.v6.sin6_addr = in6addr_any;
	return addr;
}

static int option(struct rdma_cm_id *id, int name, int value)
{
	uint8_t octet = (uint8_t)value;
	bool is_octet = name == RDMA_OPTION_ID_TOS ||
			name == RDMA_OPTION_ID_ACK_TIMEOUT;

	if (rdma_set_option(id, RDMA_OPTION_ID, name,
			    is_octet ? (void *)&octet : (void *)&value,
			    is_octet ? sizeof(octet) : sizeof(value)) == 0)
		return 0;
	return errno;
}

/* The descriptor of this process's socket with these ports. */
static int socket_of(uint16_t local_be, uint16_t peer_be)
{
	for (int fd = 0; fd < 1024; fd++) {
		union address local, peer;
		socklen_t len = sizeof(local), peer_len = sizeof(peer);

		if (getsockname(fd, &local.any, &len) == 0 &&
		    getpeername(fd, &peer.any, &peer_len) == 0 &&
		    local.v4.sin_port == local_be &&
		    peer.v4.sin_port == peer_be)
			return fd;
	}
	MUST(!"a socket of the connection");
	return -1;
}

static int sockopt_of(const struct rdma_cm_id *id, int level, int name)
{
	struct rdma_cm_id *cm_id = (struct rdma_cm_id *)(uintptr_t)id;
	int fd = socket_of(rdma_get_src_port(cm_id), rdma_get_dst_port(cm_id));
	socklen_t len = sizeof(int);
	int value = -1;

	MUST(getsockopt(fd, level, name, &value, &len) == 0);
	return value;
}

static int tos_of(const struct rdma_cm_id *id, int family)
{
	return family == AF_INET ? sockopt_of(id, IPPROTO_IP, IP_TOS)
				 : sockopt_of(id, IPPROTO_IPV6, IPV6_TCLASS);
}

/* ---- options of a connection ---- */

struct link {
	struct rdma_event_channel *there, *here;
	struct rdma_cm_id *listener, *id, *child;
};

static void link_listen(struct link *l, int family, int tos)
{
	union address addr = loopback(family, 0);

	l->there = chan_new();
	l->here = chan_new();
	l->listener = id_new(l->there, NULL);
	if (tos)
		MUST(option(l->listener, RDMA_OPTION_ID_TOS, tos) == 0);
	MUST(rdma_bind_addr(l->listener, &addr.any) == 0);
	MUST(rdma_listen(l->listener, 4) == 0);
	l->id = id_new(l->here, NULL);
}

static void link_request(struct link *l, int family)
{
	union address addr = loopback(family, rdma_get_src_port(l->listener));
	struct rdma_cm_event *event;

	MUST(rdma_resolve_addr(l->id, NULL, &addr.any, 2000) == 0);
	expect(l->here, RDMA_CM_EVENT_ADDR_RESOLVED);
	MUST(rdma_resolve_route(l->id, 2000) == 0);
	expect(l->here, RDMA_CM_EVENT_ROUTE_RESOLVED);
	qp_new(l->id);
	id_connect(l->id, NULL, 0);
	event = event_of(l->there, RDMA_CM_EVENT_CONNECT_REQUEST);
	l->child = event->id;
	rdma_ack_cm_event(event);
	qp_new(l->child);
}

static void link_accept(struct link *l)
{
	MUST(rdma_accept(l->child, NULL) == 0);
	expect(l->here, RDMA_CM_EVENT_ESTABLISHED);
	expect(l->there, RDMA_CM_EVENT_ESTABLISHED);
}

static void link_end(struct link *l)
{
	id_end(l->id);
	id_end(l->child);
	id_end(l->listener);
	rdma_destroy_event_channel(l->here);
	rdma_destroy_event_channel(l->there);
}

/* The accepting side knows the port of the dialling side. */
static const struct rdma_cm_id *mirror(const struct link *l,
				       struct rdma_cm_id *copy)
{
	*copy = *l->id;
	((struct sockaddr_in *)&copy->route.addr.src_addr)->sin_port =
		rdma_get_dst_port(l->child);
	return copy;
}

static void tos_over(int family)
{
	struct rdma_cm_id copy;
	struct link l;

	link_listen(&l, family, 0x20);
	MUST(option(l.id, RDMA_OPTION_ID_TOS, 0x28) == 0);
	link_request(&l, family);
	/* The listener's value, unless the application sets its own. */
	MUST(tos_of(l.child, family) == 0x20);
	MUST(option(l.child, RDMA_OPTION_ID_TOS, 0x30) == 0);
	link_accept(&l);
	MUST(tos_of(l.child, family) == 0x30);
	MUST(tos_of(mirror(&l, &copy), family) == 0x28);
	if (l.id->route.path_rec)
		MUST(l.id->route.path_rec->traffic_class == 0x28);
	link_end(&l);
}

void rdmacm_tos(void)
{
	tos_over(AF_INET);
	tos_over(AF_INET6);
}

/* ---- ACK_TIMEOUT ---- */

static void ack_timeout_of(uint8_t timeout, int ms)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct rdma_cm_id copy;
	struct link l;

	link_listen(&l, AF_INET, 0);
	MUST(option(l.id, RDMA_OPTION_ID_ACK_TIMEOUT, timeout) == 0);
	link_request(&l, AF_INET);
	MUST(option(l.child, RDMA_OPTION_ID_ACK_TIMEOUT, timeout) == 0);
	link_accept(&l);
	MUST(sockopt_of(l.child, IPPROTO_TCP, TCP_USER_TIMEOUT) == ms);
	MUST(sockopt_of(mirror(&l, &copy), IPPROTO_TCP, TCP_USER_TIMEOUT) ==
	     ms);
	MUST(ibv_query_qp(l.id->qp, &attr, IBV_QP_TIMEOUT, &init) == 0);
	if (!timeout && l.id->route.path_rec)
		timeout = 20; /* four seconds, like InfiniBand's manager */
	MUST(attr.timeout == timeout);
	if (l.id->route.path_rec)
		MUST(l.id->route.path_rec->packet_life_time == timeout - 1);
	link_end(&l);
}

void rdmacm_ack_timeout(void)
{
	struct rdma_event_channel *chan = chan_new();
	struct rdma_cm_id *id = id_new(chan, NULL);

	MUST(option(id, RDMA_OPTION_ID_ACK_TIMEOUT, 32) == EINVAL);
	id_end(id);
	ack_timeout_of(0, 0);	  /* as long as TCP retries */
	ack_timeout_of(10, 1000); /* TCP needs at least a second */
	ack_timeout_of(18, 8589);
}

/* In a separate network namespace: the peer becomes unreachable. */
void rdmacm_ack_gone(char **words)
{
	struct ibv_send_wr send = { .wr_id = 3, .opcode = IBV_WR_SEND }, *bad;
	uint64_t begin_ms;
	struct ibv_wc wc;
	struct link l;

	v4_text = words[0];
	link_listen(&l, AF_INET, 0);
	MUST(option(l.id, RDMA_OPTION_ID_ACK_TIMEOUT, 10) == 0);
	link_request(&l, AF_INET);
	link_accept(&l);
	MUST(system(words[1]) == 0);
	begin_ms = now_ms();
	MUST(ibv_post_send(l.id->qp, &send, &bad) == 0);
	/* TCP alone would retry for a quarter of an hour. */
	expect(l.here, RDMA_CM_EVENT_DISCONNECTED);
	MUST(now_ms() - begin_ms >= 900 && now_ms() - begin_ms < 10000);
	MUST(ibv_poll_cq(l.id->qp->send_cq, 1, &wc) >= 0);
	/* The other side has not set the option, and waits. */
	MUST(!event_within(l.there, 0));
	link_end(&l);
}

/* ---- REUSEADDR ---- */

static int bind_err(struct rdma_cm_id *id, union address addr)
{
	return rdma_bind_addr(id, &addr.any) == 0 ? 0 : errno;
}

static int listen_err(struct rdma_cm_id *id)
{
	return rdma_listen(id, 1) == 0 ? 0 : errno;
}

void rdmacm_reuseaddr(void)
{
	struct rdma_event_channel *chan = chan_new();
	struct rdma_cm_id *id[3];
	union address addr;

	for (int i = 0; i < 3; i++)
		id[i] = id_new(chan, NULL);
	MUST(option(id[0], RDMA_OPTION_ID_REUSEADDR, 1) == 0);
	MUST(bind_err(id[0], loopback(AF_INET, 0)) == 0);
	addr = loopback(AF_INET, rdma_get_src_port(id[0]));
	/* Both must set the option. */
	MUST(bind_err(id[1], addr) == EADDRINUSE);
	MUST(option(id[1], RDMA_OPTION_ID_REUSEADDR, 1) == 0);
	MUST(bind_err(id[1], addr) == 0);
	/* It cannot be cleared now, and one of them may listen. */
	MUST(option(id[1], RDMA_OPTION_ID_REUSEADDR, 0) == EINVAL);
	MUST(listen_err(id[0]) == 0);
	MUST(listen_err(id[1]) == EADDRINUSE);
	MUST(option(id[2], RDMA_OPTION_ID_REUSEADDR, 1) == 0);
	MUST(bind_err(id[2], addr) == EADDRINUSE);
	id_end(id[0]);
	MUST(listen_err(id[1]) == 0);
	id_end(id[1]);
	id_end(id[2]);
}

/* ---- AFONLY ---- */

/* Whether an IPv4 address reaches it. */
static bool takes_v4(struct rdma_cm_id *listener)
{
	struct rdma_event_channel *chan = chan_new();
	struct rdma_cm_id *id = id_new(chan, NULL);
	struct rdma_cm_event *event;
	bool is_taken;

	id_route(id, "127.0.0.1", rdma_get_src_port(listener));
	qp_new(id);
	id_connect(id, NULL, 0);
	event = event_within(listener->channel, 700);
	is_taken = event;
	if (event) {
		struct rdma_cm_id *child = event->id;

		MUST(event->event == RDMA_CM_EVENT_CONNECT_REQUEST);
		MUST(rdma_get_local_addr(child)->sa_family == AF_INET);
		rdma_ack_cm_event(event);
		id_end(child);
	}
	expect(chan, RDMA_CM_EVENT_REJECTED);
	id_end(id);
	rdma_destroy_event_channel(chan);
	return is_taken;
}

void rdmacm_afonly(void)
{
	struct rdma_event_channel *chan = chan_new();
	struct rdma_cm_id *six = id_new(chan, NULL), *four = id_new(chan, NULL);
	uint16_t port_be;

	MUST(bind_err(six, any_of(AF_INET6, 0)) == 0);
	port_be = rdma_get_src_port(six);
	MUST(listen_err(six) == 0);
	MUST(takes_v4(six));
	MUST(bind_err(four, any_of(AF_INET, port_be)) == EADDRINUSE);
	MUST(option(six, RDMA_OPTION_ID_AFONLY, 1) == EINVAL);
	id_end(six);

	six = id_new(chan, NULL);
	MUST(bind_err(six, any_of(AF_INET6, port_be)) == 0);
	MUST(option(six, RDMA_OPTION_ID_AFONLY, 1) == 0); /* still allowed */
	MUST(listen_err(six) == 0);
	MUST(!takes_v4(six));
	MUST(bind_err(four, any_of(AF_INET, port_be)) == 0);
	MUST(listen_err(four) == 0);
	MUST(takes_v4(four));
	id_end(six);
	id_end(four);
	/* For IPv4 the option has no effect. */
	four = id_new(chan, NULL);
	MUST(option(four, RDMA_OPTION_ID_AFONLY, 1) == 0);
	MUST(bind_err(four, any_of(AF_INET, 0)) == 0);
	MUST(listen_err(four) == 0);
	MUST(takes_v4(four));
	id_end(four);
}

/* In a separate network namespace: the default without the option. */
void rdmacm_afonly_default(char **words)
{
	struct rdma_event_channel *chan = chan_new();
	struct rdma_cm_id *id = id_new(chan, NULL);

	MUST(system(words[0]) == 0);
	MUST(bind_err(id, any_of(AF_INET6, 0)) == 0);
	MUST(listen_err(id) == 0);
	MUST(!takes_v4(id));
	id_end(id);
	id = id_new(chan, NULL);
	MUST(option(id, RDMA_OPTION_ID_AFONLY, 0) == 0);
	MUST(bind_err(id, any_of(AF_INET6, 0)) == 0);
	MUST(listen_err(id) == 0);
	MUST(takes_v4(id));
	id_end(id);
}

/* ---- invalid options ---- */

void rdmacm_no_option(void)
{
	static const struct {
		int level, name;
		size_t len; /* the valid length; 0: there is none */
	} rows[] = {
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, 1 },
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, 4 },
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, 4 },
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, 1 },
		{ RDMA_OPTION_ID, 4, 0 },
		{ RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, 0 },
		{ 2, 0, 0 },
	};
	struct rdma_event_channel *chan = chan_new();
	struct rdma_cm_id *id = id_new(chan, NULL);
	uint8_t value[128] = { 0 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t len = 0; len <= sizeof(value); len++) {
			int want = len == rows[i].len ? 0 : EINVAL;

			if (!rows[i].len)
				want = ENOSYS;
			MUST((rdma_set_option(id, rows[i].level, rows[i].name,
					      value, len) == 0
				      ? 0
				      : errno) == want);
		}
	}
	MUST(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, (void *)8,
			     1) < 0 &&
	     errno == EFAULT);
	MUST(!event_within(chan, 0));
	id_end(id);
}
