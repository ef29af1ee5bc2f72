/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Faults of USIW_FAULT at the messages of a stream.  Under the lead. */
#ifndef RNIC_STREAM_FAULT_MESSAGE_H
#define RNIC_STREAM_FAULT_MESSAGE_H

#include "object.h"

/* smpa_conn_submit() where a rule may count the message.  The QP may end. */
int rnic_stream_fault_submit(struct rnic_stream *stream,
			     const struct smpa_msg *msg);

/* The peer's event is the next to be handled.  Return: true: it is not; the QP
 * may have ended. */
bool rnic_stream_fault_event(struct rnic_stream *stream,
			     const struct smpa_event *ev);

#endif
