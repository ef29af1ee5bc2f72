/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the application or the connection manager asks of a QP. */
#include "modify.h"

#include <errno.h>
#include <string.h>

#include "util/log.h"
#include "cq.h"
#include "end.h"
#include "engine/bell.h"
#include "engine/engine.h"
#include "mem/mw.h"
#include "qp-table.h"
#include "qp.h"
#include "region.h"
#include "rnr.h"
#include "state.h"
#include "transport.h"

/* ---- a peer that does not come ----------------------------------------- */

void rnic_qp_not_coming(struct rnic_qp *qp, uint32_t life)
{
	rnic_engine_lead(qp->engine);
	if (rnic_qp_state_now(qp) == RNIC_QPS_IDLE && rnic_qp_life(qp) == life)
		rnic_qp_unreached(qp);
	rnic_engine_unlead(qp->engine);
}

bool rnic_qp_give_up(struct rnic_qp *qp)
{
	bool has_left;

	rnic_engine_lead(qp->engine);
	if (rnic_qp_state_now(qp) == RNIC_QPS_CONNECTING &&
	    usiw_ring_used(&qp->sq.ring) > 0)
		rnic_qp_unreached(qp);
	has_left = rnic_qp_state_now(qp) != RNIC_QPS_CONNECTING;
	rnic_engine_unlead(qp->engine);
	return has_left;
}

/* ---- transitions --------------------------------------------------------- */

static void qp_close(struct rnic_qp *qp)
{
	rnic_qp_set_state(qp, RNIC_QPS_CLOSING);
	qp->transport->close(qp);
}

static int qp_abort(struct rnic_qp *qp)
{
	void *link = qp->link;

	if (link)
		qp->transport->detach(qp, 0);
	rnic_qp_fail(qp, RNIC_QPS_ERROR, USIW_WC_WR_FLUSH_ERR, RNIC_QP_EV_CNT);
	rnic_qp_end(qp);
	if (link)
		qp->transport->step(link);
	return 0;
}

static int qp_modify(struct rnic_qp *qp, enum rnic_qp_state state)
{
	enum rnic_qp_state now = rnic_qp_state_now(qp);

	switch (state) {
	case RNIC_QPS_IDLE:
		if (now == RNIC_QPS_IDLE)
			return 0; /* what is posted already stays */
		if (now == RNIC_QPS_RTS || now == RNIC_QPS_CLOSING)
			qp_abort(qp);
		return rnic_qp_reset(qp);
	case RNIC_QPS_ERROR:
		if (now == RNIC_QPS_TERMINATE)
			rnic_qp_set_state(qp, RNIC_QPS_ERROR);
		return qp_abort(qp);
	case RNIC_QPS_CLOSING:
		/* Ended meanwhile: what the caller wants has happened. */
		if (rnic_qp_has_ended(qp) || now == RNIC_QPS_CLOSING)
			return 0;
		if (now != RNIC_QPS_RTS)
			return -EINVAL;
		if (rnic_qp_is_orphan(qp))
			return qp_abort(qp);
		qp_close(qp);
		return 0;
	case RNIC_QPS_RTS:
		return now == RNIC_QPS_RTS ? 0 : -EINVAL;
	case RNIC_QPS_CONNECTING:
	case RNIC_QPS_TERMINATE:
		break;
	}
	return -EINVAL;
}

int rnic_qp_change(struct rnic_qp *qp, enum rnic_qp_state state)
{
	int rc;

	rnic_engine_lead(qp->engine);
	rc = qp_modify(qp, state);
	rnic_engine_unlead(qp->engine);
	return rc;
}

int rnic_qp_set_access(struct rnic_qp *qp, uint32_t access)
{
	uint32_t lost;

	rnic_engine_lead(qp->engine);
	lost = (qp->has_access ? qp->access : UINT32_MAX) & ~access;
	qp->access = access;
	qp->has_access = true;
	if (qp->link && rnic_qp_access_gone(qp, lost)) {
		util_warn("rnic", "%s: rights taken away while in use",
			  RNIC_QP_NAME(qp));
		qp->transport->failed(qp);
	}
	rnic_engine_unlead(qp->engine);
	return 0;
}

/* ---- query and end ------------------------------------------------------- */

void rnic_qp_query(struct rnic_qp *qp, struct rnic_qp_attr *ret_attr)
{
	memset(ret_attr, 0, sizeof(*ret_attr));
	rnic_engine_lead(qp->engine);
	ret_attr->state = rnic_qp_state_now(qp);
	ret_attr->access = qp->access;
	ret_attr->ird = qp->irq.max;
	if (qp->sq.ack.is_on && qp->irq.max)
		ret_attr->ird--; /* the peer's one more */
	ret_attr->ord = qp->sq.orq.limit;
	ret_attr->timeout = qp->timeout;
	if (qp->link)
		qp->transport->names(qp, &ret_attr->local, &ret_attr->peer);
	rnic_engine_unlead(qp->engine);
}

/* No engine rings its bell any more because of a CQ. */
static void qp_leave_cqs(struct rnic_qp *qp)
{
	rnic_engine_lead(qp->engine);
	rnic_cq_user_remove(qp->send_cq, &qp->send_user);
	rnic_cq_user_remove(qp->recv_cq, &qp->recv_user);
	rnic_engine_unlead(qp->engine);
}

/* The lead, and no bell of the QP is left. */
static void qp_lead_last(struct rnic_qp *qp)
{
	for (;;) {
		rnic_engine_lead(qp->engine);
		rnic_engine_serve_bells(qp->engine);
		/* It is rung under this lead, and served under all. */
		if (!rnic_bell_is_rung(&qp->all_bell))
			return;
		rnic_engine_unlead(qp->engine);
	}
}

void rnic_qp_leave(struct rnic_qp *qp)
{
	void *link;

	qp->is_retired = true;
	rnic_qp_table_remove(qp);
	qp_leave_cqs(qp);
	qp_lead_last(qp);
	link = qp->link;
	if (link) {
		qp->transport->detach(qp, 0);
		qp->transport->step(link);
	}
	rnic_due_clear(&qp->engine->due, &qp->gone);
	rnic_rnr_drop(qp);
	rnic_mw_owner_gone(&qp->owner);
	rnic_engine_unlead(qp->engine);
}
