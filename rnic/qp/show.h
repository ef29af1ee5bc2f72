/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What other processes see of QPs and their queues (abi/usiw-res.h).  Under the
 * lead, except where it says otherwise.
 */
#ifndef RNIC_SHOW_H
#define RNIC_SHOW_H

#include "object.h"

/* Before its rings are allocated.  Return: false: no memory.  No lock. */
bool rnic_qp_show_init(struct rnic_qp *qp) __attribute__((warn_unused_result));
/* All of it is there, and others see it from now on.  No lock. */
void rnic_qp_show(const struct rnic_qp *qp);

/* Whom it is connected to, or is to be.  @num: 0: not known, or as before.
 * @peer: of no family: nobody. */
void rnic_qp_show_peer(const struct rnic_qp *qp, uint32_t num,
		       const struct sockaddr_storage *local,
		       const struct sockaddr_storage *peer);

/* The READs and atomics that may be outstanding, in both directions. */
void rnic_qp_show_depths(const struct rnic_qp *qp);

static inline void rnic_qp_show_state(const struct rnic_qp *qp,
				      enum rnic_qp_state state)
{
	rnic_res_set(&qp->res->state, state);
	atomic_store_explicit(&qp->res->state_ns, rnic_res_now_ns(),
			      memory_order_relaxed);
}

/* READs and atomics outstanding: those of the application, not that of
 * ack.c. */
static inline void rnic_qp_show_reads_out(const struct rnic_qp *qp)
{
	rnic_res_set(&qp->res->reads_out,
		     qp->sq.orq.cnt - (qp->sq.ack.is_out ? 1 : 0));
}

static inline void rnic_qp_show_reads_in(const struct rnic_qp *qp)
{
	rnic_res_set(&qp->res->reads_in, qp->irq.cnt);
}

/* A message of @len octets was sent, or has come. */
static inline void rnic_qp_show_message(struct usiw_res_traffic *traffic,
					enum usiw_res_op op, uint64_t len)
{
	rnic_res_grow(&traffic->messages[op], 1);
	if (op != USIW_RES_OP_ATOMIC)
		rnic_res_grow(&traffic->octets[op], len);
}

#endif
