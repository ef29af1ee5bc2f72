/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An event without a completion.  Under the lead. */
#ifndef RNIC_STREAM_NUDGE_H
#define RNIC_STREAM_NUDGE_H

#include "object.h"

/* A peer's WRITE of @len octets was placed. */
void rnic_nudge_written(struct rnic_stream *stream, uint32_t len);
/* The length for which that may do something; 0: none. */
uint32_t rnic_nudge_len(const struct rnic_stream *stream);
/* nudge_ns has come. */
void rnic_nudge_fire(struct rnic_stream *stream);

#endif
