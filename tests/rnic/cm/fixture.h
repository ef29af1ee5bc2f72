/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * For tests of the connection manager: real loopback sockets, real QPs, and
 * unexpected peers that send (or do not send) MPA over plain sockets.
 */
#ifndef CM_FIXTURE_H
#define CM_FIXTURE_H

#include "test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "rnic.h"

/* Longer than any event takes, short enough for a failing run. */
#define CM_LIMIT_MS 8000

struct cm_side {
	struct rnic_cm_chan *chan;
	uint32_t id;
};

struct cm_qp {
	struct rnic_context *ctx;
	struct rnic_pd *pd;
	struct rnic_cq *cq;
	struct rnic_qp *qp;
};

static inline void cm_qp_open_type(struct cm_qp *q, enum rnic_qp_type type)
{
	struct rnic_qp_options opt = { .type = type,
				       .max_send_wr = 4,
				       .max_recv_wr = 4,
				       .max_send_sge = 1,
				       .max_recv_sge = 1 };
	struct rnic_device *const *list;

	assert_true(rnic_device_list(&list) > 0);
	assert_int_equal(rnic_context_open(list[0], &q->ctx), 0);
	assert_int_equal(rnic_pd_alloc(q->ctx, &q->pd), 0);
	assert_int_equal(rnic_cq_create(q->ctx, 16, NULL, 0, NULL, &q->cq), 0);
	opt.send_cq = opt.recv_cq = q->cq;
	assert_int_equal(rnic_qp_create(q->pd, &opt, &q->qp), 0);
}

static inline void cm_qp_open(struct cm_qp *q)
{
	cm_qp_open_type(q, RNIC_QPT_RC);
}

static inline void cm_qp_close(struct cm_qp *q)
{
	uint32_t a, b;

	if (q->qp)
		assert_int_equal(rnic_qp_destroy(q->qp, &a), 0);
	assert_int_equal(rnic_cq_destroy(q->cq, &a, &b), 0);
	assert_int_equal(rnic_pd_free(q->pd), 0);
	rnic_context_close(q->ctx);
}

static inline void cm_side_open(struct cm_side *s, uint64_t uid)
{
	assert_int_equal(rnic_cm_chan_new(&s->chan), 0);
	assert_int_equal(rnic_cm_create(s->chan, uid, &s->id), 0);
}

static inline bool cm_is_readable(const struct rnic_cm_chan *chan, int ms)
{
	struct pollfd pfd = { .fd = rnic_cm_chan_fd(chan), .events = POLLIN };

	return poll(&pfd, 1, ms) == 1;
}

/* The next event must be of this type and status. */
static inline void cm_expect(struct rnic_cm_chan *chan,
			     enum rnic_cm_event_type type, int status,
			     struct rnic_cm_event *ev)
{
	assert_true(cm_is_readable(chan, CM_LIMIT_MS));
	assert_int_equal(rnic_cm_get_event(chan, ev), 0);
	assert_int_equal(ev->type, type);
	assert_int_equal(ev->status, status);
}

static inline struct sockaddr_storage cm_loopback(int family, uint16_t port)
{
	struct sockaddr_storage ss;

	memset(&ss, 0, sizeof(ss));
	if (family == AF_INET) {
		struct sockaddr_in *sin = (struct sockaddr_in *)&ss;

		sin->sin_family = AF_INET;
		sin->sin_port = htons(port);
		sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	} else {
		struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&ss;

		sin6->sin6_family = AF_INET6;
		sin6->sin6_port = htons(port);
		sin6->sin6_addr = in6addr_loopback;
	}
	return ss;
}

static inline uint16_t cm_port(const struct sockaddr_storage *ss)
{
	return ntohs(((const struct sockaddr_in *)ss)->sin_port);
}

/* A listening identity on loopback.  Return: its port. */
static inline uint16_t cm_listen(struct cm_side *s, int family, int backlog)
{
	struct sockaddr_storage ss = cm_loopback(family, 0);
	struct rnic_cm_info info;

	cm_side_open(s, 1);
	assert_int_equal(rnic_cm_bind(s->chan, s->id, (struct sockaddr *)&ss),
			 0);
	assert_int_equal(rnic_cm_listen(s->chan, s->id, backlog), 0);
	assert_int_equal(rnic_cm_query(s->chan, s->id, &info), 0);
	assert_int_not_equal(cm_port(&info.local), 0);
	return cm_port(&info.local);
}

/* Up to ROUTE_RESOLVED. */
static inline void cm_resolve(struct cm_side *s, int family, uint16_t port)
{
	struct sockaddr_storage ss = cm_loopback(family, port);
	struct rnic_cm_event ev;

	cm_side_open(s, 2);
	assert_int_equal(rnic_cm_resolve_addr(s->chan, s->id, NULL,
					      (struct sockaddr *)&ss, 1000),
			 0);
	cm_expect(s->chan, RNIC_CM_ADDR_RESOLVED, 0, &ev);
	assert_int_equal(ev.uid, 2);
	assert_int_equal(ev.id, s->id);
	assert_int_equal(rnic_cm_resolve_route(s->chan, s->id, 1000), 0);
	cm_expect(s->chan, RNIC_CM_ROUTE_RESOLVED, 0, &ev);
}

/* The rnr_retry_count of cm_param(); 0 unless the test sets it. */
static uint8_t cm_rnr_retry;

static inline void cm_param(struct rnic_cm_conn_param *param,
			    const struct cm_qp *q, const char *pd)
{
	memset(param, 0, sizeof(*param));
	param->qp_num = rnic_qp_num(q->qp);
	param->ird = 4;
	param->ord = 3;
	param->rnr_retry = cm_rnr_retry;
	param->pd_len = (uint8_t)strlen(pd);
	memcpy(param->pd, pd, strlen(pd));
}

/* Accepts a pending request. */
static inline void cm_accept(struct cm_side *s, uint32_t child,
			     const struct cm_qp *q, const char *pd)
{
	struct rnic_cm_conn_param param;

	cm_param(&param, q, pd);
	assert_int_equal(rnic_cm_accept(s->chan, child, &param), 0);
}

static inline void cm_dial(struct cm_side *s, const struct cm_qp *q,
			   uint16_t port, const char *pd)
{
	struct rnic_cm_conn_param param;

	cm_resolve(s, AF_INET, port);
	cm_param(&param, q, pd);
	assert_int_equal(rnic_cm_connect(s->chan, s->id, &param), 0);
}

static inline void cm_side_close(struct cm_side *s)
{
	rnic_cm_chan_free(s->chan);
}

/* ---- pairs ---- */

struct cm_pair {
	struct cm_side listener, active;
	struct cm_qp active_qp, passive_qp;
	uint32_t child;
};

/* Up to the request that waits to be accepted. */
static inline void cm_pair_ask(struct cm_pair *p, int family,
			       bool wants_response)
{
	struct rnic_cm_conn_param param;
	struct rnic_cm_event ev;
	uint16_t port;

	memset(p, 0, sizeof(*p));
	cm_qp_open(&p->active_qp);
	cm_qp_open(&p->passive_qp);
	port = cm_listen(&p->listener, family, 0);
	cm_resolve(&p->active, family, port);
	cm_param(&param, &p->active_qp, "ask");
	param.wants_response = wants_response;
	assert_int_equal(rnic_cm_connect(p->active.chan, p->active.id, &param),
			 0);
	cm_expect(p->listener.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
	assert_int_equal(ev.uid, 1);
	assert_int_equal(ev.listen_id, p->listener.id);
	assert_int_equal(ev.pd_len, 3);
	assert_memory_equal(ev.pd, "ask", 3);
	/* IRD and ORD are swapped: what the peer initiates, this side
	 * answers. */
	assert_int_equal(ev.ird, 3);
	assert_int_equal(ev.ord, 4);
	p->child = ev.id;
}

static inline void cm_pair_open(struct cm_pair *p, int family)
{
	cm_pair_ask(p, family, false);
}

static inline void cm_pair_answer(struct cm_pair *p)
{
	cm_accept(&p->listener, p->child, &p->passive_qp, "answer");
}

/* The answer has arrived at the active side, as an event of this type. */
static inline void cm_pair_expect_answer(struct cm_pair *p,
					 enum rnic_cm_event_type type,
					 struct rnic_cm_event *ev)
{
	cm_expect(p->active.chan, type, 0, ev);
	assert_int_equal(ev->pd_len, 6);
	assert_memory_equal(ev->pd, "answer", 6);
	assert_int_equal(ev->ird, 3); /* the Reply's ORD: it requests no more */
	assert_int_equal(ev->ord, 3); /* the Reply's IRD: as requested */
}

static inline void cm_pair_accept(struct cm_pair *p)
{
	struct rnic_cm_event ev;

	assert_int_equal(rnic_cm_set_uid(p->listener.chan, p->child, 3), 0);
	cm_pair_answer(p);
	cm_expect(p->listener.chan, RNIC_CM_ESTABLISHED, 0, &ev);
	assert_int_equal(ev.id, p->child);
	assert_int_equal(ev.uid, 3);
	cm_pair_expect_answer(p, RNIC_CM_ESTABLISHED, &ev);
}

static inline void cm_pair_close(struct cm_pair *p)
{
	cm_side_close(&p->active);
	cm_side_close(&p->listener);
	cm_qp_close(&p->active_qp);
	cm_qp_close(&p->passive_qp);
}

/* A fixture with such a pair over IPv4. */
static inline int cm_pair_setup(void **state)
{
	static struct cm_pair p;

	cm_pair_open(&p, AF_INET);
	*state = &p;
	return 0;
}

static inline int cm_pair_teardown(void **state)
{
	cm_pair_close(*state);
	return 0;
}

#define CM_PAIR_CASE(name) CASE_WITH(name, cm_pair_setup, cm_pair_teardown)

/* ---- unexpected peers ---- */

/* An MPA Request of revision 1 without private data, CRC on (RFC 5044 7.1). */
static const uint8_t cm_mpa_request[20] = "MPA ID Req Frame\x40\x01\x00";

static inline int cm_rawpeer(uint16_t port)
{
	struct sockaddr_storage ss = cm_loopback(AF_INET, port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(
		connect(fd, (struct sockaddr *)&ss, sizeof(struct sockaddr_in)),
		0);
	return fd;
}

static inline void cm_say(int fd, const void *octets, size_t len)
{
	assert_int_equal(send(fd, octets, len, MSG_NOSIGNAL), (ssize_t)len);
}

/* Closes with RST. */
static inline void cm_slam(int fd)
{
	const struct linger linger = { .l_onoff = 1, .l_linger = 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(fd);
}

/* Reads until the peer closes. Return: octets; -1: it did not close in time. */
static inline ssize_t cm_read_to_end(int fd, void *buf, size_t size)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	size_t got = 0;

	for (;;) {
		ssize_t len;

		if (poll(&pfd, 1, CM_LIMIT_MS) != 1)
			return -1;
		len = recv(fd, (uint8_t *)buf + got, size - got, 0);
		if (len <= 0)
			return (ssize_t)got;
		got += (size_t)len;
		if (got == size)
			return (ssize_t)got;
	}
}

/* A listening identity with a pending request of an unexpected peer. Return:
 * the peer's socket. */
static inline int cm_rawpeer_ask(struct cm_side *s, const uint8_t request[20],
				 uint32_t *ret_child)
{
	struct rnic_cm_event ev;
	int fd = cm_rawpeer(cm_listen(s, AF_INET, 0));

	cm_say(fd, request, 20);
	cm_expect(s->chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
	*ret_child = ev.id;
	return fd;
}

/* A plain listening socket. */
static inline int cm_rawpeer_listen(uint16_t *ret_port)
{
	struct sockaddr_storage ss = cm_loopback(AF_INET, 0);
	socklen_t len = sizeof(ss);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(
		bind(fd, (struct sockaddr *)&ss, sizeof(struct sockaddr_in)),
		0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&ss, &len), 0);
	*ret_port = cm_port(&ss);
	return fd;
}

/* Reads the first @len octets of the next connection. Return: the
 * connection. */
static inline int cm_rawpeer_accept(int listener, uint8_t *buf, size_t len)
{
	struct pollfd pfd = { .fd = listener, .events = POLLIN };
	int fd;

	assert_int_equal(poll(&pfd, 1, CM_LIMIT_MS), 1);
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	assert_int_equal(recv(fd, buf, len, MSG_WAITALL), (ssize_t)len);
	return fd;
}

/* An identity that connects to a plain listening socket. */
struct cm_active {
	struct cm_side side;
	struct cm_qp q;
	int listener;
	uint8_t frame[64]; /* read last by the test */
};

/* Up to the connect, which nothing has answered yet. */
static inline void cm_active_open(struct cm_active *a)
{
	uint16_t port;

	a->listener = cm_rawpeer_listen(&port);
	cm_qp_open(&a->q);
	cm_dial(&a->side, &a->q, port, "");
}

/* Reads its next Request, of @len octets, into @a->frame. Return: the
 * connection. */
static inline int cm_active_request(struct cm_active *a, size_t len)
{
	return cm_rawpeer_accept(a->listener, a->frame, len);
}

static inline void cm_active_close(struct cm_active *a)
{
	cm_side_close(&a->side);
	cm_qp_close(&a->q);
	close(a->listener);
}

/* A fixture with such a side. */
static inline int cm_active_setup(void **state)
{
	static struct cm_active a;

	cm_active_open(&a);
	*state = &a;
	return 0;
}

static inline int cm_active_teardown(void **state)
{
	cm_active_close(*state);
	return 0;
}

#define CM_ACTIVE_CASE(name)                                                   \
	CASE_WITH(name, cm_active_setup, cm_active_teardown)

#endif
