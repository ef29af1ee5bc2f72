/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Sends for which no receive is posted, or which invalidate what an earlier
 * READ of the peer still needs.  They are kept, in memory lent by the engine's
 * pool, so that what stands behind them on the stream goes on: READ responses,
 * the peer's Writes and Reads, its TERMINATE.  When that memory is full nothing
 * waits for READs any more, and the stream is not read.  All of it ends with
 * the RNR time.
 *
 * A QP that holds nothing pays a NULL pointer.  A thread that posts receives
 * looks at one flag, and rings only while something is held.
 *
 * Everything is under the lead, but for what is said otherwise.
 */
#ifndef RNIC_RNR_H
#define RNIC_RNR_H

#include "object.h"

/* Does nothing wait in front of the next message for this QP's receives? */
static inline bool rnic_rnr_is_clear(const struct rnic_qp *qp)
{
	return !qp->rnr && !(qp->srq && qp->srq->first_rnr);
}

/*
 * Does a message of that opcode invalidate what a READ before it needs?  Then
 * it is to be held until that is answered.  No where nothing may be held.
 */
bool rnic_rnr_is_behind_reads(const struct rnic_qp *qp, uint8_t opcode,
			      uint32_t inv_stag);

/* A request of the peer was answered, and something is held. */
void rnic_rnr_read_answered(struct rnic_qp *qp);

/*
 * A segment of an untagged message came, and there is no receive for it, or
 * others, or READs, are before it.  Keeps the segment, or leaves it unanswered
 * for now.
 * Return: 0; -ENOENT: none is waited for; -ENOMEM.
 */
int rnic_rnr_segment(struct rnic_qp *qp, struct smpa_conn *conn,
		     const struct smpa_event *ev);

/*
 * A message is whole, and @cqe, but for the receive, is what it completes
 * with.  Return: true: it is a held one, and will; false: the caller's.
 */
bool rnic_rnr_message(struct rnic_qp *qp, const struct usiw_cqe *cqe);

/*
 * How long the QP shall keep Sends, where the peers told each other: our
 * min_rnr_timer, and the peer's rnr_retry (above 7: not told), as in
 * ibv_qp_attr: 7 is for ever, and so is what was not told, since most programs
 * say 7, and a connection that ends cannot be had again.  Never shorter than
 * USIW_RNR_MS: a process is later than an adapter.  Context: takes the lead.
 */
void rnic_rnr_set_time(struct rnic_qp *qp, uint8_t min_rnr_timer,
		       uint8_t rnr_retry);

/*
 * The same with rdma_cm: for ever, or USIW_RNR_MS.  Once that memory is full it
 * is always USIW_RNR_MS: the peer's disconnect stands behind the data on TCP,
 * and is not seen without reading on.  Context: takes the lead.
 */
void rnic_rnr_set_cm_time(struct rnic_qp *qp, bool is_for_ever);

/* The oldest message, or what has come of it, gets its receive.  Return: false:
 * there is none, or its octets are just arriving. */
bool rnic_rnr_deliver(struct rnic_qp *qp);

/* After a delivery: can the segment that waited unanswered be taken up again?
 * Then it is *@ret_ev, and nothing waits any more. */
bool rnic_rnr_take_waiting(struct rnic_qp *qp, struct smpa_event *ret_ev);

/* QPs that wait for the SRQ take turns: the next one. */
struct rnic_qp *rnic_rnr_next_turn(struct rnic_srq *srq);

/* The QP has ended: what is held goes with it. */
void rnic_rnr_drop(struct rnic_qp *qp);

/* The RNR time is over: TERMINATE 12 02, the QP fails. */
void rnic_rnr_expire(struct rnic_qp *qp);

/* A segment waits unanswered: nothing is to be read. */
bool rnic_rnr_is_full(const struct rnic_qp *qp);

/*
 * The peer has closed.  Return: true: messages that came before still wait
 * for receives; the end waits for them, for a bounded time.
 */
bool rnic_rnr_delays_end(struct rnic_qp *qp);

#endif
