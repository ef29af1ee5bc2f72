/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An event without a completion.  Under the lead. */
#ifndef RNIC_STREAM_NUDGE_H
#define RNIC_STREAM_NUDGE_H

#include "object.h"

/* A peer's WRITE of @len octets was placed. */
void rnic_nudge_written(struct rnic_stream *stream, uint32_t len);
/* nudge.ns has come. */
void rnic_nudge_fire(struct rnic_stream *stream);

#endif
