/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the engine calls for the streams of its context, and what bells of
 * receive queues are for. */
#ifndef RNIC_STREAM_SERVE_H
#define RNIC_STREAM_SERVE_H

#include "object.h"

extern const struct rnic_engine_ops rnic_stream_ops;

/* Receives were posted, and Sends are kept.  Under the lead. */
void rnic_stream_serve_rnr(struct rnic_qp *qp);
void rnic_stream_serve_srq(struct rnic_srq *srq);

#endif
