/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The send queue: WRs in, messages to the protocol engine, completions out. */
#include "sq.h"

#include <errno.h>
#include <string.h>

#include "util/log.h"
#include "ack.h"
#include "irq.h"
#include "mem/mw.h"
#include "mem/sge.h"
#include "os/stat.h"
#include "sq-done.h"
#include "transport.h"
#include "show.h"
#include "sq-op.h"
#include "state.h"

int rnic_sq_payload(struct rnic_qp *qp, const struct usiw_sqe *slot,
		    uint32_t access, struct iovec *iov, uint32_t *ret_len)
{
	uint32_t cnt = slot->sge_cnt, inline_len = slot->inline_len;
	uint64_t len = 0;

	if (slot->flags & USIW_SQE_INLINE) {
		if (inline_len > qp->sq.max_inline)
			return -EMSGSIZE;
		iov[0].iov_base = (void *)(uintptr_t)(slot + 1);
		iov[0].iov_len = inline_len;
		*ret_len = inline_len;
		return inline_len ? 1 : 0;
	}
	if (cnt > qp->sq.max_sge)
		return -EMSGSIZE;
	for (uint32_t i = 0; i < cnt; i++)
		len += rnic_sqe_sges(slot)[i].len;
	if (len > rnic_limits()->max_msg_size)
		return -EMSGSIZE;
	*ret_len = (uint32_t)len;
	return rnic_sge_resolve(qp->owner.pd, rnic_sqe_sges(slot), cnt, 0,
				(uint32_t)len, access, iov);
}

void rnic_sq_read_done(struct rnic_qp *qp)
{
	struct rnic_orq *orq = &qp->sq.orq;
	const struct rnic_orq_entry entry = orq->entry[orq->head];

	orq->head = (orq->head + 1) % orq->max;
	orq->cnt--;
	rnic_ack_answered(qp, &entry);
	rnic_qp_show_reads_out(qp);
	if (!entry.is_ack)
		rnic_sq_done(qp, entry.sq_idx);
}

void rnic_sq_peer_closed(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;

	if (sq->is_ended)
		return;
	sq->is_ended = true;
	sq->end_idx = sq->ack.is_on ? sq->next_idx
				    : sq->done_idx + usiw_ring_used(&sq->ring);
	rnic_ack_peer_closed(qp);
}

/* ---- submission --------------------------------------------------------- */

/* The QP fails because of the WR at next_idx, of which nothing is submitted. */
static void sq_refuse(struct rnic_qp *qp, enum usiw_wc_status status)
{
	if (!rnic_ack_await(&qp->sq))
		rnic_qp_fail_at(qp, qp->sq.next_idx, status);
}

void rnic_sq_unreadable(struct rnic_qp *qp, uint64_t cookie)
{
	util_warn("rnic", "%s: registered memory cannot be read",
		  RNIC_QP_NAME(qp));
	rnic_stat_add(RNIC_STAT_mem_faults, 1);
	if (cookie == RNIC_COOKIE_RESPONSE) {
		rnic_irq_refuse(qp, &qp->irq.entry[qp->irq.head],
				SMPA_F_RDMAP_BOUNDS);
		return;
	}
	rnic_stat_add(RNIC_STAT_term_sent, 1);
	rnic_qp_fail_at(qp, (uint32_t)cookie, USIW_WC_LOC_PROT_ERR);
}

static void msg_read(struct smpa_msg *msg, const struct usiw_sqe *sqe,
		     uint32_t len)
{
	/* The ORQ knows the sink; the wire has its first SGE. */
	msg->read.sink_stag = sqe->sge_cnt ? rnic_sqe_sges(sqe)[0].lkey : 1;
	msg->read.sink_to = sqe->sge_cnt ? rnic_sqe_sges(sqe)[0].addr : 0;
	msg->read.len = len;
	msg->read.src_stag = sqe->rkey;
	msg->read.src_to = sqe->remote_addr;
}

/* RFC 7306 5.2.1: whole words, whatever the wire could say (EXT-4). */
static void msg_atomic(struct smpa_msg *msg, const struct usiw_sqe *sqe)
{
	msg->atomic.id = (uint32_t)msg->cookie;
	msg->atomic.stag = sqe->rkey;
	msg->atomic.to = sqe->remote_addr;
	msg->atomic.compare_mask = UINT64_MAX;
	if (sqe->opcode == USIW_WR_FETCH_ADD) {
		msg->atomic.op = RNIC_FETCH_ADD;
		msg->atomic.add_swap = sqe->compare_add;
		return;
	}
	msg->atomic.op = RNIC_CMP_SWP;
	msg->atomic.compare = sqe->compare_add;
	msg->atomic.add_swap = sqe->swap;
	msg->atomic.add_swap_mask = UINT64_MAX;
}

static uint8_t sqe_wire_opcode(const struct usiw_sqe *sqe,
			       const struct rnic_sq_op *op)
{
	if (!(sqe->flags & USIW_SQE_SOLICITED))
		return op->opcode;
	if (op->opcode == SMPA_OP_SEND)
		return SMPA_OP_SEND_SE;
	if (op->opcode == SMPA_OP_SEND_INV)
		return SMPA_OP_SEND_SE_INV;
	return op->opcode;
}

/* A request whose WR is done with the answer carries no payload.
 * @len: of the answer. */
static void msg_answered(struct smpa_msg *msg, const struct usiw_sqe *sqe,
			 const struct rnic_sq_op *op, uint32_t idx,
			 uint32_t len)
{
	*msg = (struct smpa_msg){
		.opcode = op->opcode,
		.quiet = true,
		.cookie = idx,
	};
	if (op->opcode == SMPA_OP_READ_REQUEST)
		msg_read(msg, sqe, len);
	else
		msg_atomic(msg, sqe);
}

/* All that such a message has: most of struct smpa_msg is for others. */
static void msg_payload(struct smpa_msg *msg, const struct usiw_sqe *sqe,
			const struct rnic_sq_op *op, uint32_t idx, uint32_t len)
{
	msg->opcode = sqe_wire_opcode(sqe, op);
	msg->copy = false;
	msg->quiet = op->traits & SQ_IMM_BEHIND;
	msg->safe = sqe->flags & USIW_SQE_INLINE;
	msg->stag = sqe->rkey;
	msg->to = sqe->remote_addr;
	msg->len = len;
	msg->cookie = idx;
}

static void orq_push(struct rnic_qp *qp, const struct smpa_msg *msg)
{
	struct rnic_orq *orq = &qp->sq.orq;
	struct rnic_orq_entry *entry =
		&orq->entry[(orq->head + orq->cnt) % orq->max];

	entry->sq_idx = qp->sq.next_idx;
	entry->is_ack = false;
	entry->is_atomic = msg->opcode == SMPA_OP_ATOMIC_REQUEST;
	entry->sink_stag = msg->read.sink_stag;
	entry->sink_to = msg->read.sink_to;
	entry->len = msg->read.len;
	entry->placed = 0;
	orq->cnt++;
	rnic_qp_show_reads_out(qp);
}

/* Is a Send or Write before LOCAL_INV still being sent, perhaps from the region
 * that is invalidated? */
static bool sq_is_sending(const struct rnic_sq *sq)
{
	for (uint32_t i = sq->done_idx; i != sq->next_idx; i++)
		if (!rnic_sq_wr_at(sq, i)->is_done &&
		    !rnic_sq_wr_at(sq, i)->is_sent &&
		    (rnic_sq_wr_at(sq, i)->wc_opcode == USIW_WC_SEND ||
		     rnic_sq_wr_at(sq, i)->wc_opcode == USIW_WC_WRITE))
			return true;
	return false;
}

/* Does the WR change memory that other engines use?  Then it comes here again
 * under all leads. */
static bool sqe_needs_all(struct rnic_qp *qp, const struct usiw_sqe *sqe)
{
	if (!rnic_mw_needs_all(&qp->owner, sqe->rkey,
			       sqe->opcode == USIW_WR_BIND_MW))
		return false;
	rnic_engines_bell(&qp->ctx->engines, &qp->all_bell);
	return true;
}

/* A WR waits for earlier READs (fence), for a credit (ORD), or for an answer
 * that cannot come. */
static bool sqe_must_wait(struct rnic_qp *qp, const struct usiw_sqe *sqe,
			  const struct rnic_sq_op *op)
{
	const struct rnic_orq *orq = &qp->sq.orq;
	uint32_t cnt = orq->cnt - qp->sq.ack.is_out;

	if (sqe->flags & USIW_SQE_FENCE && cnt)
		return true;
	if (op->traits & SQ_ANSWERED && qp->sq.is_ended)
		return true;
	if (sqe->opcode == USIW_WR_LOCAL_INV && sq_is_sending(&qp->sq))
		return true;
	if (op->traits & SQ_LOCAL && sqe_needs_all(qp, sqe))
		return true;
	/* RDMAP-51: never more than ORD outstanding. */
	return op->traits & SQ_ANSWERED && orq->limit && cnt >= orq->limit;
}

/* EXT-16, D-37: tell the peer that the next Send has immediate data. */
static bool imm_submit_ahead(struct rnic_qp *qp, uint32_t imm_be)
{
	struct rnic_sq_imm *imm = &qp->sq.imm;
	const struct smpa_msg mark = { .opcode = SMPA_OP_WRITE,
				       .quiet = true,
				       .stag = RNIC_IMM_MARK_STAG,
				       .to = RNIC_IMM_MARK_TO };
	struct smpa_msg msg = { .opcode = SMPA_OP_IMM, .quiet = true };

	if (!imm->is_marked)
		imm->is_marked = qp->transport->submit(qp, &mark) == 0;
	if (!imm->is_marked)
		return false;
	memcpy(msg.imm, &imm_be, RNIC_IMM_LEN);
	if (!imm->is_ahead)
		imm->is_ahead = qp->transport->submit(qp, &msg) == 0;
	return imm->is_ahead;
}

/* EXT-16, D-32: the immediate data of the Write before it.  That WR is done
 * when this is sent. */
static int imm_submit_behind(struct rnic_qp *qp)
{
	struct rnic_sq_imm *imm = &qp->sq.imm;
	struct smpa_msg msg = {
		.opcode = imm->opcode,
		.cookie = qp->sq.next_idx - 1,
	};

	memcpy(msg.imm, &imm->imm_be, RNIC_IMM_LEN);
	if (qp->transport->submit(qp, &msg) < 0)
		return 0;
	imm->is_due = false;
	return 1;
}

/* Submit the message of @sqe, or its two messages, as far as the protocol
 * engine takes them now. */
static int sqe_submit(struct rnic_qp *qp, const struct usiw_sqe *sqe,
		      const struct rnic_sq_op *op, const struct smpa_msg *msg)
{
	struct rnic_sq_imm *imm = &qp->sq.imm;

	if (op->traits & SQ_IMM_AHEAD && !imm_submit_ahead(qp, sqe->imm_be))
		return -EAGAIN;
	if (qp->transport->submit(qp, msg) < 0)
		return -EAGAIN;
	imm->is_marked = false;
	imm->is_ahead = false;
	if (op->traits & SQ_IMM_BEHIND) {
		imm->is_due = true;
		imm->imm_be = sqe->imm_be;
		imm->opcode = sqe->flags & USIW_SQE_SOLICITED ? SMPA_OP_IMM_SE
							      : SMPA_OP_IMM;
	}
	return 0;
}

uint32_t rnic_sq_took(struct rnic_qp *qp, const struct usiw_sqe *sqe,
		      const struct rnic_sq_op *op, uint32_t len)
{
	struct rnic_sq *sq = &qp->sq;

	*rnic_sq_wr_at(sq, sq->next_idx) = (struct rnic_sq_wr){
		.wr_id = sqe->wr_id,
		.len = len,
		.wc_opcode = op->wc_opcode,
		.is_signaled = sqe->flags & USIW_SQE_SIGNALED,
	};
	rnic_stat_count(qp->engine->stat, op->stat, 1);
	sq->used_ops |= 1u << sqe->opcode;
	rnic_res_set(&qp->res->sq_sent_idx, sq->next_idx + 1);
	return sq->next_idx++;
}

/*
 * A WR without a message is done.  If WRs before it complete only when the peer
 * says so, it completes after them, and done_idx does not pass a WR behind
 * which the peer is being asked.
 */
static void sq_local_done(struct rnic_qp *qp, const struct usiw_sqe *sqe,
			  uint32_t idx)
{
	struct rnic_sq *sq = &qp->sq;

	if (idx == sq->done_idx && !sq->ack.is_out) {
		rnic_sq_done(qp, idx);
		return;
	}
	rnic_ack_note(sq, sqe);
	rnic_sq_sent(qp, idx);
}

/* LOCAL_INV and BIND_MW.  Return: 1: done; 0: the QP has failed. */
static int sq_do_local(struct rnic_qp *qp, const struct usiw_sqe *sqe,
		       const struct rnic_sq_op *op)
{
	const struct rnic_mw_bind bind = {
		.stag = sqe->rkey,
		.lkey = sqe->imm_be,
		.addr = sqe->remote_addr,
		.len = sqe->compare_add,
		.access = sqe->swap,
	};
	bool is_bind = sqe->opcode == USIW_WR_BIND_MW;
	bool is_done = is_bind ? rnic_mw_bind(&qp->owner, &bind)
			       : rnic_mw_invalidate(&qp->owner, sqe->rkey,
						    false) == RNIC_MR_OK;

	if (rnic_qp_has_ended(qp))
		return 0; /* its peer was accessing that memory */
	if (!is_done) {
		sq_refuse(qp, is_bind ? USIW_WC_MW_BIND_ERR
				      : USIW_WC_LOC_QP_OP_ERR);
		return 0;
	}
	sq_local_done(qp, sqe, rnic_sq_took(qp, sqe, op, 0));
	return !rnic_qp_has_ended(qp);
}

/* Return: 1: one more is submitted; 0: not now (or the QP has failed). */
static int sq_submit(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;
	/* The provider does not write to a slot before its WR completes. */
	const struct usiw_sqe *sqe = usiw_ring_slot(&sq->ring, sq->next_idx);
	const struct rnic_sq_op *op = rnic_sq_op_find(sqe->opcode);
	struct iovec *iov = sq->iov[sq->iov_turn];
	struct smpa_msg msg;
	uint32_t len;
	int rc;

	if (!op || (op->traits & SQ_ANSWERED &&
		    (!sq->orq.limit || sqe->flags & USIW_SQE_INLINE))) {
		sq_refuse(qp, USIW_WC_LOC_QP_OP_ERR);
		return 0;
	}
	if (sqe_must_wait(qp, sqe, op))
		return 0;
	if (op->traits & SQ_LOCAL)
		return sq_do_local(qp, sqe, op);
	rc = rnic_sq_payload(qp, sqe, op->access, iov, &len);
	if (rc >= 0 && op->opcode == SMPA_OP_ATOMIC_REQUEST &&
	    len != RNIC_ATOMIC_LEN)
		rc = -EMSGSIZE;
	if (rc < 0) {
		sq_refuse(qp, rc == -EMSGSIZE ? USIW_WC_LOC_LEN_ERR
					      : USIW_WC_LOC_PROT_ERR);
		return 0;
	}
	if (op->traits & SQ_ANSWERED) {
		msg_answered(&msg, sqe, op, sq->next_idx, len);
	} else {
		msg_payload(&msg, sqe, op, sq->next_idx, len);
		msg.iov = iov;
		msg.iovcnt = rc;
	}
	if (sqe_submit(qp, sqe, op, &msg) < 0)
		return 0;
	if (op->traits & SQ_ANSWERED)
		orq_push(qp, &msg);
	sq->iov_turn ^= 1;
	rnic_qp_show_message(&qp->res->tx, op->shown, len);
	rnic_sq_took(qp, sqe, op, op->traits & SQ_ANSWERED ? len : 0);
	if (!(op->traits & SQ_ANSWERED))
		rnic_ack_note(sq, sqe);
	return 1;
}

void rnic_sq_lose(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;
	uint32_t begin_idx = sq->done_idx;

	sq->is_ended = false;
	do {
		sq->imm = (struct rnic_sq_imm){ 0 };
		rnic_sq_done_before(qp, sq->next_idx);
	} while (!rnic_qp_has_ended(qp) && rnic_sq_has_next(sq) &&
		 sq_submit(qp));
	rnic_stat_count(qp->engine->stat, RNIC_STAT_send_lost,
			sq->done_idx - begin_idx);
}

bool rnic_sq_is_local_next(const struct rnic_sq *sq)
{
	const struct usiw_sqe *slot = usiw_ring_slot(&sq->ring, sq->next_idx);
	const struct rnic_sq_op *op;

	if (!rnic_sq_has_next(sq))
		return false;
	op = rnic_sq_op_find(slot->opcode);
	return op && op->traits & SQ_LOCAL;
}

bool rnic_sq_advance(struct rnic_qp *qp)
{
	bool has_submitted = false;
	int response, request;

	/* In turn; if one is stuck, the other goes on.  Nothing comes between
	 * a Write and its immediate data. */
	do {
		if (qp->sq.imm.is_due && !imm_submit_behind(qp))
			break;
		response = rnic_irq_advance(qp);
		if (rnic_qp_is_over(qp))
			break;
		request = rnic_sq_has_next(&qp->sq) ? sq_submit(qp) : 0;
		has_submitted |= response || request;
	} while ((response || request) && !rnic_qp_is_over(qp));
	if (rnic_ack_is_due(qp) && !rnic_qp_is_over(qp))
		has_submitted |= rnic_ack_submit(qp);
	return has_submitted;
}
