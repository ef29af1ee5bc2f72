/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The active side: dials, sends the Request, and handles the outcome.
 *
 * A function that returns a bool returns whether the start exchange has begun.
 * The caller must step it then (steps.h). Otherwise the connection waits for
 * its socket or a deadline, or was freed.
 */
#ifndef RNIC_CM_ACTIVE_H
#define RNIC_CM_ACTIVE_H

#include "object.h"

/*
 * The identity is in state ROUTE.
 * Return: 0; -errno.  *ret_conn: to be stepped; NULL: none.
 */
int cm_active_connect(struct cm_id *id, const struct rnic_cm_conn_param *param,
		      struct cm_conn **ret_conn);
/* connect() has ended. */
bool cm_active_connected(struct cm_conn *conn);
/* The TCP connection to the port beside is established. */
bool cm_active_found(struct cm_conn *conn);
/* Dials the port itself. */
bool cm_active_dial_port(struct cm_conn *conn);
/* Dials again after a refusal. */
bool cm_active_redial(struct cm_conn *conn);
/* D-27: one more try with revision 1. */
bool cm_active_retry(struct cm_conn *conn);
/* The Reply has arrived. */
void cm_active_established(struct cm_conn *conn, const struct smpa_event *ev);
/* After CONNECT_RESPONSE: the application is ready. */
int cm_active_establish(struct cm_id *id);

#endif
