/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What usiw trace hears of work requests that are posted. */
#include "posted.h"

#include "sqe.h"

void usiw_posted_sends(const struct usiw_qp *qp, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++) {
		const struct usiw_sqe *sqe =
			usiw_ring_slot(qp->sq, usiw_ring_prod_idx(qp->sq) + i);

		if (usiw_calls_are_observed())
			usiw_call_post(qp->vqp.qp.qp_num, sqe->wr_id, false,
				       sqe->flags & USIW_SQE_SIGNALED);
	}
}

void usiw_posted_recvs(const struct usiw_ring *ring, uint32_t qp_num,
		       uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++) {
		const struct usiw_rqe *rqe =
			usiw_ring_slot(ring, usiw_ring_prod_idx(ring) + i);

		if (usiw_calls_are_observed())
			usiw_call_post(qp_num, rqe->wr_id, true, true);
	}
}
