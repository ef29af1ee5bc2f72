/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Regions that go while a QP uses them.  Under the lead. */
#ifndef RNIC_REGION_H
#define RNIC_REGION_H

#include "object.h"

/*
 * A region goes: is work with it under way?  @stag counts, not only its
 * memory, which other regions may hold as well.
 */
bool rnic_qp_uses_region(const struct rnic_qp *qp, uint32_t stag,
			 const void *addr, size_t len);

/* It is: the cause of the QP's end is noted, and what needed the region is told
 * so: the peer's Read, or the WR, or the receive. */
void rnic_qp_region_gone(struct rnic_qp *qp, uint32_t stag);

#endif
