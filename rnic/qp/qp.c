/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Queue pairs: made, reset, freed; what their connections negotiate. */

#include "qp.h"

#include <errno.h>
#include <stdlib.h>

#include "util/alloc.h"
#include "util/env.h"
#include "util/reason.h"
#include "cq.h"
#include "engine/engine.h"
#include "fault/rules.h"
#include "mem/mw.h"
#include "os/chan.h"
#include "os/stat.h"
#include "place.h"
#include "qp-num.h"
#include "qp-table.h"
#include "ring-mem.h"
#include "serve.h"
#include "show.h"
#include "state.h"
#include "transport.h"

/* ---- creation ----------------------------------------------------------- */

#define CREATE "ibv_create_qp"

static int qp_check(const struct rnic_pd *pd, const struct rnic_qp_options *opt)
{
	const struct rnic_limits *limits = rnic_limits();
	uint32_t max_recv_wr = opt->srq ? 0 : opt->max_recv_wr;
	uint32_t max_recv_sge = opt->srq ? 0 : opt->max_recv_sge;

	if (!opt->send_cq || !opt->recv_cq || opt->send_cq->ctx != pd->ctx ||
	    opt->recv_cq->ctx != pd->ctx)
		return util_refuse("verbs", EINVAL, CREATE,
				   "a CQ is none of the PD's context");
	if (opt->max_send_wr > limits->max_qp_wr ||
	    max_recv_wr > limits->max_qp_wr)
		return util_refuse("verbs", EINVAL, CREATE,
				   "max_send_wr is %u, max_recv_wr %u, not 0 "
				   "to %u",
				   opt->max_send_wr, max_recv_wr,
				   limits->max_qp_wr);
	if (opt->max_send_sge > limits->max_sge ||
	    max_recv_sge > limits->max_sge)
		return util_refuse("verbs", EINVAL, CREATE,
				   "max_send_sge is %u, max_recv_sge %u, not 0 "
				   "to %u",
				   opt->max_send_sge, max_recv_sge,
				   limits->max_sge);
	return util_check_range("verbs", CREATE, "max_inline_data",
				opt->max_inline, 0, limits->max_inline);
}

static uint32_t sq_stride(const struct rnic_qp_options *opt)
{
	uint32_t data = rnic_at_least_1(opt->max_send_sge) *
			(uint32_t)sizeof(struct usiw_sge);

	if (data < opt->max_inline)
		data = opt->max_inline;
	return ((uint32_t)sizeof(struct usiw_sqe) + data + USIW_CACHE_LINE -
		1) &
	       ~(USIW_CACHE_LINE - 1u);
}

void rnic_qp_slots_size(const struct rnic_qp_options *opt, size_t *ret_sq,
			size_t *ret_rq)
{
	*ret_sq = rnic_ring_slots_size(rnic_at_least_1(opt->max_send_wr),
				       sq_stride(opt));
	*ret_rq = opt->srq ? 0
			   : rnic_ring_slots_size(
				     rnic_at_least_1(opt->max_recv_wr),
				     rnic_rqe_stride(opt->max_recv_sge));
}

static bool sq_alloc(struct rnic_qp *qp, const struct rnic_qp_options *opt)
{
	struct rnic_sq *sq = &qp->sq;
	uint32_t depth = rnic_at_least_1(opt->max_send_wr);
	uint32_t stride = sq_stride(opt);

	sq->max_sge = rnic_at_least_1(opt->max_send_sge);
	/* What rounding up leaves over serves inline data. */
	sq->max_inline = stride - (uint32_t)sizeof(struct usiw_sqe);
	if (sq->max_inline > rnic_limits()->max_inline)
		sq->max_inline = rnic_limits()->max_inline;
	sq->mem.shm = &qp->ctx->shm;
	if (rnic_ring_alloc(&sq->ring, &sq->mem, depth, stride, opt->sq_slots) <
	    0)
		return false;
	usiw_ring_show(&sq->ring, &qp->res->sq_posted_idx,
		       &qp->res->sq_done_idx);
	/* Not util_alloc_lines(), which writes to all of it: a program may ask
	 * for many entries and use a few. */
	sq->wr = calloc(usiw_ring_slot_cnt(depth), sizeof(*sq->wr));
	return sq->wr != NULL;
}

static bool rq_alloc(struct rnic_qp *qp, const struct rnic_qp_options *opt)
{
	struct rnic_rq *rq = &qp->rq;

	rq->max_sge = rnic_at_least_1(opt->max_recv_sge);
	rq->mem.shm = &qp->ctx->shm;
	if (rnic_ring_alloc(
		    &rq->ring, &rq->mem, rnic_at_least_1(opt->max_recv_wr),
		    rnic_rqe_stride(opt->max_recv_sge), opt->rq_slots) < 0)
		return false;
	usiw_ring_show(&rq->ring, &qp->res->rq_posted_idx,
		       &qp->res->rq_taken_idx);
	return true;
}

static void qp_release(struct rnic_qp *qp)
{
	rnic_place_qp_left(qp);
	rnic_ring_free(&qp->sq.ring, &qp->sq.mem);
	rnic_ring_free(&qp->rq.ring, &qp->rq.mem);
	free(qp->sq.wr);
	free(qp->sq.orq.entry);
	free(qp->irq.entry);
	rnic_res_give(USIW_RES_QP, qp->res);
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

/* Until the peers have told each other. */
static void qp_reset_rnr_time(struct rnic_qp *qp)
{
	qp->rnr_ns = qp->transport->is_lossy
			     ? 0
			     : util_settings()->rnr_ms * NS_PER_MS;
	qp->rnr_full_ns = UINT64_MAX;
}

/* All leads are there. */
static void serve_all(struct rnic_bell *bell)
{
	struct rnic_qp *qp = RNIC_CONTAINER_OF(bell, struct rnic_qp, all_bell);

	rnic_engine_bell(qp->engine, &qp->bell);
}

int rnic_qp_new(struct rnic_pd *pd, struct rnic_qp_options *opt,
		const struct rnic_transport *transport, struct rnic_qp **ret_qp)
{
	struct rnic_qp *qp;
	int rc = qp_check(pd, opt);

	if (rc < 0)
		return rc;
	qp = util_alloc_lines(1, sizeof(*qp));
	if (!qp)
		return util_refuse_memory("verbs", CREATE);
	qp->owner.pd = pd;
	qp->ctx = pd->ctx;
	qp->send_cq = opt->send_cq;
	qp->recv_cq = opt->recv_cq;
	qp->srq = opt->srq;
	qp->handle = opt->handle;
	qp->transport = transport;
	qp->ord_limit = UINT32_MAX;
	qp->bell.serve = rnic_qp_serve;
	qp->all_bell.serve = serve_all;
	qp->gone.serve = rnic_qp_serve_gone;
	rnic_place_qp(qp);
	qp_reset_rnr_time(qp);
	atomic_init(&qp->rq.told_idx,
		    atomic_load_explicit(&qp->recv_cq->ring.hdr->cons_idx,
					 memory_order_relaxed));
	rc = rnic_qp_show_init(qp) && sq_alloc(qp, opt) &&
			     (opt->srq || rq_alloc(qp, opt))
		     ? rnic_qp_table_add(qp)
		     : util_refuse_memory("verbs", CREATE);
	if (rc < 0) {
		qp_release(qp);
		return rc;
	}
	qp_users_add(qp, 1);
	rnic_engine_lead(qp->engine);
	rnic_cq_user_add(qp->send_cq, &qp->send_user, qp);
	rnic_cq_user_add(qp->recv_cq, &qp->recv_user, qp);
	rnic_engine_unlead(qp->engine);
	rnic_qp_show(qp);
	opt->max_send_wr = qp->sq.ring.depth;
	opt->max_send_sge = qp->sq.max_sge;
	opt->max_inline = qp->sq.max_inline;
	opt->max_recv_wr = opt->srq ? 0 : qp->rq.ring.depth;
	opt->max_recv_sge = opt->srq ? 0 : qp->rq.max_sge;
	if (rnic_fault_is_on(RNIC_FAULT_ANYWHERE))
		qp->fault.no = rnic_fault_qp_no();
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

/* ---- connection --------------------------------------------------------- */

/* READs and atomics that the application may have under way; ack.c has one. */
static void qp_ord_apply(struct rnic_qp *qp)
{
	struct rnic_orq *orq = &qp->sq.orq;
	uint32_t limit = orq->max;

	if (qp->sq.ack.is_on && limit)
		limit--;
	if (qp->ord_limit < limit)
		limit = qp->ord_limit;
	orq->limit = limit;
	rnic_qp_show_depths(qp);
}

static int qp_reads_alloc(struct rnic_qp *qp, uint16_t ird, uint16_t ord)
{
	struct rnic_irq_entry *in =
		util_alloc_lines(rnic_at_least_1(ird), sizeof(*in));
	struct rnic_orq_entry *out =
		util_alloc_lines(rnic_at_least_1(ord), sizeof(*out));

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

int rnic_qp_prepare(struct rnic_qp *qp, uint16_t ird, uint16_t ord)
{
	enum rnic_qp_state state = rnic_qp_state_now(qp);

	if ((state != RNIC_QPS_IDLE && state != RNIC_QPS_CONNECTING) ||
	    qp->link)
		return -EINVAL;
	if (qp->transport->is_lossy) {
		ird = 0;
		ord = 0;
	}
	/* ack.c needs a READ credit. */
	qp->sq.ack = (struct rnic_ack){
		.is_on = state == RNIC_QPS_CONNECTING && ord > 0,
		.want_idx = qp->sq.next_idx,
		.done_idx = qp->sq.next_idx,
	};
	qp->sq.is_ended = false;
	qp->sq.used_ops = 0;
	return qp_reads_alloc(qp, ird, ord);
}

bool rnic_qp_connecting(struct rnic_qp *qp, uint32_t dest_num,
			const struct sockaddr_storage *local,
			const struct sockaddr_storage *peer)
{
	bool is_idle;

	rnic_engine_lead(qp->engine);
	is_idle = rnic_qp_state_now(qp) == RNIC_QPS_IDLE;
	if (is_idle) {
		rnic_qp_show_peer(qp, dest_num, local, peer);
		rnic_qp_set_state(qp, RNIC_QPS_CONNECTING);
		qp->is_rtr_only = true;
	}
	rnic_engine_unlead(qp->engine);
	return is_idle;
}

void rnic_qp_not_connecting(struct rnic_qp *qp)
{
	rnic_engine_lead(qp->engine);
	if (rnic_qp_state_now(qp) == RNIC_QPS_CONNECTING)
		rnic_qp_set_state(qp, RNIC_QPS_IDLE);
	qp->is_rtr_only = false;
	rnic_engine_unlead(qp->engine);
}

void rnic_qp_may_send(struct rnic_qp *qp,
		      const struct rnic_oob_send_options *opt)
{
	rnic_engine_lead(qp->engine);
	qp->retry_ns = opt->retry_ns;
	qp->gone_ns = opt->gone_ns;
	qp->is_rtr_only = false;
	qp->ord_limit = opt->ord;
	qp_ord_apply(qp);
	rnic_engine_unlead(qp->engine);
}

uint32_t rnic_qp_life(const struct rnic_qp *qp)
{
	return 1 + atomic_load_explicit(&qp->reset_cnt, memory_order_relaxed) %
			   UINT32_MAX;
}

void rnic_qp_set_timeout(struct rnic_qp *qp, uint8_t timeout, uint64_t retry_ns)
{
	rnic_engine_lead(qp->engine);
	qp->timeout = timeout;
	qp->retry_ns = retry_ns;
	rnic_engine_unlead(qp->engine);
}

int rnic_qp_reset(struct rnic_qp *qp)
{
	static const struct sockaddr_storage none;

	if (qp->link)
		return util_refuse("verbs", EINVAL, "ibv_modify_qp",
				   "QP 0x%06x has a stream", qp->num);
	usiw_ring_consume(&qp->sq.ring, usiw_ring_used(&qp->sq.ring));
	qp->sq.done_idx = atomic_load_explicit(&qp->sq.ring.hdr->cons_idx,
					       memory_order_relaxed);
	qp->sq.next_idx = qp->sq.done_idx;
	rnic_res_set(&qp->res->sq_sent_idx, qp->sq.next_idx);
	if (!qp->srq)
		usiw_ring_consume(&qp->rq.ring, usiw_ring_used(&qp->rq.ring));
	qp->rq.current.is_open = false;
	qp->is_last_wqe_told = false;
	qp_reset_rnr_time(qp);
	qp->retry_ns = 0;
	qp->gone_ns = 0;
	qp->has_access = false;
	rnic_mw_owner_gone(&qp->owner);
	qp->ord_limit = UINT32_MAX;
	qp->is_rtr_only = false;
	qp->sq.ack.is_on = false;
	rnic_qp_note_error(qp, 0);
	rnic_res_set(&qp->res->status, USIW_WC_SUCCESS);
	rnic_qp_show_peer(qp, 0, &none, &none);
	atomic_fetch_add_explicit(&qp->reset_cnt, 1, memory_order_relaxed);
	rnic_qp_set_state(qp, RNIC_QPS_IDLE);
	return 0;
}

int rnic_qp_error(const struct rnic_qp *qp)
{
	/* acquire: pairs with rnic_qp_note_error() */
	return atomic_load_explicit(&qp->tcp_error, memory_order_acquire);
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
