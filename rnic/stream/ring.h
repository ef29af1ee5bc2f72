/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The carrier of a stream whose ends share memory (local/).  Each direction
 * changes from TCP to its ring by itself, and may go back.  The TCP connection
 * stays: it tells of the peer's end, and carries octets before and after.
 */
#ifndef RNIC_STREAM_RING_H
#define RNIC_STREAM_RING_H

#include "carrier.h"

extern const struct rnic_carrier rnic_ring_carrier;

/*
 * The ends have met (meet.c): @local becomes the stream's.  The Initiator sends
 * by the ring from here on, the Responder when it finds octets there.
 * Return: 0; -errno: this end cannot be woken by it, and the stream is, or will
 * be, on TCP.
 */
int rnic_stream_ring_begin(struct rnic_stream *stream,
			   struct rnic_local *local);

/* The other end's wake socket has gone: both directions go back to TCP. */
void rnic_stream_ring_lost(struct rnic_stream *stream);

/* What was sent by the ring is to wake the peer, when the lead is given up. */
void rnic_stream_ring_wake(struct rnic_stream *stream);

#endif
