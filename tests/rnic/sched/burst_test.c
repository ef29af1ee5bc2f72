/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* burst.c: which posts wait for a poll. */
#include "test.h"

#include "sched/burst.h"

/* The first of a burst is transmitted at once, and one in RNIC_BURST_MAX. */
CASE(a_burst_is_transmitted_in_parts)
{
	struct rnic_burst burst = { 0 };

	for (uint32_t i = 0; i < 3 * RNIC_BURST_MAX; i++) {
		assert_int_equal(rnic_burst_post(&burst),
				 i % RNIC_BURST_MAX != 0);
		assert_int_equal(rnic_burst_wants_pass(&burst),
				 i + 1 >= RNIC_BURST_MANY);
	}
}

static const struct {
	const char *name;
	bool is_watched, has_sleeper, is_attended, may_gather, is_bursty;
	bool waits;
} rows[] = {
	{ "nobody watches", .may_gather = true, .is_bursty = true },
	{ "a thread watches", .is_watched = true, .waits = true },
	{ "one sleeps", .is_watched = true, .has_sleeper = true },
	{ "attended", .is_watched = true, .is_attended = true },
	{ "attended, a single answer", .is_watched = true, .is_attended = true,
	  .may_gather = true },
	{ "attended, it transmits none", .is_watched = true,
	  .is_attended = true, .is_bursty = true },
	{ "attended, bursts", .is_watched = true, .is_attended = true,
	  .may_gather = true, .is_bursty = true, .waits = true },
};

CASE(a_post_waits_for_a_thread_that_polls)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rnic_burst burst = {
			.is_watched = rows[i].is_watched,
			.may_gather = rows[i].may_gather,
			.is_bursty = rows[i].is_bursty,
		};
		struct rnic_polls polls = {
			.sleeper_cnt = rows[i].has_sleeper,
			.is_attended = rows[i].is_attended,
		};

		assert_row(rows[i].name,
			   rnic_burst_waits(&burst, &polls) == rows[i].waits);
		assert_row(rows[i].name,
			   rnic_burst_wants_pass(&burst) == rows[i].waits);
	}
}

static void post(struct rnic_burst *burst, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++)
		(void)rnic_burst_post(burst);
}

/* It asks once: the thread watches from then on. */
CASE(a_poll_after_many_posts_asks_for_a_parked_thread)
{
	struct rnic_burst burst = { 0 };
	struct rnic_polls polls = { 0 };

	post(&burst, RNIC_BURST_MANY - 1);
	assert_false(rnic_burst_poll(&burst, &polls));
	assert_false(rnic_burst_poll(&burst, &polls));
	post(&burst, RNIC_BURST_MANY);
	assert_true(rnic_burst_poll(&burst, &polls));
	assert_false(rnic_burst_wants_pass(&burst));
	assert_true(rnic_burst_is_watched(&burst));
	post(&burst, RNIC_BURST_MANY);
	assert_false(rnic_burst_poll(&burst, &polls));
	assert_true(rnic_burst_take_park(&burst));
	assert_false(rnic_burst_take_park(&burst));
	rnic_burst_unwatch(&burst);
	post(&burst, RNIC_BURST_MANY);
	assert_true(rnic_burst_poll(&burst, &polls));
}

/* A thread that attends posts in bursts as long as it does so between two of
 * its passes. */
CASE(bursts_of_a_thread_that_attends_are_noted)
{
	struct rnic_burst burst = { 0 };
	struct rnic_polls polls = { .is_attended = true };

	post(&burst, RNIC_BURST_MANY);
	(void)rnic_burst_poll(&burst, &polls);
	assert_true(burst.is_bursty);
	(void)rnic_burst_poll(&burst, &polls); /* nothing was posted */
	assert_true(burst.is_bursty);
	post(&burst, 1);
	(void)rnic_burst_poll(&burst, &polls);
	assert_false(burst.is_bursty);
}
