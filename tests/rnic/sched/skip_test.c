/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* skip.c: when chances to give up the CPU are taken. */
#include "test.h"

#include "sched/skip.h"
#include "util/clock.h"

/* Chances that are not taken until one is, after which the CPU is away. */
static uint32_t skipped(struct rnic_skip *skip, uint64_t away_ns)
{
	uint32_t cnt = 0;

	while (!rnic_skip_may(skip))
		cnt++;
	rnic_skip_note(skip, away_ns);
	return cnt;
}

CASE(short_yields_are_repeated)
{
	struct rnic_skip skip = { 0 };

	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(skipped(&skip, NS_PER_MS - 1), 0);
}

/* A program that computes has a CPU for milliseconds. */
CASE(long_yields_become_rare)
{
	struct rnic_skip skip = { 0 };
	uint32_t want = 64;

	assert_int_equal(skipped(&skip, NS_PER_MS), 0);
	for (int i = 0; i < 14; i++) {
		assert_int_equal(skipped(&skip, NS_PER_MS), want);
		want = want < 65536 ? 2 * want : 65536;
	}
	assert_int_equal(want, 65536);
}

CASE(yields_return_when_the_other_program_has_gone)
{
	struct rnic_skip skip = { 0 };

	for (int i = 0; i < 12; i++)
		(void)skipped(&skip, 3 * NS_PER_MS);
	(void)skipped(&skip, 0); /* the last one was long */
	for (int i = 0; i < 20; i++)
		assert_int_equal(skipped(&skip, 0), 0);
	/* ... and a single long one is the first again. */
	assert_int_equal(skipped(&skip, 3 * NS_PER_MS), 0);
	assert_int_equal(skipped(&skip, 3 * NS_PER_MS), 64);
}
