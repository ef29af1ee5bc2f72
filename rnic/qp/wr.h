/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Work requests are posted and completed: one place each. */
#ifndef RNIC_WR_H
#define RNIC_WR_H

#include <errno.h>

#include "cq.h"
#include "fault.h"
#include "os/probe.h"

/*
 * Every WR, send or receive, ends here: in success, with an error, flushed, or
 * without a completion because it is not signaled.  Under the lead.
 * @cqe: all but the QP's number and handle.
 * Return: as rnic_cq_push(); -EIO: it had to fail (USIW_FAULT), and the QP
 *   fails.
 */
static inline int rnic_wr_complete(struct rnic_qp *qp, struct rnic_cq *cq,
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
	if (!is_signaled)
		return 0;
	cqe->qp_num = qp->num;
	cqe->qp_handle = qp->handle;
	rc = rnic_cq_push(cq, cqe, qp->engine->stat);
	return rc < 0 ? rc : fault;
}

#endif
