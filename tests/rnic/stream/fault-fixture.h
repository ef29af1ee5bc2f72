/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Two QPs, and rules of USIW_FAULT for them. */
#ifndef STREAM_FAULT_FIXTURE_H
#define STREAM_FAULT_FIXTURE_H

#include "test.h"

#include "fault/rules.h"
#include "rnicpair.h"

#define LEN 5000 /* of a message */

/* QP 1 is that of side 0, which sends; QP 2 that of side 1. */
static inline void begin(struct rnicpair *p, const char *rules)
{
	const struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;

	rnic_fault_start();
	rnic_fault_read(rules);
	rnicpair_open(p, &opt);
}

static inline void end(struct rnicpair *p)
{
	rnicpair_close(p);
	rnic_fault_read("cq=overrun,process=another");
}

static inline void post_send(struct rnicpair *p, uint64_t wr_id)
{
	struct usiw_sge from = rnicpair_sge(&p->side[0], 0, LEN);
	struct usiw_sge to = rnicpair_sge(&p->side[1], wr_id * LEN, LEN);

	rnicpair_fill(p->side[0].buf, LEN, 1);
	assert_int_equal(rnicpair_post_recv(&p->side[1], wr_id, &to, 1), 0);
	rnicpair_post_wr(&p->side[0], .wr_id = wr_id, .opcode = USIW_WR_SEND,
			 .flags = USIW_SQE_SIGNALED, .sge = &from,
			 .sge_cnt = 1);
}

static inline void expect(struct rnicpair_side *s, struct rnic_cq *cq,
			  uint64_t wr_id, enum usiw_wc_status status)
{
	struct usiw_cqe cqe = rnicpair_take(s, cq);

	assert_int_equal(cqe.wr_id, wr_id);
	assert_int_equal(cqe.status, status);
}

static inline void expect_arrival(struct rnicpair *p, uint64_t wr_id)
{
	expect(&p->side[1], p->side[1].rcq, wr_id, USIW_WC_SUCCESS);
	assert_true(rnicpair_is_filled(p->side[1].buf + wr_id * LEN, LEN, 1));
}

#endif
