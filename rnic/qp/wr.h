/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Work requests are posted and completed: one place each. */
#ifndef RNIC_WR_H
#define RNIC_WR_H

#include "cq.h"

/*
 * Every WR, send or receive, ends here: in success, with an error, flushed, or
 * without a completion because it is not signaled.  Under the lead.
 * @cqe: all but the QP's number and handle.
 * Return: as rnic_cq_push().
 */
static inline int rnic_wr_complete(const struct rnic_qp *qp, struct rnic_cq *cq,
				   struct usiw_cqe *cqe, bool is_signaled)
{
	if (!is_signaled)
		return 0;
	cqe->qp_num = qp->num;
	cqe->qp_handle = qp->handle;
	return rnic_cq_push(cq, cqe, qp->engine->stat);
}

#endif
