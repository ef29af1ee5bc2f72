/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Passes over a stream in RDMA mode.  Under the lead.  A pass may free the
 * stream. */
#ifndef RNIC_STREAM_PASS_H
#define RNIC_STREAM_PASS_H

#include "object.h"

/* Receive, place, complete, transmit.  @events: from epoll, or all. */
void rnic_stream_pass(struct rnic_stream *stream, uint32_t events);

/* The local path has news, or may have; @is_woken: its wake socket is
 * readable. */
void rnic_stream_look(struct rnic_source *source, bool is_woken);

/* The peer did not learn of octets in the ring: it does by TCP. */
void rnic_stream_unwakeable(struct rnic_source *source);

/* What kept the stream from being read is gone: as rnic_stream_pass(). */
void rnic_stream_resume(struct rnic_stream *stream);

/* The QP's queue got work, or the QP has taken the stream. */
void rnic_stream_tx(struct rnic_stream *stream);

/*
 * Linux's siw as the Responder misses what arrives right behind its Reply,
 * until something else arrives.  So an Initiator that has sent its RTR or more,
 * and has received nothing, sends an empty RDMA Write after 0.2 s and again
 * 0.8 s later.  It has no effect on the peer's memory.  Start this when the
 * stream enters RUN.
 */
void rnic_stream_probe_start(struct rnic_stream *stream);

/* Return: whether to call rnic_stream_probe(); the next time is set. */
bool rnic_stream_probe_is_due(struct rnic_stream *stream, uint64_t now_ns);

/* The stream may be freed. */
void rnic_stream_probe(struct rnic_stream *stream);

#endif
