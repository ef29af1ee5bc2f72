/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shared receive queues. */
#include <errno.h>
#include <stdlib.h>

#include "util/alloc.h"
#include "util/reason.h"
#include "engine/engine.h"
#include "mem/context.h"
#include "object.h"
#include "os/chan.h"
#include "place.h"
#include "ring-mem.h"
#include "serve.h"

#define CREATE "ibv_create_srq"
#define MODIFY "ibv_modify_srq"

size_t rnic_srq_slots_size(uint32_t max_wr, uint32_t max_sge)
{
	return rnic_ring_slots_size(max_wr, rnic_rqe_stride(max_sge));
}

static void srq_show(struct rnic_srq *srq, struct usiw_res_srq *res)
{
	srq->res = res;
	usiw_ring_show(&srq->ring, &res->posted_idx, &res->taken_idx);
	res->context = srq->pd->ctx->res->head.id;
	res->pd = srq->pd->res->head.id;
	res->depth = srq->ring.depth;
	res->max_sge = srq->max_sge;
	rnic_res_set(&res->limit, srq->limit);
	rnic_res_close(&res->head);
}

int rnic_srq_create(struct rnic_pd *pd, struct rnic_srq_options *opt,
		    struct rnic_srq **ret_srq)
{
	const struct rnic_limits *limits = rnic_limits();
	struct usiw_res_srq *res;
	struct rnic_srq *srq;
	int rc = util_check_range("verbs", CREATE, "max_wr", opt->max_wr, 1,
				  limits->max_srq_wr);

	if (rc == 0)
		rc = util_check_range("verbs", CREATE, "max_sge", opt->max_sge,
				      0, limits->max_srq_sge);
	if (rc < 0)
		return rc;
	res = rnic_res_take(USIW_RES_SRQ, 0);
	srq = util_alloc_lines(1, sizeof(*srq));
	if (!res || !srq)
		goto give;
	srq->pd = pd;
	rnic_place_init(&srq->place, pd->ctx);
	srq->handle = opt->handle;
	srq->limit = opt->limit;
	srq->bell.serve = rnic_srq_serve;
	TAILQ_INIT(&srq->rnrs);
	srq->max_sge = rnic_at_least_1(opt->max_sge);
	srq->mem.shm = &pd->ctx->shm;
	if (rnic_ring_alloc(&srq->ring, &srq->mem, opt->max_wr,
			    rnic_rqe_stride(opt->max_sge), opt->slots) < 0)
		goto give;
	srq_show(srq, res);
	atomic_fetch_add_explicit(&pd->user_cnt, 1, memory_order_relaxed);
	opt->max_sge = srq->max_sge;
	*ret_srq = srq;
	return 0;
give:
	rnic_res_give(USIW_RES_SRQ, res);
	free(srq);
	return util_refuse_memory("verbs", CREATE);
}

uint32_t rnic_srq_num(const struct rnic_srq *srq)
{
	return srq->res->head.id;
}

const struct usiw_ring *rnic_srq_ring(const struct rnic_srq *srq)
{
	return &srq->ring;
}

int rnic_srq_set_limit(struct rnic_srq *srq, uint32_t limit)
{
	struct rnic_context *ctx = srq->pd->ctx;
	struct rnic_engine *engine;
	int rc = util_check_range("verbs", MODIFY, "srq_limit", limit, 0,
				  srq->ring.depth);

	if (rc < 0)
		return rc;
	engine = rnic_place_lead(&srq->place);
	srq->limit = limit;
	if (limit && usiw_ring_used(&srq->ring) < limit) {
		/* Under it already: fires at once. */
		srq->limit = 0;
		rnic_context_event(ctx, &srq->limit_node,
				   USIW_EVENT_SRQ_LIMIT_REACHED, srq->handle);
	}
	rnic_res_set(&srq->res->limit, srq->limit);
	rnic_engine_unlead(engine);
	return 0;
}

int rnic_srq_resize(struct rnic_srq *srq, uint32_t max_wr, void *slots)
{
	struct rnic_engine *engine;
	struct rnic_ring_swap swap;
	bool is_done;
	int rc = util_check_range("verbs", MODIFY, "max_wr", max_wr, 1,
				  rnic_limits()->max_srq_wr);

	if (rc < 0)
		return rc;
	if (rnic_ring_swap_begin(&srq->ring, &srq->mem, max_wr, slots, &swap) <
	    0)
		return util_refuse_memory("verbs", MODIFY);
	engine = rnic_place_lead(&srq->place);
	is_done = rnic_ring_swap(&srq->ring, &srq->mem, &swap);
	rnic_res_open(&srq->res->head);
	srq->res->depth = srq->ring.depth;
	rnic_res_close(&srq->res->head);
	rnic_engine_unlead(engine);
	rnic_ring_swap_end(&srq->ring, &srq->mem, &swap);
	return is_done ? 0
		       : util_refuse("verbs", EINVAL, MODIFY,
				     "max_wr is %u, fewer than the receives "
				     "that are posted",
				     max_wr);
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
		return util_refuse("verbs", EBUSY, "ibv_destroy_srq",
				   "queue pairs use it");
	/* Its bell may have rung, and not be served yet. */
	engine = rnic_place_lead(&srq->place);
	rnic_engine_serve_bells(engine);
	rnic_engine_unlead(engine);
	*ret_async_events = rnic_chan_purge(pd->ctx->async, &srq->limit_node);
	rnic_ring_free(&srq->ring, &srq->mem);
	rnic_res_give(USIW_RES_SRQ, srq->res);
	free(srq);
	atomic_fetch_sub_explicit(&pd->user_cnt, 1, memory_order_release);
	return 0;
}
