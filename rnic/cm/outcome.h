/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The outcome of an attempt to connect, reported to the application. */
#ifndef RNIC_CM_OUTCOME_H
#define RNIC_CM_OUTCOME_H

#include "object.h"

/* @conn has its identity. An identity that waits for an outcome keeps it until
 *   then. */
void cm_conn_post_outcome(struct cm_conn *conn, int status);
/* Ends a connection of either side whose identity waits for an outcome, and
 * raises the event. */
void cm_conn_abort(struct cm_conn *conn, int status);
/* Private data of a start frame into an event. */
void cm_event_set_start(struct cm_event *event, const struct smpa_event *ev);
/* The peer's IRD and ORD, from an enhanced Reply. */
void cm_event_set_reply_depths(struct cm_event *event,
			       const struct smpa_event *ev);

#endif
