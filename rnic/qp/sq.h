/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The send queue: WRs become messages.  Under the lead. */
#ifndef RNIC_SQ_H
#define RNIC_SQ_H

#include "ack.h"
#include "object.h"

/*
 * Submit what can be submitted: SQEs in order, in turn with responses to the
 * peer's READs and atomics.  Return: whether anything was submitted.
 */
bool rnic_sq_advance(struct rnic_qp *qp);

/* Is there a WR to submit? */
static inline bool rnic_sq_has_next(const struct rnic_sq *sq)
{
	return usiw_ring_slot_pending(&sq->ring, sq->next_idx) &&
	       !(sq->is_ended && sq->next_idx == sq->end_idx);
}

/*
 * The payload of the WR in @slot.  @iov: RNIC_SGE_MAX.
 * Return: how many of @iov; -EMSGSIZE; -EFAULT.
 */
int rnic_sq_payload(struct rnic_qp *qp, const struct usiw_sqe *slot,
		    uint32_t access, struct iovec *iov, uint32_t *ret_len);

/*
 * The WR at next_idx is submitted, or done without a message: note what it
 * completes with.  @len: octets that its answer has.  Return: its index.
 */
struct rnic_sq_op;
uint32_t rnic_sq_took(struct rnic_qp *qp, const struct usiw_sqe *sqe,
		      const struct rnic_sq_op *op, uint32_t len);

/* Is LOCAL_INV or BIND_MW next?  It needs no room to be sent. */
bool rnic_sq_is_local_next(const struct rnic_sq *sq);

/* Is there something to submit, whether or not it has to wait? */
static inline bool rnic_sq_is_waiting(const struct rnic_qp *qp)
{
	return qp->sq.imm.is_due || rnic_sq_has_next(&qp->sq) ||
	       rnic_ack_is_due(qp);
}

/* The memory of the message with this cookie is registered, but cannot be read:
 * the QP fails.  All messages before it are sent. */
void rnic_sq_unreadable(struct rnic_qp *qp, uint64_t cookie);

/*
 * The QP, which may lose messages, has no link: its WRs are checked and
 * complete, but nothing is sent.  rnic_qp_end() has to follow: a WR may be
 * wrong.
 */
void rnic_sq_lose(struct rnic_qp *qp);

/* The oldest read or atomic is answered in full. */
void rnic_sq_read_done(struct rnic_qp *qp);

/*
 * The peer has closed its half.  What is posted by now is still sent; what is
 * posted later is not; no answer comes any more.  With struct rnic_ack nothing
 * more is submitted: nothing would tell whether the peer received it.
 */
void rnic_sq_peer_closed(struct rnic_qp *qp);

#endif
