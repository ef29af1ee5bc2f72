/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How QPs end.  Under the lead. */
#ifndef RNIC_QP_END_H
#define RNIC_QP_END_H

#include "object.h"

void rnic_qp_end_due(struct rnic_qp *qp); /* one is noted */

/*
 * Act on the cause of the QP's end, if one is noted: let the link go, raise the
 * event, complete every outstanding WR.  The link is not freed.
 */
static inline void rnic_qp_end(struct rnic_qp *qp)
{
	if (qp->cause.is_due)
		rnic_qp_end_due(qp);
}

/* No peer was reached, or not any more: fail the QP, which has no link. One
 * that may lose messages loses those that are posted, and stays. */
void rnic_qp_unreached(struct rnic_qp *qp);

/*
 * Work is left without a peer, which has closed or was lost.  Return: true: the
 * QP fails when its time for that is over; false: it has none.
 */
bool rnic_qp_waits_for_peer(struct rnic_qp *qp);

#endif
