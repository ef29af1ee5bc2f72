/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shared receive queues. */
#include <errno.h>
#include <stdlib.h>

#include "util/alloc.h"
#include "engine/engine.h"
#include "mem/context.h"
#include "object.h"
#include "os/chan.h"
#include "place.h"
#include "ring-mem.h"
#include "serve.h"

size_t rnic_srq_slots_size(uint32_t max_wr, uint32_t max_sge)
{
	return rnic_ring_slots_size(max_wr, rnic_rqe_stride(max_sge));
}

int rnic_srq_create(struct rnic_pd *pd, struct rnic_srq_options *opt,
		    struct rnic_srq **ret_srq)
{
	const struct rnic_limits *limits = rnic_limits();
	struct rnic_srq *srq;
	int rc;

	if (!opt->max_wr || opt->max_wr > limits->max_srq_wr ||
	    opt->max_sge > limits->max_srq_sge)
		return -EINVAL;
	srq = util_alloc_lines(1, sizeof(*srq));
	if (!srq)
		return -ENOMEM;
	srq->pd = pd;
	rnic_place_init(&srq->place, pd->ctx);
	srq->handle = opt->handle;
	srq->limit = opt->limit;
	srq->bell.serve = rnic_srq_serve;
	TAILQ_INIT(&srq->rnrs);
	srq->max_sge = rnic_at_least_1(opt->max_sge);
	srq->mem.shm = &pd->ctx->shm;
	rc = rnic_ring_alloc(&srq->ring, &srq->mem, opt->max_wr,
			     rnic_rqe_stride(opt->max_sge), opt->slots);
	if (rc < 0) {
		free(srq);
		return rc;
	}
	atomic_fetch_add_explicit(&pd->user_cnt, 1, memory_order_relaxed);
	opt->max_sge = srq->max_sge;
	*ret_srq = srq;
	return 0;
}

const struct usiw_ring *rnic_srq_ring(const struct rnic_srq *srq)
{
	return &srq->ring;
}

int rnic_srq_set_limit(struct rnic_srq *srq, uint32_t limit)
{
	struct rnic_context *ctx = srq->pd->ctx;
	struct rnic_engine *engine;

	if (limit > srq->ring.depth)
		return -EINVAL;
	engine = rnic_place_lead(&srq->place);
	srq->limit = limit;
	if (limit && usiw_ring_used(&srq->ring) < limit) {
		/* Under it already: fires at once. */
		srq->limit = 0;
		rnic_context_event(ctx, &srq->limit_node,
				   USIW_EVENT_SRQ_LIMIT_REACHED, srq->handle);
	}
	rnic_engine_unlead(engine);
	return 0;
}

int rnic_srq_resize(struct rnic_srq *srq, uint32_t max_wr, void *slots)
{
	struct rnic_engine *engine;
	struct rnic_ring_swap swap;
	int rc;

	if (!max_wr || max_wr > rnic_limits()->max_srq_wr)
		return -EINVAL;
	rc = rnic_ring_swap_begin(&srq->ring, &srq->mem, max_wr, slots, &swap);
	if (rc < 0)
		return rc;
	engine = rnic_place_lead(&srq->place);
	rc = rnic_ring_swap(&srq->ring, &srq->mem, &swap);
	rnic_engine_unlead(engine);
	rnic_ring_swap_end(&srq->ring, &srq->mem, &swap);
	return rc;
}

void rnic_srq_query(struct rnic_srq *srq, struct rnic_srq_options *ret_opt)
{
	struct rnic_engine *engine = rnic_place_lead(&srq->place);

	*ret_opt = (struct rnic_srq_options){
		.max_wr = srq->ring.depth,
		.max_sge = srq->max_sge,
		.limit = srq->limit,
		.handle = srq->handle,
	};
	rnic_engine_unlead(engine);
}

int rnic_srq_destroy(struct rnic_srq *srq, uint32_t *ret_async_events)
{
	struct rnic_pd *pd = srq->pd;
	struct rnic_engine *engine;

	if (atomic_load_explicit(&srq->user_cnt, memory_order_acquire))
		return -EBUSY;
	/* Its bell may have rung, and not be served yet. */
	engine = rnic_place_lead(&srq->place);
	rnic_engine_serve_bells(engine);
	rnic_engine_unlead(engine);
	*ret_async_events = rnic_chan_purge(pd->ctx->async, &srq->limit_node);
	rnic_ring_free(&srq->ring, &srq->mem);
	free(srq);
	atomic_fetch_sub_explicit(&pd->user_cnt, 1, memory_order_release);
	return 0;
}
