/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How streams end, and QPs.  Under the lead; the stream may be gone after. */
#ifndef RNIC_STREAM_END_H
#define RNIC_STREAM_END_H

#include "object.h"

/*
 * The stream's time with its QP is over: tell the connection manager, let go
 * of the QP (the caller fails it), then let TCP finish in the background.
 * @status: 0: orderly; negative errno otherwise.
 */
void rnic_stream_detach(struct rnic_stream *stream, int status);

/*
 * What follows from the cause of the QP's end, if it is due: the stream is let
 * go, the event raised, and every outstanding WR completes.  A stream is not
 * freed here.
 */
void rnic_qp_end(struct rnic_qp *qp);

/* RTS -> CLOSING: FIN once everything posted is out. */
void rnic_stream_close(struct rnic_stream *stream);

/* Step the endings forward: FIN when it is due, close when all is done. */
void rnic_stream_end_step(struct rnic_stream *stream);

/* The QP's part is done: let go and fail it. */
void rnic_stream_part(struct rnic_stream *stream, int status);

/* The socket failed or the peer closed. */
void rnic_stream_lost(struct rnic_stream *stream, int status);

void rnic_stream_drain(struct rnic_stream *stream);
void rnic_stream_abort(struct rnic_stream *stream);
void rnic_stream_expire(struct rnic_stream *stream);
/* The rest of an FPDU does not come. */
void rnic_stream_stalled(struct rnic_stream *stream);
void rnic_stream_rnr(struct rnic_stream *stream);

void rnic_stream_mr_gone(struct rnic_stream *stream, uint32_t stag,
			 const void *addr, size_t len);

/* Add what happened since the last call to the counter page. */
void rnic_stream_count(struct rnic_stream *stream);

#endif
