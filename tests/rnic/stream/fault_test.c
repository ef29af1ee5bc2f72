/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* fault.c of stream/: what a rule does to the octets of a stream, and what both
 * ends see of it. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/engine.h"
#include "fault-fixture.h"
#include "qp/state.h"
#include "stream/fault.h"

/* As a QP that was connected with a timeout and a retry count. */
static void set_retry_ms(struct rnicpair_side *s, uint64_t ms)
{
	rnic_engine_lead(s->qp->engine);
	s->qp->retry_ns = ms * NS_PER_MS;
	rnic_engine_unlead(s->qp->engine);
}

/* ---- ends ---------------------------------------------------------------- */

CASE(a_connection_is_reset)
{
	static const char *const rules[] = {
		"stream=reset,nth=2,qp=1",
		"stream=reset,dir=in,nth=2,qp=2",
	};
	struct rnicpair p;

	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		begin(&p, rules[i]);
		post_send(&p, 1);
		expect_arrival(&p, 1);
		post_send(&p, 2);
		for (int side = 0; side < 2; side++) {
			rnicpair_wait_state(&p.side[side], RNIC_QPS_ERROR);
			assert_int_equal(rnic_qp_error(p.side[side].qp),
					 ECONNRESET);
		}
		end(&p);
	}
}

CASE(a_half_of_a_connection_is_closed)
{
	struct rnicpair p;

	begin(&p, "stream=half-close,nth=2,qp=1");
	post_send(&p, 1);
	expect(&p.side[0], p.side[0].scq, 1, USIW_WC_SUCCESS);
	expect_arrival(&p, 1);
	post_send(&p, 2);
	expect(&p.side[0], p.side[0].scq, 2, USIW_WC_WR_FLUSH_ERR);
	expect(&p.side[1], p.side[1].rcq, 2, USIW_WC_WR_FLUSH_ERR);
	rnicpair_wait_state(&p.side[1], RNIC_QPS_ERROR);
	end(&p);
}

/* ---- time ---------------------------------------------------------------- */

CASE(messages_are_late)
{
	struct rnicpair p;
	uint64_t began_ms;

	begin(&p, "stream=delay,for=100ms,nth=2,every=1,times=2,qp=1");
	post_send(&p, 1);
	expect_arrival(&p, 1);
	for (uint64_t i = 2; i <= 3; i++) {
		began_ms = until_ms();
		post_send(&p, i);
		expect_arrival(&p, i);
		assert_true(until_ms() - began_ms >= 100);
	}
	end(&p);
}

/* What is posted meanwhile is not later: else nothing would ever leave. */
CASE(a_delay_does_not_add_up)
{
	struct rnicpair p;
	uint64_t began_ms;

	begin(&p, "stream=delay,for=400ms,qp=1");
	began_ms = until_ms();
	for (uint64_t i = 1; i <= 20; i++)
		post_send(&p, i);
	for (uint64_t i = 1; i <= 20; i++)
		expect_arrival(&p, i);
	assert_in_range(until_ms() - began_ms, 400, 7000);
	end(&p);
}

CASE(a_stream_stalls_for_a_time)
{
	static const char *const rules[] = {
		"stream=stall,for=200ms,nth=2,qp=1",
		"stream=stall,dir=in,for=200ms,nth=1,qp=2",
		"stream=silent,for=200ms,nth=2,qp=1",
		"stream=silent,dir=in,for=200ms,nth=1,qp=2",
	};
	struct rnicpair p;
	uint64_t began_ms;

	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		begin(&p, rules[i]);
		began_ms = until_ms();
		post_send(&p, 1);
		expect_arrival(&p, 1);
		post_send(&p, 2);
		post_send(&p, 3);
		expect_arrival(&p, 2);
		expect_arrival(&p, 3);
		assert_true(until_ms() - began_ms >= 200);
		end(&p);
	}
}

CASE(a_stall_without_a_time_lasts)
{
	struct rnicpair p;

	begin(&p, "stream=stall,dir=in,nth=1,qp=2");
	post_send(&p, 1);
	expect_arrival(&p, 1);
	post_send(&p, 2);
	assert_true(rnicpair_is_quiet(&p, p.side[1].rcq));
	/* Nor is the end seen that is behind the message. */
	rnic_qp_modify(p.side[0].qp, RNIC_QPS_ERROR);
	assert_true(rnicpair_is_quiet(&p, p.side[1].rcq));
	end(&p);
}

/* ---- silence ------------------------------------------------------------- */

/* Neither end has seen FIN or RST: the retry time ends it. */
CASE(a_silent_peer_exhausts_the_retries)
{
	static const char *const rules[] = {
		"stream=silent,nth=2,qp=1",
		"stream=silent,dir=in,nth=1,qp=2",
		"state=error,dir=in,nth=1,qp=2",
	};
	struct rnicpair p;
	uint64_t began_ms;

	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		begin(&p, rules[i]);
		set_retry_ms(&p.side[0], 400);
		post_send(&p, 1);
		expect(&p.side[0], p.side[0].scq, 1, USIW_WC_SUCCESS);
		if (i < 2)
			expect_arrival(&p, 1);
		else
			rnicpair_wait_state(&p.side[1], RNIC_QPS_ERROR);
		began_ms = until_ms();
		post_send(&p, 2);
		rnicpair_wait_state(&p.side[0], RNIC_QPS_ERROR);
		assert_int_equal(rnic_qp_error(p.side[0].qp), ETIMEDOUT);
		assert_true(until_ms() - began_ms >= 300);
		end(&p);
	}
}

CASE(a_qp_ends_without_a_word)
{
	struct rnicpair_side *s;
	struct rnicpair p;
	uint64_t element;

	begin(&p, "state=error,dir=in,nth=1,qp=2");
	s = &p.side[1];
	post_send(&p, 1);
	expect(s, s->rcq, 1, USIW_WC_WR_FLUSH_ERR);
	wait_until(rnicpair_has_async(s));
	assert_int_equal(rnicpair_async(s, &element), USIW_EVENT_QP_FATAL);
	assert_int_equal(rnic_qp_state(s->qp), RNIC_QPS_ERROR);
	assert_true(rnicpair_is_quiet(&p, p.side[0].rcq));
	assert_int_equal(rnic_qp_state(p.side[0].qp), RNIC_QPS_RTS);
	end(&p);
}

/* ---- what is not there --------------------------------------------------- */

CASE(a_stream_that_no_rule_concerns_is_as_it_was)
{
	struct rnicpair p;
	struct rnic_stream *stream;

	begin(&p, "cq=overrun,nth=1000");
	stream = with_lead(p.side[0].qp->engine, rnic_qp_stream(p.side[0].qp));
	assert_null(stream->fault);
	assert_int_equal(rnic_stream_fault_ns(stream), 0);
	assert_false(rnic_stream_fault_is_silent(stream));
	post_send(&p, 1);
	expect_arrival(&p, 1);
	end(&p);
}

/* A stream that stalls does not end in order. */
BEFORE_CASES()
{
	setenv("USIW_DRAIN_MS", "100", 1);
}
