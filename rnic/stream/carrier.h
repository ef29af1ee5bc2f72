/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What carries a stream's octets: TCP, or the local path (local/), which both
 * ends agree on while MPA starts (local/meet.h).  The TCP connection stays: it
 * tells of the peer's end, and carries octets again where the local path fails.
 */
#ifndef RNIC_STREAM_CARRIER_H
#define RNIC_STREAM_CARRIER_H

#include "object.h"

/* ---- while MPA starts; whoever makes the connection ------------------------
 */

/* Initiator, before the Request: let the peer find this end. */
void rnic_stream_meet(struct rnic_stream *stream);

/* Responder, before the Reply that accepts, if a QP will take the stream. */
void rnic_stream_offer(struct rnic_stream *stream);

/* What is readable when the peer uses what was offered; -1: nothing is. */
int rnic_stream_wake_fd(const struct rnic_stream *stream);

/* Has the peer declined?  What was offered is taken back then, and
 * rnic_stream_wake_fd() is as it was until rnic_stream_offer_end(). */
bool rnic_stream_offer_is_declined(const struct rnic_stream *stream);
void rnic_stream_offer_end(struct rnic_stream *stream);

/* ---- with a QP, under the lead ----------------------------------------------
 */

/* The QP has taken the stream.  Initiator: this decides, and its first FPDU
 * tells the peer. */
void rnic_stream_carrier_begin(struct rnic_stream *stream);

/* Responder: the peer's first octets came by the ring, or by TCP. */
void rnic_stream_carrier_agreed(struct rnic_stream *stream);
void rnic_stream_carrier_refused(struct rnic_stream *stream);

/* The other end's wake socket has gone: both directions go back to TCP. */
void rnic_stream_carrier_lost(struct rnic_stream *stream);

/* This end sends by TCP again, and perhaps has nothing to send: an empty RDMA
 * Write makes the peer look there.  Return: whether something was submitted. */
bool rnic_stream_carrier_tell(struct rnic_stream *stream);

/* What was sent by the ring is to wake the peer, when the lead is given up. */
void rnic_stream_carrier_wake(struct rnic_stream *stream);

/* The peer cannot be woken: this end sends by TCP again. */
void rnic_stream_carrier_unwakeable(struct rnic_stream *stream);

/* The source leaves its engine: nobody is woken by it any more. */
void rnic_stream_carrier_remove(struct rnic_stream *stream);

/* What the engine shall look at, in the source: octets, room. */
void rnic_stream_carrier_watch(struct rnic_stream *stream, bool wants_in);

/* As the engine's operations. */
bool rnic_stream_carrier_sleep(struct rnic_stream *stream);
void rnic_stream_carrier_stay_awake(struct rnic_stream *stream);

#endif
