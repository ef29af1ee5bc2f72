/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The send queue of a UD QP: each WR leaves as one datagram, and is done. */
#ifndef RNIC_UD_SEND_H
#define RNIC_UD_SEND_H

#include "object.h"

/*
 * Sends what is posted.  While a receiver of this host is full, the rest waits
 * (full.h).  The QP may fail; rnic_qp_end() has to follow.
 */
void rnic_ud_send(struct rnic_ud *ud);

#endif
