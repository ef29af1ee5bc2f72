/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Receives: claimed from the RQ or the SRQ.  Under the lead. */
#ifndef RNIC_RQ_H
#define RNIC_RQ_H

#include "object.h"

/* Octets that the next receive takes; 0: there is none, or for no octets. */
uint32_t rnic_rq_next_len(const struct rnic_qp *qp);

/* Open the next receive as qp->rq.current.  Return: 0; -ENOENT: none. */
int rnic_rq_claim(struct rnic_qp *qp);

/* Receives that no held Send waits for. */
uint32_t rnic_rq_room(const struct rnic_qp *qp);

/* The ring that the QP's receives come from. */
const struct usiw_ring *rnic_rq_ring(const struct rnic_qp *qp);

/*
 * The domain that the memory of the QP's receives is checked against.  A shared
 * receive belongs to the domain of its queue, since what posts it gives the
 * key. What the peer itself names, to access or invalidate it, is checked
 * against the QP's domain.
 */
static inline const struct rnic_pd *rnic_rq_pd(const struct rnic_qp *qp)
{
	return qp->srq ? qp->srq->pd : qp->owner.pd;
}

/* Complete the current receive; @status: it has failed.  @cqe: all but what
 * names the WR and the QP, which is filled in. */
void rnic_rq_complete(struct rnic_qp *qp, struct usiw_cqe *cqe);
void rnic_rq_complete_error(struct rnic_qp *qp, enum usiw_wc_status status);

/*
 * The message of the current receive is placed: invalidate if it asks for that,
 * and complete.  @cqe: as above.  Return: 0; -EACCES: it may not invalidate
 * that STag; nothing is done.
 */
int rnic_rq_deliver(struct rnic_qp *qp, struct usiw_cqe *cqe);

void rnic_rq_flush(struct rnic_qp *qp);
/* A message has completed that the application has not polled.  Any thread that
 * keeps the QP (rnic_qp_get()). */
bool rnic_rq_is_unread(const struct rnic_qp *qp);

#endif
