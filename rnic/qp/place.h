/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which engine a QP, CQ or SRQ belongs to.
 *
 * QPs that share a CQ or an SRQ get the same engine, so that a poll of the CQ
 * drives one engine, and one lead guards the SRQ. Other QPs are spread. If a QP
 * has queues that belong to different engines already, its SRQ decides, then
 * its send CQ; the other CQ becomes one of several engines: it has a lock, and
 * a poll drives all engines.
 */
#ifndef RNIC_PLACE_H
#define RNIC_PLACE_H

#include "object.h"

/* The queue's engine. Any thread; it may change until the queue is fixed. */
static inline struct rnic_engine *rnic_place_engine(const struct rnic_place *p)
{
	/* acquire: pairs with place_fix() */
	return atomic_load_explicit(&p->engine, memory_order_acquire);
}

static inline bool rnic_cq_is_shared(const struct rnic_cq *cq)
{
	/* relaxed: written under all leads, for those that have one; others
	 * see it when they see what an engine of another QP has done */
	return atomic_load_explicit(&cq->is_shared, memory_order_relaxed);
}

void rnic_place_init(struct rnic_place *place, struct rnic_context *ctx);

/* Gives the QP its engine, and its queues theirs. Takes all leads. */
void rnic_place_qp(struct rnic_qp *qp);
/* The QP has left: its engine has room for another. */
void rnic_place_qp_left(struct rnic_qp *qp);

/* Gives a CQ an engine for good, unless it has one. Takes all leads then. */
void rnic_place_cq(struct rnic_cq *cq);

/* Takes the lead of the queue's engine. Return: that engine. */
struct rnic_engine *rnic_place_lead(const struct rnic_place *place);

#endif
