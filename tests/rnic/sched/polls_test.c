/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* polls.c: who polls, and polls in vain. */
#include "test.h"

#include "sched/polls.h"
#include "util/clock.h"

#define BEGIN_NS (1000 * NS_PER_MS)

static const struct {
	const char *name;
	uint64_t poll_ns; /* when it polled last; 0: never */
	bool has_sleeper, is_attended, has_left;
	uint64_t live_ns; /* so long it counts; 0: it does not */
} rows[] = {
	{ "nobody has polled", 0, false, false, false, 0 },
	{ "nobody, but one sleeps", 0, true, true, true, 0 },
	{ "spins", BEGIN_NS, false, false, false, 50000 },
	{ "works on what it got", BEGIN_NS, false, true, false, 2000000 },
	{ "has left octets", BEGIN_NS, false, false, true, 2000000 },
	{ "sleeps", BEGIN_NS, true, false, false, 2000000 },
};

CASE(a_poller_is_trusted_for_so_long)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t live_ns = rows[i].live_ns;
		struct rnic_polls polls = {
			.last_ns = rows[i].poll_ns,
			.sleeper_cnt = rows[i].has_sleeper,
			.is_attended = rows[i].is_attended,
			.has_left = rows[i].has_left,
		};

		/* The caller may have looked at the clock before the poll. */
		for (int before = 0; before < 2; before++)
			assert_row(rows[i].name,
				   rnic_polls_are_live(&polls,
						       BEGIN_NS - before) ==
					   (live_ns > 0));
		assert_row(
			rows[i].name,
			rnic_polls_are_live(&polls, BEGIN_NS + live_ns - 1) ==
				(live_ns > 0));
		assert_row(rows[i].name,
			   !rnic_polls_are_live(&polls, BEGIN_NS + live_ns));
	}
}

CASE(a_sleep_is_noted_as_a_poll)
{
	struct rnic_polls polls = { 0 };

	assert_false(rnic_polls_are_noted(&polls));
	rnic_polls_note_attended(&polls, BEGIN_NS);
	assert_true(rnic_polls_are_noted(&polls));
	assert_true(rnic_polls_are_attended(&polls));
	assert_true(rnic_polls_come_back(&polls));
	assert_false(rnic_polls_take_slept(&polls));
	rnic_polls_note_slept(&polls);
	assert_true(rnic_polls_take_slept(&polls));
	assert_false(rnic_polls_take_slept(&polls));
	rnic_polls_end(&polls);
	assert_false(rnic_polls_are_noted(&polls));
	assert_false(rnic_polls_are_attended(&polls));
	assert_false(rnic_polls_come_back(&polls));
}

CASE(octets_that_are_left_are_read_by_the_next_poll)
{
	struct rnic_polls polls = { 0 };

	rnic_polls_leave(&polls);
	assert_true(rnic_polls_come_back(&polls));
	rnic_polls_take_left(&polls);
	assert_false(rnic_polls_come_back(&polls));
}

/* Return: how many polls until one yields, for that time. */
static uint32_t polls_to_yield(struct rnic_polls *polls, uint64_t away_ns)
{
	uint32_t cnt = 1;

	while (!rnic_polls_yield(polls))
		cnt++;
	rnic_polls_note_yield(polls, away_ns);
	return cnt;
}

CASE(many_polls_in_vain_yield)
{
	struct rnic_polls polls = { 0 };

	for (int i = 0; i < 10; i++)
		assert_int_equal(polls_to_yield(&polls, 1000),
				 RNIC_POLLS_VAIN + 1);
}

CASE(octets_begin_the_count_anew)
{
	struct rnic_polls polls = { 0 };

	for (uint32_t i = 0; i < RNIC_POLLS_VAIN; i++)
		assert_false(rnic_polls_yield(&polls));
	rnic_polls_note_arrival(&polls);
	assert_int_equal(polls_to_yield(&polls, 1000), RNIC_POLLS_VAIN + 1);
}

/* The peer is on this CPU if octets come right after a yield that has run
 * another thread. */
CASE(where_yields_bring_octets_they_come_early)
{
	static const struct {
		const char *name;
		uint64_t bare_ns, away_ns;
		bool brings_octets;
		uint32_t polls;
	} yields[] = {
		{ "the peer ran", 400, 6000, true, RNIC_POLLS_SHARED + 1 },
		{ "another thread ran", 400, 6000, false, RNIC_POLLS_VAIN + 1 },
		{ "nobody ran", 400, 500, true, RNIC_POLLS_VAIN + 1 },
		{ "nothing to compare", 0, 6000, true, RNIC_POLLS_VAIN + 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(yields); i++) {
		struct rnic_polls polls = { 0 };

		if (yields[i].bare_ns)
			polls_to_yield(&polls, yields[i].bare_ns);
		polls_to_yield(&polls, yields[i].away_ns);
		if (yields[i].brings_octets)
			rnic_polls_note_arrival(&polls);
		for (int again = 0; again < 3; again++)
			assert_row(yields[i].name,
				   polls_to_yield(&polls, yields[i].away_ns) ==
					   yields[i].polls);
		/* It is not there any more. */
		polls_to_yield(&polls, 400);
		assert_int_equal(polls_to_yield(&polls, 400),
				 RNIC_POLLS_VAIN + 1);
	}
}

CASE(polls_beside_a_program_that_computes_yield_seldom)
{
	struct rnic_polls polls = { 0 };
	uint64_t away_ns = 3 * NS_PER_MS;

	assert_int_equal(polls_to_yield(&polls, 400), RNIC_POLLS_VAIN + 1);
	assert_int_equal(polls_to_yield(&polls, away_ns), RNIC_POLLS_VAIN + 1);
	/* Not because it ran. */
	rnic_polls_note_arrival(&polls);
	assert_int_equal(polls_to_yield(&polls, away_ns),
			 RNIC_POLLS_VAIN + 1 + 64);
	assert_int_equal(polls_to_yield(&polls, away_ns),
			 RNIC_POLLS_VAIN + 1 + 128);
}
