/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Queue pairs: made, connected, moved from state to state, freed. */

#include "qp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/env.h"
#include "cq.h"
#include "engine/engine.h"
#include "engine/thread.h"
#include "mem/mw.h"
#include "os/chan.h"
#include "os/stat.h"
#include "os/tcp.h"
#include "qp-num.h"
#include "qp-table.h"
#include "ring-mem.h"
#include "rnr.h"
#include "rq.h"
#include "sq-done.h"
#include "state.h"
#include "stream-end.h"
#include "stream-pass.h"
#include "stream-serve.h"

/* ---- creation ----------------------------------------------------------- */

static int qp_check(const struct rnic_pd *pd, const struct rnic_qp_options *opt)
{
	const struct rnic_limits *limits = rnic_limits();

	if (!opt->send_cq || !opt->recv_cq || opt->send_cq->ctx != pd->ctx ||
	    opt->recv_cq->ctx != pd->ctx)
		return -EINVAL;
	if (opt->max_send_wr > limits->max_qp_wr ||
	    opt->max_send_sge > limits->max_sge ||
	    opt->max_inline > limits->max_inline)
		return -EINVAL;
	if (!opt->srq && (opt->max_recv_wr > limits->max_qp_wr ||
			  opt->max_recv_sge > limits->max_sge))
		return -EINVAL;
	return 0;
}

static uint32_t at_least_1(uint32_t value)
{
	return value ? value : 1;
}

static uint32_t sq_stride(const struct rnic_qp_options *opt)
{
	uint32_t room = at_least_1(opt->max_send_sge) *
			(uint32_t)sizeof(struct usiw_sge);

	if (room < opt->max_inline)
		room = opt->max_inline;
	return ((uint32_t)sizeof(struct usiw_sqe) + room + USIW_CACHE_LINE -
		1) &
	       ~(USIW_CACHE_LINE - 1u);
}

static uint32_t rq_stride(const struct rnic_qp_options *opt)
{
	return (uint32_t)(sizeof(struct usiw_rqe) +
			  at_least_1(opt->max_recv_sge) *
				  sizeof(struct usiw_sge));
}

void rnic_qp_slots_size(const struct rnic_qp_options *opt, size_t *ret_sq,
			size_t *ret_rq)
{
	*ret_sq = rnic_ring_slots_size(at_least_1(opt->max_send_wr),
				       sq_stride(opt));
	*ret_rq = opt->srq ? 0
			   : rnic_ring_slots_size(at_least_1(opt->max_recv_wr),
						  rq_stride(opt));
}

static int sq_alloc(struct rnic_qp *qp, const struct rnic_qp_options *opt)
{
	struct rnic_sq *sq = &qp->sq;
	uint32_t depth = at_least_1(opt->max_send_wr);
	uint32_t stride = sq_stride(opt);
	int rc;

	sq->max_sge = at_least_1(opt->max_send_sge);
	/* What rounding up leaves over serves inline data. */
	sq->max_inline = stride - (uint32_t)sizeof(struct usiw_sqe);
	if (sq->max_inline > rnic_limits()->max_inline)
		sq->max_inline = rnic_limits()->max_inline;
	sq->mem.shm = &qp->ctx->shm;
	rc = rnic_ring_alloc(&sq->ring, &sq->mem, depth, stride, opt->sq_slots);
	if (rc < 0)
		return rc;
	sq->wr = calloc(usiw_ring_slot_cnt(depth), sizeof(*sq->wr));
	return sq->wr ? 0 : -ENOMEM;
}

static int rq_alloc(struct rnic_qp *qp, const struct rnic_qp_options *opt)
{
	struct rnic_rq *rq = &qp->rq;

	rq->max_sge = at_least_1(opt->max_recv_sge);
	rq->mem.shm = &qp->ctx->shm;
	return rnic_ring_alloc(&rq->ring, &rq->mem,
			       at_least_1(opt->max_recv_wr), rq_stride(opt),
			       opt->rq_slots);
}

static void qp_release(struct rnic_qp *qp)
{
	rnic_ring_free(&qp->sq.ring, &qp->sq.mem);
	rnic_ring_free(&qp->rq.ring, &qp->rq.mem);
	free(qp->sq.wr);
	free(qp->sq.orq.entry);
	free(qp->irq.entry);
	free(qp);
}

static void qp_users_add(struct rnic_qp *qp, uint32_t one)
{
	_Atomic uint32_t *cnt[] = { &qp->owner.pd->user_cnt,
				    &qp->send_cq->user_cnt,
				    &qp->recv_cq->user_cnt,
				    qp->srq ? &qp->srq->user_cnt : NULL };

	for (size_t i = 0; i < sizeof(cnt) / sizeof(cnt[0]); i++)
		if (cnt[i])
			atomic_fetch_add_explicit(cnt[i], one,
						  memory_order_acq_rel);
}

static void qp_bell_serve(struct rnic_bell *bell)
{
	rnic_qp_serve(RNIC_CONTAINER_OF(bell, struct rnic_qp, bell));
}

/* As long as the peers have not told each other. */
static void qp_reset_rnr_time(struct rnic_qp *qp)
{
	qp->rnr_ns = util_settings()->rnr_ms * NS_PER_MS;
	qp->rnr_full_ns = UINT64_MAX;
}

int rnic_qp_create(struct rnic_pd *pd, struct rnic_qp_options *opt,
		   struct rnic_qp **ret_qp)
{
	struct rnic_qp *qp;
	int rc = qp_check(pd, opt);

	if (rc < 0)
		return rc;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return -ENOMEM;
	qp->owner.pd = pd;
	qp->ctx = pd->ctx;
	qp->engine = pd->ctx->engine;
	qp->send_cq = opt->send_cq;
	qp->recv_cq = opt->recv_cq;
	qp->srq = opt->srq;
	qp->handle = opt->handle;
	qp->bell.serve = qp_bell_serve;
	qp_reset_rnr_time(qp);
	atomic_init(&qp->rq.told_idx,
		    atomic_load_explicit(&qp->recv_cq->ring.hdr->cons_idx,
					 memory_order_relaxed));
	rc = sq_alloc(qp, opt);
	if (rc == 0 && !opt->srq)
		rc = rq_alloc(qp, opt);
	if (rc == 0)
		rc = rnic_qp_table_add(qp);
	if (rc < 0) {
		qp_release(qp);
		return rc;
	}
	qp_users_add(qp, 1);
	rnic_engine_lead(qp->engine);
	rnic_cq_user_add(qp->send_cq, &qp->send_user, qp);
	rnic_cq_user_add(qp->recv_cq, &qp->recv_user, qp);
	rnic_engine_unlead(qp->engine);
	opt->max_send_wr = qp->sq.ring.depth;
	opt->max_send_sge = qp->sq.max_sge;
	opt->max_inline = qp->sq.max_inline;
	opt->max_recv_wr = opt->srq ? 0 : qp->rq.ring.depth;
	opt->max_recv_sge = opt->srq ? 0 : qp->rq.max_sge;
	rnic_stat_add(RNIC_STAT_qp_created, 1);
	*ret_qp = qp;
	return 0;
}

uint32_t rnic_qp_num(const struct rnic_qp *qp)
{
	return qp->num;
}

const struct usiw_ring *rnic_qp_sq(const struct rnic_qp *qp)
{
	return &qp->sq.ring;
}

const struct usiw_ring *rnic_qp_rq(const struct rnic_qp *qp)
{
	return qp->srq ? NULL : &qp->rq.ring;
}

enum rnic_qp_state rnic_qp_state(const struct rnic_qp *qp)
{
	return rnic_qp_state_now(qp);
}

/* ---- work --------------------------------------------------------------- */

void rnic_qp_ring_sq(struct rnic_qp *qp)
{
	rnic_engine_post(qp->engine, &qp->bell);
}

void rnic_qp_ring_rq(struct rnic_qp *qp)
{
	/* Pairs with rnic_qp_set_state(), and with hold_new(). */
	atomic_thread_fence(memory_order_seq_cst);
	if (rnic_qp_has_ended(qp) ||
	    atomic_load_explicit(&qp->is_rnr, memory_order_relaxed))
		rnic_engine_ring(qp->engine, &qp->bell);
}

/* Its peer has gone, which it will notice when it sends. */
static bool qp_is_orphan(const struct rnic_qp *qp)
{
	return rnic_qp_state_now(qp) == RNIC_QPS_RTS && !qp->stream;
}

void rnic_qp_serve(struct rnic_qp *qp)
{
	/* One that is IDLE fails with its first completion. */
	if (qp->is_cq_gone && rnic_qp_state_now(qp) != RNIC_QPS_IDLE) {
		struct rnic_stream *stream = qp->stream;

		rnic_qp_overrun(qp);
		rnic_qp_end(qp);
		if (stream && !qp->stream)
			rnic_stream_end_step(stream);
	}
	if (qp->rnr && !qp->srq)
		rnic_stream_serve_rnr(qp);
	if (qp->stream) {
		rnic_stream_tx(qp->stream);
	} else if (rnic_qp_has_ended(qp)) {
		rnic_sq_flush(qp, USIW_WC_WR_FLUSH_ERR);
		rnic_rq_flush(qp);
	} else if (qp_is_orphan(qp) && !rnic_sq_is_empty(qp)) {
		rnic_qp_fail(qp, RNIC_QPS_ERROR, USIW_WC_RETRY_EXC_ERR,
			     RNIC_QP_EV_CNT);
		rnic_qp_end(qp);
	}
}

/* ---- connection --------------------------------------------------------- */

/* What the application may have under way; one more is for ack.c. */
static void qp_ord_apply(struct rnic_qp *qp)
{
	struct rnic_orq *orq = &qp->sq.orq;
	uint32_t limit = orq->max;

	if (qp->sq.ack.is_on && limit)
		limit--;
	if (qp->has_ord_limit && qp->ord_limit < limit)
		limit = qp->ord_limit;
	orq->limit = limit;
}

static int qp_reads_alloc(struct rnic_qp *qp, uint16_t ird, uint16_t ord)
{
	struct rnic_irq_entry *in = calloc(at_least_1(ird), sizeof(*in));
	struct rnic_orq_entry *out = calloc(at_least_1(ord), sizeof(*out));

	if (!in || !out) {
		free(in);
		free(out);
		return -ENOMEM;
	}
	free(qp->irq.entry);
	free(qp->sq.orq.entry);
	qp->irq = (struct rnic_irq){ .entry = in, .max = ird };
	qp->sq.orq = (struct rnic_orq){ .entry = out, .max = ord };
	qp_ord_apply(qp);
	return 0;
}

int rnic_qp_connecting(struct rnic_qp *qp)
{
	int rc = -EINVAL;

	rnic_engine_lead(qp->engine);
	if (rnic_qp_state_now(qp) == RNIC_QPS_IDLE) {
		rnic_qp_set_state(qp, RNIC_QPS_CONNECTING);
		qp->is_rtr_only = true;
		rc = 0;
	}
	rnic_engine_unlead(qp->engine);
	return rc;
}

void rnic_qp_not_connecting(struct rnic_qp *qp)
{
	rnic_engine_lead(qp->engine);
	if (rnic_qp_state_now(qp) == RNIC_QPS_CONNECTING)
		rnic_qp_set_state(qp, RNIC_QPS_IDLE);
	qp->is_rtr_only = false;
	rnic_engine_unlead(qp->engine);
}

void rnic_qp_may_send(struct rnic_qp *qp, uint32_t ord, uint64_t retry_ns)
{
	rnic_engine_lead(qp->engine);
	qp->retry_ns = retry_ns;
	qp->is_rtr_only = false;
	qp->has_ord_limit = true;
	qp->ord_limit = ord;
	qp_ord_apply(qp);
	rnic_engine_unlead(qp->engine);
}

uint32_t rnic_qp_life(const struct rnic_qp *qp)
{
	return 1 + atomic_load_explicit(&qp->reset_cnt, memory_order_relaxed) %
			   UINT32_MAX;
}

void rnic_qp_not_coming(struct rnic_qp *qp, uint32_t life)
{
	rnic_engine_lead(qp->engine);
	if (rnic_qp_state_now(qp) == RNIC_QPS_IDLE &&
	    rnic_qp_life(qp) == life) {
		rnic_qp_fail(qp, RNIC_QPS_ERROR, USIW_WC_RETRY_EXC_ERR,
			     RNIC_QP_EV_CNT);
		rnic_qp_end(qp);
	}
	rnic_engine_unlead(qp->engine);
}

bool rnic_qp_give_up(struct rnic_qp *qp)
{
	bool has_left = true;

	rnic_engine_lead(qp->engine);
	if (rnic_qp_state_now(qp) == RNIC_QPS_CONNECTING) {
		has_left = usiw_ring_used(&qp->sq.ring) > 0;
		if (has_left) {
			rnic_qp_fail(qp, RNIC_QPS_ERROR, USIW_WC_RETRY_EXC_ERR,
				     RNIC_QP_EV_CNT);
			rnic_qp_end(qp);
		}
	}
	rnic_engine_unlead(qp->engine);
	return has_left;
}

int rnic_qp_attach_stream(struct rnic_qp *qp, struct rnic_stream *stream,
			  uint16_t ird, uint16_t ord, uint64_t cm_ref)
{
	int rc = -EINVAL;

	rnic_engine_lead(qp->engine);
	if ((rnic_qp_state_now(qp) != RNIC_QPS_IDLE &&
	     rnic_qp_state_now(qp) != RNIC_QPS_CONNECTING) ||
	    qp->stream)
		goto unlead;
	/* Without a credit for ack.c there is no telling. */
	qp->sq.ack = (struct rnic_ack){
		.is_on = rnic_qp_state_now(qp) == RNIC_QPS_CONNECTING &&
			 ord > 0,
		.want_idx = qp->sq.next_idx,
		.done_idx = qp->sq.next_idx,
	};
	qp->sq.is_ended = false;
	qp->sq.used_ops = 0;
	rc = qp_reads_alloc(qp, ird, ord);
	if (rc < 0)
		goto unlead;
	/* The start frames are through: the engine lends from here. */
	rc = smpa_conn_rx_lend(stream->conn, NULL, 0);
	if (rc < 0)
		goto unlead;
	free(stream->start_rx);
	stream->start_rx = NULL;
	stream->engine = qp->engine;
	rc = rnic_engine_thread_start(qp->engine);
	if (rc == 0)
		rc = rnic_engine_add(qp->engine, &stream->source);
	if (rc < 0) {
		stream->engine = NULL;
		goto unlead;
	}
	stream->qp = qp;
	stream->phase = RNIC_STREAM_RUN;
	stream->cm_ref = cm_ref;
	qp->stream = stream;
	rnic_qp_set_state(qp, RNIC_QPS_RTS);
	rnic_stat_add(RNIC_STAT_streams_opened, 1);
	/* No siw connects out of band. */
	if (!qp->sq.ack.is_on)
		rnic_stream_probe_start(stream);
	/* The Reply, the RTR, and what was posted before. */
	rnic_stream_tx(stream);
unlead:
	rnic_engine_unlead(qp->engine);
	return rc;
}

void rnic_qp_set_timeout(struct rnic_qp *qp, uint8_t timeout)
{
	rnic_engine_lead(qp->engine);
	qp->timeout = timeout;
	rnic_engine_unlead(qp->engine);
}

void rnic_qp_disconnect(struct rnic_qp *qp, uint64_t cm_ref)
{
	rnic_engine_lead(qp->engine);
	if (rnic_qp_state_now(qp) == RNIC_QPS_RTS && qp->stream &&
	    qp->stream->cm_ref == cm_ref) {
		rnic_qp_set_state(qp, RNIC_QPS_CLOSING);
		rnic_stream_close(qp->stream);
	}
	rnic_engine_unlead(qp->engine);
}

/* ---- the application's transitions -------------------------------------- */

static int qp_abort(struct rnic_qp *qp)
{
	struct rnic_stream *stream = qp->stream;

	if (stream)
		rnic_stream_detach(stream, 0);
	rnic_qp_fail(qp, RNIC_QPS_ERROR, USIW_WC_WR_FLUSH_ERR, RNIC_QP_EV_CNT);
	rnic_qp_end(qp);
	if (stream)
		rnic_stream_end_step(stream);
	return 0;
}

/* ERROR -> IDLE: what is still in the queues vanishes. */
static int qp_reset(struct rnic_qp *qp)
{
	if (qp->stream)
		return -EINVAL;
	usiw_ring_consume(&qp->sq.ring, usiw_ring_used(&qp->sq.ring));
	qp->sq.done_idx = atomic_load_explicit(&qp->sq.ring.hdr->cons_idx,
					       memory_order_relaxed);
	qp->sq.next_idx = qp->sq.done_idx;
	if (!qp->srq)
		usiw_ring_consume(&qp->rq.ring, usiw_ring_used(&qp->rq.ring));
	qp->rq.current.is_open = false;
	qp->is_last_wqe_told = false;
	qp_reset_rnr_time(qp);
	qp->retry_ns = 0;
	qp->has_access = false;
	rnic_mw_owner_gone(&qp->owner);
	qp->has_ord_limit = false;
	qp->is_rtr_only = false;
	qp->sq.ack.is_on = false;
	atomic_store_explicit(&qp->tcp_error, 0, memory_order_relaxed);
	atomic_fetch_add_explicit(&qp->reset_cnt, 1, memory_order_relaxed);
	rnic_qp_set_state(qp, RNIC_QPS_IDLE);
	return 0;
}

static int qp_modify(struct rnic_qp *qp, enum rnic_qp_state state)
{
	enum rnic_qp_state now = rnic_qp_state_now(qp);

	switch (state) {
	case RNIC_QPS_IDLE:
		if (now == RNIC_QPS_IDLE)
			return 0; /* what is posted already stays */
		if (now == RNIC_QPS_RTS || now == RNIC_QPS_CLOSING)
			qp_abort(qp);
		return qp_reset(qp);
	case RNIC_QPS_ERROR:
		if (now == RNIC_QPS_TERMINATE)
			rnic_qp_set_state(qp, RNIC_QPS_ERROR);
		return qp_abort(qp);
	case RNIC_QPS_CLOSING:
		/* Ended meanwhile: what the caller wants has happened. */
		if (rnic_qp_has_ended(qp) || now == RNIC_QPS_CLOSING)
			return 0;
		if (now != RNIC_QPS_RTS)
			return -EINVAL;
		if (qp_is_orphan(qp))
			return qp_abort(qp);
		rnic_qp_set_state(qp, RNIC_QPS_CLOSING);
		rnic_stream_close(qp->stream);
		return 0;
	case RNIC_QPS_RTS:
		return now == RNIC_QPS_RTS ? 0 : -EINVAL;
	case RNIC_QPS_CONNECTING:
	case RNIC_QPS_TERMINATE:
		break;
	}
	return -EINVAL;
}

int rnic_qp_change(struct rnic_qp *qp, enum rnic_qp_state state)
{
	int rc;

	rnic_engine_lead(qp->engine);
	rc = qp_modify(qp, state);
	rnic_engine_unlead(qp->engine);
	return rc;
}

int rnic_qp_set_access(struct rnic_qp *qp, uint32_t access)
{
	rnic_engine_lead(qp->engine);
	qp->access = access;
	qp->has_access = true;
	rnic_engine_unlead(qp->engine);
	return 0;
}

void rnic_qp_query(struct rnic_qp *qp, struct rnic_qp_attr *ret_attr)
{
	memset(ret_attr, 0, sizeof(*ret_attr));
	rnic_engine_lead(qp->engine);
	ret_attr->state = rnic_qp_state_now(qp);
	ret_attr->access = qp->access;
	ret_attr->ird = qp->irq.max;
	if (qp->sq.ack.is_on && qp->irq.max)
		ret_attr->ird--; /* the peer's one more */
	ret_attr->ord = qp->sq.orq.limit;
	ret_attr->timeout = qp->timeout;
	if (qp->stream)
		rnic_tcp_names(qp->stream->source.fd, &ret_attr->local,
			       &ret_attr->peer);
	rnic_engine_unlead(qp->engine);
}

int rnic_qp_error(const struct rnic_qp *qp)
{
	/* acquire: pairs with stream_note_error() */
	return atomic_load_explicit(&qp->tcp_error, memory_order_acquire);
}

void rnic_qp_leave(struct rnic_qp *qp)
{
	qp->is_retired = true;
	rnic_qp_table_remove(qp);
	rnic_engine_lead(qp->engine);
	rnic_engine_serve_bells(qp->engine);
	if (qp->stream) {
		struct rnic_stream *stream = qp->stream;

		rnic_stream_detach(stream, 0);
		rnic_stream_end_step(stream);
	}
	rnic_rnr_drop(qp);
	rnic_mw_owner_gone(&qp->owner);
	rnic_cq_user_remove(&qp->send_user);
	rnic_cq_user_remove(&qp->recv_user);
	rnic_engine_unlead(qp->engine);
}

uint32_t rnic_qp_free(struct rnic_qp *qp)
{
	uint32_t events = 0;

	for (int i = 0; i < RNIC_QP_EV_CNT; i++)
		events += rnic_chan_purge(qp->ctx->async, &qp->event_node[i]);
	qp_users_add(qp, (uint32_t)-1);
	rnic_qp_num_release(qp->num, qp->is_told);
	qp_release(qp);
	return events;
}
