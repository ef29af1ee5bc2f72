/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Work requests are posted and completed: one place each. */
#include "wr.h"

#include <errno.h>

#include "engine/bell.h"
#include "engine/engine.h"
#include "fault.h"
#include "place.h"

/*
 * Every posted WR passes here.  Its ring entry is committed.  @needs_service:
 * it is to be sent, or a message waits for it; otherwise nothing happens until
 * a message comes.
 */
static inline void wr_posted(struct rnic_engine *engine, struct rnic_bell *bell,
			     bool needs_service)
{
	if (needs_service)
		rnic_engine_post(engine, bell);
}

void rnic_qp_ring_sq(struct rnic_qp *qp)
{
	wr_posted(qp->engine, &qp->bell, true);
}

/* Behind a fence.  A bell that is rung is served for these receives, too. */
static void wr_posted_recv(struct rnic_engine *engine, struct rnic_bell *bell,
			   bool is_awaited)
{
	wr_posted(engine, bell, is_awaited && !rnic_bell_is_rung(bell));
}

void rnic_qp_ring_rq(struct rnic_qp *qp)
{
	/* Pairs with rnic_qp_set_state(), rnr_new() and rnic_bells_serve(). */
	atomic_thread_fence(memory_order_seq_cst);
	wr_posted_recv(qp->engine, &qp->bell,
		       rnic_qp_has_ended(qp) ||
			       atomic_load_explicit(&qp->is_rnr,
						    memory_order_relaxed));
}

void rnic_srq_ring_rq(struct rnic_srq *srq)
{
	/* Pairs with rnr_new() and rnic_bells_serve(). */
	atomic_thread_fence(memory_order_seq_cst);
	wr_posted_recv(
		rnic_place_engine(&srq->place), &srq->bell,
		atomic_load_explicit(&srq->is_awaited, memory_order_relaxed));
}

int rnic_wr_complete_watched(struct rnic_qp *qp, struct rnic_cq *cq,
			     struct usiw_cqe *cqe, bool is_signaled)
{
	int fault = 0, rc;

	if (rnic_fault_is_on(RNIC_FAULT_AT_WORK) &&
	    cqe->status == USIW_WC_SUCCESS)
		fault = rnic_qp_fault_work(qp, cqe, &is_signaled);
	if (fault == -ENOSPC)
		return rnic_cq_overrun(cq);
	if (UTIL_PROBE_IS_ON(complete))
		rnic_probe_complete(qp->num, cqe, is_signaled);
	rc = rnic_wr_push(qp, cq, cqe, is_signaled);
	return rc < 0 ? rc : fault;
}
