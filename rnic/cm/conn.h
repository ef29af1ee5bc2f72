/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connections that are being set up: the object, its lists and its socket. */
#ifndef RNIC_CM_CONN_H
#define RNIC_CM_CONN_H

#include "object.h"

/* The QP that @call is to connect, for rnic_qp_put(); NULL: @qp_num is no QP's
 * (bare.h).  Return: 0; -EINVAL. */
int cm_conn_get_qp(const struct cm_id *id, uint32_t qp_num, const char *call,
		   struct rnic_qp **ret_qp);

/* CONNECTING or STARTING.  NULL: out of memory. */
struct cm_conn *cm_conn_new(enum cm_phase phase);
void cm_conn_free(struct cm_conn *conn);
/*
 * Every change of a connection's phase is made here. The phase expires after
 * @limit_ns, which is the same for all connections in that phase. REQUEST,
 * RESPONSE and BARE have no limit.
 */
void cm_conn_enter(struct cm_conn *conn, enum cm_phase phase,
		   uint64_t limit_ns);
/* CONNECTING, with the time limit of a start. */
void cm_conn_begin(struct cm_conn *conn);
/* ASKED: waits for the peer's program, which may be busy. */
void cm_conn_await_reply(struct cm_conn *conn);
/* Removes the time limit, and separates the connection from identity and
 * listener. */
void cm_conn_detach(struct cm_conn *conn);
/* The identity is established by the connection. */
void cm_conn_stands(struct cm_conn *conn, struct cm_id *id);
/* The QP takes the stream, with the agreed depths. Return: 0; -errno: the
 * stream still belongs to the connection. */
int cm_conn_attach(struct cm_conn *conn, struct cm_id *id, struct rnic_qp *qp);

#endif
