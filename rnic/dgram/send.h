/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The send queue of a UD QP: each WR leaves as one datagram, and is done. */
#ifndef RNIC_UD_SEND_H
#define RNIC_UD_SEND_H

#include "object.h"

/*
 * Sends what is posted.  While a receiver of this host is full, the rest waits
 * and is tried again; what a receiver does not take for RNIC_UD_FULL_NS is
 * lost, as all that follows for it until it takes one.  The QP may fail;
 * rnic_qp_end() has to follow.
 */
void rnic_ud_send(struct rnic_ud *ud);

#define RNIC_UD_FULL_NS (100 * NS_PER_MS)

#endif
