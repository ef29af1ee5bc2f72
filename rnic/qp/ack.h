/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Completions that mean "placed at the peer".  Under the lead. */
#ifndef RNIC_ACK_H
#define RNIC_ACK_H

#include "object.h"

/* Source STag of these READs, which have no octets and need none. */
#define RNIC_ACK_STAG 0x61636b00u

/* What follows from the two below where completions mean that. */
bool rnic_ack_is_wanted(const struct rnic_qp *qp);
void rnic_ack_note_wr(struct rnic_sq *sq, const struct usiw_sqe *sqe);

/* Is it time to send the READ of no octets? */
static inline bool rnic_ack_is_due(const struct rnic_qp *qp)
{
	return qp->sq.ack.is_on && rnic_ack_is_wanted(qp);
}

/* @sqe, a WR without an answer, was submitted: it is the one before
 * sq->next_idx. */
static inline void rnic_ack_note(struct rnic_sq *sq, const struct usiw_sqe *sqe)
{
	if (sq->ack.is_on)
		rnic_ack_note_wr(sq, sqe);
}

/* Return: true: the next WR may fail only when the WRs before it are known to
 * be placed; the peer is asked. */
bool rnic_ack_await(struct rnic_sq *sq);

/* Send that READ, since rnic_ack_is_due().  Return: false: not now. */
bool rnic_ack_submit(struct rnic_qp *qp);

/* The oldest entry of the ORQ was answered. */
void rnic_ack_answered(struct rnic_qp *qp, const struct rnic_orq_entry *entry);

/* The peer has sent TERMINATE: the WRs before the message that it names end.
 * With struct rnic_ack those that TCP has taken are complete. */
void rnic_ack_terminated(struct rnic_qp *qp, const struct smpa_event *ev);

/* The peer closes in order: it has received what was sent. */
void rnic_ack_peer_closed(struct rnic_qp *qp);

#endif
