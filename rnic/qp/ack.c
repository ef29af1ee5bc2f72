/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Completions that mean "placed at the peer", for QPs that connected without
 * rdma_cm.
 *
 * iWARP completes a Send or Write when its buffer may be used again (RFC 5040
 * 5.5).  Programs that are written for InfiniBand take the completion for the
 * peer's acknowledgement.  They look at the target's memory, end after the last
 * completion, and expect an error on the WR that the peer refused.  So such WRs
 * complete when a READ behind them is answered.  For that an RDMA Read of no
 * octets is sent, one at a time, when nothing else waits to be sent or the
 * queue is half full.  The answer to any other READ serves as well.  A usiw
 * peer answers it when no Send before it waits for a receive.
 */
#include "ack.h"

#include "sq-done.h"
#include "transport.h"

/* Messages of queue number 0 that the WR makes. */
static uint32_t sqe_sends(const struct usiw_sqe *sqe)
{
	switch (sqe->opcode) {
	case USIW_WR_SEND_IMM:
		return 2;
	case USIW_WR_SEND:
	case USIW_WR_SEND_INV:
	case USIW_WR_WRITE_IMM:
		return 1;
	default:
		return 0;
	}
}

void rnic_ack_note_wr(struct rnic_sq *sq, const struct usiw_sqe *sqe)
{
	uint32_t sends = sqe_sends(sqe);

	sq->ack.msn += sends;
	rnic_sq_wr_at(sq, sq->next_idx - 1)->msn = sends ? sq->ack.msn : 0;
	/* Nothing waits for the others, except for their slots. */
	if (sqe->flags & USIW_SQE_SIGNALED ||
	    2 * (sq->next_idx - sq->done_idx) >= sq->ring.depth)
		sq->ack.want_idx = sq->next_idx;
}

bool rnic_ack_await(struct rnic_sq *sq)
{
	if (!sq->ack.is_on || sq->done_idx == sq->next_idx)
		return false;
	sq->ack.want_idx = sq->next_idx;
	sq->ack.is_awaited = true;
	return true;
}

bool rnic_ack_is_wanted(const struct rnic_qp *qp)
{
	const struct rnic_sq *sq = &qp->sq;

	if (sq->is_ended || sq->ack.is_out || sq->imm.is_due ||
	    !rnic_sq_idx_is_before(sq->ack.done_idx, sq->ack.want_idx))
		return false;
	if (sq->orq.cnt == sq->orq.max)
		return false; /* the answers to these serve as well */
	return sq->ack.is_awaited ||
	       !usiw_ring_slot_pending(&sq->ring, sq->next_idx) ||
	       2 * (sq->next_idx - sq->done_idx) >= sq->ring.depth;
}

bool rnic_ack_submit(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;
	struct smpa_msg msg = {
		.opcode = SMPA_OP_READ_REQUEST,
		.quiet = true,
		/* Without octets no STag is checked (RDMAP-17). */
		.read = { .sink_stag = 1, .src_stag = RNIC_ACK_STAG },
	};

	if (qp->transport->submit(qp, &msg) < 0)
		return false;
	sq->orq.entry[(sq->orq.head + sq->orq.cnt) % sq->orq.max] =
		(struct rnic_orq_entry){ .sq_idx = sq->next_idx,
					 .sink_stag = 1,
					 .is_ack = true };
	sq->orq.cnt++;
	sq->ack.is_out = true;
	sq->ack.is_awaited = false;
	return true;
}

void rnic_ack_answered(struct rnic_qp *qp, const struct rnic_orq_entry *entry)
{
	struct rnic_ack *ack = &qp->sq.ack;

	if (entry->is_ack)
		ack->is_out = false;
	if (!ack->is_on || !rnic_sq_idx_is_before(ack->done_idx, entry->sq_idx))
		return;
	ack->done_idx = entry->sq_idx;
	rnic_sq_done_before(qp, entry->sq_idx);
}

/* ---- endings ------------------------------------------------------------ */

static uint64_t slot_len(const struct rnic_sq *sq, const struct usiw_sqe *slot)
{
	const struct usiw_sge *sge = rnic_sqe_sges(slot);
	uint32_t cnt = rnic_sqe_sge_cnt(sq, slot);
	uint64_t len = 0;

	if (slot->flags & USIW_SQE_INLINE)
		return slot->inline_len;
	for (uint32_t i = 0; i < cnt; i++)
		len += sge[i].len;
	return len;
}

/* TCP has taken it, or it has no message. */
static bool wr_is_out(const struct rnic_sq *sq, uint32_t idx)
{
	return rnic_sq_wr_at(sq, idx)->is_sent ||
	       rnic_sq_wr_at(sq, idx)->is_done;
}

/* Does the Terminate have the DDP header of this WR's message? */
static bool wr_is_meant(const struct rnic_sq *sq, uint32_t idx,
			const struct smpa_event *ev)
{
	const struct usiw_sqe *slot = usiw_ring_slot(&sq->ring, idx);

	if (!ev->term.is_tagged)
		return rnic_sq_wr_at(sq, idx)->msn &&
		       !rnic_sq_idx_is_before(rnic_sq_wr_at(sq, idx)->msn,
					      ev->term.msn);
	if (slot->opcode != USIW_WR_WRITE && slot->opcode != USIW_WR_WRITE_IMM)
		return false;
	return slot->rkey == ev->term.stag &&
	       ev->term.to - slot->remote_addr < slot_len(sq, slot);
}

/* The Read or atomic whose request the Terminate has. */
static bool request_find(const struct rnic_sq *sq, const struct smpa_event *ev,
			 uint32_t *ret_idx)
{
	const struct rnic_orq *orq = &sq->orq;
	const struct rnic_orq_entry *entry;

	if (ev->term.behind >= orq->cnt)
		return false;
	entry = &orq->entry[(orq->head + orq->cnt - 1 - ev->term.behind) %
			    orq->max];
	*ret_idx = entry->sq_idx;
	return !entry->is_ack;
}

/* The Send or Write whose header the Terminate has.  If none fits, the first
 * that TCP has not taken. */
static bool message_find(const struct rnic_sq *sq, const struct smpa_event *ev,
			 uint32_t *ret_idx)
{
	uint32_t idx = sq->done_idx;

	if (!sq->ack.is_on) /* complete, or not sent */
		return false;
	if (!ev->term.is_tagged && ev->term.qn != 0)
		return false;
	while (idx != sq->next_idx && !wr_is_meant(sq, idx, ev))
		idx++;
	if (idx == sq->next_idx) {
		idx = sq->done_idx;
		while (idx != sq->next_idx && wr_is_out(sq, idx))
			idx++;
	}
	*ret_idx = idx;
	return idx != sq->next_idx;
}

void rnic_ack_terminated(struct rnic_qp *qp, const struct smpa_event *ev)
{
	bool is_request = !ev->term.is_tagged && ev->term.qn == 1;
	struct rnic_sq *sq = &qp->sq;
	uint32_t idx;

	if (!ev->term.has_ddp || !(is_request ? request_find(sq, ev, &idx)
					      : message_find(sq, ev, &idx)))
		return;
	for (uint32_t i = sq->done_idx; i != idx && sq->ack.is_on; i++)
		if (wr_is_out(sq, i))
			rnic_sq_wr_at(sq, i)->is_done = true;
	/* READs and atomics get no answer any more. */
	rnic_sq_end_before(qp, idx);
}

/*
 * If a socket is closed with unread input, TCP resets the connection.  So a FIN
 * says that the peer's process has read everything, even if it did not answer.
 */
void rnic_ack_peer_closed(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;
	uint32_t idx = sq->done_idx;

	if (!sq->ack.is_on)
		return;
	while (idx != sq->next_idx && wr_is_out(sq, idx))
		idx++;
	rnic_sq_done_before(qp, idx);
}
