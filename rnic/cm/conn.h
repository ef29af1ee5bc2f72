/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connections in the making: the object, its lists and its socket. */
#ifndef RNIC_CM_CONN_H
#define RNIC_CM_CONN_H

#include "object.h"

/* CONNECTING or STARTING.  NULL: out of memory. */
struct cm_conn *cm_conn_new(enum cm_phase phase);
void cm_conn_free(struct cm_conn *conn);
/*
 * Every change of a connection's phase is here.  It expires after @limit_ns,
 * which is the same for all connections in that phase; REQUEST, RESPONSE and
 * BARE have no limit.
 */
void cm_conn_enter(struct cm_conn *conn, enum cm_phase phase,
		   uint64_t limit_ns);
/* CONNECTING, with the time limit of a start. */
void cm_conn_begin(struct cm_conn *conn);
/* ASKED: from there on the peer's program decides, which may be busy. */
void cm_conn_await_reply(struct cm_conn *conn);
/* Without time limit, away from identity and listener. */
void cm_conn_detach(struct cm_conn *conn);
/* The identity is established by the connection. */
void cm_conn_stands(struct cm_conn *conn, struct cm_id *id);
/* The QP takes the stream, with reads at a time as agreed.  Return: 0;
 * -errno: the stream is still ours. */
int cm_conn_attach(struct cm_conn *conn, struct cm_id *id, struct rnic_qp *qp);

#endif
