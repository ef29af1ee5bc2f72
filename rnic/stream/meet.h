/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A stream on TCP looks for memory that it shares with the peer (local/meet.h)
 * when it has carried USIW_LOCAL_AFTER FPDUs; then the ring carries it.  Under
 * the lead.
 */
#ifndef RNIC_STREAM_MEET_H
#define RNIC_STREAM_MEET_H

#include "object.h"

/* A QP has taken the stream. */
void rnic_stream_meet_begin(struct rnic_stream *stream);

/* Before a pass: one step, if it is time.  The stream may have another carrier
 * then, and is_tx_blocked is false. */
void rnic_stream_meet_check(struct rnic_stream *stream);
static inline void rnic_stream_meet(struct rnic_stream *stream)
{
	if (stream->meet_tries)
		rnic_stream_meet_check(stream);
}

/* The end of the stream, or of its tries. */
void rnic_stream_meet_end(struct rnic_stream *stream);

#endif
