/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Regions and rights that are taken away while a QP's peer uses them.  Under
 * the lead. */
#ifndef RNIC_REGION_H
#define RNIC_REGION_H

#include "object.h"

/*
 * A region is deregistered: is work with it under way?  @stag counts as well as
 * the memory, which other regions may contain.
 */
bool rnic_qp_uses_region(const struct rnic_qp *qp, uint32_t stag,
			 const void *addr, size_t len);

/* If so: note the cause of the QP's end, and report it where the region was
 * needed: to the peer that reads it, by the WR, or by the receive. */
void rnic_qp_region_gone(struct rnic_qp *qp, uint32_t stag);

/*
 * The QP has lost these rights (enum rnic_access).  If a request of the peer
 * that needs one of them is under way, notes the cause of the QP's end.
 * Return: whether there is one.
 */
bool rnic_qp_access_gone(struct rnic_qp *qp, uint32_t lost);

#endif
