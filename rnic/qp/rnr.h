/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Held Sends: no receive is posted for them, or they invalidate what an earlier
 * READ of the peer still needs.  They are kept in memory of the engine's pool,
 * so that what follows them on the stream is processed: READ responses, the
 * peer's Writes and Reads, its TERMINATE.  When that memory is full, nothing
 * waits for READs any more, and the stream is not read.  The RNR time bounds
 * all of it.
 *
 * A QP that holds nothing has a NULL pointer.  A thread that posts receives
 * looks at one flag, and rings only while something is held.
 *
 * Everything is under the lead, unless its comment says otherwise.
 */
#ifndef RNIC_RNR_H
#define RNIC_RNR_H

#include "object.h"

/* Return: true: no held Send comes before the next message. */
static inline bool rnic_rnr_is_clear(const struct rnic_qp *qp)
{
	return !qp->rnr && !(qp->srq && qp->srq->rnr_cnt);
}

/*
 * Does a message of that opcode invalidate what a READ before it needs?  Then
 * it is held until the READ is answered.  False if the QP may hold nothing.
 */
bool rnic_rnr_is_behind_reads(const struct rnic_qp *qp, uint8_t opcode,
			      uint32_t inv_stag);

/* A READ or atomic of the peer was answered, and something is held. */
void rnic_rnr_read_answered(struct rnic_qp *qp);

/*
 * A segment of an untagged message has come, and there is no receive for it, or
 * held Sends or READs are before it.  Keep the segment, or leave it unanswered
 * for now.
 * Return: 0; -ENOENT: the QP may hold nothing; -ENOMEM.
 */
int rnic_rnr_segment(struct rnic_qp *qp, const struct smpa_event *ev);

/*
 * A message is whole; it completes with @cqe, which has all but the receive.
 * Return: true: the message is held, and completes when it is delivered; false:
 * the caller completes it.
 */
bool rnic_rnr_message(struct rnic_qp *qp, const struct usiw_cqe *cqe);

/*
 * How long the QP holds Sends if the peers exchanged the values: our
 * min_rnr_timer and the peer's rnr_retry, as in ibv_qp_attr. 7 means no limit.
 * Above 7, the peer has not sent a value. That means no limit too, because most
 * programs use 7, and a connection that has ended cannot be restored. Never
 * shorter than USIW_RNR_MS: a process is slower than an adapter. Takes the
 * lead.
 */
void rnic_rnr_set_time(struct rnic_qp *qp, uint8_t min_rnr_timer,
		       uint8_t rnr_retry);

/*
 * The same with rdma_cm: no limit, or USIW_RNR_MS. Once the memory is full it
 * is always USIW_RNR_MS: the peer's disconnect follows the data on TCP, and
 * cannot be received without reading it. Takes the lead.
 */
void rnic_rnr_set_cm_time(struct rnic_qp *qp, bool is_for_ever);

/* Give the oldest held message, or what has come of it, its receive.  Return:
 * false: there is no receive, or the message's octets are arriving now. */
bool rnic_rnr_deliver(struct rnic_qp *qp);

/* After a delivery: true if the segment that was left unanswered can be handled
 * now.  It is *ret_ev, and no segment is unanswered any more. */
bool rnic_rnr_take_waiting(struct rnic_qp *qp, struct smpa_event *ret_ev);

/* QPs that hold Sends for an SRQ take turns.  Return: the next one. */
struct rnic_qp *rnic_rnr_next_turn(struct rnic_srq *srq);

/* The QP has ended: drop what is held. */
void rnic_rnr_drop(struct rnic_qp *qp);

/* The RNR time is over: TERMINATE 12 02, the QP fails. */
void rnic_rnr_expire(struct rnic_qp *qp);

/* A segment is unanswered: the stream must not be read. */
bool rnic_rnr_is_full(const struct rnic_qp *qp);

/*
 * The peer has closed.  Return: true: held messages still wait for receives,
 * and the end waits for them, for a bounded time.
 */
bool rnic_rnr_delays_end(struct rnic_qp *qp);

#endif
