/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* For the tests of rnr.c: whether a Send waits, and short functions to post. */
#ifndef RNR_FIXTURE_H
#define RNR_FIXTURE_H

#include "test.h"

#include <unistd.h>

#include "engine/engine.h"
#include "qp/rnr.h"
#include "rawpeer.h"
#include "qp/object.h"
#include "stream/object.h"

#define BUF_RECV 0x200000u

static const struct rnicpair_options defaults = RNICPAIR_OPTIONS_INIT;

static inline bool is_rnr(struct rnicpair_side *side)
{
	return with_lead(side->qp->engine, side->qp->rnr != NULL);
}

static inline bool is_full(struct rnicpair_side *side)
{
	return with_lead(side->qp->engine, rnic_rnr_is_full(side->qp));
}

/* Whether the peer's FIN was read. */
static inline bool has_peer_fin(struct rnicpair_side *side)
{
	return with_lead(side->qp->engine,
			 rnic_qp_stream(side->qp)->has_peer_fin);
}

/* When the RNR time ends; 0: it does not run. */
static inline uint64_t limit_ns(struct rnicpair_side *side)
{
	return with_lead(side->qp->engine, side->qp->rnr_end_ns);
}

static inline void wait_for(bool (*is_so)(struct rnicpair_side *),
			    struct rnicpair_side *side)
{
	wait_until((rnic_cq_progress(side->rcq), is_so(side)));
}

static inline void post_recv(struct rnicpair_side *side, uint64_t wr_id,
			     size_t off, size_t len)
{
	struct usiw_sge sge = rnicpair_sge(side, off, len);

	assert_int_equal(rnicpair_post_recv(side, wr_id, &sge, 1), 0);
}

static inline void post_send(struct rnicpair_side *side, uint64_t wr_id,
			     size_t off, size_t len)
{
	struct usiw_sge sge = rnicpair_sge(side, off, len);
	struct rnicpair_wr wr = { .wr_id = wr_id,
				  .opcode = USIW_WR_SEND,
				  .flags = USIW_SQE_SIGNALED,
				  .sge = &sge,
				  .sge_cnt = 1 };

	assert_int_equal(rnicpair_post(side, &wr), 0);
}

#endif
