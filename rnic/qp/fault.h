/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Faults of USIW_FAULT at a QP's work.  Under the lead. */
#ifndef RNIC_QP_FAULT_H
#define RNIC_QP_FAULT_H

#include "fault/rules.h"
#include "object.h"
#include "util/clock.h"

/* Who an event is of.  The caller sets the rest. */
void rnic_qp_fault_event(const struct rnic_qp *qp,
			 struct rnic_fault_event *ret_event);

/*
 * A WR has completed in success, with @cqe.
 * Return: 0; -EIO: @cqe says that it has failed, which *is_signaled says, too,
 *   and the QP fails; -ENOSPC: its CQ is to be overrun.
 */
int rnic_qp_fault_work(struct rnic_qp *qp, struct usiw_cqe *cqe,
		       bool *is_signaled);

/* The first segment of a message that takes a receive.  Return: true: there is
 * to be none for some time. */
bool rnic_qp_fault_rnr(struct rnic_qp *qp);

/* Is that time not over? */
static inline bool rnic_qp_fault_holds(const struct rnic_qp *qp)
{
	return __builtin_expect(qp->fault.rnr_ns != 0, 0) &&
	       util_now_ns() < qp->fault.rnr_ns;
}

/* It is: what is held may be delivered. */
void rnic_qp_fault_rnr_end(struct rnic_qp *qp);

#endif
