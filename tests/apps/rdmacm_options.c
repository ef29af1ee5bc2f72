/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* rdma_set_option(), checked by its effects outside of the process. */
#include "rdmacm.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/wait.h>

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

static void ack_timeout_of(uint8_t timeout)
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
	/* It would count a window that is closed. */
	MUST(sockopt_of(l.child, IPPROTO_TCP, TCP_USER_TIMEOUT) == 0);
	MUST(sockopt_of(mirror(&l, &copy), IPPROTO_TCP, TCP_USER_TIMEOUT) == 0);
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
	ack_timeout_of(0);
	ack_timeout_of(10);
	ack_timeout_of(18);
}

/* More than the buffers of both sockets take. */
#define STOPPED_LEN (64u << 20)
/* Three times the least time, and TCP looks after 0.2, 0.6 and 1.4 s. */
#define STOPPED_MS 3000

struct room {
	char *memory; /* of the peer */
	uint32_t rkey;
};

/* A peer that lets its memory be written to, in a process of its own. */
static void stopped_peer(int port_fd)
{
	struct rdma_event_channel *chan = chan_new();
	struct rdma_conn_param param = { .private_data_len =
						 sizeof(struct room) };
	struct rdma_cm_event *event;
	struct room room = { .memory = calloc(1, STOPPED_LEN) };
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	uint16_t port_be;

	(void)listener_new(chan, v4_text, &port_be);
	MUST(write(port_fd, &port_be, sizeof(port_be)) == sizeof(port_be));
	event = event_of(chan, RDMA_CM_EVENT_CONNECT_REQUEST);
	id = event->id;
	rdma_ack_cm_event(event);
	qp_new(id);
	MUST(room.memory);
	mr = ibv_reg_mr(id->pd, room.memory, STOPPED_LEN,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	MUST(mr);
	room.rkey = mr->rkey;
	param.private_data = &room;
	MUST(rdma_accept(id, &param) == 0);
	expect(chan, RDMA_CM_EVENT_ESTABLISHED);
	expect(chan, RDMA_CM_EVENT_DISCONNECTED);
	MUST(room.memory[STOPPED_LEN - 1] == 'x');
	exit(0);
}

static struct room connect_to_room(struct rdma_cm_id *id, uint16_t port_be)
{
	struct rdma_cm_event *event;
	struct room room;

	MUST(option(id, RDMA_OPTION_ID_ACK_TIMEOUT, 10) == 0);
	id_route(id, v4_text, port_be);
	qp_new(id);
	id_connect(id, NULL, 0);
	event = event_of(id->channel, RDMA_CM_EVENT_ESTABLISHED);
	MUST(event->param.conn.private_data_len >= sizeof(room));
	memcpy(&room, event->param.conn.private_data, sizeof(room));
	rdma_ack_cm_event(event);
	return room;
}

/* One WRITE of all; its completion comes within @ms, or not. */
static int completion_of(struct rdma_cm_id *id, struct ibv_wc *ret_wc, int ms)
{
	uint64_t end_ms = now_ms() + (uint64_t)ms;
	int cnt;

	do {
		cnt = ibv_poll_cq(id->qp->send_cq, 1, ret_wc);
		if (cnt == 0)
			poll(NULL, 0, 1);
	} while (cnt == 0 && now_ms() < end_ms);
	return cnt;
}

/* An adapter acknowledges whatever its program does. */
void rdmacm_ack_stopped(void)
{
	struct rdma_event_channel *chan;
	struct ibv_send_wr write = { .opcode = IBV_WR_RDMA_WRITE,
				     .send_flags = IBV_SEND_SIGNALED,
				     .num_sge = 1 },
			   *bad;
	char *memory = malloc(STOPPED_LEN);
	struct ibv_sge sge = { .addr = (uintptr_t)memory,
			       .length = STOPPED_LEN };
	struct rdma_cm_id *id;
	struct ibv_wc wc;
	struct room room;
	int pipes[2], status;
	uint16_t port_be;
	pid_t pid;

	MUST(memory && pipe(pipes) == 0);
	memset(memory, 'x', STOPPED_LEN);
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0)
		stopped_peer(pipes[1]);
	MUST(read(pipes[0], &port_be, sizeof(port_be)) == sizeof(port_be));
	chan = chan_new();
	id = id_new(chan, NULL);
	room = connect_to_room(id, port_be);
	MUST(kill(pid, SIGSTOP) == 0);
	MUST(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
	sge.lkey = ibv_reg_mr(id->pd, memory, STOPPED_LEN, 0)->lkey;
	write.sg_list = &sge;
	write.wr.rdma.remote_addr = (uintptr_t)room.memory;
	write.wr.rdma.rkey = room.rkey;
	MUST(ibv_post_send(id->qp, &write, &bad) == 0);
	MUST(completion_of(id, &wc, STOPPED_MS) == 0);
	MUST(!event_within(chan, 0));
	MUST(kill(pid, SIGCONT) == 0);
	MUST(completion_of(id, &wc, WAIT_MS) == 1);
	MUST(wc.status == IBV_WC_SUCCESS);
	MUST(rdma_disconnect(id) == 0);
	MUST(waitpid(pid, &status, 0) == pid && status == 0);
	id_end(id);
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
