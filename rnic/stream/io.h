/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Octets between a socket and the protocol engine, and the engine's events.
 * Under the lead. */
#ifndef RNIC_STREAM_IO_H
#define RNIC_STREAM_IO_H

#include "object.h"

/* Receive what is there.  Return: 0; -errno: the socket failed. */
int rnic_stream_rx(struct rnic_stream *stream);

/* One read.  Return: > 0: look again; 0: enough; -errno: the socket failed. */
int rnic_stream_read(struct rnic_stream *stream);

/* Submit and send until TCP is full or nothing is left.  Return: 0; -errno: the
 * socket failed. */
int rnic_stream_transmit(struct rnic_stream *stream);

/* Is there a WR to submit, or a response? */
bool rnic_stream_has_work(const struct rnic_stream *stream);

/* An RDMA Write of no octets makes the peer look at its socket, and does
 * nothing.  Return: 0; -errno: not now. */
int rnic_stream_submit_empty(struct rnic_stream *stream);

/* Sends wait for receives, and the memory that holds them is full (rnr.c). */
bool rnic_stream_is_full(const struct rnic_stream *stream);

/* Lend the protocol engine staging to send from.  Return: 0; -EBUSY: not yet;
 * -ENOMEM. */
int rnic_stream_lend_tx(struct rnic_stream *stream);

/* Act on the events of the protocol engine until none is left. */
void rnic_stream_events(struct rnic_stream *stream);

/* Act on the refusal that rnic_inbound_event() has noted: answer what the peer
 * asked for before, as far as TCP takes it at once; then TERMINATE.  If that is
 * not all, rnic_stream_end_step() calls it again. */
void rnic_stream_refuse(struct rnic_stream *stream);

/* Send what is prepared until TCP is full.  Return: 0; -errno. */
int rnic_stream_flush(struct rnic_stream *stream);

/* The end of a pass: rnic_stream_return_staging(), unless the stream needs it
 * again soon, and rnic_stream_watch(). */
void rnic_stream_settle(struct rnic_stream *stream);

/* Staging goes back to the engine, if nothing is in it. */
void rnic_stream_return_staging(struct rnic_stream *stream);

/* Ask epoll for the events that can be acted on. */
void rnic_stream_watch(struct rnic_stream *stream);

#endif
