/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* QPs and their queues are spread over the engines of a context. */
#include "place.h"

#include "engine/engine.h"
#include "mem/context.h"

void rnic_place_init(struct rnic_place *place, struct rnic_context *ctx)
{
	atomic_init(&place->engine, ctx->engine);
	atomic_init(&place->is_fixed, false);
}

static bool place_is_fixed(const struct rnic_place *place)
{
	/* acquire: its engine does not change any more */
	return atomic_load_explicit(&place->is_fixed, memory_order_acquire);
}

static void place_fix(struct rnic_place *place, struct rnic_engine *engine)
{
	/* release, both: pairs with rnic_place_engine(), place_is_fixed() */
	atomic_store_explicit(&place->engine, engine, memory_order_release);
	atomic_store_explicit(&place->is_fixed, true, memory_order_release);
}

static void cq_join(struct rnic_cq *cq, struct rnic_engine *engine)
{
	if (!place_is_fixed(&cq->place))
		place_fix(&cq->place, engine);
	else if (rnic_place_engine(&cq->place) != engine)
		atomic_store_explicit(&cq->is_shared, true,
				      memory_order_relaxed);
}

static struct rnic_engine *qp_choose(const struct rnic_qp *qp)
{
	const struct rnic_place *place[] = {
		qp->srq ? &qp->srq->place : &qp->send_cq->place,
		&qp->send_cq->place,
		&qp->recv_cq->place,
	};

	for (size_t i = 0; i < sizeof(place) / sizeof(place[0]); i++)
		if (place_is_fixed(place[i]))
			return rnic_place_engine(place[i]);
	return rnic_engines_pick(&qp->ctx->engines);
}

void rnic_place_qp(struct rnic_qp *qp)
{
	rnic_engines_lead(&qp->ctx->engines);
	qp->engine = qp_choose(qp);
	qp->owner.engine = qp->engine;
	cq_join(qp->send_cq, qp->engine);
	cq_join(qp->recv_cq, qp->engine);
	if (qp->srq && !place_is_fixed(&qp->srq->place))
		place_fix(&qp->srq->place, qp->engine);
	/* relaxed: a hint for the next choice */
	atomic_fetch_add_explicit(&qp->engine->qp_cnt, 1, memory_order_relaxed);
	rnic_engines_unlead(&qp->ctx->engines);
}

void rnic_place_qp_left(struct rnic_qp *qp)
{
	atomic_fetch_sub_explicit(&qp->engine->qp_cnt, 1, memory_order_relaxed);
}

void rnic_place_cq(struct rnic_cq *cq)
{
	if (place_is_fixed(&cq->place))
		return;
	rnic_engines_lead(&cq->ctx->engines);
	if (!place_is_fixed(&cq->place))
		place_fix(&cq->place, rnic_engines_pick(&cq->ctx->engines));
	rnic_engines_unlead(&cq->ctx->engines);
}

struct rnic_engine *rnic_place_lead(const struct rnic_place *place)
{
	for (;;) {
		struct rnic_engine *engine = rnic_place_engine(place);

		rnic_engine_lead(engine);
		/* It does not change under this lead. */
		if (rnic_place_engine(place) == engine)
			return engine;
		rnic_engine_unlead(engine);
	}
}
