/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A datagram goes into a receive of its QP.  Under the lead. */
#ifndef RNIC_DELIVER_H
#define RNIC_DELIVER_H

#include "abi/usiw-packet.h"
#include "host.h"
#include "object.h"

/*
 * @carrier: that it came by.  @head: a copy that nobody else changes; @payload:
 * @len octets.  What the QP cannot take is dropped and counted: a wrong Q_Key,
 * no receive, one that is too short.  The QP may fail because of its receive;
 * rnic_qp_end() has to follow.
 */
void rnic_ud_deliver(struct rnic_ud *ud, enum usiw_carrier carrier,
		     const struct rnic_host_head *head, const void *payload,
		     uint32_t len);

#endif
