/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Receives: claimed from the RQ or the SRQ when a message begins. */
#include "rq.h"

#include <errno.h>
#include <string.h>

#include "mem/context.h"
#include "mem/mw.h"
#include "os/stat.h"
#include "state.h"
#include "wr.h"

static void srq_check_limit(struct rnic_qp *qp)
{
	struct rnic_srq *srq = qp->srq;

	if (!srq->limit || usiw_ring_used(&srq->ring) >= srq->limit)
		return;
	srq->limit = 0; /* fires once */
	rnic_res_set(&srq->res->limit, 0);
	rnic_context_event(qp->ctx, &srq->limit_node,
			   USIW_EVENT_SRQ_LIMIT_REACHED, srq->handle);
}

const struct usiw_ring *rnic_rq_ring(const struct rnic_qp *qp)
{
	return qp->srq ? &qp->srq->ring : &qp->rq.ring;
}

uint32_t rnic_rq_room(const struct rnic_qp *qp)
{
	uint32_t posted_cnt = usiw_ring_used(rnic_rq_ring(qp));
	uint32_t held_cnt = qp->held_in_idx - qp->held_out_idx;

	return posted_cnt > held_cnt ? posted_cnt - held_cnt : 0;
}

/* Elements of the slot; never more than fit into it, whatever it says. */
static uint32_t rqe_sge_cnt(const struct rnic_qp *qp,
			    const struct usiw_rqe *slot)
{
	uint32_t max = qp->srq ? qp->srq->max_sge : qp->rq.max_sge;
	uint32_t cnt = slot->sge_cnt;

	return cnt < max ? cnt : max;
}

static uint32_t sges_len(const struct usiw_sge *sge, uint32_t cnt)
{
	uint64_t len = 0;

	for (uint32_t i = 0; i < cnt; i++)
		len += sge[i].len;
	return len > UINT32_MAX ? UINT32_MAX : (uint32_t)len;
}

uint32_t rnic_rq_next_len(const struct rnic_qp *qp)
{
	const struct usiw_rqe *slot = usiw_ring_peek(rnic_rq_ring(qp), 0);

	return slot ? sges_len((const struct usiw_sge *)(slot + 1),
			       rqe_sge_cnt(qp, slot))
		    : 0;
}

int rnic_rq_claim(struct rnic_qp *qp)
{
	const struct usiw_ring *ring = rnic_rq_ring(qp);
	struct rnic_recv *recv = &qp->rq.current;
	const struct usiw_rqe *slot = usiw_ring_peek(ring, 0);

	if (!slot)
		return -ENOENT;
	recv->wr_id = slot->wr_id;
	recv->sge_cnt = rqe_sge_cnt(qp, slot);
	memcpy(recv->sge, slot + 1, recv->sge_cnt * sizeof(recv->sge[0]));
	recv->len = sges_len(recv->sge, recv->sge_cnt);
	recv->is_open = true;
	usiw_ring_consume(ring, 1);
	if (qp->srq)
		srq_check_limit(qp);
	return 0;
}

void rnic_rq_complete(struct rnic_qp *qp, struct usiw_cqe *cqe)
{
	cqe->wr_id = qp->rq.current.wr_id;
	qp->rq.current.is_open = false;
	rnic_stat_count(qp->engine->stat, RNIC_STAT_recv_done, 1);
	if (rnic_wr_complete(qp, qp->recv_cq, cqe, true) < 0) {
		rnic_qp_overrun(qp);
		return;
	}
	/* relaxed, both: only the leader writes them; a reader wants a hint */
	atomic_store_explicit(
		&qp->rq.told_idx,
		atomic_load_explicit(&qp->recv_cq->ring.hdr->prod_idx,
				     memory_order_relaxed),
		memory_order_relaxed);
}

void rnic_rq_complete_error(struct rnic_qp *qp, enum usiw_wc_status status)
{
	struct usiw_cqe cqe = { .status = status, .opcode = USIW_WC_RECV };

	rnic_rq_complete(qp, &cqe);
}

bool rnic_rq_is_unread(const struct rnic_qp *qp)
{
	uint32_t told =
		atomic_load_explicit(&qp->rq.told_idx, memory_order_relaxed);
	uint32_t read = atomic_load_explicit(&qp->recv_cq->ring.hdr->cons_idx,
					     memory_order_relaxed);

	/* Wrong for a QP that had no message while 2^31 others completed. */
	return (int32_t)(told - read) > 0;
}

int rnic_rq_deliver(struct rnic_qp *qp, struct usiw_cqe *cqe)
{
	enum rnic_access_check check;

	if (cqe->wc_flags & USIW_WC_FLAG_INV) {
		check = rnic_mw_invalidate(&qp->owner, cqe->imm_be, true);
		if (!qp->link)
			return 0; /* the QP used it itself: flushed by now */
		/* RDMAP-27: an STag of this stream, else D-3. */
		if (check)
			return -EACCES;
	}
	rnic_rq_complete(qp, cqe);
	return 0;
}

static void rq_flush_one(struct rnic_qp *qp, uint64_t wr_id)
{
	struct usiw_cqe cqe = {
		.wr_id = wr_id,
		.status = USIW_WC_WR_FLUSH_ERR,
		.opcode = USIW_WC_RECV,
	};

	/* An overrun CQ has raised its own event. */
	(void)rnic_wr_complete(qp, qp->recv_cq, &cqe, true);
}

void rnic_rq_flush(struct rnic_qp *qp)
{
	const struct usiw_rqe *slot;

	if (qp->rq.current.is_open) {
		qp->rq.current.is_open = false;
		rq_flush_one(qp, qp->rq.current.wr_id);
	}
	/* Receives of an SRQ belong to all its QPs. */
	while (!qp->srq && (slot = usiw_ring_peek(&qp->rq.ring, 0))) {
		uint64_t wr_id = slot->wr_id;

		usiw_ring_consume(&qp->rq.ring, 1);
		rq_flush_one(qp, wr_id);
	}
}
