/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See fault.h. */
#include "fault.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "engine/engine.h"
#include "engine/wake.h"
#include "qp/rnic-fault.h"
#include "state.h"
#include "util/fault-names.h"

void rnic_qp_fault_event(const struct rnic_qp *qp,
			 struct rnic_fault_event *ret_event)
{
	*ret_event = (struct rnic_fault_event){
		.qp_no = qp->fault.no,
		.qp_num = qp->num,
		.peer = &qp->ends.peer,
	};
}

static uint32_t wc_opcode(uint32_t opcode)
{
	switch (opcode) {
	case USIW_WC_SEND:
		return UTIL_FAULT_OP_SEND;
	case USIW_WC_WRITE:
		return UTIL_FAULT_OP_WRITE;
	case USIW_WC_READ:
		return UTIL_FAULT_OP_READ;
	case USIW_WC_CMP_SWP:
	case USIW_WC_FETCH_ADD:
		return UTIL_FAULT_OP_ATOMIC;
	case USIW_WC_BIND_MW:
	case USIW_WC_LOCAL_INV:
		return UTIL_FAULT_OP_LOCAL;
	default:
		return UTIL_FAULT_OP_RECV;
	}
}

/* The QP ends as after an error that it has found itself: those behind are
 * flushed, and the link ends without TERMINATE. */
static void work_fail(struct rnic_qp *qp, struct usiw_cqe *cqe,
		      const struct util_fault_rule *rule)
{
	cqe->status = rule->status;
	cqe->vendor_err = rule->vendor_err;
	rnic_qp_fail(qp, RNIC_QPS_ERROR, USIW_WC_WR_FLUSH_ERR, RNIC_QP_EV_CNT);
}

int rnic_qp_fault_work(struct rnic_qp *qp, struct usiw_cqe *cqe,
		       bool *is_signaled)
{
	struct rnic_fault_event event;
	struct rnic_fault_hits hits;
	const struct util_fault_rule *rule;

	rnic_qp_fault_event(qp, &event);
	event.faults = RNIC_FAULT_BIT(COMPLETION) | RNIC_FAULT_BIT(CQ_OVERRUN) |
		       RNIC_FAULT_BIT(SIGNAL);
	event.opcode = wc_opcode(cqe->opcode);
	if (!rnic_fault_match(&event, &hits))
		return 0;
	rnic_fault_tell(&event, &hits);
	rule = rnic_fault_first(&hits, RNIC_FAULT_BIT(SIGNAL));
	if (rule)
		kill(getpid(), (int)rule->signal);
	if (rnic_fault_first(&hits, RNIC_FAULT_BIT(CQ_OVERRUN)))
		return -ENOSPC;
	rule = rnic_fault_first(&hits, RNIC_FAULT_BIT(COMPLETION));
	if (!rule)
		return 0;
	work_fail(qp, cqe, rule);
	*is_signaled = true;
	return -EIO;
}

/* ---- receives that are not there ----------------------------------------- */

bool rnic_qp_fault_rnr(struct rnic_qp *qp)
{
	struct rnic_fault_event event;
	struct rnic_fault_hits hits;
	const struct util_fault_rule *rule;
	uint64_t end_ns;

	rnic_qp_fault_event(qp, &event);
	event.faults = RNIC_FAULT_BIT(RECEIVE_RNR);
	event.octets = qp->fault.in_octets + 1;
	if (!rnic_fault_match(&event, &hits))
		return false;
	rnic_fault_tell(&event, &hits);
	rule = rnic_fault_first(&hits, event.faults);
	end_ns = util_now_ns() + rule->for_ns;
	if (end_ns <= qp->fault.rnr_ns)
		return true;
	qp->fault.rnr_ns = end_ns;
	if (qp->due)
		rnic_engine_deadline(qp->engine, qp->due, end_ns);
	return true;
}

void rnic_qp_fault_rnr_end(struct rnic_qp *qp)
{
	qp->fault.rnr_ns = 0;
	rnic_engine_bell(qp->engine, qp->srq ? &qp->srq->bell : &qp->bell);
}

/* ---- calls --------------------------------------------------------------- */

int rnic_fault_call(const char *name, const struct rnic_qp *qp)
{
	struct rnic_fault_event event = { 0 };
	struct rnic_fault_hits hits;
	int call;

	if (!rnic_fault_is_on(RNIC_FAULT_AT_CALL))
		return 0;
	call = util_fault_call(name);
	if (call < 0)
		return 0;
	event.faults = RNIC_FAULT_BIT(CALL);
	event.call = (uint32_t)call;
	if (qp) { /* without its peer: it is the lead's */
		event.qp_no = qp->fault.no;
		event.qp_num = qp->num;
	}
	if (!rnic_fault_match(&event, &hits))
		return 0;
	rnic_fault_tell(&event, &hits);
	return -(int)rnic_fault_first(&hits, event.faults)->err;
}
