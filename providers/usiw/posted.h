/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Entries that were reserved and encoded are published, seen by a probe and by
 * usiw trace. */
#ifndef USIW_POSTED_H
#define USIW_POSTED_H

#include "call.h"
#include "objects.h"
#include "util/probe.h"

/* QP number, or 0 for an SRQ; enum ibv_wr_opcode, or IBV_WC_RECV; octets;
 * wr_id. */
UTIL_PROBE_DECLARE(post);

void usiw_posted_sends(const struct usiw_qp *qp, uint32_t cnt);
void usiw_posted_recvs(const struct usiw_ring *ring, uint32_t qp_num,
		       uint32_t cnt);

/* @cnt entries, under the lock of the send queue. */
static inline void usiw_sq_commit(const struct usiw_qp *qp, uint32_t cnt)
{
	if (UTIL_PROBE_IS_ON(post) || usiw_calls_are_observed())
		usiw_posted_sends(qp, cnt);
	usiw_ring_commit(qp->sq, cnt);
}

/* @cnt entries, under the lock of the receive queue.  @qp_num: 0: an SRQ. */
static inline void usiw_rq_commit(const struct usiw_ring *ring, uint32_t qp_num,
				  uint32_t cnt)
{
	if (UTIL_PROBE_IS_ON(post) || usiw_calls_are_observed())
		usiw_posted_recvs(ring, qp_num, cnt);
	usiw_ring_commit(ring, cnt);
}

#endif
