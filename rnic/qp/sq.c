/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The send queue: WRs in, messages to the protocol engine, completions out. */
#include <errno.h>
#include <string.h>

#include "../../util/log.h"
#include "cq.h"
#include "engine/engine.h"
#include "rnr.h"
#include "mem/mw.h"
#include "mem/context.h"
#include "qp.h"
#include "os/stat.h"
#include "stream-internal.h"

enum sq_trait {
	SQ_KNOWN = 1u << 0,
	SQ_ANSWERED = 1u << 1,	 /* needs ORD, is done when it is answered */
	SQ_IMM_AHEAD = 1u << 2,	 /* Immediate Data before the message */
	SQ_IMM_BEHIND = 1u << 3, /* Immediate Data after it */
	SQ_LOCAL = 1u << 4,	 /* no message, done at once */
};

struct sq_op {
	uint8_t traits;	   /* enum sq_trait */
	uint8_t opcode;	   /* enum smpa_opcode */
	uint8_t wc_opcode; /* enum usiw_wc_opcode */
	uint32_t access;   /* what the local SGEs must allow */
	enum rnic_stat stat;
};

static const struct sq_op sq_ops[] = {
	[USIW_WR_WRITE] = { SQ_KNOWN, SMPA_OP_WRITE, USIW_WC_WRITE, 0,
			    RNIC_STAT_write_wr },
	[USIW_WR_WRITE_IMM] = { SQ_KNOWN | SQ_IMM_BEHIND, SMPA_OP_WRITE,
				USIW_WC_WRITE, 0, RNIC_STAT_write_wr },
	[USIW_WR_SEND] = { SQ_KNOWN, SMPA_OP_SEND, USIW_WC_SEND, 0,
			   RNIC_STAT_send_wr },
	[USIW_WR_SEND_IMM] = { SQ_KNOWN | SQ_IMM_AHEAD, SMPA_OP_SEND,
			       USIW_WC_SEND, 0, RNIC_STAT_send_wr },
	[USIW_WR_SEND_INV] = { SQ_KNOWN, SMPA_OP_SEND_INV, USIW_WC_SEND, 0,
			       RNIC_STAT_send_wr },
	[USIW_WR_READ] = { SQ_KNOWN | SQ_ANSWERED, SMPA_OP_READ_REQUEST,
			   USIW_WC_READ, RNIC_ACCESS_LOCAL_WRITE,
			   RNIC_STAT_read_wr },
	[USIW_WR_CMP_SWP] = { SQ_KNOWN | SQ_ANSWERED, SMPA_OP_ATOMIC_REQUEST,
			      USIW_WC_CMP_SWP, RNIC_ACCESS_LOCAL_WRITE,
			      RNIC_STAT_atomic_wr },
	[USIW_WR_FETCH_ADD] = { SQ_KNOWN | SQ_ANSWERED, SMPA_OP_ATOMIC_REQUEST,
				USIW_WC_FETCH_ADD, RNIC_ACCESS_LOCAL_WRITE,
				RNIC_STAT_atomic_wr },
	[USIW_WR_LOCAL_INV] = { SQ_KNOWN | SQ_LOCAL, 0, USIW_WC_LOCAL_INV, 0,
				RNIC_STAT_local_wr },
	[USIW_WR_BIND_MW] = { SQ_KNOWN | SQ_LOCAL, 0, USIW_WC_BIND_MW, 0,
			      RNIC_STAT_local_wr },
};

static const struct sq_op *sq_op_find(uint8_t opcode)
{
	if (opcode >= sizeof(sq_ops) / sizeof(sq_ops[0]) ||
	    !sq_ops[opcode].traits)
		return NULL;
	return &sq_ops[opcode];
}

/* ---- memory ------------------------------------------------------------- */

int rnic_sge_resolve(const struct rnic_pd *pd, const struct usiw_sge *sge,
		     uint32_t sge_cnt, uint32_t off, uint32_t len,
		     uint32_t access, struct iovec *iov)
{
	int cnt = 0;

	for (uint32_t i = 0; i < sge_cnt && len; i++) {
		uint32_t piece = sge[i].len;
		void *ptr;

		if (off >= piece) {
			off -= piece;
			continue;
		}
		piece -= off;
		if (piece > len)
			piece = len;
		if (rnic_mr_resolve(&pd->ctx->mrs, pd, sge[i].lkey,
				    sge[i].addr + off, piece, access, &ptr))
			return -EFAULT;
		iov[cnt].iov_base = ptr;
		iov[cnt].iov_len = piece;
		cnt++;
		len -= piece;
		off = 0;
	}
	return len ? -EFAULT : cnt;
}

/* The payload of @sqe as iovecs.  Return: iovecs; -EMSGSIZE; -EFAULT. */
static int sqe_payload(struct rnic_qp *qp, const struct usiw_sqe *sqe,
		       const struct usiw_sqe *slot, uint32_t access,
		       struct iovec *iov, uint32_t *ret_len)
{
	uint64_t len = 0;

	if (sqe->flags & USIW_SQE_INLINE) {
		if (sqe->inline_len > qp->sq.max_inline)
			return -EMSGSIZE;
		iov[0].iov_base = (void *)(uintptr_t)(slot + 1);
		iov[0].iov_len = sqe->inline_len;
		*ret_len = sqe->inline_len;
		return sqe->inline_len ? 1 : 0;
	}
	if (sqe->sge_cnt > qp->sq.max_sge)
		return -EMSGSIZE;
	for (uint32_t i = 0; i < sqe->sge_cnt; i++)
		len += rnic_sqe_sges(slot)[i].len;
	if (len > rnic_limits()->max_msg_size)
		return -EMSGSIZE;
	*ret_len = (uint32_t)len;
	return rnic_sge_resolve(qp->owner.pd, rnic_sqe_sges(slot), sqe->sge_cnt,
				0, (uint32_t)len, access, iov);
}

/* ---- completion --------------------------------------------------------- */

static void sq_push(struct rnic_qp *qp, const struct usiw_sqe *sqe,
		    enum usiw_wc_status status)
{
	const struct sq_op *op = sq_op_find(sqe->opcode);
	struct usiw_cqe cqe = {
		.wr_id = sqe->wr_id,
		.status = status,
		.opcode = op ? op->wc_opcode : USIW_WC_SEND,
		.qp_num = qp->num,
		.qp_handle = qp->handle,
	};

	/* An overrun CQ has raised its own event; the WR is lost with it. */
	(void)rnic_cq_push(qp->send_cq, &cqe);
}

/* Complete from the oldest on, in posting order (RDMAP-44). */
static void sq_complete(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;

	while (sq->done_idx != sq->next_idx &&
	       rnic_sq_wr_at(sq, sq->done_idx)->is_done) {
		const struct rnic_sq_wr *wr = rnic_sq_wr_at(sq, sq->done_idx);
		struct usiw_cqe cqe = {
			.wr_id = wr->wr_id,
			.opcode = wr->wc_opcode,
			.byte_len = wr->len,
			.qp_num = qp->num,
			.qp_handle = qp->handle,
		};

		sq->done_idx++;
		/* The slot is free before the completion can be seen. */
		usiw_ring_consume(&sq->ring, 1);
		if (!wr->is_signaled)
			continue;
		if (rnic_cq_push(qp->send_cq, &cqe) < 0) {
			rnic_qp_overrun(qp);
			return;
		}
	}
}

static void sq_done(struct rnic_qp *qp, uint32_t idx)
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
		sq_done(qp, idx);
}

void rnic_sq_done_before(struct rnic_qp *qp, uint32_t idx)
{
	for (uint32_t i = qp->sq.done_idx; i != idx; i++)
		rnic_sq_wr_at(&qp->sq, i)->is_done = true;
	sq_complete(qp);
}

void rnic_sq_read_done(struct rnic_qp *qp)
{
	struct rnic_orq *orq = &qp->sq.orq;
	const struct rnic_orq_entry entry = orq->entry[orq->head];

	orq->head = (orq->head + 1) % orq->max;
	orq->cnt--;
	rnic_ack_answered(qp, &entry);
	if (!entry.is_ack)
		sq_done(qp, entry.sq_idx);
}

bool rnic_sq_is_empty(const struct rnic_qp *qp)
{
	return !usiw_ring_slot_pending(&qp->sq.ring, qp->sq.done_idx);
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
	}
	sq->next_idx = sq->done_idx;
	sq->imm = (struct rnic_sq_imm){ 0 };
	sq->orq.cnt = 0;
	sq->ack.is_out = false;
	sq->ack.want_idx = sq->next_idx;
	sq->ack.done_idx = sq->next_idx;
}

/* ---- submission --------------------------------------------------------- */

/*
 * The WR itself is wrong, and fails the QP.  Earlier ones that are still on
 * their way (sent, but a Read waits for its response) end before it, in order.
 */
static void wr_fail(struct rnic_qp *qp, uint32_t idx,
		    enum usiw_wc_status status)
{
	smpa_conn_terminate(qp->stream->conn,
			    (struct smpa_fault){ SMPA_F_RDMAP_STREAM_CATA });
	rnic_stream_detach(qp->stream, -EIO);
	rnic_sq_end_before(qp, idx);
	rnic_qp_fail(qp, RNIC_QPS_TERMINATE, status, RNIC_QP_EV_REQ_ERR);
}

/* The next WR, of which nothing is submitted. */
static void sq_refuse(struct rnic_qp *qp, enum usiw_wc_status status)
{
	if (!rnic_ack_await(&qp->sq))
		wr_fail(qp, qp->sq.next_idx, status);
}

/* What a response is made from is not there.  No WR of ours is to blame. */
static void irq_refuse(struct rnic_qp *qp, const struct rnic_irq_entry *entry,
		       uint16_t fault)
{
	rnic_stream_refuse_read(qp->stream, entry, fault);
	rnic_stat_add(RNIC_STAT_term_sent, 1);
	rnic_qp_fail(qp, RNIC_QPS_TERMINATE, USIW_WC_WR_FLUSH_ERR,
		     RNIC_QP_EV_ACCESS_ERR);
}

void rnic_sq_unreadable(struct rnic_qp *qp, uint64_t cookie)
{
	util_warn("rnic", "qp 0x%06x: registered memory cannot be read",
		  qp->num);
	rnic_stat_add(RNIC_STAT_mem_faults, 1);
	if (cookie == RNIC_COOKIE_RESPONSE) {
		/* Registered, though. */
		irq_refuse(qp, &qp->irq.entry[qp->irq.head],
			   SMPA_F_RDMAP_BOUNDS);
		return;
	}
	rnic_stat_add(RNIC_STAT_term_sent, 1);
	wr_fail(qp, (uint32_t)cookie, USIW_WC_LOC_PROT_ERR);
}

static void msg_read(struct smpa_msg *msg, const struct usiw_sqe *sqe,
		     const struct usiw_sqe *slot)
{
	/* The sink is found again by its place in the ORQ; what stands on
	 * the wire is the first SGE. */
	msg->read.sink_stag = sqe->sge_cnt ? rnic_sqe_sges(slot)[0].lkey : 1;
	msg->read.sink_to = sqe->sge_cnt ? rnic_sqe_sges(slot)[0].addr : 0;
	msg->read.len = msg->len;
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

/* What is done when the answer has come carries no payload itself. */
static void msg_answered(struct smpa_msg *msg, const struct usiw_sqe *sqe,
			 const struct usiw_sqe *slot)
{
	if (msg->opcode == SMPA_OP_READ_REQUEST)
		msg_read(msg, sqe, slot);
	else
		msg_atomic(msg, sqe);
	msg->iovcnt = 0;
	msg->len = 0;
	msg->quiet = true;
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
}

static uint8_t sqe_wire_opcode(const struct usiw_sqe *sqe,
			       const struct sq_op *op)
{
	if (!(sqe->flags & USIW_SQE_SOLICITED))
		return op->opcode;
	if (op->opcode == SMPA_OP_SEND)
		return SMPA_OP_SEND_SE;
	if (op->opcode == SMPA_OP_SEND_INV)
		return SMPA_OP_SEND_SE_INV;
	return op->opcode;
}

/* A Send or Write before LOCAL_INV, sent from the region perhaps that goes. */
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

/* What must wait: for earlier reads (fence), for a credit (ORD), or for an
 * answer that cannot come. */
static bool sqe_must_wait(const struct rnic_qp *qp, const struct usiw_sqe *sqe,
			  const struct sq_op *op)
{
	const struct rnic_orq *orq = &qp->sq.orq;
	uint32_t cnt = orq->cnt - qp->sq.ack.is_out;

	if (sqe->flags & USIW_SQE_FENCE && cnt)
		return true;
	if (op->traits & SQ_ANSWERED && qp->sq.is_ended)
		return true;
	if (sqe->opcode == USIW_WR_LOCAL_INV && sq_is_sending(&qp->sq))
		return true;
	/* RDMAP-51: never more than ORD outstanding. */
	return op->traits & SQ_ANSWERED && orq->limit && cnt >= orq->limit;
}

/* EXT-16, D-37: what tells the peer that the next Send has immediate data. */
static bool imm_submit_ahead(struct rnic_qp *qp, uint32_t imm_be)
{
	struct rnic_sq_imm *imm = &qp->sq.imm;
	const struct smpa_msg mark = { .opcode = SMPA_OP_WRITE,
				       .quiet = true,
				       .stag = RNIC_IMM_MARK_STAG,
				       .to = RNIC_IMM_MARK_TO };
	struct smpa_msg msg = { .opcode = SMPA_OP_IMM, .quiet = true };

	if (!imm->is_marked)
		imm->is_marked = smpa_conn_submit(qp->stream->conn, &mark) == 0;
	if (!imm->is_marked)
		return false;
	memcpy(msg.imm, &imm_be, RNIC_IMM_LEN);
	if (!imm->is_ahead)
		imm->is_ahead = smpa_conn_submit(qp->stream->conn, &msg) == 0;
	return imm->is_ahead;
}

/* EXT-16, D-32: of the Write before, which is done when this is sent. */
static int imm_submit_behind(struct rnic_qp *qp)
{
	struct rnic_sq_imm *imm = &qp->sq.imm;
	struct smpa_msg msg = {
		.opcode = imm->opcode,
		.cookie = qp->sq.next_idx - 1,
	};

	memcpy(msg.imm, &imm->imm_be, RNIC_IMM_LEN);
	if (smpa_conn_submit(qp->stream->conn, &msg) < 0)
		return 0;
	imm->is_due = false;
	return 1;
}

/* The message of @sqe, one or two, as far as the engine takes it now. */
static int sqe_submit(struct rnic_qp *qp, const struct usiw_sqe *sqe,
		      const struct sq_op *op, struct smpa_msg *msg)
{
	struct rnic_sq_imm *imm = &qp->sq.imm;

	if (op->traits & SQ_IMM_AHEAD && !imm_submit_ahead(qp, sqe->imm_be))
		return -EAGAIN;
	if (op->traits & SQ_IMM_BEHIND)
		msg->quiet = true;
	if (smpa_conn_submit(qp->stream->conn, msg) < 0)
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

/*
 * The WR at next_idx has been done.  Behind others that are placed at the peer
 * only when it says so, it is one of them: its completion comes after theirs,
 * and done_idx does not pass a WR behind which the peer is being asked.
 */
static void sq_local_done(struct rnic_qp *qp, const struct usiw_sqe *sqe)
{
	struct rnic_sq *sq = &qp->sq;
	uint32_t idx = sq->next_idx++;

	if (idx == sq->done_idx && !sq->ack.is_out) {
		sq_done(qp, idx);
		return;
	}
	rnic_ack_note(sq, sqe);
	rnic_sq_sent(qp, idx);
}

/* LOCAL_INV and BIND_MW.  Return: 1: done; 0: the QP has failed. */
static int sq_do_local(struct rnic_qp *qp, const struct usiw_sqe *sqe,
		       const struct sq_op *op)
{
	struct rnic_sq *sq = &qp->sq;
	const struct rnic_mw_bind bind = {
		.stag = sqe->rkey,
		.lkey = sqe->imm_be,
		.addr = sqe->remote_addr,
		.len = sqe->compare_add,
		.access = sqe->swap,
	};
	bool is_bind = sqe->opcode == USIW_WR_BIND_MW;
	int rc =
		is_bind ? rnic_mw_bind(&qp->owner, &bind)
			: (int)rnic_mw_invalidate(&qp->owner, sqe->rkey, false);

	if (!qp->stream)
		return 0; /* its own peer was at what went away */
	if (rc) {
		sq_refuse(qp, is_bind ? USIW_WC_MW_BIND_ERR
				      : USIW_WC_LOC_QP_OP_ERR);
		return 0;
	}
	*rnic_sq_wr_at(sq, sq->next_idx) = (struct rnic_sq_wr){
		.wr_id = sqe->wr_id,
		.wc_opcode = op->wc_opcode,
		.is_signaled = sqe->flags & USIW_SQE_SIGNALED,
	};
	rnic_stat_add(op->stat, 1);
	sq->used_ops |= 1u << sqe->opcode;
	sq_local_done(qp, sqe);
	return qp->stream != NULL;
}

/* Return: 1: one more is submitted; 0: not now (or the QP has failed). */
static int sq_submit(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;
	const struct usiw_sqe *slot = usiw_ring_slot(&sq->ring, sq->next_idx);
	const struct usiw_sqe sqe = *slot;
	const struct sq_op *op = sq_op_find(sqe.opcode);
	struct iovec *iov = sq->iov[sq->iov_turn];
	struct smpa_msg msg = { .iov = iov, .cookie = sq->next_idx };
	uint32_t len;
	int rc;

	if (!op || (op->traits & SQ_ANSWERED &&
		    (!sq->orq.limit || sqe.flags & USIW_SQE_INLINE))) {
		sq_refuse(qp, USIW_WC_LOC_QP_OP_ERR);
		return 0;
	}
	if (sqe_must_wait(qp, &sqe, op))
		return 0;
	if (op->traits & SQ_LOCAL)
		return sq_do_local(qp, &sqe, op);
	rc = sqe_payload(qp, &sqe, slot, op->access, iov, &len);
	if (rc >= 0 && op->opcode == SMPA_OP_ATOMIC_REQUEST &&
	    len != RNIC_ATOMIC_LEN)
		rc = -EMSGSIZE;
	if (rc < 0) {
		sq_refuse(qp, rc == -EMSGSIZE ? USIW_WC_LOC_LEN_ERR
					      : USIW_WC_LOC_PROT_ERR);
		return 0;
	}
	msg.iovcnt = rc;
	msg.safe = sqe.flags & USIW_SQE_INLINE;
	msg.len = len;
	msg.opcode = sqe_wire_opcode(&sqe, op);
	msg.stag = sqe.rkey;
	msg.to = sqe.remote_addr;
	if (op->traits & SQ_ANSWERED)
		msg_answered(&msg, &sqe, slot);
	if (sqe_submit(qp, &sqe, op, &msg) < 0)
		return 0;
	if (op->traits & SQ_ANSWERED)
		orq_push(qp, &msg);
	sq->iov_turn ^= 1;
	*rnic_sq_wr_at(sq, sq->next_idx) = (struct rnic_sq_wr){
		.wr_id = sqe.wr_id,
		.len = op->traits & SQ_ANSWERED ? len : 0,
		.wc_opcode = op->wc_opcode,
		.is_signaled = sqe.flags & USIW_SQE_SIGNALED,
	};
	sq->next_idx++;
	if (!(op->traits & SQ_ANSWERED))
		rnic_ack_note(sq, &sqe);
	if (qp->retry_ns && !qp->stream->look.next_ns)
		rnic_retry_begin(qp->stream);
	rnic_stat_add(op->stat, 1);
	sq->used_ops |= 1u << sqe.opcode;
	return 1;
}

/*
 * EXT-8: in its turn, when no earlier Read's response is still to be taken
 * from the same memory.  Return: 1: it is done; 0: not now, or the QP has
 * failed.
 */
static int irq_execute(struct rnic_qp *qp, struct rnic_irq_entry *entry)
{
	uint64_t old;

	if (qp->irq.submitted_cnt &&
	    smpa_conn_uses(qp->stream->conn, entry->src, entry->len))
		return 0;
	if (rnic_atomic_execute(&entry->atomic, entry->src, &old) < 0) {
		rnic_stat_add(RNIC_STAT_mem_faults, 1);
		irq_refuse(qp, entry, SMPA_F_RDMAP_BOUNDS);
		return 0;
	}
	/* Once: the answer may have to wait. */
	entry->kind = RNIC_IRQ_ATOMIC_DONE;
	entry->old = old;
	entry->len = 0;
	return 1;
}

/* EXT-9 */
static int irq_submit_atomic(struct rnic_qp *qp, struct rnic_irq_entry *entry)
{
	struct smpa_msg msg = {
		.opcode = SMPA_OP_ATOMIC_RESPONSE,
		.cookie = RNIC_COOKIE_RESPONSE,
		.atomic.id = entry->id,
	};

	if (entry->kind == RNIC_IRQ_ATOMIC && !irq_execute(qp, entry))
		return 0;
	msg.atomic.value = entry->old;
	if (smpa_conn_submit(qp->stream->conn, &msg) < 0)
		return 0;
	qp->irq.submitted_cnt++;
	rnic_stat_add(RNIC_STAT_atomic_served, 1);
	return 1;
}

static int irq_submit_read(struct rnic_qp *qp,
			   const struct rnic_irq_entry *entry)
{
	struct rnic_irq *irq = &qp->irq;
	struct iovec *iov = &qp->irq_iov[qp->irq_turn];
	struct smpa_msg msg = {
		.opcode = SMPA_OP_READ_RESPONSE,
		.cookie = RNIC_COOKIE_RESPONSE,
		.stag = entry->sink_stag,
		.to = entry->sink_to,
		.iov = iov,
		.iovcnt = entry->len ? 1 : 0,
		.len = entry->len,
	};

	if (!entry->len && entry->src_stag == RNIC_ACK_STAG &&
	    rnic_sq_idx_is_before(qp->held_out_idx, entry->held_idx))
		return 0;
	iov->iov_base = entry->src;
	iov->iov_len = entry->len;
	if (smpa_conn_submit(qp->stream->conn, &msg) < 0)
		return 0;
	qp->irq_turn ^= 1;
	irq->submitted_cnt++;
	rnic_stat_add(RNIC_STAT_read_served, 1);
	return 1;
}

/* RDMAP-20, EXT-8: responses in the order of the requests. */
static int irq_submit(struct rnic_qp *qp)
{
	struct rnic_irq *irq = &qp->irq;
	struct rnic_irq_entry *entry =
		&irq->entry[(irq->head + irq->submitted_cnt) % irq->max];

	if (entry->kind == RNIC_IRQ_READ)
		return irq_submit_read(qp, entry);
	return irq_submit_atomic(qp, entry);
}

void rnic_irq_sent(struct rnic_qp *qp)
{
	struct rnic_irq *irq = &qp->irq;

	irq->head = (irq->head + 1) % irq->max;
	irq->cnt--;
	irq->submitted_cnt--;
	if (qp->rnr)
		rnic_rnr_read_answered(qp);
}

bool rnic_irq_advance(struct rnic_qp *qp)
{
	return rnic_irq_is_waiting(qp) && irq_submit(qp);
}

bool rnic_sq_advance(struct rnic_qp *qp)
{
	bool has_submitted = false;
	int response, request;

	/* In turn; where one is stuck the other goes on alone.  A Write and
	 * its immediate data are not parted. */
	do {
		if (qp->sq.imm.is_due && !imm_submit_behind(qp))
			break;
		response = rnic_irq_advance(qp);
		if (!qp->stream)
			break;
		request = rnic_sq_has_next(&qp->sq) ? sq_submit(qp) : 0;
		has_submitted |= response || request;
	} while ((response || request) && qp->stream);
	if (qp->stream && rnic_ack_is_due(qp))
		has_submitted |= rnic_ack_submit(qp);
	return has_submitted;
}

/* ---- regions that go ---------------------------------------------------- */

static bool sges_name(const struct usiw_sge *sge, uint32_t cnt, uint32_t stag)
{
	for (uint32_t i = 0; i < cnt; i++)
		if (sge[i].lkey == stag && sge[i].len)
			return true;
	return false;
}

static bool sqe_names(const struct rnic_sq *sq, uint32_t idx, uint32_t stag)
{
	const struct usiw_sqe *slot = usiw_ring_slot(&sq->ring, idx);

	if (slot->flags & USIW_SQE_INLINE)
		return false;
	return sges_name(rnic_sqe_sges(slot), rnic_sqe_sge_cnt(sq, slot), stag);
}

/* The oldest Read or atomic of the peer that still needs it; NULL: none. */
static const struct rnic_irq_entry *irq_find(const struct rnic_irq *irq,
					     uint32_t stag)
{
	for (uint32_t i = 0; i < irq->cnt; i++) {
		const struct rnic_irq_entry *entry =
			&irq->entry[(irq->head + i) % irq->max];

		if (entry->len && entry->src_stag == stag)
			return entry;
	}
	return NULL;
}

bool rnic_irq_needs(const struct rnic_qp *qp, uint32_t stag)
{
	return irq_find(&qp->irq, stag) != NULL;
}

static bool wr_names(const struct rnic_sq *sq, uint32_t idx, uint32_t stag)
{
	return !rnic_sq_wr_at(sq, idx)->is_done && sqe_names(sq, idx, stag);
}

static bool recv_names(const struct rnic_qp *qp, uint32_t stag)
{
	const struct rnic_recv *recv = &qp->rq.current;

	return recv->is_open && sges_name(recv->sge, recv->sge_cnt, stag);
}

void rnic_qp_region_gone(struct rnic_qp *qp, uint32_t stag)
{
	static const struct smpa_fault fault = { SMPA_F_RDMAP_STREAM_CATA };
	const struct rnic_irq_entry *entry = irq_find(&qp->irq, stag);
	const struct usiw_cqe cqe = { .status = USIW_WC_LOC_PROT_ERR,
				      .opcode = USIW_WC_RECV };
	enum rnic_qp_event event = RNIC_QP_EV_ACCESS_ERR; /* a peer's Write */
	uint32_t idx = qp->sq.done_idx;

	if (entry) {
		irq_refuse(qp, entry, SMPA_F_RDMAP_STAG);
		return;
	}
	rnic_stat_add(RNIC_STAT_term_sent, 1);
	while (idx != qp->sq.next_idx && !wr_names(&qp->sq, idx, stag))
		idx++;
	if (idx != qp->sq.next_idx) {
		wr_fail(qp, idx, USIW_WC_LOC_PROT_ERR);
		return;
	}
	smpa_conn_terminate(qp->stream->conn, fault);
	if (recv_names(qp, stag)) {
		event = RNIC_QP_EV_REQ_ERR;
		rnic_rq_complete(qp, &cqe);
	}
	rnic_qp_fail(qp, RNIC_QPS_TERMINATE, USIW_WC_WR_FLUSH_ERR, event);
}

bool rnic_qp_uses_region(const struct rnic_qp *qp, uint32_t stag,
			 const void *addr, size_t len)
{
	const struct rnic_sq *sq = &qp->sq;
	const struct rnic_irq *irq = &qp->irq;
	bool is_named = qp->arrival.write_stag == stag || recv_names(qp, stag);

	for (uint32_t i = 0; i < irq->cnt; i++) {
		const struct rnic_irq_entry *entry =
			&irq->entry[(irq->head + i) % irq->max];

		if (!entry->len || entry->src_stag != stag)
			continue;
		if (i >= irq->submitted_cnt)
			return true; /* its response would read there */
		is_named = true;
	}
	for (uint32_t i = sq->done_idx; i != sq->next_idx && !is_named; i++)
		is_named = wr_names(sq, i, stag);
	/* Named, but perhaps sent, or not arrived yet: then it is judged anew,
	 * and fails, when its octets come. */
	return is_named && smpa_conn_uses(qp->stream->conn, addr, len);
}
