/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the engine calls for QPs and SRQs. */
#include "serve.h"

#include "end.h"
#include "rnr.h"
#include "rq.h"
#include "sq-done.h"
#include "state.h"
#include "transport.h"

static void serve_rnr(struct rnic_qp *qp)
{
	void *link = qp->link;
	bool has_delivered = false;

	while (qp->rnr && rnic_rnr_deliver(qp))
		has_delivered = true;
	if (has_delivered)
		qp->transport->go_on(qp, link);
}

/* A CQ of the QP is overrun, or the engine is broken. */
static void serve_cq_gone(struct rnic_qp *qp)
{
	void *link = qp->link;

	rnic_qp_overrun(qp);
	rnic_qp_end(qp);
	if (link && !qp->link)
		qp->transport->step(link);
}

/*
 * With rdma_cm a Send is complete when TCP has it.  So when the peer says that
 * it has waited too long for a receive, no WR may be left to tell it; then the
 * next one does.
 */
static enum usiw_wc_status serve_first(const struct rnic_qp *qp)
{
	return qp->cause.first == USIW_WC_RNR_RETRY_EXC_ERR
		       ? USIW_WC_RNR_RETRY_EXC_ERR
		       : USIW_WC_WR_FLUSH_ERR;
}

void rnic_qp_serve(struct rnic_bell *bell)
{
	struct rnic_qp *qp = RNIC_CONTAINER_OF(bell, struct rnic_qp, bell);

	/* One that is IDLE fails with its first completion. */
	if (atomic_load_explicit(&qp->is_cq_gone, memory_order_relaxed) &&
	    rnic_qp_state_now(qp) != RNIC_QPS_IDLE)
		serve_cq_gone(qp);
	if (qp->rnr && !qp->srq)
		serve_rnr(qp);
	if (qp->link) {
		qp->transport->transmit(qp);
	} else if (rnic_qp_has_ended(qp)) {
		rnic_sq_flush(qp, serve_first(qp));
		rnic_rq_flush(qp);
	} else if (rnic_qp_is_orphan(qp) && !rnic_sq_is_empty(qp) &&
		   !rnic_qp_waits_for_peer(qp)) {
		rnic_qp_unreached(qp);
	}
}

void rnic_qp_serve_gone(struct rnic_due *due, uint64_t now_ns)
{
	(void)now_ns;
	rnic_qp_unreached(RNIC_CONTAINER_OF(due, struct rnic_qp, gone));
}

void rnic_srq_serve(struct rnic_bell *bell)
{
	struct rnic_srq *srq = RNIC_CONTAINER_OF(bell, struct rnic_srq, bell);
	uint32_t idle_cnt = 0;

	/* One message of each QP, in turn. */
	while (idle_cnt < srq->rnr_cnt && usiw_ring_peek(&srq->ring, 0)) {
		struct rnic_qp *qp = rnic_rnr_next_turn(srq);
		void *link = qp->link;

		idle_cnt++;
		if (rnic_rnr_deliver(qp)) {
			qp->transport->go_on(qp, link);
			idle_cnt = 0;
		}
	}
}
