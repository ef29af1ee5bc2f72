/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A QP takes a stream, and is told to end with it. */
#ifndef RNIC_STREAM_ATTACH_H
#define RNIC_STREAM_ATTACH_H

#include "object.h"

/*
 * Connect an IDLE or CONNECTING QP with the stream: RTS.  From here the engine
 * has the stream.  Call it when the start exchange is ESTABLISHED (Responder:
 * the Reply may still wait to be sent; the engine sends it).  Takes the lead.
 * @cm_ref: for rnic_loop_note() at the end of the stream; 0: no note.
 * Return: 0; -EINVAL: the QP is in another state; -ENOMEM.  On failure the
 *   stream stays the caller's.
 */
int rnic_qp_attach_stream(struct rnic_qp *qp, struct rnic_stream *stream,
			  uint16_t ird, uint16_t ord, uint64_t cm_ref);

/*
 * The connection manager asks for an orderly end (rdma_disconnect): like
 * rnic_qp_modify(CLOSING).  A QP without the stream of @cm_ref is left alone:
 * the number may be another QP's by now.  Takes the lead.
 */
void rnic_qp_disconnect(struct rnic_qp *qp, uint64_t cm_ref);

#endif
