/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Connection out of band: two QPs connect without rdma_cm, by address and QP
 * number alone.
 *
 * Both applications know both addresses (GIDs) and both numbers, and move
 * their QPs to RTR in any order, perhaps in one thread.  The QP with the
 * greater (address, number) dials the port that is in the other's number; the
 * other accepts.  The MPA private data of both start frames names both numbers
 * and a nonce of the dialler's, so that an unexpected peer, or the stream of an
 * earlier life of a QP, is refused.  No call blocks: the loop's thread does all
 * of it.
 *
 * What the provider calls is declared in rnic.h.
 */
#ifndef RNIC_OOB_H
#define RNIC_OOB_H

#include "loop/object.h"

struct rnic_qp;

/* The QP leaves CONNECTING otherwise, or goes.  Not under a lead. */
void rnic_oob_cancel(struct rnic_qp *qp);

/* ---- for the loop, locked ------------------------------------------------ */

/* It is time to look at the QPs that have a time limit. */
void rnic_oob_tick(struct rnic_timer *timer);
/* A dialler tries again. */
void rnic_oob_redial(struct rnic_timer *redial);
void rnic_oob_close_all(void);
void rnic_oob_fork_child(void);

#endif
