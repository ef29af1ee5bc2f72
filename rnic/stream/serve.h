/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the engine calls for its streams. */
#ifndef RNIC_STREAM_SERVE_H
#define RNIC_STREAM_SERVE_H

#include "object.h"

extern const struct rnic_source_ops rnic_stream_ops;

/* One of the stream's times may have come.  Under the lead. */
void rnic_stream_serve_due(struct rnic_due *due, uint64_t now_ns);

#endif
