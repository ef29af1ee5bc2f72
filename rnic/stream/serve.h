/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the engine calls: for its streams, and for the bells of QPs and SRQs. */
#ifndef RNIC_STREAM_SERVE_H
#define RNIC_STREAM_SERVE_H

#include "object.h"

extern const struct rnic_engine_ops rnic_stream_ops;

/* The bell of a QP rang: deliver held Sends, submit, or flush if the QP has
 * ended.  Under the lead. */
void rnic_stream_serve_qp(struct rnic_bell *bell);

/* The bell of an SRQ rang: receives were posted, and Sends are held.  Under the
 * lead. */
void rnic_stream_serve_srq(struct rnic_bell *bell);

/* One of the stream's times may have come.  Under the lead. */
void rnic_stream_serve_due(struct rnic_due *due, uint64_t now_ns);

/* The work of a QP has waited long enough for a peer that has gone.  Under the
 * lead. */
void rnic_stream_serve_gone(struct rnic_due *due, uint64_t now_ns);

#endif
