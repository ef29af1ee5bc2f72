/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Completions that mean "placed at the peer".  Under the lead. */
#ifndef RNIC_ACK_H
#define RNIC_ACK_H

#include "object.h"

/* Source STag of these READs, which have no octets and need none. */
#define RNIC_ACK_STAG 0x61636b00u

/* Is it time to ask the peer? */
bool rnic_ack_is_due(const struct rnic_qp *qp);

/* @sqe, a WR without an answer, was submitted: it is before sq->next_idx. */
void rnic_ack_note(struct rnic_sq *sq, const struct usiw_sqe *sqe);

/* Are there WRs that have to be known placed before the next may fail?  Then
 * they are asked for. */
bool rnic_ack_await(struct rnic_sq *sq);

/* Ask, since rnic_ack_is_due().  Return: false: not now. */
bool rnic_ack_submit(struct rnic_qp *qp);

/* The oldest entry of the ORQ was answered. */
void rnic_ack_answered(struct rnic_qp *qp, const struct rnic_orq_entry *entry);

/* The peer has terminated: what is before the message that it names ends; with
 * struct rnic_ack what it took is complete. */
void rnic_ack_terminated(struct rnic_qp *qp, const struct smpa_event *ev);

/* The peer closes in order at this moment: what was sent, it has. */
void rnic_ack_peer_closed(struct rnic_qp *qp);

#endif
