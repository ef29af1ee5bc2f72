/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Work requests are posted and completed: one place each. */
#include "wr.h"

#include "engine/engine.h"

/* What the engine has to do for a WR that is posted. */
enum wr_need {
	WR_NEEDS_NOTHING, /* until a message comes for it */
	WR_NEEDS_SERVICE, /* what waits for it */
	WR_NEEDS_SENDING,
};

/* Every posted WR passes here.  Its ring entry is committed. */
static inline void wr_posted(struct rnic_engine *engine, struct rnic_bell *bell,
			     enum wr_need need)
{
	if (need == WR_NEEDS_SENDING)
		rnic_engine_post(engine, bell);
	else if (need == WR_NEEDS_SERVICE)
		rnic_engine_ring(engine, bell);
}

void rnic_qp_ring_sq(struct rnic_qp *qp)
{
	wr_posted(qp->engine, &qp->bell, WR_NEEDS_SENDING);
}

void rnic_qp_ring_rq(struct rnic_qp *qp)
{
	bool is_needed;

	/* Pairs with rnic_qp_set_state(), and with rnr_new(). */
	atomic_thread_fence(memory_order_seq_cst);
	is_needed = rnic_qp_has_ended(qp) ||
		    atomic_load_explicit(&qp->is_rnr, memory_order_relaxed);
	wr_posted(qp->engine, &qp->bell,
		  is_needed ? WR_NEEDS_SERVICE : WR_NEEDS_NOTHING);
}

void rnic_srq_ring_rq(struct rnic_srq *srq)
{
	bool is_needed;

	/* Pairs with rnr_new(). */
	atomic_thread_fence(memory_order_seq_cst);
	is_needed =
		atomic_load_explicit(&srq->is_awaited, memory_order_relaxed);
	wr_posted(srq->pd->ctx->engine, &srq->bell,
		  is_needed ? WR_NEEDS_SERVICE : WR_NEEDS_NOTHING);
}
