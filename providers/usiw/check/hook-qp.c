/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Queue pairs and shared receive queues: making, transitions, ending. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "hooks.h"
#include "reason.h"
#include "wr.h"

static const struct verbs_ops *real(void)
{
	return usiw_check_real;
}

static void queue_init(struct usiw_check_queue *queue, struct usiw_check_cq *cq,
		       struct ibv_pd *pd)
{
	TAILQ_INIT(&queue->wrs);
	queue->cq = cq;
	queue->pd = usiw_check_pd(pd);
}

static void cq_forget(struct usiw_check_cq *cq, uint32_t cnt)
{
	if (cq)
		cq->depth_sum -= cnt < cq->depth_sum ? cnt : cq->depth_sum;
}

/* ---- the CQ of an SRQ -------------------------------------------------- */

static void srq_leave_cq(struct usiw_check_srq *srq)
{
	struct usiw_check_cq *cq = srq->rq.cq;

	if (!cq)
		return;
	cq_forget(cq, srq->max_wr);
	cq->pending_cnt -= srq->rq.cnt;
	srq->rq.cq = NULL;
}

/*
 * Each receive of the SRQ may complete to the CQ of its QPs.  If they have
 * several CQs, nobody can say how many come to each.
 */
static void srq_join_cq(struct usiw_check_srq *srq, struct usiw_check_cq *cq)
{
	bool is_first = srq->qp_cnt++ == 0;

	if (is_first)
		srq->is_mixed = false;
	if (srq->is_mixed || (!is_first && srq->rq.cq == cq))
		return;
	srq_leave_cq(srq);
	srq->is_mixed = !is_first;
	if (!is_first || !cq)
		return;
	srq->rq.cq = cq;
	cq->pending_cnt += srq->rq.cnt;
	usiw_check_cq_depth(cq, srq->max_wr);
}

/* A QP of the SRQ has ended. */
static void srq_qp_ended(struct usiw_check_srq *srq)
{
	if (--srq->qp_cnt == 0)
		srq_leave_cq(srq);
}

/* ---- making ------------------------------------------------------------ */

static void qp_add(const struct ibv_qp *qp, struct ibv_pd *pd,
		   const struct ibv_cq *send_cq, const struct ibv_cq *recv_cq,
		   const struct ibv_srq *srq, bool is_sig_all)
{
	const struct ibv_qp_cap *cap = &((const struct usiw_qp *)qp)->cap;
	struct usiw_check_qp *shadow;

	usiw_check_lock();
	shadow = usiw_check_add(USIW_CHECK_QP, sizeof(*shadow), qp, pd->context,
				qp->qp_num);
	if (shadow) {
		pthread_mutex_init(&shadow->post_lock, NULL);
		queue_init(&shadow->sq, usiw_check_find(USIW_CHECK_CQ, send_cq),
			   pd);
		queue_init(&shadow->rq, usiw_check_find(USIW_CHECK_CQ, recv_cq),
			   pd);
		shadow->srq = srq ? usiw_check_find(USIW_CHECK_SRQ, srq) : NULL;
		shadow->send_wr = cap->max_send_wr;
		shadow->recv_wr = srq ? 0 : cap->max_recv_wr;
		shadow->max_inline = cap->max_inline_data;
		shadow->is_sig_all = is_sig_all;
		if (shadow->sq.cq)
			usiw_check_cq_depth(shadow->sq.cq, shadow->send_wr);
		if (shadow->rq.cq)
			usiw_check_cq_depth(shadow->rq.cq, shadow->recv_wr);
		if (shadow->srq)
			srq_join_cq(shadow->srq, shadow->rq.cq);
	}
	usiw_check_unlock();
}

static struct ibv_qp *check_create_qp(struct ibv_pd *pd,
				      struct ibv_qp_init_attr *attr)
{
	struct ibv_qp *qp = real()->create_qp(pd, attr);

	if (qp)
		qp_add(qp, pd, attr->send_cq, attr->recv_cq, attr->srq,
		       attr->sq_sig_all != 0);
	return qp;
}

static struct ibv_qp *check_create_qp_ex(struct ibv_context *context,
					 struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *qp = real()->create_qp_ex(context, attr);

	if (!qp)
		return NULL;
	qp_add(qp, attr->pd, attr->send_cq, attr->recv_cq, attr->srq,
	       attr->sq_sig_all != 0);
	if (usiw_library_is_qp_ex(&usiw_qp(qp)->vqp))
		usiw_check_hook_wr(&usiw_qp(qp)->vqp.qp_ex);
	return qp;
}

static void srq_add(const struct ibv_srq *srq, struct ibv_pd *pd,
		    uint32_t max_wr)
{
	struct usiw_check_srq *shadow;

	usiw_check_lock();
	shadow = srq ? usiw_check_add(USIW_CHECK_SRQ, sizeof(*shadow), srq,
				      pd->context, srq->handle)
		     : NULL;
	if (shadow) {
		queue_init(&shadow->rq, NULL, pd);
		shadow->max_wr = max_wr;
	}
	usiw_check_unlock();
}

static struct ibv_srq *check_create_srq(struct ibv_pd *pd,
					struct ibv_srq_init_attr *attr)
{
	struct ibv_srq *srq = real()->create_srq(pd, attr);

	srq_add(srq, pd, attr->attr.max_wr);
	return srq;
}

static struct ibv_srq *check_create_srq_ex(struct ibv_context *context,
					   struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq *srq = real()->create_srq_ex(context, attr);

	if (srq)
		srq_add(srq, attr->pd, attr->attr.max_wr);
	return srq;
}

/* ---- transitions ------------------------------------------------------- */

/* What ibv_modify_qp(3) allows next. */
static const char *next_states(enum ibv_qp_state state)
{
	switch (state) {
	case IBV_QPS_RESET:
		return "INIT, ERR";
	case IBV_QPS_INIT:
		return "INIT, RTR, ERR, RESET";
	case IBV_QPS_RTR:
		return "RTS, ERR, RESET";
	case IBV_QPS_RTS:
		return "RTS, SQD, ERR, RESET";
	case IBV_QPS_SQD:
	case IBV_QPS_SQE:
		return "RTS, ERR, RESET";
	default:
		return "RESET";
	}
}

/* What the state allows to post. */
static const char *posts_of(enum ibv_qp_state state)
{
	switch (state) {
	case IBV_QPS_RESET:
		return "nothing";
	case IBV_QPS_INIT:
	case IBV_QPS_RTR:
		return "receives";
	default:
		return "sends and receives";
	}
}

static void transition_report(const struct usiw_check_qp *qp,
			      enum ibv_qp_state state,
			      const struct ibv_qp_attr *attr, int mask)
{
	const char *why = usiw_check_reason();
	struct usiw_check_stack here;

	usiw_check_stack_take(&here);
	usiw_check_report(
		USIW_CHECK_BAD_TRANSITION,
		USIW_CHECK_PLACES({ "called", &here },
				  { "QP made", &qp->obj.made }),
		"QP 0x%06x: ibv_modify_qp() from %s to %s is refused%s"
		"%s; from %s it may go to %s, and takes %s",
		qp->obj.num, usiw_state_name(state),
		mask & IBV_QP_STATE ? usiw_state_name(attr->qp_state)
				    : "the same state",
		*why ? ": " : "", why, usiw_state_name(state),
		next_states(state), posts_of(state));
}

void usiw_check_recv_lost(struct usiw_check_qp *qp, const char *label)
{
	struct usiw_check_stack here = { 0 };

	if (!qp->lost_cnt || !qp->was_in_rts)
		return;
	if (label)
		usiw_check_stack_take(&here);
	usiw_check_report(USIW_CHECK_RECV_NOT_REPOSTED,
			  USIW_CHECK_PLACES({ "moved to RESET", &qp->reset },
					    { label ? label : "", &here },
					    { "QP made", &qp->obj.made }),
			  "QP 0x%06x: RESET took %" PRIu32
			  " receives, and none was posted since, though it was "
			  "in RTS again",
			  qp->obj.num, qp->lost_cnt);
	qp->lost_cnt = 0;
}

static void qp_reset(struct usiw_check_qp *qp)
{
	usiw_check_recv_lost(qp, "moved to RESET again");
	usiw_check_wr_drop(&qp->sq);
	usiw_check_wr_drop(&qp->rq);
	if (qp->recv_cnt) {
		qp->lost_cnt = qp->recv_cnt;
		usiw_check_stack_take(&qp->reset);
	}
	qp->recv_cnt = 0;
	qp->was_in_rts = false;
	qp->terminated.is_there = false;
	qp->sq.refused.is_there = qp->rq.refused.is_there = false;
}

static int check_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
			   int mask)
{
	enum ibv_qp_state state = ibqp->state;
	struct usiw_check_qp *qp;
	int err;

	usiw_check_reason_clear();
	err = real()->modify_qp(ibqp, attr, mask);
	usiw_check_lock();
	qp = usiw_check_find(USIW_CHECK_QP, ibqp);
	if (qp && err == EINVAL)
		transition_report(qp, state, attr, mask);
	if (qp && !err && mask & IBV_QP_STATE) {
		if (attr->qp_state == IBV_QPS_RESET)
			qp_reset(qp);
		if (attr->qp_state == IBV_QPS_RTS)
			qp->was_in_rts = true;
	}
	usiw_check_unlock();
	return err;
}

/* ---- ending ------------------------------------------------------------ */

static int check_destroy_qp(struct ibv_qp *ibqp)
{
	struct usiw_check_qp *qp;
	int err;

	usiw_check_acks(USIW_CHECK_QP, ibqp, true, &ibqp->events_completed);
	qp = usiw_check_begin_end(USIW_CHECK_QP, ibqp);
	usiw_check_lock();
	if (qp) {
		usiw_check_recv_lost(qp, "destroyed");
		usiw_check_full_end(&qp->sq, qp);
		usiw_check_full_end(&qp->rq, qp);
	}
	usiw_check_unlock();
	err = real()->destroy_qp(ibqp);
	if (qp && !err) {
		usiw_check_lock();
		usiw_check_wr_drop(&qp->sq);
		usiw_check_wr_drop(&qp->rq);
		cq_forget(qp->sq.cq, qp->send_wr);
		cq_forget(qp->rq.cq, qp->recv_wr);
		if (qp->srq)
			srq_qp_ended(qp->srq);
		usiw_check_unlock();
	}
	usiw_check_end(qp ? &qp->obj : NULL, err);
	return err;
}

static int check_destroy_srq(struct ibv_srq *ibsrq)
{
	struct usiw_check_srq *srq;
	int err;

	usiw_check_acks(USIW_CHECK_SRQ, ibsrq, true, &ibsrq->events_completed);
	srq = usiw_check_begin_end(USIW_CHECK_SRQ, ibsrq);
	err = real()->destroy_srq(ibsrq);
	if (srq && !err) {
		usiw_check_lock();
		usiw_check_wr_drop(&srq->rq);
		usiw_check_unlock();
	}
	usiw_check_end(srq ? &srq->obj : NULL, err);
	return err;
}

void usiw_check_hook_qp(struct verbs_ops *ops)
{
	ops->create_qp = check_create_qp;
	ops->create_qp_ex = check_create_qp_ex;
	ops->modify_qp = check_modify_qp;
	ops->destroy_qp = check_destroy_qp;
	ops->create_srq = check_create_srq;
	ops->create_srq_ex = check_create_srq_ex;
	ops->destroy_srq = check_destroy_srq;
}
