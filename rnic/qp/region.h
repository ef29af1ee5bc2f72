/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Regions that are deregistered while a QP uses them.  Under the lead. */
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

#endif
