/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The state of a QP, and the cause of its end.  Under the lead. */
#ifndef RNIC_STATE_H
#define RNIC_STATE_H

#include "object.h"
#include "util/addr-text.h"

/* Every change of a QP's state is here. */
void rnic_qp_set_state(struct rnic_qp *qp, enum rnic_qp_state state);

/* "qp 0x00012a from 192.0.2.1 port 4791 to 192.0.2.2 port 7", for log lines.
 * Return: @buf. */
#define RNIC_QP_NAME_LEN (UTIL_ADDR_PAIR_TEXT_LEN + 16)
const char *rnic_qp_name(const struct rnic_qp *qp, char buf[RNIC_QP_NAME_LEN]);
#define RNIC_QP_NAME(qp) rnic_qp_name(qp, (char[RNIC_QP_NAME_LEN]){ 0 })

/* It connected out of band, which only usiw does. */
bool rnic_qp_has_usiw_peer(const struct rnic_qp *qp);

/* May the peer be another iWARP stack, as with rdma_cm?  Return: 0; -EINVAL,
 * and a warning that names @call. */
int rnic_qp_meet_check(const struct rnic_qp *qp, const char *call);

/* Raise an asynchronous event; RNIC_QP_EV_CNT: none. */
void rnic_qp_raise(struct rnic_qp *qp, enum rnic_qp_event event);

/* The errno of the connection that has ended; rnic_qp_error() tells it. */
void rnic_qp_note_error(struct rnic_qp *qp, int err);

/*
 * The QP ends: note the cause, unless there is one.  rnic_qp_end() has to
 * follow when control has returned to the stream's pass.
 * @first: status of the oldest send WR; the others are flushed.
 */
void rnic_qp_fail(struct rnic_qp *qp, enum rnic_qp_state state,
		  enum usiw_wc_status first, enum rnic_qp_event event);

/* The same because of the WR at @idx: those before it end first, in order. */
void rnic_qp_fail_at(struct rnic_qp *qp, uint32_t idx,
		     enum usiw_wc_status status);

/* A completion did not fit into its CQ: TERMINATE, and the QP fails. */
void rnic_qp_overrun(struct rnic_qp *qp);

#endif
