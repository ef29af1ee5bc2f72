/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The link of a UD QP.  Guarded by the lead of its engine. */
#ifndef RNIC_DGRAM_OBJECT_H
#define RNIC_DGRAM_OBJECT_H

#include "engine/object.h"
#include "qp/object.h"

struct rnic_ud {
	struct rnic_source source; /* datagrams of this host */
	struct rnic_engine *engine;
	struct rnic_qp *qp; /* NULL: about to be freed */
	uint32_t qkey;
	uint32_t psn;	   /* of the next datagram */
	uint32_t mtu;	   /* octets of payload */
	uint64_t held_ns;  /* no receive: datagrams wait until then; 0: no */
	uint64_t full_ns;  /* a receiver is full: waits until then; 0: no */
	uint32_t full_num; /* it has not taken any since; 0: none */
};

/* Of a UD QP; NULL: it is IDLE, or has ended. */
static inline struct rnic_ud *rnic_qp_ud(const struct rnic_qp *qp)
{
	return qp->link;
}

#endif
