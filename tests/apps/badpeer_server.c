/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A correct program for peers that violate the protocol: badpeer_server PORT.
 *
 * It accepts every connection, in sequence or at once. A peer's private data
 * says how many receives to post (octet 0) and how many inbound reads to allow
 * (octet 1). The private data of the answer says where memory is. Each event is
 * a line on stdout, which badpeer.py checks:
 *
 *	request N R I		connection N: R receives, I reads
 *	wc N SLOT STATUS LEN	a completion
 *	async TYPE		an asynchronous event
 *	cm N NAME		an event of the connection manager
 *	end N R DONE GUARD	all is over: DONE of R receives completed, each
 *				once; GUARD 1: no octet outside changed
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONN_MAX 64
#define RECV_MAX 64
#define RECV_SIZE 128
#define GUARD 4096
#define OPEN_SIZE 4096 /* accessible to peers */
/* Readable for peers, for long reads: little-endian 0, 1, 2 ... */
#define BIG_SIZE (32u << 20)

struct conn {
	struct rdma_cm_id *id; /* NULL: free */
	uint32_t num;
	uint32_t recv_cnt, done_cnt;
	bool is_done[RECV_MAX];
	bool is_gone;
	uint8_t buf[RECV_MAX][RECV_SIZE];
};

/* Private data of the answer, all big-endian. */
struct offer {
	uint64_t addr, big_addr;
	uint32_t open_stag, other_pd_stag, local_stag, read_only_stag;
	uint32_t write_only_stag, big_stag;
};

static struct conn conns[CONN_MAX];
static uint32_t conn_cnt;
static struct rdma_event_channel *channel;
static struct ibv_context *verbs;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_comp_channel *comp;
static struct ibv_mr *recv_mr;
static struct offer offer;
static uint8_t area[GUARD + OPEN_SIZE + GUARD];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint32_t stag(struct ibv_pd *owner, void *addr, size_t len, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(owner, addr, len, access);

	if (!mr)
		die("ibv_reg_mr");
	return htobe32(mr->rkey);
}

/* Not instrumented: each server of the test does this, and TSan would need four
 * times the memory for it. */
__attribute__((no_sanitize("thread", "address"))) static void
big_fill(uint32_t *big)
{
	for (uint32_t i = 0; i < BIG_SIZE / sizeof(*big); i++)
		big[i] = htole32(i);
}

static void memory_init(void)
{
	struct ibv_pd *other = ibv_alloc_pd(verbs);
	uint8_t *open = area + GUARD;
	uint32_t *big = malloc(BIG_SIZE);
	const int local = IBV_ACCESS_LOCAL_WRITE;

	if (!other || !big)
		die("memory");
	big_fill(big);
	memset(area, 0xa5, sizeof(area));
	offer.addr = htobe64((uintptr_t)open);
	offer.big_addr = htobe64((uintptr_t)big);
	offer.open_stag =
		stag(pd, open, OPEN_SIZE,
		     local | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	offer.other_pd_stag =
		stag(other, open, OPEN_SIZE,
		     local | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	offer.local_stag = stag(pd, open, OPEN_SIZE, local);
	offer.read_only_stag =
		stag(pd, open, OPEN_SIZE, IBV_ACCESS_REMOTE_READ);
	offer.write_only_stag =
		stag(pd, open, OPEN_SIZE, local | IBV_ACCESS_REMOTE_WRITE);
	offer.big_stag = stag(pd, big, BIG_SIZE, IBV_ACCESS_REMOTE_READ);
	recv_mr = ibv_reg_mr(pd, conns, sizeof(conns), local);
	if (!recv_mr)
		die("ibv_reg_mr");
}

static bool guards_are_intact(void)
{
	for (size_t i = 0; i < GUARD; i++) {
		if (area[i] != 0xa5 || area[GUARD + OPEN_SIZE + i] != 0xa5)
			return false;
	}
	return true;
}

static void verbs_init(struct rdma_cm_id *id)
{
	if (verbs)
		return;
	verbs = id->verbs;
	pd = ibv_alloc_pd(verbs);
	comp = ibv_create_comp_channel(verbs);
	cq = comp ? ibv_create_cq(verbs, 4096, NULL, comp, 0) : NULL;
	if (!pd || !cq || ibv_req_notify_cq(cq, 0))
		die("verbs");
	fcntl(comp->fd, F_SETFL, fcntl(comp->fd, F_GETFL) | O_NONBLOCK);
	fcntl(verbs->async_fd, F_SETFL,
	      fcntl(verbs->async_fd, F_GETFL) | O_NONBLOCK);
	memory_init();
}

static struct conn *conn_new(struct rdma_cm_id *id)
{
	for (size_t i = 0; i < CONN_MAX; i++) {
		if (!conns[i].id) {
			memset(&conns[i], 0, sizeof(conns[i]));
			conns[i].id = id;
			conns[i].num = conn_cnt++;
			id->context = &conns[i];
			return &conns[i];
		}
	}
	fprintf(stderr, "too many connections\n");
	exit(1);
}

static void post_receives(struct conn *conn)
{
	for (uint32_t i = 0; i < conn->recv_cnt; i++) {
		struct ibv_sge sge = { .addr = (uintptr_t)conn->buf[i],
				       .length = RECV_SIZE,
				       .lkey = recv_mr->lkey };
		struct ibv_recv_wr wr = {
			.wr_id = (uint64_t)(conn - conns) << 32 | i,
			.sg_list = &sge,
			.num_sge = 1,
		};
		struct ibv_recv_wr *bad;

		if (ibv_post_recv(conn->id->qp, &wr, &bad))
			die("ibv_post_recv");
	}
}

/* The connection has ended: posted work must now be flushed. */
static void conn_gone(struct conn *conn)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	conn->is_gone = true;
	if (conn->id->qp)
		ibv_modify_qp(conn->id->qp, &attr, IBV_QP_STATE);
}

static void conn_end(struct conn *conn)
{
	printf("end %u %u %u %d\n", conn->num, conn->recv_cnt, conn->done_cnt,
	       guards_are_intact());
	rdma_destroy_qp(conn->id);
	rdma_destroy_id(conn->id);
	conn->id = NULL;
}

static void request(struct rdma_cm_event *event)
{
	const uint8_t *wish = event->param.conn.private_data;
	struct rdma_conn_param param = { .private_data = &offer,
					 .private_data_len = sizeof(offer) };
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };
	struct conn *conn = conn_new(event->id);

	verbs_init(event->id);
	if (event->param.conn.private_data_len < 2) {
		fprintf(stderr, "no private data\n");
		exit(1);
	}
	conn->recv_cnt = wish[0] < RECV_MAX ? wish[0] : RECV_MAX;
	param.responder_resources = wish[1];
	param.initiator_depth = 1;
	attr.send_cq = attr.recv_cq = cq;
	attr.cap.max_send_wr = 4;
	attr.cap.max_recv_wr = RECV_MAX;
	attr.cap.max_send_sge = attr.cap.max_recv_sge = 1;
	if (rdma_create_qp(event->id, pd, &attr))
		die("rdma_create_qp");
	post_receives(conn);
	printf("request %u %u %u\n", conn->num, conn->recv_cnt,
	       param.responder_resources);
	if (rdma_accept(event->id, &param)) {
		printf("cm %u accept-failed\n", conn->num);
		conn_gone(conn);
	}
}

static void cm_event(void)
{
	struct rdma_cm_event *event;
	struct conn *conn;

	if (rdma_get_cm_event(channel, &event))
		die("rdma_get_cm_event");
	conn = event->id->context;
	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		request(event);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		printf("cm %u %s\n", conn->num, rdma_event_str(event->event));
		conn_gone(conn);
		break;
	default:
		printf("cm %u %s\n", conn->num, rdma_event_str(event->event));
		break;
	}
	rdma_ack_cm_event(event);
}

static void completions(void)
{
	struct ibv_cq *event_cq;
	struct ibv_wc wc;
	void *context;

	if (ibv_get_cq_event(comp, &event_cq, &context) == 0)
		ibv_ack_cq_events(event_cq, 1);
	if (ibv_req_notify_cq(cq, 0))
		die("ibv_req_notify_cq");
	while (ibv_poll_cq(cq, 1, &wc) > 0) {
		struct conn *conn = &conns[wc.wr_id >> 32];
		uint32_t slot = (uint32_t)wc.wr_id;

		printf("wc %u %u %d %u\n", conn->num, slot, wc.status,
		       wc.status == IBV_WC_SUCCESS ? wc.byte_len : 0);
		if (slot >= conn->recv_cnt || conn->is_done[slot]) {
			printf("twice %u %u\n", conn->num, slot);
			exit(1);
		}
		conn->is_done[slot] = true;
		conn->done_cnt++;
	}
}

static void async_events(void)
{
	struct ibv_async_event event;

	while (ibv_get_async_event(verbs, &event) == 0) {
		printf("async %d\n", event.event_type);
		ibv_ack_async_event(&event);
	}
}

static void end_what_is_over(void)
{
	for (size_t i = 0; i < CONN_MAX; i++) {
		if (conns[i].id && conns[i].is_gone &&
		    conns[i].done_cnt == conns[i].recv_cnt)
			conn_end(&conns[i]);
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in6 addr = { .sin6_family = AF_INET6 };
	struct rdma_cm_id *listener;

	if (argc != 2)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	addr.sin6_port = htons((uint16_t)atoi(argv[1]));
	channel = rdma_create_event_channel();
	if (!channel || rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP))
		die("rdma_create_id");
	if (rdma_bind_addr(listener, (struct sockaddr *)&addr) ||
	    rdma_listen(listener, 64))
		die("rdma_listen");
	for (;;) {
		struct pollfd pfd[3] = {
			{ .fd = channel->fd, .events = POLLIN },
			{ .fd = comp ? comp->fd : -1, .events = POLLIN },
			{ .fd = verbs ? verbs->async_fd : -1,
			  .events = POLLIN },
		};

		if (poll(pfd, 3, -1) < 0 && errno != EINTR)
			die("poll");
		if (pfd[1].revents)
			completions();
		if (pfd[2].revents)
			async_events();
		if (pfd[0].revents)
			cm_event();
		end_what_is_over();
	}
}
