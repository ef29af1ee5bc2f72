/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * end.c: every way in which a stream can end. Each posted WR completes once,
 * the manager is told once, and the socket does not outlive it.
 */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mem/context.h"
#include "engine/engine.h"
#include "util/env.h"
#include "qp/qp.h"
#include "rawpeer.h"
#include "sources.h"
#include "qp/object.h"
#include "qp/state.h"
#include "stream/end.h"
#include "stream/attach.h"
#include "stream/object.h"
#include "tcpfake.h"

#define REF 0x1000
#define WR_CNT 10

/* ---- the peer's FIN ---- */

static bool overruns_then; /* what it completes is too much for the CQ */
static uint32_t closed_cnt;

void __wrap_rnic_sq_peer_closed(struct rnic_qp *qp);
void __real_rnic_sq_peer_closed(struct rnic_qp *qp);

void __wrap_rnic_sq_peer_closed(struct rnic_qp *qp)
{
	closed_cnt++;
	__real_rnic_sq_peer_closed(qp);
	if (overruns_then)
		rnic_qp_overrun(qp);
}

/* ---- the manager ---- */

static _Atomic uint32_t told_cnt;
static _Atomic int told_status;

void __wrap_rnic_loop_note(uint64_t cm_ref, int status);

void __wrap_rnic_loop_note(uint64_t cm_ref, int status)
{
	must(cm_ref == REF);
	atomic_store(&told_status, status);
	atomic_fetch_add(&told_cnt, 1);
}

/* ---- a QP with work in all states, and a scripted peer ---- */

struct stage {
	struct rnicpair p;
	struct rawpeer raw;
	struct rnicpair_side *s;
	int fd;	   /* of the socket */
	ino_t ino; /* of the same */
};

/* Return: 0: not open. */
static ino_t ino_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

static struct rnicpair_options stage_options(void)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;

	opt.cm_ref = REF;
	opt.sockbuf = 16384;
	return opt;
}

/*
 * Ten receives; then READs without answers, of which ORD are outstanding; then
 * writes, some signalled, of which TCP accepts only a part.
 */
static void stage_open(struct stage *st)
{
	struct rnicpair_options opt = stage_options();

	memset(st, 0, sizeof(*st));
	atomic_store(&told_cnt, 0);
	atomic_store(&told_status, 1);
	opt.ord = opt.ird = 2;
	rnicpair_open_idle(&st->p, &opt);
	rawpeer_join(&st->raw, &st->p, 0);
	st->s = &st->p.side[0];
	st->fd = with_lead(st->s->ctx->engine,
			   rnic_qp_stream(st->s->qp)->source.fd);
	st->ino = ino_of(st->fd);
	for (uint64_t i = 0; i < WR_CNT; i++) {
		struct usiw_sge sge = rnicpair_sge(st->s, 0, 200000);
		struct rnicpair_wr wr = {
			.wr_id = i,
			.opcode = i < 2 ? USIW_WR_READ : USIW_WR_WRITE,
			.flags = i % 2 ? USIW_SQE_SIGNALED : 0,
			.sge = &sge,
			.sge_cnt = 1,
		};

		assert_int_equal(rnicpair_post_recv(st->s, i, NULL, 0), 0);
		assert_int_equal(rnicpair_post(st->s, &wr), 0);
	}
}

/* Everything completed, once, in order, with an error, and nothing more
 * comes. */
static void stage_check_flushed(struct stage *st)
{
	for (uint64_t i = 0; i < WR_CNT; i++) {
		struct usiw_cqe cqe = rnicpair_take(st->s, st->s->scq);

		assert_int_equal(cqe.wr_id, i);
		assert_int_not_equal(cqe.status, USIW_WC_SUCCESS);
		cqe = rnicpair_take(st->s, st->s->rcq);
		assert_int_equal(cqe.wr_id, i);
		assert_int_equal(cqe.status, USIW_WC_WR_FLUSH_ERR);
	}
	assert_true(rnicpair_is_quiet(&st->p, st->s->scq));
	assert_true(rnicpair_is_quiet(&st->p, st->s->rcq));
}

static uint32_t streams_left(struct rnicpair_side *s)
{
	return with_lead(s->ctx->engine, sources_cnt(s->ctx->engine));
}

/* ---- ways to end ---- */

static void end_by_fin(struct stage *st)
{
	assert_int_equal(shutdown(st->raw.fd, SHUT_WR), 0);
}

static void end_by_reset(struct stage *st)
{
	rawpeer_reset(&st->raw);
}

static void end_by_terminate(struct stage *st)
{
	smpa_conn_terminate(st->raw.conn,
			    (struct smpa_fault){ SMPA_F_RDMAP_UNSPEC });
	(void)rawpeer_try(&st->raw);
}

static void end_by_violation(struct stage *st)
{
	rawpeer_write(&st->raw, 1, 1, "x", 1);
}

static void end_by_noise(struct stage *st)
{
	static const uint8_t noise[64] = { 0xff, 0xff, 0xff };

	assert_int_equal(write(st->raw.fd, noise, sizeof(noise)),
			 sizeof(noise));
}

/* FIN in the middle of an FPDU. */
static void end_by_cut(struct stage *st)
{
	static const uint8_t front[] = { 0, 30, 0x41 };

	assert_int_equal(write(st->raw.fd, front, sizeof(front)),
			 sizeof(front));
	assert_int_equal(shutdown(st->raw.fd, SHUT_WR), 0);
}

static void end_by_modify(struct stage *st)
{
	assert_int_equal(rnic_qp_modify(st->s->qp, RNIC_QPS_ERROR), 0);
}

static void end_by_disconnect(struct stage *st)
{
	rnic_qp_disconnect(st->s->qp, REF);
	rawpeer_reset(&st->raw);
}

/* The peer does not answer: the drain limit ends it. */
static void end_by_limit(struct stage *st)
{
	rnic_qp_disconnect(st->s->qp, REF);
}

/* TCP may have stopped behind a copy of a whole Write. Then the next one fails
 * when the peer has read. */
static bool fails_as_peer_reads(struct stage *st)
{
	char octets[16384];

	(void)!recv(st->raw.fd, octets, sizeof(octets), MSG_DONTWAIT);
	return rnic_qp_state(st->s->qp) != RNIC_QPS_RTS;
}

static void end_by_dereg(struct stage *st)
{
	assert_int_equal(rnic_mr_dereg(st->s->mr), 0);
	st->s->mr = NULL;
	wait_until(fails_as_peer_reads(st));
}

struct ending {
	const char *name;
	void (*end)(struct stage *st);
	enum rnic_qp_state state;
	bool is_ours; /* in order: the manager is told when the peer ends */
	int error;    /* TCP's error */
};

static const struct ending endings[] = {
	{ "peer's FIN, and it reads nothing", end_by_fin, RNIC_QPS_ERROR, false,
	  0 },
	{ "peer's RST", end_by_reset, RNIC_QPS_ERROR, false, ECONNRESET },
	{ "peer's TERMINATE", end_by_terminate, RNIC_QPS_TERMINATE, false, 0 },
	{ "peer's violation", end_by_violation, RNIC_QPS_TERMINATE, false, 0 },
	{ "noise", end_by_noise, RNIC_QPS_TERMINATE, false, 0 },
	{ "cut FPDU", end_by_cut, RNIC_QPS_TERMINATE, false, 0 },
	{ "modify to ERROR", end_by_modify, RNIC_QPS_ERROR, true, 0 },
	{ "disconnect, then RST", end_by_disconnect, RNIC_QPS_ERROR, false,
	  ECONNRESET },
	{ "disconnect, silent peer", end_by_limit, RNIC_QPS_ERROR, false, 0 },
	{ "dereg in use", end_by_dereg, RNIC_QPS_TERMINATE, false, 0 },
};

/* T-28 (RST), U-13 */
CASE(each_ending_completes_everything_once)
{
	for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
		struct stage st;

		print_message("%s\n", endings[i].name);
		stage_open(&st);
		endings[i].end(&st);
		stage_check_flushed(&st);
		assert_int_equal(rnic_qp_state(st.s->qp), endings[i].state);
		assert_int_equal(rnic_qp_error(st.s->qp), endings[i].error);
		assert_int_equal(atomic_load(&told_cnt), !endings[i].is_ours);
		if (st.raw.stream)
			rawpeer_reset(&st.raw);
		wait_until(!streams_left(st.s));
		/* The socket was closed. Another descriptor may have the
		 * number. */
		assert_true(ino_of(st.fd) != st.ino);
		assert_int_equal(rnic_qp_modify(st.s->qp, RNIC_QPS_IDLE), 0);
		assert_int_equal(rnic_qp_error(st.s->qp), 0);
		rnicpair_close(&st.p);
		assert_int_equal(atomic_load(&told_cnt), 1);
		assert_true(atomic_load(&told_status) < 0);
	}
}

/* Also where the socket is not read, so that no FIN was seen. */
CASE(only_an_end_in_order_ends_the_send_queue)
{
	static const struct {
		const char *name;
		int status;
		uint32_t closed_cnt;
	} rows[] = {
		{ "in order", 0, 1 },
		{ "reset", -ECONNRESET, 0 },
		{ "retried for too long", -ETIMEDOUT, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct stage st;

		stage_open(&st);
		rnic_engine_lead(st.s->ctx->engine);
		closed_cnt = 0;
		rnic_stream_part(rnic_qp_stream(st.s->qp), rows[i].status);
		assert_row(rows[i].name, closed_cnt == rows[i].closed_cnt);
		rnic_engine_unlead(st.s->ctx->engine);
		stage_check_flushed(&st);
		rawpeer_reset(&st.raw);
		wait_until(!streams_left(st.s));
		rnicpair_close(&st.p);
	}
}

/* The peer's FIN is its answer: its manager has been told by then. */
CASE(our_end_is_told_behind_the_peers)
{
	struct rnicpair_options opt = stage_options();
	struct rnicpair_side *s;
	struct rawpeer raw;
	struct rnicpair p;

	for (int destroys = 0; destroys < 2; destroys++) {
		uint32_t events;

		atomic_store(&told_cnt, 0);
		s = rawpeer_open(&raw, &p, &opt);
		if (destroys) {
			assert_int_equal(rnic_qp_destroy(s->qp, &events), 0);
			s->qp = NULL;
		} else {
			assert_int_equal(rnic_qp_modify(s->qp, RNIC_QPS_ERROR),
					 0);
		}
		assert_int_equal(rawpeer_event(&raw).type, SMPA_EV_CLOSED);
		assert_int_equal(atomic_load(&told_cnt), 0);
		assert_int_equal(shutdown(raw.fd, SHUT_WR), 0);
		wait_until(!streams_left(s));
		assert_int_equal(atomic_load(&told_cnt), 1);
		assert_int_equal(atomic_load(&told_status), 0);
		rawpeer_close_both(&raw, &p);
	}
}

/* The manager is told before the FIN goes out that the peer waits for. */
CASE(a_peers_end_is_told_before_ours)
{
	struct rnicpair_options opt = stage_options();
	struct rawpeer raw;
	struct rnicpair p;

	atomic_store(&told_cnt, 0);
	rawpeer_open(&raw, &p, &opt);
	assert_int_equal(shutdown(raw.fd, SHUT_WR), 0);
	assert_int_equal(rawpeer_event(&raw).type, SMPA_EV_CLOSED);
	assert_int_equal(atomic_load(&told_cnt), 1);
	assert_int_equal(atomic_load(&told_status), 0);
	rawpeer_close_both(&raw, &p);
}

/* A peer that never closes is not waited for beyond the limit. */
CASE(a_silent_peer_costs_no_more_than_the_limit)
{
	uint64_t start_ms, spent_ms;
	struct stage st;

	stage_open(&st);
	start_ms = until_ms();
	assert_int_equal(rnic_qp_modify(st.s->qp, RNIC_QPS_ERROR), 0);
	wait_until(!streams_left(st.s));
	spent_ms = until_ms() - start_ms;
	assert_in_range(spent_ms, util_settings()->drain_ms / 2,
			util_settings()->drain_ms + 5000);
	rawpeer_close(&st.raw);
	rnicpair_close(&st.p);
}

/* Nothing is reported complete and then lost by a RST: what was accepted
 * arrives although the sender closes at once with unread input. */
CASE(what_was_complete_arrives)
{
	struct rnicpair_options opt = stage_options();
	struct rnicpair p;
	struct rawpeer raw;
	uint32_t events;

	opt.sockbuf = 0;
	for (int round = 0; round < 20; round++) {
		uint32_t got = 0;
		struct smpa_event ev;

		rawpeer_open(&raw, &p, &opt);
		for (int i = 0; i < 20; i++) {
			struct usiw_sge sge = rnicpair_sge(&p.side[0], 0, 9999);
			struct rnicpair_wr wr = { .opcode = USIW_WR_SEND,
						  .flags = USIW_SQE_SIGNALED,
						  .sge = &sge,
						  .sge_cnt = 1 };

			assert_int_equal(rnicpair_post(&p.side[0], &wr), 0);
		}
		for (int i = 0; i < 20; i++)
			assert_int_equal(
				rnicpair_take(&p.side[0], p.side[0].scq).status,
				USIW_WC_SUCCESS);
		/* Input that is no longer read. */
		rawpeer_write(&raw, p.side[0].stag,
			      rnicpair_addr(&p.side[0], 0), "x", 1);
		assert_int_equal(rnic_qp_destroy(p.side[0].qp, &events), 0);
		p.side[0].qp = NULL;
		do {
			ev = rawpeer_event(&raw);
			/* A peer that sends nothing also gets an empty
			 * Write. */
			got += ev.type == SMPA_EV_MESSAGE &&
			       ev.msg.opcode == SMPA_OP_SEND;
		} while (ev.type == SMPA_EV_MESSAGE);
		assert_int_equal(ev.type, SMPA_EV_CLOSED);
		assert_int_equal(got, 20);
		rawpeer_close_both(&raw, &p);
	}
}

/* ---- the peer closes its direction and continues to read (DDP-45) ---- */

#define HALF_CNT 40
#define HALF_LEN 60000u

static void half_open(struct rnicpair *p, struct rawpeer *raw)
{
	struct rnicpair_options opt = stage_options();

	opt.ird = opt.ord = HALF_CNT;
	opt.max_wr = HALF_CNT + 2;
	opt.rtr = SMPA_RTR_WRITE;
	atomic_store(&told_cnt, 0);
	rnicpair_open_idle(p, &opt);
	rawpeer_join(raw, p, 0);
	rnicpair_fill(p->side[0].buf, HALF_LEN + HALF_CNT, 3);
}

/* Complete messages in sequence; then the other direction closes. */
static void half_check(struct rnicpair *p, struct rawpeer *raw, uint8_t opcode)
{
	struct smpa_event ev;

	for (int i = 0; i < HALF_CNT; i++) {
		ev = rawpeer_event(raw);
		assert_int_equal(ev.type, SMPA_EV_MESSAGE);
		assert_int_equal(ev.msg.opcode, opcode);
		if (opcode == SMPA_OP_SEND)
			assert_memory_equal(raw->sink, p->side[0].buf + i,
					    HALF_LEN);
	}
	assert_int_equal(rawpeer_event(raw).type, SMPA_EV_CLOSED);
}

static void half_end(struct rnicpair *p, struct rawpeer *raw, int status)
{
	rnicpair_wait_state(&p->side[0], RNIC_QPS_ERROR);
	assert_int_equal(atomic_load(&told_cnt), 1);
	assert_int_equal(atomic_load(&told_status), status);
	wait_until(!streams_left(&p->side[0]));
	rawpeer_close(raw);
	rnicpair_close(p);
}

static void half_post(struct rnicpair *p, uint64_t i, uint8_t opcode)
{
	struct usiw_sge sge = rnicpair_sge(&p->side[0], i, HALF_LEN);
	struct rnicpair_wr wr = { .wr_id = i,
				  .opcode = opcode,
				  .flags = USIW_SQE_SIGNALED,
				  .sge = &sge,
				  .sge_cnt = 1 };

	assert_int_equal(rnicpair_post(&p->side[0], &wr), 0);
}

/* Waits until the engine has seen the FIN. */
static void half_wait_closed(struct rnicpair_side *s)
{
	wait_until(with_lead(s->ctx->engine,
			     !rnic_qp_stream(s->qp) ||
				     rnic_qp_stream(s->qp)->has_peer_fin));
}

CASE(what_was_asked_is_answered_behind_a_fin)
{
	struct rawpeer raw;
	struct rnicpair p;

	half_open(&p, &raw);
	for (uint64_t i = 0; i < HALF_CNT; i++)
		rawpeer_read(&raw, 1, i << 32, p.side[0].stag,
			     rnicpair_addr(&p.side[0], i), HALF_LEN);
	assert_int_equal(shutdown(raw.fd, SHUT_WR), 0);
	half_wait_closed(&p.side[0]);
	half_check(&p, &raw, SMPA_OP_READ_RESPONSE);
	half_end(&p, &raw, 0);
}

/* Posted work is sent. Work that is posted later, or needs an answer, is
 * not. */
CASE(what_was_posted_goes_out_behind_a_fin)
{
	struct rnicpair_side *s;
	struct rawpeer raw;
	struct rnicpair p;

	for (int disconnects = 0; disconnects < 2; disconnects++) {
		half_open(&p, &raw);
		s = &p.side[0];
		for (uint64_t i = 0; i < HALF_CNT; i++)
			half_post(&p, i, USIW_WR_SEND);
		half_post(&p, HALF_CNT, USIW_WR_READ);
		if (disconnects)
			rnic_qp_disconnect(s->qp, REF);
		assert_int_equal(shutdown(raw.fd, SHUT_WR), 0);
		half_wait_closed(s);
		half_post(&p, HALF_CNT + 1, USIW_WR_SEND);
		half_check(&p, &raw, SMPA_OP_SEND);
		for (uint64_t i = 0; i < HALF_CNT + 2; i++) {
			struct usiw_cqe cqe = rnicpair_take(s, s->scq);

			assert_int_equal(cqe.wr_id, i);
			assert_int_equal(cqe.status,
					 i < HALF_CNT ? USIW_WC_SUCCESS
						      : USIW_WC_WR_FLUSH_ERR);
		}
		half_end(&p, &raw, 0);
	}
}

/* What a peer reads within each limit: a segment that fills its small buffer,
 * and a little more.  So its TCP takes another one, and that is less than what
 * gets it another limit. */
#define DRIP_LEN 34000u

struct drip {
	uint64_t deadline_ns;
	size_t left;
};

static void half_drip(struct rnicpair_side *s, struct rawpeer *raw,
		      struct drip *drip)
{
	uint64_t deadline_ns = with_lead(
		s->ctx->engine,
		rnic_qp_stream(s->qp) ? rnic_qp_stream(s->qp)->deadline_ns : 0);
	static uint8_t octets[DRIP_LEN];
	ssize_t len;

	if (deadline_ns != drip->deadline_ns)
		drip->left = DRIP_LEN;
	drip->deadline_ns = deadline_ns;
	len = read(raw->fd, octets, drip->left);
	if (len > 0)
		drip->left -= (size_t)len;
}

/* A peer that closes and reads nothing, or only little, is not waited for
 * beyond the limit. */
CASE(a_half_that_does_not_read_has_bounded_memory)
{
	for (int drips = 0; drips < 2; drips++) {
		uint64_t start_ms = until_ms(), spent_ms;
		struct rawpeer raw;
		struct rnicpair p;
		struct drip drip = { 0 };

		half_open(&p, &raw);
		for (uint64_t i = 0; i < HALF_CNT; i++)
			half_post(&p, i, USIW_WR_SEND);
		assert_int_equal(shutdown(raw.fd, SHUT_WR), 0);
		while (rnic_qp_state(p.side[0].qp) != RNIC_QPS_ERROR) {
			assert_true(until_ms() - start_ms < RNICPAIR_LIMIT_MS);
			poll(NULL, 0, 10);
			if (drips)
				half_drip(&p.side[0], &raw, &drip);
		}
		spent_ms = until_ms() - start_ms;
		assert_true(spent_ms >= util_settings()->drain_ms);
		half_end(&p, &raw, -ETIMEDOUT);
	}
}

/* A pair whose Initiator offers no RTR. Work of the accepting side is held. */
static void waiting_open(struct rnicpair *p)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	struct rnicpair_wr wr = { .wr_id = 7,
				  .opcode = USIW_WR_SEND,
				  .flags = USIW_SQE_SIGNALED };

	opt.rtr = 0;
	rnicpair_open(p, &opt);
	must(rnicpair_post_recv(&p->side[0], 1, NULL, 0) == 0);
	must(rnicpair_post(&p->side[1], &wr) == 0);
}

/* ---- flushed memory belongs to the application ---- */

/* The FPDU stays cut: nothing is sent from memory that was returned. */
CASE(flushed_memory_is_not_sent)
{
	struct rnicpair_options opt = stage_options();
	static uint8_t got[65536];
	struct rnicpair_side *s;
	struct rawpeer raw;
	struct rnicpair p;
	struct rnic_stream *stream;
	uint32_t run = 0;
	ssize_t len;

	opt.has_crc = false; /* sent in place */
	opt.cm_ref = 0;
	s = rawpeer_open(&raw, &p, &opt);
	memset(s->buf, 0x11, 60000);
	for (uint64_t i = 0; i < 4; i++) {
		struct usiw_sge sge = rnicpair_sge(s, 0, 60000);
		struct rnicpair_wr wr = { .wr_id = i,
					  .opcode = USIW_WR_WRITE,
					  .sge = &sge,
					  .sge_cnt = 1 };

		assert_int_equal(rnicpair_post(s, &wr), 0);
	}
	rnic_engine_lead(s->ctx->engine);
	stream = rnic_qp_stream(s->qp);
	assert_true(stream->is_tx_blocked);
	rnic_engine_unlead(s->ctx->engine);
	assert_int_equal(rnic_qp_modify(s->qp, RNIC_QPS_ERROR), 0);
	rnic_engine_lead(s->ctx->engine);
	assert_true(stream->is_fin_sent);
	/* Nothing waits for room any more. */
	assert_false(stream->is_tx_blocked);
	rnic_engine_unlead(s->ctx->engine);
	memset(s->buf, 0xee, 60000);
	assert_int_equal(fcntl(raw.fd, F_SETFL, 0), 0);
	while ((len = read(raw.fd, got, sizeof(got))) > 0) {
		for (ssize_t i = 0; i < len; i++) {
			run = got[i] == 0xee ? run + 1 : 0;
			assert_true(run < 16);
		}
	}
	rawpeer_close_both(&raw, &p);
}

/* MPA-134: what may not be sent is not waited for. */
CASE(waiting_octets_do_not_delay_the_fin)
{
	struct rnic_stream *stream;
	struct rnicpair_side *s;
	struct rnicpair p;

	waiting_open(&p);
	s = &p.side[1];
	assert_int_equal(rnic_qp_modify(s->qp, RNIC_QPS_ERROR), 0);
	rnic_engine_lead(s->ctx->engine);
	/* The source is its first member. */
	stream = (void *)LIST_FIRST(&s->ctx->engine->slots.list);
	assert_true(!stream || stream->is_fin_sent);
	rnic_engine_unlead(s->ctx->engine);
	rnicpair_close(&p);
}

/* ... but only from its own beginning, however much is posted after it. */
CASE(waiting_work_is_not_delayed_by_more)
{
	struct rnicpair_wr wr = { .opcode = USIW_WR_SEND };
	struct rnicpair_side *s;
	struct rnicpair p;
	uint64_t first_ns;

	waiting_open(&p);
	s = &p.side[1];
	first_ns = with_lead(
		s->ctx->engine,
		rnic_qp_stream(s->qp) ? rnic_qp_stream(s->qp)->deadline_ns : 0);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(rnicpair_post(s, &wr), 0);
		rnic_engine_lead(s->ctx->engine);
		/* Or it has ended already, on a slow machine. */
		if (rnic_qp_stream(s->qp))
			assert_true(rnic_qp_stream(s->qp)->deadline_ns ==
				    first_ns);
		rnic_engine_unlead(s->ctx->engine);
	}
	rnicpair_close(&p);
}

/* A closing stream gets more time when the peer has read much, and only
 * then. */
CASE(the_limit_is_for_peers_that_stall)
{
	uint64_t octets = UINT64_MAX, first_ns = 0, now_ns;
	const struct rnic_stream *stream;
	struct rnicpair_side *s;
	struct rawpeer raw;
	struct rnicpair p;
	uint32_t msg_cnt = 0;

	half_open(&p, &raw);
	s = &p.side[0];
	for (uint64_t i = 0; i < HALF_CNT; i++)
		half_post(&p, i, USIW_WR_SEND);
	rnic_qp_disconnect(s->qp, REF);
	/* Passes that find TCP full do not count. */
	for (int i = 0; i < 50; i++) {
		rnic_engine_lead(s->ctx->engine);
		stream = rnic_qp_stream(s->qp);
		assert_non_null(stream);
		if (stream->tx_octets == octets)
			assert_true(stream->deadline_ns == first_ns);
		octets = stream->tx_octets;
		first_ns = stream->deadline_ns;
		rnic_engine_unlead(s->ctx->engine);
		rnic_cq_progress(s->scq);
	}
	now_ns = first_ns;
	while (now_ns == first_ns) {
		assert_int_equal(rawpeer_event(&raw).type, SMPA_EV_MESSAGE);
		assert_true(++msg_cnt < HALF_CNT);
		now_ns = with_lead(s->ctx->engine,
				   rnic_qp_stream(s->qp)
					   ? rnic_qp_stream(s->qp)->deadline_ns
					   : 0);
	}
	assert_true(now_ns > first_ns);
	for (; msg_cnt < HALF_CNT; msg_cnt++)
		assert_int_equal(rawpeer_event(&raw).type, SMPA_EV_MESSAGE);
	assert_int_equal(shutdown(raw.fd, SHUT_WR), 0);
	half_end(&p, &raw, 0);
}

/* Ending the stream sends the rest, which completes WRs, which overrun the CQ,
 * which ends the stream. */
CASE(an_overrun_while_letting_go_is_reported_once)
{
	struct rnicpair_options opt = stage_options();
	struct tcpfake_plan plan = { .send_fail_at = 1, .err = EAGAIN };
	struct rnicpair p;
	struct rnicpair_side *s = &p.side[0];
	struct rawpeer raw;

	opt.cqe = 1;
	opt.sockbuf = 0;
	atomic_store(&told_cnt, 0);
	rawpeer_open(&raw, &p, &opt);
	plan.fd = with_lead(s->ctx->engine, rnic_qp_stream(s->qp)->source.fd);
	tcpfake_install(&plan);
	for (uint64_t i = 0; i < 4; i++) {
		struct rnicpair_wr wr = { .wr_id = i,
					  .opcode = USIW_WR_SEND,
					  .flags = USIW_SQE_SIGNALED };

		assert_int_equal(rnicpair_post(s, &wr), 0);
	}
	/* Until all are submitted and wait for TCP. */
	rnic_engine_lead(s->ctx->engine);
	while (s->qp->sq.next_idx != 4) {
		rnic_engine_unlead(s->ctx->engine);
		rnic_cq_progress(s->scq);
		rnic_engine_lead(s->ctx->engine);
	}
	tcpfake_remove();
	{
		struct rnic_stream *stream = rnic_qp_stream(s->qp);

		rnic_stream_detach(stream, 0);
		rnic_qp_fail(s->qp, RNIC_QPS_ERROR, USIW_WC_WR_FLUSH_ERR,
			     RNIC_QP_EV_CNT);
		rnic_qp_end(s->qp);
		rnic_stream_end_step(stream);
	}
	rnic_engine_unlead(s->ctx->engine);
	assert_int_equal(rnic_qp_state(s->qp), RNIC_QPS_ERROR);
	assert_int_equal(usiw_ring_used(rnic_cq_ring(s->scq)), 1);
	rawpeer_close_both(&raw, &p);
	assert_int_equal(atomic_load(&told_cnt), 1);
}

/* While an answer is owed the stream goes on, but not the QP. */
CASE(an_overrun_by_the_peers_fin_is_acted_on_at_once)
{
	for (int overruns = 0; overruns < 2; overruns++) {
		struct rnicpair_options opt = stage_options();
		struct rnic_stream *stream;
		struct rnicpair_side *s;
		struct rawpeer raw;
		struct rnicpair p;
		bool has_qp;

		s = rawpeer_open(&raw, &p, &opt);
		rnic_engine_lead(s->ctx->engine);
		stream = rnic_qp_stream(s->qp);
		stream->has_peer_fin = true;
		s->qp->irq.cnt = 1;
		overruns_then = overruns;
		rnic_stream_end_step(stream);
		overruns_then = false;
		has_qp = rnic_qp_stream(s->qp) ==
			 stream; /* otherwise it is freed */
		s->qp->irq.cnt = 0;
		/* It has not come yet. */
		if (has_qp)
			stream->has_peer_fin = false;
		rnic_engine_unlead(s->ctx->engine);
		assert_int_equal(has_qp, !overruns);
		assert_int_equal(rnic_qp_state(s->qp) == RNIC_QPS_ERROR,
				 overruns);
		rawpeer_close_both(&raw, &p);
	}
}

/* MPA-134: it is sent at once when the first FPDU has arrived (T-55). */
CASE(waiting_work_goes_out_with_the_first_fpdu)
{
	struct rnicpair_wr wr = { .opcode = USIW_WR_WRITE };
	struct rnicpair p;
	struct usiw_cqe cqe;

	waiting_open(&p);
	/* However long the look takes on a busy machine. */
	rnic_engine_lead(p.side[1].ctx->engine);
	rnic_qp_stream(p.side[1].qp)->deadline_ns =
		util_now_ns() + RNICPAIR_LIMIT_MS * NS_PER_MS;
	rnic_engine_unlead(p.side[1].ctx->engine);
	assert_true(rnicpair_is_quiet(&p, p.side[0].rcq));
	wr.rkey = p.side[1].stag;
	wr.remote_addr = rnicpair_addr(&p.side[1], 0);
	assert_int_equal(rnicpair_post(&p.side[0], &wr), 0);
	cqe = rnicpair_take(&p.side[0], p.side[0].rcq);
	assert_int_equal(cqe.status, USIW_WC_SUCCESS);
	cqe = rnicpair_take(&p.side[1], p.side[1].scq);
	assert_int_equal(cqe.status, USIW_WC_SUCCESS);
	rnicpair_close(&p);
}

/* ... and fails with its own status if none arrives. */
CASE(waiting_work_fails_with_a_status_of_its_own)
{
	struct rnicpair p;
	struct usiw_cqe cqe;

	waiting_open(&p);
	cqe = rnicpair_take(&p.side[1], p.side[1].scq);
	assert_int_equal(cqe.wr_id, 7);
	assert_int_equal(cqe.status, USIW_WC_RESP_TIMEOUT_ERR);
	assert_int_equal(rnic_qp_state(p.side[1].qp), RNIC_QPS_ERROR);
	cqe = rnicpair_take(&p.side[0], p.side[0].rcq);
	assert_int_equal(cqe.status, USIW_WC_WR_FLUSH_ERR);
	rnicpair_close(&p);
}

/* The send sees the reset first and takes the socket's error. What came before
 * the reset is read nevertheless. */
CASE(a_terminate_before_a_reset_is_received)
{
	const struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	struct rnicpair p;
	struct rnicpair_side *side = &p.side[0];
	struct rawpeer raw;
	struct usiw_sge sge;
	struct rnicpair_wr wr = {
		.wr_id = 1, .opcode = USIW_WR_SEND, .sge = &sge, .sge_cnt = 1
	};

	rawpeer_open(&raw, &p, &opt);
	sge = rnicpair_sge(side, 0, 100);
	rnic_engine_lead(side->qp->engine);
	smpa_conn_terminate(raw.conn,
			    (struct smpa_fault){ SMPA_F_DDP_U_NO_BUFFER });
	(void)rawpeer_try(&raw);
	rawpeer_reset(&raw);
	assert_int_equal(rnicpair_post(side, &wr), 0);
	rnic_engine_unlead(side->qp->engine);
	assert_int_equal(rnicpair_take(side, side->scq).status,
			 USIW_WC_RNR_RETRY_EXC_ERR);
	rnicpair_wait_state(side, RNIC_QPS_TERMINATE);
	rnicpair_close(&p);
}

BEFORE_CASES()
{
	setenv("USIW_START_MS", "1000", 1);
}
