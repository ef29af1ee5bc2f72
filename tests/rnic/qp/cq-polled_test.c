/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* cq.c: what is polled already raises no event. */
#define _GNU_SOURCE
#include "test.h"

#include "cq-fixture.h"
#include "qp/object.h"

/* Its number is below the consumer's, as one of a time long ago. */
CASE(a_polled_urgent_entry_fires_nothing)
{
	struct bell b;

	bell_open(&b, 16);
	assert_int_equal(push(&b, true, USIW_WC_SUCCESS), 0);
	push_many_quiet(&b, 2);
	usiw_ring_consume(rnic_cq_ring(b.cq), 2);
	rnic_cq_arm(b.cq, true);
	assert_int_equal(events_read(b.chan), 0);
	bell_close(&b, 0, 0);
}

/* The application polled the entry before it armed, and both came between the
 * entry's commit and the look at what is armed. */
CASE(an_entry_polled_before_the_arming_fires_nothing)
{
	struct bell b;

	bell_open(&b, 16);
	atomic_store(&b.cq->armed, RNIC_CQ_ARMED(RNIC_CQ_ARM_ANY, 1));
	push_many_quiet(&b, 1);
	assert_int_equal(events_read(b.chan), 0);
	/* The next one is what was armed for. */
	push_many_quiet(&b, 1);
	assert_int_equal(events_read(b.chan), 1);
	bell_close(&b, 1, 0);
}
