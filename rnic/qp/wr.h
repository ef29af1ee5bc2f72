/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Work requests are posted and completed: one place each. */
#ifndef RNIC_WR_H
#define RNIC_WR_H

#include "cq.h"
#include "fault/rules.h"
#include "object.h"
#include "os/probe.h"

/*
 * The completion of a WR.  Under the lead.
 * @cqe: all but the QP's number and handle.
 * Return: as rnic_cq_push().
 */
static inline int rnic_wr_push(const struct rnic_qp *qp, struct rnic_cq *cq,
			       struct usiw_cqe *cqe, bool is_signaled)
{
	if (!is_signaled)
		return 0;
	cqe->qp_num = qp->num;
	cqe->qp_handle = qp->handle;
	return rnic_cq_push(cq, cqe, qp->engine->stat);
}

/* rnic_wr_complete() if rnic_wr_is_watched(). */
int rnic_wr_complete_watched(struct rnic_qp *qp, struct rnic_cq *cq,
			     struct usiw_cqe *cqe, bool is_signaled);

/* Does a tracer listen, or may a completion have to fail (USIW_FAULT)? */
static inline bool rnic_wr_is_watched(void)
{
	return rnic_fault_is_on(RNIC_FAULT_AT_WORK) ||
	       UTIL_PROBE_IS_ON(complete);
}

/*
 * Every WR, send or receive, ends here: in success, with an error, flushed, or
 * without a completion because it is not signaled.  Under the lead.
 * Return: as rnic_wr_push(); -EIO: it had to fail (USIW_FAULT), and the QP
 *   fails.
 */
static inline int rnic_wr_complete(struct rnic_qp *qp, struct rnic_cq *cq,
				   struct usiw_cqe *cqe, bool is_signaled)
{
	if (rnic_wr_is_watched())
		return rnic_wr_complete_watched(qp, cq, cqe, is_signaled);
	return rnic_wr_push(qp, cq, cqe, is_signaled);
}

#endif
