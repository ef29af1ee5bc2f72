/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Queue pairs: made, connected, moved from state to state, freed. */
#ifndef RNIC_QP_H
#define RNIC_QP_H

#include "object.h"

/* IDLE -> CONNECTING.  Takes the lead.  Return: 0; -EINVAL: not IDLE. */
int rnic_qp_connecting(struct rnic_qp *qp);
/* And back. */
void rnic_qp_not_connecting(struct rnic_qp *qp);

/* RTR -> RTS, as the application has it: never more own reads at a time than
 * so many; nothing is posted yet.  Takes the lead. */
void rnic_qp_may_send(struct rnic_qp *qp, uint32_t ord, uint64_t retry_ns);

/* Another one after each reset; never 0. */
uint32_t rnic_qp_life(const struct rnic_qp *qp);

/* The stream that an IDLE QP waits for, in that life, does not come: it fails.
 * Takes the lead. */
void rnic_qp_not_coming(struct rnic_qp *qp, uint32_t life);

/*
 * No peer came: a CONNECTING QP that has work posted fails.  Takes the lead.
 * Return: true: it has left CONNECTING; false: it has nothing to lose.
 */
bool rnic_qp_give_up(struct rnic_qp *qp);

/* rnic_qp_modify() for a QP that no peer is dialled for.  Takes the lead. */
int rnic_qp_change(struct rnic_qp *qp, enum rnic_qp_state state);

/*
 * The first half of the end, once: the QP is not found any more.  What may
 * still hold it?  Pins of the connection manager are waited for; the stream is
 * let go under the lead; the doorbell is emptied under the lead, and the caller
 * promises that no thread posts.
 */
void rnic_qp_leave(struct rnic_qp *qp);

/* The second half: the number may be drawn again, and the memory is freed.
 * Return: asynchronous events that were reported. */
uint32_t rnic_qp_free(struct rnic_qp *qp);

/* Under the lead, what a bell is for: submit, or flush when the QP has ended.
 */
void rnic_qp_serve(struct rnic_qp *qp);

/* ---- for what makes connections ------------------------------------------ */

/*
 * Connect an IDLE QP with the stream: RTS.  From here the stream is the
 * engine's.  To be called when the conn is ESTABLISHED (Responder: the Reply
 * may still wait to be sent; the engine sends it).
 * @cm_ref: for rnic_loop_note() at the end of the stream; 0: no note.
 * Return: 0; -EINVAL: the QP is not IDLE; -ENOENT handled by the caller;
 *   -ENOMEM.  On failure the stream stays the caller's.
 */
int rnic_qp_attach_stream(struct rnic_qp *qp, struct rnic_stream *stream,
			  uint16_t ird, uint16_t ord, uint64_t cm_ref);

/* What rnic_qp_query() answers; the socket is the connection manager's care. */
void rnic_qp_set_timeout(struct rnic_qp *qp, uint8_t timeout);

/* The connection manager asks for an orderly end (rdma_disconnect): like
 * rnic_qp_modify(CLOSING), but a QP without the stream of @cm_ref is left
 * alone: the number may be another QP's by now. */
void rnic_qp_disconnect(struct rnic_qp *qp, uint64_t cm_ref);

#endif
