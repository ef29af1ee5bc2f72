/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* retry.c: a peer whose TCP does not answer is given up in time, also behind a
 * closed window. One that says that its window is closed, or acknowledges
 * sometimes, is not. Work whose peer has
 * gone fails in time, and not before. */
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "../../harness/test.h"
#include "engine/engine.h"
#include "mem/object.h"
#include "util/clock.h"
#include "os/tcp.h"
#include "qp/cq.h"
#include "qp/qp.h"
#include "qp/serve.h"
#include "rnicpair.h"
#include "sources.h"
#include "stream/object.h"
#include "stream/retry.h"

static const struct rnicpair_options defaults = RNICPAIR_OPTIONS_INIT;

#define LIMIT_MS 200
/* Several looks would have come by then. */
#define LONGER_MS 400
/* Only a test that waits where it must not takes so long. */
#define FAR_MS (1000 * UNTIL_LIMIT_MS)

/* ---- a simulated TCP ---- */

enum kind {
	SILENT,
	NO_ROUTE,
	CLOSED_WINDOW,
	CLOSED_ONE_LOST,     /* a probe of the window has no answer yet */
	CLOSED_RATE_LIMITED, /* several, but a moment ago one had */
	CLOSED_SILENT,
	SLOW,
	EMPTY
};

/* What TCP says of a closed window. */
static const struct {
	uint8_t probes;
	uint32_t last_ack_ms;
} closed[] = {
	[CLOSED_WINDOW] = { 0, 50000 },
	[CLOSED_ONE_LOST] = { 1, 50000 },
	[CLOSED_RATE_LIMITED] = { 4, 999 },
	[CLOSED_SILENT] = { 2, 1000 },
};

static _Atomic int kind;
static _Atomic uint32_t look_cnt;
static struct rnic_tcp_ops fake;
static const struct rnic_tcp_ops *real;

static int fake_getsockopt(int fd, int level, int name, void *val,
			   socklen_t *len)
{
	bool is_closed = kind >= CLOSED_WINDOW && kind <= CLOSED_SILENT;
	struct tcp_info info = {
		.tcpi_unacked = kind == SILENT || kind == SLOW,
		.tcpi_notsent_bytes = kind == EMPTY ? 0 : 4711,
		.tcpi_snd_mss = 1448,
		.tcpi_snd_wnd = is_closed ? 1447 : 65536,
	};

	if (level != IPPROTO_TCP || name != TCP_INFO)
		return getsockopt(fd, level, name, val, len);
	if (is_closed) {
		info.tcpi_probes = closed[kind].probes;
		info.tcpi_last_ack_recv = closed[kind].last_ack_ms;
	}
	if (kind == SLOW)
		info.tcpi_bytes_acked = look_cnt / 2;
	look_cnt++;
	must(*len >= sizeof(info));
	memcpy(val, &info, sizeof(info));
	return 0;
}

/* What is sent is lost. */
static ssize_t fake_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	ssize_t len = 0;

	(void)fd;
	(void)flags;
	for (size_t i = 0; i < msg->msg_iovlen; i++)
		len += (ssize_t)msg->msg_iov[i].iov_len;
	return len;
}

/* @is_lost: what is sent from now on.  All is set before engines see it. */
static void network_becomes(enum kind how, bool is_lost)
{
	kind = how;
	look_cnt = 0;
	fake = *real;
	fake.getsockopt = fake_getsockopt;
	if (is_lost)
		fake.sendmsg = fake_sendmsg;
	rnic_tcp_replace(&fake);
}

static void network_breaks(enum kind how)
{
	network_becomes(how, true);
}

/* ---- two QPs ---- */

static void connect_pair(struct rnicpair *p, uint64_t retry_ms,
			 uint64_t gone_ms)
{
	struct rnic_oob_send_options opt = {
		.ord = 1,
		.rnr_retry = 7,
		.retry_ns = retry_ms * NS_PER_MS,
		.gone_ns = gone_ms * NS_PER_MS,
	};

	rnicpair_open_idle(p, &defaults);
	rnicpair_rtr_both(p);
	for (int i = 0; i < 2; i++) {
		rnic_qp_oob_send(p->side[i].qp, &opt);
		rnicpair_wait_state(&p->side[i], RNIC_QPS_RTS);
	}
}

static void send_one(struct rnicpair_side *s)
{
	struct rnicpair_wr wr = { .opcode = USIW_WR_SEND,
				  .flags = USIW_SQE_SIGNALED };

	assert_int_equal(rnicpair_post(s, &wr), 0);
}

static void given_up_in_time(enum kind how)
{
	struct rnicpair p;
	struct rnicpair_side *s = &p.side[0];
	uint64_t begin_ms, took_ms;

	/* It is not waited for once more. */
	connect_pair(&p, LIMIT_MS, FAR_MS);
	network_breaks(how);
	begin_ms = until_ms();
	send_one(s);
	send_one(s);
	assert_int_equal(rnicpair_take(s, s->scq).status,
			 USIW_WC_RETRY_EXC_ERR);
	took_ms = until_ms() - begin_ms;
	assert_int_equal(rnicpair_take(s, s->scq).status, USIW_WC_WR_FLUSH_ERR);
	assert_int_equal(rnic_qp_state(s->qp), RNIC_QPS_ERROR);
	assert_true(took_ms >= LIMIT_MS);
	assert_true(took_ms < 50 * LIMIT_MS);
	rnic_tcp_replace(real);
	rnicpair_close(&p);
}

CASE(a_silent_peer_times_out)
{
	given_up_in_time(SILENT);
}

CASE(an_unreachable_peer_exhausts_retries_too)
{
	given_up_in_time(NO_ROUTE);
}

/* Its window was closed when it was last heard. */
CASE(so_does_one_that_answers_no_probe)
{
	given_up_in_time(CLOSED_SILENT);
}

/* The first look notes what three more have to find unchanged. */
CASE(it_takes_four_looks)
{
	struct rnicpair p;
	struct rnicpair_side *s = &p.side[0];
	struct rnic_stream *stream;
	int cnt = 1;

	connect_pair(&p, FAR_MS, 0);
	network_breaks(SILENT);
	send_one(s);
	rnic_engine_lead(s->ctx->engine);
	stream = rnic_qp_stream(s->qp);
	while (cnt < 10 && !rnic_retry_is_over(stream, util_now_ns()))
		cnt++;
	rnic_engine_unlead(s->ctx->engine);
	assert_int_equal(cnt, 4);
	rnic_tcp_replace(real);
	rnicpair_close(&p);
}

static const struct {
	const char *name;
	enum kind kind;
	uint64_t retry_ms;
	bool has_work;
	uint32_t looks; /* at least this many; then there are no more */
} rows[] = {
	{ "its window is closed", CLOSED_WINDOW, LIMIT_MS, true, 5 },
	{ "a probe was lost", CLOSED_ONE_LOST, LIMIT_MS, true, 5 },
	{ "it answers few probes", CLOSED_RATE_LIMITED, LIMIT_MS, true, 5 },
	{ "it acknowledges now and then", SLOW, LIMIT_MS, true, 5 },
	{ "timeout 0 is for ever", SILENT, 0, true, 0 },
	{ "no work for it", SILENT, LIMIT_MS, false, 0 },
};

CASE(others_are_waited_for)
{
	struct rnicpair p[ARRAY_LEN(rows)];
	struct usiw_cqe cqe;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rnicpair_side *s = &p[i].side[0];

		connect_pair(&p[i], rows[i].retry_ms, 0);
		network_breaks(rows[i].kind);
		if (rows[i].has_work)
			send_one(s);
		wait_until(look_cnt >= rows[i].looks);
		if (!rows[i].looks) {
			poll(NULL, 0, LONGER_MS);
			assert_row(rows[i].name, look_cnt == 0);
		}
		assert_row(rows[i].name, rnic_qp_state(s->qp) == RNIC_QPS_RTS);
		assert_row(rows[i].name, !rnicpair_poll(s, s->scq, &cqe));
		rnic_tcp_replace(real);
		rnicpair_close(&p[i]);
	}
}

/* ---- connected by rdma_cm ---- */

/* A Send is complete when TCP has it, and what the peer reads is no work of
 * this side: their octets are waited for as well. */
CASE(octets_without_work_time_out_too)
{
	for (int is_answer = 0; is_answer < 2; is_answer++) {
		struct rnicpair p;
		struct rnicpair_side *s = &p.side[0];

		rnicpair_open(&p, &defaults);
		rnic_qp_set_timeout(s->qp, 0, LIMIT_MS * NS_PER_MS);
		assert_int_equal(rnicpair_post_recv(s, 3, NULL, 0), 0);
		network_becomes(SILENT, !is_answer);
		if (is_answer) {
			rnicpair_post_read(&p, 1, 0, 64);
			assert_int_equal(
				rnicpair_take(&p.side[1], p.side[1].scq).status,
				USIW_WC_SUCCESS);
		} else {
			send_one(s);
			assert_int_equal(rnicpair_take(s, s->scq).status,
					 USIW_WC_SUCCESS);
		}
		assert_int_equal(rnicpair_take(s, s->rcq).status,
				 USIW_WC_WR_FLUSH_ERR);
		assert_int_equal(rnic_qp_error(s->qp), ETIMEDOUT);
		rnic_tcp_replace(real);
		rnicpair_close(&p);
	}
}

/* They have been acknowledged, or the peer takes none at present. */
CASE(without_octets_there_is_no_further_look)
{
	static const struct {
		enum kind kind;
		bool goes_on;
	} ways[] = { { EMPTY, false }, { CLOSED_WINDOW, true } };

	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		struct rnicpair p;
		struct rnicpair_side *s = &p.side[0];
		struct rnic_stream *stream;

		rnicpair_open(&p, &defaults);
		rnic_qp_set_timeout(s->qp, 0, FAR_MS * NS_PER_MS);
		network_breaks(ways[i].kind);
		send_one(s);
		assert_int_equal(rnicpair_take(s, s->scq).status,
				 USIW_WC_SUCCESS);
		rnic_engine_lead(s->ctx->engine);
		stream = rnic_qp_stream(s->qp);
		assert_true(stream->look.next_ns);
		for (int j = 0; j < 10; j++)
			assert_false(rnic_retry_is_over(stream, util_now_ns()));
		assert_true((stream->look.next_ns != 0) == ways[i].goes_on);
		rnic_engine_unlead(s->ctx->engine);
		rnic_tcp_replace(real);
		rnicpair_close(&p);
	}
}

/* ---- a peer that has gone ---- */

enum parting {
	CLOSES,
	CLOSES_WITH_READ, /* after a Send that has no receive */
	BREAKS,		  /* with a Send that has no receive */
};

static void peer_breaks(struct rnicpair_side *b)
{
	const struct sockaddr nobody = { .sa_family = AF_UNSPEC };

	rnic_engine_lead(b->qp->engine);
	must(!connect(rnic_qp_stream(b->qp)->source.fd, &nobody,
		      sizeof(nobody)));
	rnic_engine_unlead(b->qp->engine);
}

static void peer_closes(struct rnicpair_side *b)
{
	uint32_t events;

	must(!rnic_qp_destroy(b->qp, &events));
	b->qp = NULL;
}

/* Side 0 has one WR, with wr_id 1, and no peer any more. */
static void part(struct rnicpair *p, enum parting how)
{
	struct rnicpair_side *a = &p->side[0];

	if (how != CLOSES) {
		rnicpair_post_wr(a, .wr_id = how == BREAKS,
				 .opcode = USIW_WR_SEND,
				 .flags = USIW_SQE_SIGNALED);
		wait_until(atomic_load(&p->side[1].qp->is_rnr));
	}
	if (how == CLOSES_WITH_READ) {
		rnicpair_post_read(p, 0, 1, 64);
		wait_until(with_lead(a->ctx->engine,
				     a->qp->sq.next_idx - a->qp->sq.done_idx ==
					     2));
	}
	if (how == BREAKS)
		peer_breaks(&p->side[1]);
	else
		peer_closes(&p->side[1]);
	wait_until(with_lead(a->ctx->engine, !rnic_qp_stream(a->qp)));
	if (how == CLOSES)
		rnicpair_post_wr(a, .wr_id = 1, .opcode = USIW_WR_SEND,
				 .flags = USIW_SQE_SIGNALED);
	if (how == CLOSES_WITH_READ)
		assert_int_equal(rnicpair_take(a, a->scq).wr_id, 0);
}

static uint64_t gone_end_ns(const struct rnicpair_side *s)
{
	return with_lead(s->ctx->engine, s->qp->gone.ns);
}

static bool heap_has_gone(const struct rnic_due *due)
{
	for (; due; due = due->next)
		if (due->serve == rnic_qp_serve_gone ||
		    heap_has_gone(due->child))
			return true;
	return false;
}

/* Also for a QP that has been destroyed. */
static bool has_gone(const struct rnicpair_side *s)
{
	return with_lead(s->ctx->engine, heap_has_gone(s->ctx->engine->due));
}

static void expect(struct rnicpair_side *s, struct rnic_cq *cq, uint64_t wr_id,
		   enum usiw_wc_status status)
{
	struct usiw_cqe cqe;

	/* The engine's thread does it, not one that polls. */
	wait_until(rnicpair_peek(s, cq, &cqe));
	assert_int_equal(cqe.wr_id, wr_id);
	assert_int_equal(cqe.status, status);
}

CASE(work_fails_some_time_after_its_peer_went)
{
	for (int how = CLOSES; how <= BREAKS; how++) {
		struct rnicpair p;
		struct rnicpair_side *a = &p.side[0];
		uint64_t begin_ms, took_ms;

		connect_pair(&p, FAR_MS, LIMIT_MS);
		assert_int_equal(rnicpair_post_recv(a, 3, NULL, 0), 0);
		begin_ms = until_ms();
		part(&p, how);
		rnicpair_post_wr(a, .wr_id = 2, .opcode = USIW_WR_SEND);
		expect(a, a->scq, 1, USIW_WC_RETRY_EXC_ERR);
		took_ms = until_ms() - begin_ms;
		expect(a, a->scq, 2, USIW_WC_WR_FLUSH_ERR);
		expect(a, a->rcq, 3, USIW_WC_WR_FLUSH_ERR);
		assert_true(took_ms >= LIMIT_MS);
		assert_true(took_ms < 50 * LIMIT_MS);
		assert_int_equal(rnic_qp_state(a->qp), RNIC_QPS_ERROR);
		assert_false(has_gone(a));
		rnicpair_close(&p);
	}
}

/* 0: the program waits without a limit, and there is nobody to wait for. */
CASE(without_a_time_it_fails_at_once)
{
	for (int how = CLOSES; how <= BREAKS; how++) {
		struct rnicpair p;
		struct rnicpair_side *a = &p.side[0];

		connect_pair(&p, FAR_MS, 0);
		part(&p, how);
		expect(a, a->scq, 1, USIW_WC_RETRY_EXC_ERR);
		rnicpair_close(&p);
	}
}

/* Both streams end meanwhile, receives stay, and the first work counts. */
CASE(a_peer_that_has_gone_leaves_rts)
{
	for (int how = CLOSES; how <= BREAKS; how++) {
		struct usiw_cqe cqe;
		uint64_t end_ns;
		struct rnicpair p;
		struct rnicpair_side *a = &p.side[0];

		connect_pair(&p, FAR_MS, FAR_MS);
		assert_int_equal(rnicpair_post_recv(a, 3, NULL, 0), 0);
		part(&p, how);
		for (int i = 0; i < 2; i++)
			wait_until(
				with_lead(p.side[i].ctx->engine,
					  !sources_cnt(p.side[i].ctx->engine)));
		/* That was a part of the stream. */
		assert_true(with_lead(a->ctx->engine, !a->qp->due));
		end_ns = gone_end_ns(a);
		assert_true(end_ns > util_now_ns());
		rnicpair_post_wr(a, .wr_id = 2, .opcode = USIW_WR_SEND);
		assert_true(gone_end_ns(a) == end_ns);
		assert_int_equal(rnic_qp_state(a->qp), RNIC_QPS_RTS);
		assert_false(rnicpair_poll(a, a->scq, &cqe));
		assert_false(rnicpair_poll(a, a->rcq, &cqe));
		rnicpair_close(&p);
	}
}

static void fill_cq(struct rnicpair_side *s)
{
	const struct usiw_cqe cqe = { .wr_id = 99 };

	rnic_engine_lead(s->ctx->engine);
	for (uint32_t i = 0; i < s->scq->ring.depth; i++)
		must(!rnic_cq_push(s->scq, &cqe, s->ctx->engine->stat));
	rnic_engine_unlead(s->ctx->engine);
}

static void way_modify(struct rnicpair_side *s, enum rnic_qp_state to)
{
	must(!rnic_qp_modify(s->qp, to));
	expect(s, s->scq, 1, USIW_WC_WR_FLUSH_ERR);
	expect(s, s->rcq, 3, USIW_WC_WR_FLUSH_ERR);
}

static void way_error(struct rnicpair_side *s)
{
	way_modify(s, RNIC_QPS_ERROR);
}

static void way_closing(struct rnicpair_side *s)
{
	way_modify(s, RNIC_QPS_CLOSING);
}

/* ... and the QP can be used again. */
static void way_idle(struct rnicpair_side *s)
{
	way_modify(s, RNIC_QPS_IDLE);
	assert_int_equal(rnic_qp_state(s->qp), RNIC_QPS_IDLE);
	rnicpair_rtr_to(s->qp, s->qp);
	rnicpair_wait_state(s, RNIC_QPS_RTS);
	assert_int_equal(rnicpair_post_recv(s, 4, NULL, 0), 0);
	rnicpair_post_wr(s, .wr_id = 5, .opcode = USIW_WR_SEND,
			 .flags = USIW_SQE_SIGNALED);
	expect(s, s->rcq, 4, USIW_WC_SUCCESS);
	expect(s, s->scq, 5, USIW_WC_SUCCESS);
}

static void way_destroy(struct rnicpair_side *s)
{
	struct usiw_cqe cqe;
	uint32_t events;

	must(!rnic_qp_destroy(s->qp, &events));
	s->qp = NULL;
	assert_false(rnicpair_poll(s, s->scq, &cqe));
	assert_false(rnicpair_poll(s, s->rcq, &cqe));
}

static void way_overrun(struct rnicpair_side *s)
{
	const struct usiw_cqe cqe = { .wr_id = 99 };

	fill_cq(s);
	rnic_engine_lead(s->ctx->engine);
	assert_int_equal(rnic_cq_push(s->scq, &cqe, s->ctx->engine->stat),
			 -ENOSPC);
	rnic_engine_unlead(s->ctx->engine);
	/* The completion thread may be the one that serves it. */
	rnicpair_wait_state(s, RNIC_QPS_ERROR);
	expect(s, s->rcq, 3, USIW_WC_WR_FLUSH_ERR);
}

static void way_broken_engine(struct rnicpair_side *s)
{
	rnic_engine_lead(s->ctx->engine);
	rnic_engine_break(s->ctx->engine, -EBADF);
	rnic_engine_unlead(s->ctx->engine);
	assert_int_equal(rnic_qp_state(s->qp), RNIC_QPS_ERROR);
	expect(s, s->scq, 1, USIW_WC_WR_FLUSH_ERR);
	expect(s, s->rcq, 3, USIW_WC_WR_FLUSH_ERR);
}

CASE(work_without_a_peer_may_end_before)
{
	static void (*const ways[])(struct rnicpair_side *s) = {
		way_error,   way_closing, way_idle,
		way_destroy, way_overrun, way_broken_engine,
	};

	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		struct rnicpair p;
		struct rnicpair_side *a = &p.side[0];

		connect_pair(&p, FAR_MS, FAR_MS);
		assert_int_equal(rnicpair_post_recv(a, 3, NULL, 0), 0);
		part(&p, i % 2 ? BREAKS : CLOSES);
		assert_true(has_gone(a));
		ways[i](a);
		assert_false(has_gone(a));
		rnicpair_close(&p);
	}
}

/* Its completion does not fit. */
CASE(the_cq_may_overrun_when_the_time_is_over)
{
	struct rnicpair p;
	struct rnicpair_side *a = &p.side[0];

	connect_pair(&p, FAR_MS, LIMIT_MS);
	assert_int_equal(rnicpair_post_recv(a, 3, NULL, 0), 0);
	/* Before: the time is short. */
	fill_cq(a);
	part(&p, BREAKS);
	expect(a, a->rcq, 3, USIW_WC_WR_FLUSH_ERR);
	assert_int_equal(rnicpair_async(a, NULL), USIW_EVENT_CQ_ERR);
	assert_false(has_gone(a));
	rnicpair_close(&p);
}

/* A child that uses the context does not touch the parent's work. */
CASE(a_child_does_not_change_it)
{
	struct rnicpair p;
	struct rnicpair_side *a = &p.side[0];
	int status;
	pid_t pid;

#ifdef __SANITIZE_THREAD__
	skip_because("no threads after a fork under TSan");
#endif
	connect_pair(&p, FAR_MS, LIMIT_MS);
	part(&p, CLOSES);
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(rnic_context_enter(a->ctx) < 0);
	assert_true(waitpid(pid, &status, 0) == pid);
	assert_int_equal(status, 0);
	expect(a, a->scq, 1, USIW_WC_RETRY_EXC_ERR);
	rnicpair_close(&p);
}

static int setup(void **state)
{
	real = rnic_tcp();
	return 0;
}

BEFORE_CASES()
{
	setenv("USIW_DRAIN_MS", "100", 1);
}

ALL_CASES_WITH(setup, NULL);
