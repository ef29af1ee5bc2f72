/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How streams end.  Under the lead; the stream may be freed by a call
 * unless its comment says otherwise. */
#ifndef RNIC_STREAM_END_H
#define RNIC_STREAM_END_H

#include "object.h"
#include "qp/end.h"

/*
 * Separate the stream from its QP, which the caller fails; let TCP finish in
 * the background.  The connection manager gets a note: at once if the stream
 * has failed; otherwise when the peer has closed too, or does not within the
 * drain limit.  So what is told here follows what the peer was told, as with
 * InfiniBand's manager, which waits for the answer to its DREQ.  The stream is
 * not freed.
 * @status: 0: in order; negative errno otherwise.
 */
void rnic_stream_detach(struct rnic_stream *stream, int status);

/* RTS -> CLOSING: FIN once everything posted is sent. */
void rnic_stream_close(struct rnic_stream *stream);

/* The end of every pass: act on a noted cause; send FIN when it is due; free
 * when all is done; otherwise settle (rnic_stream_settle()). */
void rnic_stream_end_step(struct rnic_stream *stream);

/* The peer has closed (@status 0) or is lost: detach the QP and fail it. */
void rnic_stream_part(struct rnic_stream *stream, int status);

/* The socket failed: as rnic_stream_part(), and the stream is freed. */
void rnic_stream_lost(struct rnic_stream *stream, int status);

/* Its own address is gone for good: at once, whatever waits.  It is freed. */
void rnic_stream_addr_gone(struct rnic_source *source);

/* deadline_ns has come. */
void rnic_stream_expire(struct rnic_stream *stream);
/* The rest of an FPDU does not come. */
void rnic_stream_stalled(struct rnic_stream *stream);
/* The QP's rnr_end_ns has come. */
void rnic_stream_rnr(struct rnic_stream *stream);

/* A region goes.  The stream is not freed. */
void rnic_stream_mr_gone(struct rnic_source *source, uint32_t stag,
			 const void *addr, size_t len);
/* The QP has failed outside of a pass.  The stream is not freed. */
void rnic_stream_failed(struct rnic_stream *stream);

#endif
