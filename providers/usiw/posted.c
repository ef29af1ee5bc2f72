/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What tracers and usiw trace hear of work requests that are posted. */
#include "posted.h"

#include "sqe.h"

UTIL_PROBE_DEFINE(post);

static uint64_t sges_len(const struct usiw_sge *sge, uint32_t cnt)
{
	uint64_t len = 0;

	for (uint32_t i = 0; i < cnt; i++)
		len += sge[i].len;
	return len;
}

static uint64_t sqe_len(const struct usiw_sqe *sqe)
{
	if (sqe->flags & USIW_SQE_INLINE)
		return sqe->inline_len;
	return sges_len((const struct usiw_sge *)(sqe + 1), sqe->sge_cnt);
}

/* The one place of the probe.  If it were inlined it had two, and perf takes
 * only the first. */
__attribute__((noinline)) static void
posted_probe(uint32_t qp_num, uint32_t opcode, uint64_t len, uint64_t wr_id)
{
	UTIL_PROBE(post, qp_num, opcode, len, wr_id);
}

void usiw_posted_sends(const struct usiw_qp *qp, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++) {
		const struct usiw_sqe *sqe =
			usiw_ring_slot(qp->sq, usiw_ring_prod_idx(qp->sq) + i);

		posted_probe(qp->vqp.qp.qp_num, usiw_sqe_opcode(sqe),
			     sqe_len(sqe), sqe->wr_id);
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

		posted_probe(qp_num, IBV_WC_RECV,
			     sges_len((const struct usiw_sge *)(rqe + 1),
				      rqe->sge_cnt),
			     rqe->wr_id);
		if (usiw_calls_are_observed())
			usiw_call_post(qp_num, rqe->wr_id, true, true);
	}
}
