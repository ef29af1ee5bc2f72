/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The state of a QP, and the cause of its end. */
#include "state.h"
#include "show.h"
#include "transport.h"

#include <errno.h>
#include <stdio.h>

#include "util/addr-text.h"
#include "util/log.h"
#include "mem/context.h"
#include "os/probe.h"
#include "os/stat.h"

void rnic_qp_set_state(struct rnic_qp *qp, enum rnic_qp_state state)
{
	if (UTIL_PROBE_IS_ON(qp_state))
		rnic_probe_qp_state(
			qp->num,
			atomic_load_explicit(&qp->state, memory_order_relaxed),
			state);
	atomic_store_explicit(&qp->state, state, memory_order_relaxed);
	rnic_qp_show_state(qp, state);
	/*
	 * Pairs with the fence in rnic_qp_ring_rq(): either the posting thread
	 * sees the end and rings, or the flush sees its entry.  A seq_cst store
	 * alone would not order the flush's load after it.
	 */
	atomic_thread_fence(memory_order_seq_cst);
}

const char *rnic_qp_name(const struct rnic_qp *qp, char buf[RNIC_QP_NAME_LEN])
{
	snprintf(buf, RNIC_QP_NAME_LEN, "qp 0x%06x%s", qp->num,
		 UTIL_ADDR_PAIR_TEXT(&qp->ends.local, &qp->ends.peer));
	return buf;
}

bool rnic_qp_has_usiw_peer(const struct rnic_qp *qp)
{
	return qp->sq.ack.is_on || qp->transport->is_lossy;
}

int rnic_qp_meet_check(const struct rnic_qp *qp, const char *call)
{
	if (qp->transport->type == RNIC_QPT_RC)
		return 0;
	util_warn("rnic",
		  "%s: EINVAL: qp 0x%06x: iWARP has RC only: a QP of another "
		  "type connects to usiw, and by ibv_modify_qp()",
		  call, qp->num);
	return -EINVAL;
}

static const enum usiw_async_type qp_event_types[] = {
	[RNIC_QP_EV_FATAL] = USIW_EVENT_QP_FATAL,
	[RNIC_QP_EV_REQ_ERR] = USIW_EVENT_QP_REQ_ERR,
	[RNIC_QP_EV_ACCESS_ERR] = USIW_EVENT_QP_ACCESS_ERR,
	[RNIC_QP_EV_LAST_WQE] = USIW_EVENT_QP_LAST_WQE_REACHED,
	[RNIC_QP_EV_COMM_EST] = USIW_EVENT_COMM_EST,
};

void rnic_qp_raise(struct rnic_qp *qp, enum rnic_qp_event event)
{
	if (event != RNIC_QP_EV_CNT)
		rnic_context_event(qp->ctx, &qp->event_node[event],
				   qp_event_types[event], qp->handle);
}

void rnic_qp_note_error(struct rnic_qp *qp, int err)
{
	rnic_res_set(&qp->res->error, (uint32_t)err);
	/* release: pairs with rnic_qp_error() */
	atomic_store_explicit(&qp->tcp_error, err, memory_order_release);
}

void rnic_qp_fail(struct rnic_qp *qp, enum rnic_qp_state state,
		  enum usiw_wc_status first, enum rnic_qp_event event)
{
	if (rnic_qp_has_ended(qp))
		return;
	rnic_qp_set_state(qp, state);
	rnic_res_set(&qp->res->status, first);
	qp->cause = (struct rnic_qp_cause){
		.is_due = true,
		.first = first,
		.event = event,
		.status = -ECONNRESET,
	};
}

void rnic_qp_fail_at(struct rnic_qp *qp, uint32_t idx,
		     enum usiw_wc_status status)
{
	if (rnic_qp_has_ended(qp))
		return;
	if (qp->link) /* not while messages are lost */
		qp->transport->terminate(qp, SMPA_F_RDMAP_STREAM_CATA);
	rnic_qp_fail(qp, RNIC_QPS_TERMINATE, status, RNIC_QP_EV_REQ_ERR);
	qp->cause.status = -EIO;
	qp->cause.has_idx = true;
	qp->cause.idx = idx;
}

void rnic_qp_overrun(struct rnic_qp *qp)
{
	if (rnic_qp_has_ended(qp))
		return;
	if (qp->link) {
		/* RDMAP-58; what is staged is not delivered any more. */
		qp->transport->terminate(qp, SMPA_F_RDMAP_LOCAL);
		rnic_stat_add(RNIC_STAT_term_sent, 1);
	}
	rnic_qp_fail(qp, RNIC_QPS_ERROR, USIW_WC_WR_FLUSH_ERR,
		     RNIC_QP_EV_FATAL);
}
