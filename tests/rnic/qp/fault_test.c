/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* fault.c of qp/: completions that fail, CQs that overrun, receives that are
 * not there. */
#include "test.h"

#include <signal.h>
#include <string.h>

#include "child.h"
#include "engine/engine.h"
#include "fault/rules.h"
#include "qp/fault.h"
#include "rnicpair.h"

static const struct rnicpair_options defaults = RNICPAIR_OPTIONS_INIT;

/* QP 1 is that of side 0, which sends. */
static void begin(struct rnicpair *p, const char *rules)
{
	rnic_fault_start();
	rnic_fault_read(rules);
	rnicpair_open(p, &defaults);
}

static void end(struct rnicpair *p)
{
	rnicpair_close(p);
	rnic_fault_read("cq=overrun,process=another");
}

static void post_sends(struct rnicpair *p, uint64_t cnt, uint8_t flags)
{
	struct usiw_sge sge = rnicpair_sge(&p->side[1], 0, 64);

	for (uint64_t i = 1; i <= cnt; i++)
		assert_int_equal(rnicpair_post_recv(&p->side[1], i, &sge, 1),
				 0);
	sge = rnicpair_sge(&p->side[0], 0, 64);
	for (uint64_t i = 1; i <= cnt; i++)
		rnicpair_post_wr(&p->side[0], .wr_id = i,
				 .opcode = USIW_WR_SEND, .flags = flags,
				 .sge = &sge, .sge_cnt = 1);
}

static void expect(struct rnicpair_side *s, struct rnic_cq *cq, uint64_t wr_id,
		   enum usiw_wc_status status)
{
	struct usiw_cqe cqe = rnicpair_take(s, cq);

	assert_int_equal(cqe.wr_id, wr_id);
	assert_int_equal(cqe.status, status);
	assert_int_equal(cqe.qp_num, rnic_qp_num(s->qp));
}

CASE(one_completion_fails_and_those_behind_are_flushed)
{
	struct rnicpair_side *s;
	struct rnicpair p;
	struct usiw_cqe cqe;

	begin(&p, "completion=REM_ACCESS_ERR,vendor_err=0x88,nth=3,"
		  "opcode=send");
	s = &p.side[0];
	for (uint64_t i = 1; i <= 2; i++) {
		post_sends(&p, 1, USIW_SQE_SIGNALED);
		expect(s, s->scq, 1, USIW_WC_SUCCESS);
	}
	post_sends(&p, 3, USIW_SQE_SIGNALED);
	cqe = rnicpair_take(s, s->scq);
	assert_int_equal(cqe.wr_id, 1);
	assert_int_equal(cqe.status, USIW_WC_REM_ACCESS_ERR);
	assert_int_equal(cqe.vendor_err, 0x88);
	expect(s, s->scq, 2, USIW_WC_WR_FLUSH_ERR);
	expect(s, s->scq, 3, USIW_WC_WR_FLUSH_ERR);
	assert_int_equal(rnic_qp_state(s->qp), RNIC_QPS_ERROR);
	assert_true(rnicpair_is_quiet(&p, s->scq));
	/* The peer hears that the connection has ended. */
	rnicpair_wait_state(&p.side[1], RNIC_QPS_ERROR);
	end(&p);
}

CASE(a_failure_is_told_though_success_is_not)
{
	struct rnicpair_side *s;
	struct rnicpair p;

	begin(&p, "completion=RETRY_EXC_ERR,nth=2,qp=1");
	s = &p.side[0];
	post_sends(&p, 3, 0);
	expect(s, s->scq, 2, USIW_WC_RETRY_EXC_ERR);
	expect(s, s->scq, 3, USIW_WC_WR_FLUSH_ERR);
	end(&p);
}

CASE(what_is_sent_behind_a_failure_is_flushed)
{
	struct rnicpair_side *s;
	struct rnicpair p;

	begin(&p, "completion=RETRY_EXC_ERR,nth=1,qp=1");
	s = &p.side[0];
	/* All of them go in one pass. */
	rnic_engine_lead(s->qp->engine);
	post_sends(&p, 3, USIW_SQE_SIGNALED);
	rnic_engine_unlead(s->qp->engine);
	expect(s, s->scq, 1, USIW_WC_RETRY_EXC_ERR);
	expect(s, s->scq, 2, USIW_WC_WR_FLUSH_ERR);
	expect(s, s->scq, 3, USIW_WC_WR_FLUSH_ERR);
	end(&p);
}

CASE(a_receive_fails)
{
	struct rnicpair_side *s;
	struct rnicpair p;

	begin(&p, "completion=LOC_PROT_ERR,opcode=recv,nth=2,qp=2");
	s = &p.side[1];
	post_sends(&p, 4, 0);
	expect(s, s->rcq, 1, USIW_WC_SUCCESS);
	expect(s, s->rcq, 2, USIW_WC_LOC_PROT_ERR);
	expect(s, s->rcq, 3, USIW_WC_WR_FLUSH_ERR);
	expect(s, s->rcq, 4, USIW_WC_WR_FLUSH_ERR);
	assert_int_equal(rnic_qp_state(s->qp), RNIC_QPS_ERROR);
	end(&p);
}

CASE(what_is_flushed_does_not_count)
{
	struct rnicpair_side *s;
	struct rnicpair p;

	begin(&p, "completion=REM_OP_ERR,nth=1,qp=1;"
		  "completion=FATAL_ERR,nth=2,qp=1");
	s = &p.side[0];
	post_sends(&p, 3, USIW_SQE_SIGNALED);
	expect(s, s->scq, 1, USIW_WC_REM_OP_ERR);
	expect(s, s->scq, 2, USIW_WC_WR_FLUSH_ERR);
	expect(s, s->scq, 3, USIW_WC_WR_FLUSH_ERR);
	end(&p);
}

CASE(a_cq_is_overrun)
{
	struct rnicpair_side *s;
	struct rnicpair p;
	uint64_t element;

	begin(&p, "cq=overrun,nth=2,qp=1");
	s = &p.side[0];
	post_sends(&p, 1, USIW_SQE_SIGNALED);
	expect(s, s->scq, 1, USIW_WC_SUCCESS);
	post_sends(&p, 2, USIW_SQE_SIGNALED);
	rnicpair_wait_state(s, RNIC_QPS_ERROR);
	wait_until(rnicpair_has_async(s));
	assert_int_equal(rnicpair_async(s, &element), USIW_EVENT_CQ_ERR);
	assert_int_equal(rnicpair_async(s, &element), USIW_EVENT_QP_FATAL);
	assert_true(rnicpair_is_quiet(&p, s->scq));
	end(&p);
}

/* ---- receives ------------------------------------------------------------ */

CASE(a_message_waits_for_a_receive_that_is_there)
{
	struct rnicpair_side *s;
	struct rnicpair p;
	uint64_t began_ms;

	begin(&p, "receive=rnr,for=200ms,nth=2,qp=2");
	s = &p.side[1];
	began_ms = until_ms();
	post_sends(&p, 3, USIW_SQE_SIGNALED);
	expect(s, s->rcq, 1, USIW_WC_SUCCESS);
	expect(s, s->rcq, 2, USIW_WC_SUCCESS);
	assert_true(until_ms() - began_ms >= 200);
	expect(s, s->rcq, 3, USIW_WC_SUCCESS);
	end(&p);
}

/* The sender of a QP that waits for no receive gets an error at once; it is not
 * in time for one that completes with TCP. */
CASE(a_message_that_may_not_wait_is_refused)
{
	struct rnicpair_side *s;
	struct rnicpair p;

	begin(&p, "receive=rnr,for=200ms,nth=2,qp=2");
	s = &p.side[1];
	rnic_engine_lead(s->qp->engine);
	s->qp->rnr_ns = 0;
	rnic_engine_unlead(s->qp->engine);
	post_sends(&p, 3, 0);
	expect(s, s->rcq, 1, USIW_WC_SUCCESS);
	expect(s, s->rcq, 2, USIW_WC_WR_FLUSH_ERR);
	rnicpair_wait_state(s, RNIC_QPS_TERMINATE);
	rnicpair_wait_state(&p.side[0], RNIC_QPS_TERMINATE);
	end(&p);
}

CASE(the_hold_has_an_end)
{
	struct rnic_qp qp = { 0 };

	assert_false(rnic_qp_fault_holds(&qp));
	qp.fault.rnr_ns = 1;
	assert_false(rnic_qp_fault_holds(&qp));
	qp.fault.rnr_ns = UINT64_MAX;
	assert_true(rnic_qp_fault_holds(&qp));
}

/* ---- signals ------------------------------------------------------------- */

static int dies_at_its_second_completion(void)
{
	struct rnicpair p;

	begin(&p, "signal=KILL,nth=2");
	post_sends(&p, 1, USIW_SQE_SIGNALED);
	expect(&p.side[0], p.side[0].scq, 1, USIW_WC_SUCCESS);
	(void)rnicpair_take(&p.side[1], p.side[1].rcq);
	return 0;
}

CASE(the_process_is_killed)
{
	assert_int_equal(in_child(dies_at_its_second_completion), -SIGKILL);
}
