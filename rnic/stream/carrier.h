/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What carries a stream's octets: TCP at first, and the local path (local/)
 * when the stream has carried USIW_LOCAL_AFTER FPDUs and both ends have met
 * (local/meet.h).  The TCP connection stays: it tells of the peer's end, and
 * carries octets again where the local path fails.  All calls under the lead.
 */
#ifndef RNIC_STREAM_CARRIER_H
#define RNIC_STREAM_CARRIER_H

#include "object.h"

/* A QP has taken the stream. */
void rnic_stream_carrier_begin(struct rnic_stream *stream);

/*
 * Before a pass: if it is time, one step towards the local path.  The stream
 * may send by it then, and is_tx_blocked is false.
 */
void rnic_stream_carrier_check(struct rnic_stream *stream);
static inline void rnic_stream_carrier_meet(struct rnic_stream *stream)
{
	if (stream->meet_tries)
		rnic_stream_carrier_check(stream);
}

/*
 * With memory, and without octets from it: has the other end begun to use it?
 * This end does the same then.  Return: 0; -EPROTO.
 */
int rnic_stream_carrier_listen(struct rnic_stream *stream);

/* The other end's wake socket has gone: both directions go back to TCP. */
void rnic_stream_carrier_lost(struct rnic_stream *stream);

/* This end sends by TCP again, and perhaps has nothing to send: an empty RDMA
 * Write makes the peer look there.  Return: whether something was submitted. */
bool rnic_stream_carrier_tell(struct rnic_stream *stream);

/* What was sent by the ring is to wake the peer, when the lead is given up. */
void rnic_stream_carrier_wake(struct rnic_stream *stream);

/* The peer cannot be woken: this end sends by TCP again. */
void rnic_stream_carrier_unwakeable(struct rnic_stream *stream);

/* The source leaves its engine: it wakes no other end any more. */
void rnic_stream_carrier_remove(struct rnic_stream *stream);

/* What the engine shall look at, in the source: octets, room. */
void rnic_stream_carrier_watch(struct rnic_stream *stream, bool wants_in);

/* As the engine's operations. */
bool rnic_stream_carrier_sleep(struct rnic_stream *stream);
void rnic_stream_carrier_stay_awake(struct rnic_stream *stream);

#endif
