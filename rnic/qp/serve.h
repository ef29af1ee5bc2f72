/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the engine calls for QPs and SRQs.  Under the lead. */
#ifndef RNIC_QP_SERVE_H
#define RNIC_QP_SERVE_H

#include "object.h"

/* The bell of a QP rang: deliver held Sends, submit, or flush if the QP has
 * ended. */
void rnic_qp_serve(struct rnic_bell *bell);

/* The bell of an SRQ rang: receives were posted, and Sends are held. */
void rnic_srq_serve(struct rnic_bell *bell);

/* The work of a QP has waited long enough for a peer that has gone. */
void rnic_qp_serve_gone(struct rnic_due *due, uint64_t now_ns);

#endif
