/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Work requests of the send queue complete, in their order. */
#include "sq-done.h"
#include "sq-op.h"
#include "state.h"
#include "wr.h"

static void sq_push(struct rnic_qp *qp, const struct usiw_sqe *sqe,
		    enum usiw_wc_status status)
{
	const struct rnic_sq_op *op = rnic_sq_op_find(sqe->opcode);
	struct usiw_cqe cqe = {
		.wr_id = sqe->wr_id,
		.status = status,
		.opcode = op ? op->wc_opcode : USIW_WC_SEND,
	};

	/* An overrun CQ has raised its own event; the completion is lost. */
	(void)rnic_wr_complete(qp, qp->send_cq, &cqe, true);
}

/* Return: as rnic_wr_complete(). */
static int sq_tell(struct rnic_qp *qp, const struct rnic_sq_wr *wr)
{
	struct usiw_cqe cqe = {
		.wr_id = wr->wr_id,
		.opcode = wr->wc_opcode,
		.byte_len = wr->len,
	};

	return rnic_wr_complete(qp, qp->send_cq, &cqe, wr->is_signaled);
}

/* Complete from the oldest on, in posting order (RDMAP-44). */
static void sq_complete(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;

	while (sq->done_idx != sq->next_idx &&
	       rnic_sq_wr_at(sq, sq->done_idx)->is_done) {
		const struct rnic_sq_wr *wr = rnic_sq_wr_at(sq, sq->done_idx);

		sq->done_idx++;
		/* The slot is free before the completion can be seen. */
		usiw_ring_consume(&sq->ring, 1);
		if ((wr->is_signaled || rnic_wr_is_watched()) &&
		    sq_tell(qp, wr) < 0) {
			/* Those behind it are flushed, also what is sent. */
			sq->next_idx = sq->done_idx;
			rnic_qp_overrun(qp);
			return;
		}
	}
}

void rnic_sq_done(struct rnic_qp *qp, uint32_t idx)
{
	rnic_sq_wr_at(&qp->sq, idx)->is_done = true;
	if (idx == qp->sq.done_idx)
		sq_complete(qp);
}

void rnic_sq_sent(struct rnic_qp *qp, uint32_t idx)
{
	if (qp->sq.ack.is_on)
		rnic_sq_wr_at(&qp->sq, idx)->is_sent = true;
	else
		rnic_sq_done(qp, idx);
}

void rnic_sq_done_before(struct rnic_qp *qp, uint32_t idx)
{
	for (uint32_t i = qp->sq.done_idx; i != idx; i++)
		rnic_sq_wr_at(&qp->sq, i)->is_done = true;
	sq_complete(qp);
}

bool rnic_sq_is_empty(const struct rnic_qp *qp)
{
	return !usiw_ring_slot_pending(&qp->sq.ring, qp->sq.done_idx);
}

static void sq_flush_one(struct rnic_qp *qp, enum usiw_wc_status status)
{
	struct rnic_sq *sq = &qp->sq;
	struct usiw_sqe sqe = *(const struct usiw_sqe *)usiw_ring_slot(
		&sq->ring, sq->done_idx);

	sq->done_idx++;
	usiw_ring_consume(&sq->ring, 1);
	sq_push(qp, &sqe, status);
}

void rnic_sq_end_before(struct rnic_qp *qp, uint32_t idx)
{
	sq_complete(qp);
	while (rnic_sq_idx_is_before(qp->sq.done_idx, idx))
		sq_flush_one(qp, USIW_WC_WR_FLUSH_ERR);
}

void rnic_sq_flush(struct rnic_qp *qp, enum usiw_wc_status first)
{
	struct rnic_sq *sq = &qp->sq;
	enum usiw_wc_status status = first;

	while (usiw_ring_slot_pending(&sq->ring, sq->done_idx)) {
		sq_flush_one(qp, status);
		status = USIW_WC_WR_FLUSH_ERR;
		qp->cause.first = status; /* it has been told */
	}
	sq->next_idx = sq->done_idx;
	rnic_res_set(&qp->res->sq_sent_idx, sq->next_idx);
	sq->imm = (struct rnic_sq_imm){ 0 };
	sq->orq.cnt = 0;
	rnic_res_set(&qp->res->reads_out, 0);
}
