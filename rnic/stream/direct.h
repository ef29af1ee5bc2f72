/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Writes that go directly into the peer's memory (local/direct.h), in place of
 * the local path's ring.  All calls under the lead.
 */
#ifndef RNIC_STREAM_DIRECT_H
#define RNIC_STREAM_DIRECT_H

#include "local/local.h"
#include "object.h"

/* Is it worth while to look whether the next WR could go there? */
static inline bool rnic_stream_direct_may(const struct rnic_stream *stream)
{
	return stream->local && rnic_direct_may(&stream->local->direct) &&
	       rnic_local_sends(stream->local) &&
	       stream->phase == RNIC_STREAM_RUN;
}

/* Before messages are submitted.  The QP may be over afterwards. */
void rnic_stream_direct_put(struct rnic_stream *stream);

/* A Write of the peer has been placed, with its message @ev: the peer may do
 * the same with the next ones, if it has asked. */
void rnic_stream_direct_written(struct rnic_stream *stream,
				const struct smpa_event *ev);

/* The peer may not write to the region, or to any, behind this. */
void rnic_stream_direct_region_gone(struct rnic_stream *stream, uint32_t stag);
void rnic_stream_direct_revoke(struct rnic_stream *stream);

#endif
