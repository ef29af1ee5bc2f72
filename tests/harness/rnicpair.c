/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Two QPs connected over loopback. */
#define _GNU_SOURCE
#include "rnicpair.h"

#include "tcporder.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "os/fd.h"
#include "mem/mr.h"
#include "qp/qp.h"
#include "stream/attach.h"
#include "stream/start.h"

/* Handles that tests recognise in events. */
#define HANDLE_QP 0x100
#define HANDLE_SCQ 0x200
#define HANDLE_RCQ 0x300
#define HANDLE_SRQ 0x400

/* ---- sockets and the MPA start ---- */

static int socket_take(int fd, int sockbuf)
{
	if (sockbuf) {
		must(!setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &sockbuf,
				 sizeof(sockbuf)));
		must(!setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &sockbuf,
				 sizeof(sockbuf)));
	}
	must(!fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK));
	fd = rnic_fd_own(fd);
	must(fd >= 0);
	return fd;
}

void rnicpair_sockets(int sockbuf, int fd[2])
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must(listener >= 0);
	must(!bind(listener, (struct sockaddr *)&addr, sizeof(addr)));
	must(!listen(listener, 1));
	must(!getsockname(listener, (struct sockaddr *)&addr, &len));
	fd[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(fd[0] >= 0);
	must(!connect(fd[0], (struct sockaddr *)&addr, sizeof(addr)));
	fd[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	must(fd[1] >= 0);
	close(listener);
	fd[0] = socket_take(fd[0], sockbuf);
	fd[1] = socket_take(fd[1], sockbuf);
	tcporder_join(fd[0], fd[1]);
}

/* The responder's stream must not be polled before the reply is sent. */
static void start_answer(const struct rnicpair_options *opt,
			 struct rnic_stream *stream,
			 const struct smpa_event *ev, int *state)
{
	switch (ev->type) {
	case SMPA_EV_REQUEST:
		must(!smpa_conn_accept(stream->conn, "pong", 4, opt->ird,
				       opt->ord));
		return;
	case SMPA_EV_ESTABLISHED:
		*state = 1;
		return;
	default:
		must(!"an MPA start that succeeds");
	}
}

void rnicpair_start(const struct rnicpair_options *opt, const int fd[2],
		    struct rnicpair_start *ret_start)
{
	uint64_t end_ms = until_ms() + RNICPAIR_LIMIT_MS;
	int done[2] = { 0, 0 };
	struct smpa_event ev;

	for (int i = 0; i < 2; i++) {
		struct smpa_options own = SMPA_OPTIONS_INIT;

		own.role = i ? SMPA_RESPONDER : SMPA_INITIATOR;
		own.no_crc = !opt->has_crc;
		own.rtr = opt->rtr;
		own.ird = opt->ird;
		own.ord = opt->ord;
		must(!rnic_stream_new(fd[i], &own, &ret_start->stream[i]));
		must(!smpa_conn_start(ret_start->stream[i]->conn,
				      i ? NULL : "ping", i ? 0 : 4));
	}
	while (!done[0] || !done[1]) {
		must(until_ms() < end_ms);
		for (int i = 0; i < 2; i++) {
			int rc = 0;

			if (!done[i])
				rc = rnic_stream_start_step(
					ret_start->stream[i], &ev);
			must(rc >= 0);
			if (!rc)
				continue;
			start_answer(opt, ret_start->stream[i], &ev, &done[i]);
			if (ev.type == SMPA_EV_ESTABLISHED) {
				ret_start->ird[i] = ev.start.ird;
				ret_start->ord[i] = ev.start.ord;
				must(ev.start.has_crc == opt->has_crc);
			}
		}
	}
}

void rnicpair_join(struct rnicpair *p, struct rnic_qp *initiator,
		   struct rnic_qp *responder)
{
	struct rnic_qp *qp[2] = { initiator, responder };
	struct rnicpair_start start;
	int fd[2];

	rnicpair_sockets(p->opt.sockbuf, fd);
	rnicpair_start(&p->opt, fd, &start);
	for (int i = 0; i < 2; i++) {
		uint64_t ref = p->opt.cm_ref;

		must(!rnic_qp_attach_stream(qp[i], start.stream[i],
					    start.ird[i], start.ord[i],
					    ref ? ref + (uint64_t)i : 0));
	}
}

/* ---- life ---- */

struct rnic_qp *rnicpair_qp_new(struct rnicpair *p, int side)
{
	struct rnicpair_side *s = &p->side[side];
	struct rnic_qp_options opt = {
		.type = p->opt.type,
		.send_cq = s->scq,
		.recv_cq = s->rcq,
		.srq = s->srq,
		.max_send_wr = p->opt.max_wr,
		.max_recv_wr = p->opt.max_wr,
		.max_send_sge = p->opt.max_sge,
		.max_recv_sge = p->opt.max_sge,
		.max_inline = p->opt.max_inline,
		.handle = HANDLE_QP + (uint64_t)side,
	};
	struct rnic_qp *qp;

	must(!rnic_qp_create(s->pd, &opt, &qp));
	return qp;
}

static void side_open(struct rnicpair *p, int i)
{
	struct rnicpair_side *s = &p->side[i];
	struct rnic_device *dev = rnic_device_by_name("usiw_lo");
	uint64_t side = (uint64_t)i;

	must(dev);
	must(!rnic_context_open(dev, &s->ctx));
	must(!rnic_pd_alloc(s->ctx, &s->pd));
	if (p->opt.has_chan)
		must(!rnic_chan_new(sizeof(struct usiw_comp_event), &s->chan));
	must(!rnic_cq_create(s->ctx, p->opt.cqe, s->chan, HANDLE_SCQ + side,
			     NULL, &s->scq));
	must(!rnic_cq_create(s->ctx, p->opt.cqe, s->chan, HANDLE_RCQ + side,
			     NULL, &s->rcq));
	if (i == 1 && p->opt.srq_wr) {
		struct rnic_srq_options srq = {
			.max_wr = p->opt.srq_wr,
			.max_sge = p->opt.max_sge,
			.handle = HANDLE_SRQ + side,
		};

		must(!rnic_srq_create(s->pd, &srq, &s->srq));
	}
	s->buf_len = p->opt.buf_len;
	s->buf = mmap(NULL, s->buf_len, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(s->buf != MAP_FAILED);
	must(!rnic_mr_reg(
		s->pd, s->buf, s->buf_len, (uint64_t)(uintptr_t)s->buf,
		RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE |
			RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_REMOTE_ATOMIC,
		&s->mr));
	s->stag = rnic_mr_stag(s->mr);
	pthread_mutex_init(&s->sq_lock, NULL);
	pthread_mutex_init(&s->rq_lock, NULL);
	pthread_mutex_init(&s->cq_lock, NULL);
	s->qp = rnicpair_qp_new(p, i);
}

void rnicpair_open_idle(struct rnicpair *p, const struct rnicpair_options *opt)
{
	memset(p, 0, sizeof(*p));
	p->opt = *opt;
	side_open(p, 0);
	side_open(p, 1);
}

void rnicpair_connect(struct rnicpair *p)
{
	rnicpair_join(p, p->side[0].qp, p->side[1].qp);
}

void rnicpair_open(struct rnicpair *p, const struct rnicpair_options *opt)
{
	rnicpair_open_idle(p, opt);
	rnicpair_connect(p);
}

static void side_close(struct rnicpair_side *s)
{
	uint32_t comp, async;

	if (s->qp)
		must(!rnic_qp_destroy(s->qp, &async));
	if (s->srq)
		must(!rnic_srq_destroy(s->srq, &async));
	must(!rnic_cq_destroy(s->scq, &comp, &async));
	must(!rnic_cq_destroy(s->rcq, &comp, &async));
	if (s->chan)
		rnic_chan_close(s->chan);
	if (s->mr)
		must(!rnic_mr_dereg(s->mr));
	must(!rnic_pd_free(s->pd));
}

void rnicpair_close(struct rnicpair *p)
{
	side_close(&p->side[0]);
	side_close(&p->side[1]);
	rnic_context_close(p->side[0].ctx);
	rnic_context_close(p->side[1].ctx);
	munmap(p->side[0].buf, p->side[0].buf_len);
	munmap(p->side[1].buf, p->side[1].buf_len);
}

/* Opened by cmocka. Only one case runs at a time. */
static struct rnicpair pair_of_case;
static const struct rnicpair_options usual = RNICPAIR_OPTIONS_INIT;

int rnicpair_setup(void **state)
{
	*state = &pair_of_case;
	rnicpair_open(&pair_of_case, &usual);
	return 0;
}

int rnicpair_setup_idle(void **state)
{
	*state = &pair_of_case;
	rnicpair_open_idle(&pair_of_case, &usual);
	return 0;
}

int rnicpair_teardown(void **state)
{
	rnicpair_close(*state);
	return 0;
}

/* ---- without rdma_cm ---- */

uint32_t rnicpair_gid_idx(const char *addr6)
{
	struct rnic_device_attr attr;
	struct in6_addr want;

	must(inet_pton(AF_INET6, addr6, &want) == 1);
	must(!rnic_device_query(rnic_device_by_name("usiw_lo"), &attr));
	for (uint32_t i = 0; i < attr.gid_cnt; i++)
		if (memcmp(attr.gid[i], &want, 16) == 0)
			return i;
	return UINT32_MAX;
}

struct rnic_oob_options rnicpair_to(const char *addr6, uint32_t peer_num)
{
	struct rnic_oob_options opt = {
		.gid_idx = rnicpair_gid_idx(addr6),
		.dest_num = peer_num,
		.ird = 4,
		.min_rnr_timer = 12,
	};

	must(inet_pton(AF_INET6, addr6, opt.dgid) == 1);
	return opt;
}

int rnicpair_rtr(struct rnic_qp *qp, uint32_t peer_num)
{
	struct rnic_oob_options opt = rnicpair_to(RNICPAIR_LO4, peer_num);

	return rnic_qp_oob(qp, &opt);
}

void rnicpair_rtr_to(struct rnic_qp *qp, struct rnic_qp *peer)
{
	must(!rnicpair_rtr(qp, rnic_qp_num(peer)));
}

void rnicpair_rtr_both(struct rnicpair *p)
{
	for (int i = 0; i < 2; i++)
		rnicpair_rtr_to(p->side[i].qp, p->side[!i].qp);
}

void rnicpair_wait_rts(struct rnicpair *p)
{
	for (int i = 0; i < 2; i++)
		rnicpair_wait_state(&p->side[i], RNIC_QPS_RTS);
}

struct rnic_qp *rnicpair_acceptor(struct rnicpair *p)
{
	struct rnic_qp *a = p->side[0].qp, *b = p->side[1].qp;

	return rnic_qp_num(a) < rnic_qp_num(b) ? a : b;
}

struct rnic_qp *rnicpair_dialler(struct rnicpair *p)
{
	struct rnic_qp *a = p->side[0].qp, *b = p->side[1].qp;

	return rnicpair_acceptor(p) == a ? b : a;
}

/* ---- posting ---- */

struct usiw_sge rnicpair_sge(const struct rnicpair_side *s, size_t off,
			     size_t len)
{
	return (struct usiw_sge){ .addr = (uint64_t)(uintptr_t)s->buf + off,
				  .len = (uint32_t)len,
				  .lkey = s->stag };
}

uint64_t rnicpair_addr(const struct rnicpair_side *s, size_t off)
{
	return (uint64_t)(uintptr_t)s->buf + off;
}

int rnicpair_post_qp(struct rnicpair_side *s, struct rnic_qp *qp,
		     const struct rnicpair_wr *wr)
{
	const struct usiw_ring *ring = rnic_qp_sq(qp);
	struct usiw_sqe *sqe;

	pthread_mutex_lock(&s->sq_lock);
	sqe = usiw_ring_reserve(ring, 0);
	if (!sqe) {
		pthread_mutex_unlock(&s->sq_lock);
		return -ENOMEM;
	}
	*sqe = (struct usiw_sqe){
		.wr_id = wr->wr_id,
		.opcode = wr->opcode,
		.flags = wr->flags,
		.sge_cnt = wr->sge_cnt,
		.inline_len = wr->inline_len,
		.remote_addr = wr->remote_addr,
		.rkey = wr->rkey,
		.imm_be = wr->imm_be,
		.compare_add = wr->compare_add,
		.swap = wr->swap,
	};
	if (wr->to) {
		struct usiw_ud_sqe *ud = (struct usiw_ud_sqe *)sqe;

		ud->qkey = wr->to->qkey;
		ud->dest = wr->to->dest;
		ud->label = wr->to->label;
		memcpy(ud->sgid, wr->to->sgid, sizeof(ud->sgid));
		memcpy(ud->dgid, wr->to->dgid, sizeof(ud->dgid));
	}
	if (wr->inline_len)
		memcpy(sqe + 1, wr->inline_data,
		       wr->inline_len <= ring->stride - sizeof(*sqe)
			       ? wr->inline_len
			       : ring->stride - sizeof(*sqe));
	else if (wr->sge_cnt)
		memcpy(sqe + 1, wr->sge, wr->sge_cnt * sizeof(*wr->sge));
	usiw_ring_commit(ring, 1);
	pthread_mutex_unlock(&s->sq_lock);
	rnic_qp_ring_sq(qp);
	return 0;
}

int rnicpair_post(struct rnicpair_side *s, const struct rnicpair_wr *wr)
{
	return rnicpair_post_qp(s, s->qp, wr);
}

int rnicpair_post_recv_qp(struct rnicpair_side *s, struct rnic_qp *qp,
			  uint64_t wr_id, const struct usiw_sge *sge,
			  uint32_t sge_cnt)
{
	const struct usiw_ring *ring = s->srq ? rnic_srq_ring(s->srq)
					      : rnic_qp_rq(qp);
	struct usiw_rqe *rqe;

	pthread_mutex_lock(&s->rq_lock);
	rqe = usiw_ring_reserve(ring, 0);
	if (!rqe) {
		pthread_mutex_unlock(&s->rq_lock);
		return -ENOMEM;
	}
	*rqe = (struct usiw_rqe){ .wr_id = wr_id, .sge_cnt = sge_cnt };
	if (sge_cnt)
		memcpy(rqe + 1, sge, sge_cnt * sizeof(*sge));
	usiw_ring_commit(ring, 1);
	pthread_mutex_unlock(&s->rq_lock);
	if (s->srq)
		rnic_srq_ring_rq(s->srq);
	else
		rnic_qp_ring_rq(qp);
	return 0;
}

int rnicpair_post_recv(struct rnicpair_side *s, uint64_t wr_id,
		       const struct usiw_sge *sge, uint32_t sge_cnt)
{
	return rnicpair_post_recv_qp(s, s->qp, wr_id, sge, sge_cnt);
}

struct rnic_mw *rnicpair_window_open(struct rnicpair_side *s,
				     struct rnic_qp *qp,
				     const struct rnic_mr *mr,
				     enum rnic_mw_type type, uint32_t access)
{
	struct rnicpair_wr wr = {
		.opcode = USIW_WR_BIND_MW,
		.flags = USIW_SQE_SIGNALED,
		.imm_be = mr->stag,
		.remote_addr = mr->iova,
		.compare_add = mr->len,
		.swap = access,
	};
	struct rnic_mw *mw;

	must(!rnic_mw_alloc(mr->home, type, &mw));
	wr.rkey = rnic_mw_stag(mw);
	must(!rnicpair_post_qp(s, qp, &wr));
	must(rnicpair_take(s, s->scq).status == USIW_WC_SUCCESS);
	return mw;
}

/* ---- completing ---- */

bool rnicpair_peek(struct rnicpair_side *s, struct rnic_cq *cq,
		   struct usiw_cqe *ret_cqe)
{
	const struct usiw_ring *ring = rnic_cq_ring(cq);
	const struct usiw_cqe *cqe;

	pthread_mutex_lock(&s->cq_lock);
	cqe = usiw_ring_peek(ring, 0);
	if (cqe) {
		*ret_cqe = *cqe;
		usiw_ring_consume(ring, 1);
	}
	pthread_mutex_unlock(&s->cq_lock);
	return cqe;
}

bool rnicpair_poll(struct rnicpair_side *s, struct rnic_cq *cq,
		   struct usiw_cqe *ret_cqe)
{
	if (rnic_cq_wants_progress(cq))
		rnic_cq_progress(cq);
	if (rnicpair_peek(s, cq, ret_cqe))
		return true;
	rnic_cq_progress(cq);
	return rnicpair_peek(s, cq, ret_cqe);
}

struct usiw_cqe rnicpair_take_in(struct rnicpair_side *s, struct rnic_cq *cq,
				 uint64_t retry_ms)
{
	uint64_t end_ms = until_ms() + retry_ms;
	struct usiw_cqe cqe;

	while (!rnicpair_poll(s, cq, &cqe)) {
		must(until_ms() < end_ms);
		sched_yield();
	}
	return cqe;
}

struct usiw_cqe rnicpair_take(struct rnicpair_side *s, struct rnic_cq *cq)
{
	return rnicpair_take_in(s, cq, RNICPAIR_LIMIT_MS);
}

bool rnicpair_is_quiet(struct rnicpair *p, struct rnic_cq *cq)
{
	const struct usiw_ring *ring = rnic_cq_ring(cq);

	for (int i = 0; i < 200; i++) {
		rnic_cq_progress(p->side[0].scq);
		rnic_cq_progress(p->side[1].scq);
		if (usiw_ring_used(ring))
			return false;
		if (i % 20 == 0)
			usleep(100);
	}
	return true;
}

void rnicpair_wait_state(struct rnicpair_side *s, enum rnic_qp_state state)
{
	wait_until((rnic_cq_progress(s->scq), rnic_qp_state(s->qp) == state));
}

bool rnicpair_has_async(struct rnicpair_side *s)
{
	struct pollfd pfd = { .fd = rnic_context_async_fd(s->ctx),
			      .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

uint32_t rnicpair_async(struct rnicpair_side *s, uint64_t *ret_element)
{
	struct pollfd pfd = { .fd = rnic_context_async_fd(s->ctx),
			      .events = POLLIN };
	struct usiw_async_event ev;
	struct rnic_chan *chan;

	must(poll(&pfd, 1, RNICPAIR_LIMIT_MS) == 1);
	chan = rnic_chan_get_fd(pfd.fd);
	must(chan);
	must(rnic_chan_read(chan, &ev, sizeof(ev)) == sizeof(ev));
	rnic_chan_put(chan);
	if (ret_element)
		*ret_element = ev.element;
	return ev.event_type;
}

/* ---- patterns ---- */

/* The pattern of a block: memcpy() and memcmp() of one cost a sanitizer one
 * check, where a loop over its octets costs one for each. */
#define PATTERN_BLOCK 4096u

/* Not checked by sanitizers: @block belongs to the caller alone. */
__attribute__((no_sanitize("address", "thread", "undefined"))) static void
pattern_make(uint8_t *block, size_t len, size_t first, uint32_t seed)
{
	/* Neighbours at a distance of 1, 256 and 65536 octets differ. */
	for (size_t i = first; i < first + len; i++)
		block[i - first] =
			(uint8_t)(i + i / 251 * 7 + i / 65521 * 13 + seed * 31);
}

void rnicpair_fill(uint8_t *mem, size_t len, uint32_t seed)
{
	uint8_t block[PATTERN_BLOCK];

	for (size_t at = 0, n; at < len; at += n) {
		n = len - at < sizeof(block) ? len - at : sizeof(block);
		pattern_make(block, n, at, seed);
		memcpy(mem + at, block, n);
	}
}

bool rnicpair_is_filled(const uint8_t *mem, size_t len, uint32_t seed)
{
	uint8_t block[PATTERN_BLOCK];

	for (size_t at = 0, n; at < len; at += n) {
		n = len - at < sizeof(block) ? len - at : sizeof(block);
		pattern_make(block, n, at, seed);
		if (memcmp(mem + at, block, n) != 0)
			return false;
	}
	return true;
}

void rnicpair_post_echo(struct rnicpair *p, int from, size_t len)
{
	struct rnicpair_side *a = &p->side[from], *b = &p->side[!from];
	struct usiw_sge src = rnicpair_sge(a, 0, len);
	struct usiw_sge dst = rnicpair_sge(b, 1u << 20, len);
	struct rnicpair_wr wr = { .wr_id = 1,
				  .opcode = USIW_WR_SEND,
				  .flags = USIW_SQE_SIGNALED,
				  .sge = &src,
				  .sge_cnt = 1 };

	must(!rnicpair_post_recv(b, 2, &dst, 1));
	must(!rnicpair_post(a, &wr));
}

void rnicpair_post_read(struct rnicpair *p, int by, uint64_t wr_id, size_t len)
{
	struct rnicpair_side *a = &p->side[by], *b = &p->side[!by];
	struct usiw_sge sge = rnicpair_sge(a, 0, len);
	struct rnicpair_wr wr = { .wr_id = wr_id,
				  .opcode = USIW_WR_READ,
				  .flags = USIW_SQE_SIGNALED,
				  .sge = &sge,
				  .sge_cnt = 1,
				  .rkey = b->stag,
				  .remote_addr = rnicpair_addr(b, 0) };

	must(!rnicpair_post(a, &wr));
}

uint64_t rnicpair_cpu_us(void)
{
	struct rusage use;

	must(!getrusage(RUSAGE_SELF, &use));
	return (uint64_t)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000 +
	       (uint64_t)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}
