/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What events of the protocol engine do to a QP.  Under the lead. */
#ifndef RNIC_INBOUND_H
#define RNIC_INBOUND_H

#include "object.h"

/*
 * Return: 0; -EPROTO: the cause of the QP's end is noted, or a refusal, which
 * the caller is to act on (rnic_stream_refuse()).
 */
int rnic_inbound_event(struct rnic_qp *qp, struct smpa_conn *conn,
		       const struct smpa_event *ev);

/*
 * The memory that SMPA_EV_SEGMENT @ev was given is registered, but cannot be
 * written.  The peer has not broken the protocol, but its stream ends.
 * Return: -EPROTO, as above.
 */
int rnic_inbound_unwritable(struct rnic_qp *qp, struct smpa_conn *conn,
			    const struct smpa_event *ev);

#endif
