/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How QPs end: what follows from the cause that was noted. */
#include "end.h"

#include <errno.h>

#include "util/log.h"
#include "engine/engine.h"
#include "util/clock.h"
#include "rnr.h"
#include "rq.h"
#include "show.h"
#include "sq-done.h"
#include "sq.h"
#include "state.h"
#include "transport.h"

void rnic_qp_end_due(struct rnic_qp *qp)
{
	const struct rnic_qp_cause cause = qp->cause;

	/* Before the rest: detaching sends, which completes WRs, and their
	 * completions may overrun the CQ. */
	qp->cause.is_due = false;
	qp->refusal = (struct rnic_refusal){ 0 };
	rnic_due_clear(&qp->engine->due, &qp->gone);
	if (qp->link)
		qp->transport->detach(qp, cause.status);
	if (cause.has_idx)
		rnic_sq_end_before(qp, cause.idx);
	rnic_qp_raise(qp, cause.event);
	rnic_rnr_drop(qp);
	qp->irq.cnt = 0;
	qp->irq.submitted_cnt = 0;
	rnic_qp_show_reads_in(qp);
	qp->arrival = (struct rnic_arrival){ 0 };
	rnic_sq_flush(qp, cause.first);
	rnic_rq_flush(qp);
	if (qp->srq && !qp->is_last_wqe_told) {
		qp->is_last_wqe_told = true;
		rnic_qp_raise(qp, RNIC_QP_EV_LAST_WQE);
	}
}

void rnic_qp_unreached(struct rnic_qp *qp)
{
	if (qp->transport->is_lossy)
		rnic_sq_lose(qp);
	else
		rnic_qp_fail(qp, RNIC_QPS_ERROR, USIW_WC_RETRY_EXC_ERR,
			     RNIC_QP_EV_CNT);
	rnic_qp_end(qp);
}

/*
 * A QP of InfiniBand does not hear that its peer has gone.  A program may post
 * more than its peer waits for, and end before the retries are exhausted.
 */
bool rnic_qp_waits_for_peer(struct rnic_qp *qp)
{
	if (!qp->gone_ns || rnic_qp_has_ended(qp))
		return false;
	if (qp->gone.ns)
		return true; /* the first work counts */
	rnic_engine_deadline(qp->engine, &qp->gone,
			     util_now_ns() + qp->gone_ns);
	util_info("rnic",
		  "%s: work is left, and its peer has gone: it fails in "
		  "%u ms",
		  RNIC_QP_NAME(qp), (unsigned int)(qp->gone_ns / NS_PER_MS));
	return true;
}
