/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* READs and atomics of the peer: served in order.  Under the lead. */
#ifndef RNIC_IRQ_H
#define RNIC_IRQ_H

#include "object.h"

/* Cookie of Read Responses; those of SQEs are their indices, of 32 bits. */
#define RNIC_COOKIE_RESPONSE UINT64_MAX

/* The @i-th request, from the oldest on; it may be the one to be added. */
static inline struct rnic_irq_entry *rnic_irq_at(const struct rnic_irq *irq,
						 uint32_t i)
{
	return &irq->entry[(irq->head + i) % irq->max];
}

/* Does the peer wait for responses that are not submitted yet? */
static inline bool rnic_irq_is_waiting(const struct rnic_qp *qp)
{
	return qp->irq.submitted_cnt != qp->irq.cnt;
}

bool rnic_irq_submit(struct rnic_qp *qp);

/* Submit the next response, if there is one and it need not wait.  Return:
 * whether it was submitted. */
static inline bool rnic_irq_advance(struct rnic_qp *qp)
{
	return rnic_irq_is_waiting(qp) && rnic_irq_submit(qp);
}

/* The oldest one that still needs that STag; NULL: none. */
const struct rnic_irq_entry *rnic_irq_find(const struct rnic_irq *irq,
					   uint32_t stag);

/*
 * RDMAP-60, RDMAP-68, EXT-19: the memory of a response is not there.  The peer
 * is told which request it is, and how far the response came.  None of our WRs
 * is at fault.
 */
void rnic_irq_refuse(struct rnic_qp *qp, const struct rnic_irq_entry *entry,
		     uint16_t fault);

/* The stream says that the oldest response is sent. */
void rnic_irq_sent(struct rnic_qp *qp);

#endif
