/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Completion queues: the engine pushes, the provider polls.  Under the lead. */
#ifndef RNIC_CQ_H
#define RNIC_CQ_H

#include "object.h"
#include "os/stat.h"

/* The QP completes into the CQ from now on, or not any more. Under the lead of
 * its engine. */
void rnic_cq_user_add(struct rnic_cq *cq, struct rnic_cq_user *user,
		      struct rnic_qp *qp);
void rnic_cq_user_remove(struct rnic_cq *cq, struct rnic_cq_user *user);

/*
 * For rnic_wr_complete() alone.
 * @part: where it is counted: of the QP's engine.
 * Return: 0; -ENOSPC: the CQ is overrun: the completion is lost, CQ_ERR was
 * raised, and the QP must fail.  The CQ takes no other completion, so that
 * those in it have no gap, and all its QPs fail.  A CQ that ignores overruns
 * loses the completion and returns 0.
 */
int rnic_cq_push(struct rnic_cq *cq, const struct usiw_cqe *cqe,
		 struct rnic_stat_part part);

/* A completion comes that does not fit.  Return: as rnic_cq_push(). */
int rnic_cq_overrun(struct rnic_cq *cq);

/* Is the application waiting for any completion?  A hint, any thread. */
bool rnic_cq_is_awaited(const struct rnic_cq *cq);

/* Wake the waiting thread, though there is no completion. */
void rnic_cq_nudge(struct rnic_cq *cq);

#endif
