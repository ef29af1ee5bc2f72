/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* QPs by number. */
#ifndef RNIC_QP_TABLE_H
#define RNIC_QP_TABLE_H

#include "object.h"

int rnic_qp_table_add(struct rnic_qp *qp); /* draws qp->num */
/* Waits for pins.  The number stays drawn. */
void rnic_qp_table_remove(struct rnic_qp *qp);
/* The context is closed with QPs in it: they are not found any more.
 * Return: the first of them, with the others linked to it; NULL: none. */
struct rnic_qp *rnic_qp_table_forget(const struct rnic_context *ctx);
/* Under the lead: an engine is broken.  Every QP of the context fails when its
 * bell is served, which is soon. */
void rnic_qp_table_ctx_gone(const struct rnic_context *ctx);
void rnic_qp_table_fork_child(void);

/*
 * Find a QP by number, on any context of the process, and keep it from being
 * destroyed until rnic_qp_put().  Return: NULL: none.
 */
struct rnic_qp *rnic_qp_get(uint32_t qp_num);
void rnic_qp_put(struct rnic_qp *qp);

#endif
