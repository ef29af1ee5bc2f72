/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How an attempt to connect has ended, told to the application. */
#ifndef RNIC_CM_OUTCOME_H
#define RNIC_CM_OUTCOME_H

#include "object.h"

/* @conn has its identity: one that is owed an outcome keeps it until then. */
void cm_conn_post_outcome(struct cm_conn *conn, int status);
/* A connection that is owed an outcome, of either side, is given up: an event
 * says so. */
void cm_conn_abort(struct cm_conn *conn, int status);
/* Private data of a start frame into an event. */
void cm_event_set_start(struct cm_event *event, const struct smpa_event *ev);
/* The peer's IRD and ORD, as an enhanced Reply says them. */
void cm_event_set_reply_depths(struct cm_event *event,
			       const struct smpa_event *ev);

#endif
