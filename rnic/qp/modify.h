/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the application or the connection manager asks of a QP.  Each call takes
 * the lead. */
#ifndef RNIC_QP_MODIFY_H
#define RNIC_QP_MODIFY_H

#include "object.h"

/* rnic_qp_modify() for a QP that no peer is dialled for. */
int rnic_qp_change(struct rnic_qp *qp, enum rnic_qp_state state);

/* The peer that an IDLE QP waits for, in that life, does not come: it
 * fails. */
void rnic_qp_not_coming(struct rnic_qp *qp, uint32_t life);

/*
 * No peer came: a CONNECTING QP that has work posted fails.
 * Return: true: it has left CONNECTING; false: it has no work posted.
 */
bool rnic_qp_give_up(struct rnic_qp *qp);

/*
 * The first half of the end, once: the QP is not found any more.  It waits for
 * the connection manager's pins, lets its link go, and empties the doorbell.
 * The caller promises that no thread posts.  rnic_qp_free() is the second half.
 */
void rnic_qp_leave(struct rnic_qp *qp);

#endif
