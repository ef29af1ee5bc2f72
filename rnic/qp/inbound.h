/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the protocol engine's events do to a QP.  Under the lead. */
#ifndef RNIC_INBOUND_H
#define RNIC_INBOUND_H

#include "object.h"

/*
 * If @ev is a segment that completes its message, *ev is that message
 * afterwards, which is served, too.
 * Return: 0; -EPROTO: the cause of the QP's end is noted, or a refusal
 * (qp->refusal): the caller acts on it.
 */
int rnic_inbound_event(struct rnic_qp *qp, struct smpa_event *ev);

/*
 * The sink of SMPA_EV_SEGMENT @ev is registered, but cannot be written.  That
 * is no protocol violation, but it ends the stream.  Return: -EPROTO, as above.
 */
int rnic_inbound_unwritable(struct rnic_qp *qp, const struct smpa_event *ev);

#endif
