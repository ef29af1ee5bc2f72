/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Passes over a stream in RDMA mode.  Under the lead; the stream may be gone
 * after. */
#ifndef RNIC_STREAM_PASS_H
#define RNIC_STREAM_PASS_H

#include "object.h"

/* Serve what epoll says, or try everything.  The stream may be gone after. */
void rnic_stream_pass(struct rnic_stream *stream, uint32_t events);

/* What stopped the reading is gone: as rnic_stream_pass(). */
void rnic_stream_resume(struct rnic_stream *stream);

/* The QP's queue got work. */
void rnic_stream_tx(struct rnic_stream *stream);

/*
 * Linux's siw, as the Responder, misses what arrives right behind its Reply
 * until something else arrives.  So an Initiator that has sent its RTR or
 * anything, and hears nothing, sends an empty RDMA Write, which changes nothing
 * anywhere, after 0.2 s and 0.8 s later.  Begin with that, once the stream
 * runs.
 */
void rnic_stream_probe_start(struct rnic_stream *stream);

/* Return: whether it is time to probe; the next time is set. */
bool rnic_stream_probe_is_due(struct rnic_stream *stream, uint64_t now_ns);

/* The stream may be gone after. */
void rnic_stream_probe(struct rnic_stream *stream);

#endif
