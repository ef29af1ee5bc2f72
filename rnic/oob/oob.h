/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Connection out of band: two QPs connect without rdma_cm, only by address and
 * QP number.
 *
 * Both applications know both addresses (GIDs) and both numbers, and move their
 * QPs to RTR in any order, perhaps in one thread. The QP with the greater
 * (address, number) dials the port in the other's number; the other accepts.
 * The MPA private data of both start frames contains both numbers and a nonce
 * of the dialling side. So an unexpected peer, or the stream of an earlier life
 * of a QP, is refused. No call blocks: the loop's thread does all of it.
 *
 * rnic.h declares the calls of the provider.
 */
#ifndef RNIC_OOB_H
#define RNIC_OOB_H

#include "loop/object.h"

struct rnic_qp;

/* The QP leaves CONNECTING in another way, or is destroyed. Not under a
 * lead. */
void rnic_oob_cancel(struct rnic_qp *qp);

/* ---- for the loop, locked ------------------------------------------------ */

/* Checks the QPs that have a time limit. */
void rnic_oob_tick(struct rnic_timer *timer);
/* The dialling side tries again. */
void rnic_oob_redial(struct rnic_timer *redial);
void rnic_oob_close_all(void);
void rnic_oob_fork_child(void);

#endif
