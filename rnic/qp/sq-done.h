/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Work requests of the send queue complete.  Under the lead. */
#ifndef RNIC_SQ_DONE_H
#define RNIC_SQ_DONE_H

#include "object.h"

/* The WR is done; it completes once those before it have. */
void rnic_sq_done(struct rnic_qp *qp, uint32_t idx);

/* The stream says that the message of SQE @idx is sent. */
void rnic_sq_sent(struct rnic_qp *qp, uint32_t idx);

/* The WRs before @idx are complete. */
void rnic_sq_done_before(struct rnic_qp *qp, uint32_t idx);

/* The WRs before @idx end: up to the first that is not done they are complete,
 * from there on they are flushed. */
void rnic_sq_end_before(struct rnic_qp *qp, uint32_t idx);

/* Everything posted is complete. */
bool rnic_sq_is_empty(const struct rnic_qp *qp);

/* Complete all outstanding SQEs: the oldest with @first, then flushed. */
void rnic_sq_flush(struct rnic_qp *qp, enum usiw_wc_status first);

#endif
