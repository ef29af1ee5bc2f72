/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* QPs by number. */
#ifndef RNIC_QP_TABLE_H
#define RNIC_QP_TABLE_H

#include "object.h"

int rnic_qp_table_add(struct rnic_qp *qp); /* draws qp->num */
/* Waits for pins.  The number stays drawn. */
void rnic_qp_table_remove(struct rnic_qp *qp);
/* The context goes with QPs left in it: they are not found any more.
 * Return: they, linked by table_next; NULL: none. */
struct rnic_qp *rnic_qp_table_forget(const struct rnic_context *ctx);
/* Under the lead: every QP of a context fails when it is served, which is soon:
 * the engine is broken. */
void rnic_qp_table_ctx_gone(const struct rnic_context *ctx);
void rnic_qp_table_fork_child(void);

/*
 * Look a QP up by number, on any context of the process, and keep it from
 * being destroyed until rnic_qp_put().  NULL: none.
 */
struct rnic_qp *rnic_qp_get(uint32_t qp_num);
void rnic_qp_put(struct rnic_qp *qp);

#endif
