/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* sched.c: what the threads of an engine do next. */
#include "test.h"

#include "sched/sched.h"
#include "util/clock.h"

#define BEGIN_NS (1000 * NS_PER_MS)

/* ---- posts ---- */

static const struct {
	const char *name;
	enum rnic_answer answer;
	bool is_crowded, has_memory, has_sleeper, is_attended, is_skipped;
	enum rnic_sched_after after;
} posts[] = {
	{ "no answer", RNIC_ANSWER_NONE, true, true,
	  .after = RNIC_AFTER_GO_ON },
	{ "a poller", RNIC_ANSWER_POLLER, true, true,
	  .after = RNIC_AFTER_HAND_OVER },
	{ "a poller, an idle CPU", RNIC_ANSWER_POLLER, false, true,
	  .after = RNIC_AFTER_GO_ON },
	{ "a poller, by TCP", RNIC_ANSWER_POLLER, true, false,
	  .after = RNIC_AFTER_GO_ON },
	{ "a poller, one sleeps", RNIC_ANSWER_POLLER, true, true,
	  .has_sleeper = true },
	{ "a poller, one has slept", RNIC_ANSWER_POLLER, true, true,
	  .is_attended = true },
	{ "a poller, others compute", RNIC_ANSWER_POLLER, true, true,
	  .is_skipped = true },
	{ "a spinner", RNIC_ANSWER_SPINNER, true, true,
	  .after = RNIC_AFTER_YIELD | RNIC_AFTER_HAND_OVER },
	{ "a spinner, by TCP", RNIC_ANSWER_SPINNER, true, false,
	  .after = RNIC_AFTER_YIELD },
	{ "a spinner, an idle CPU", RNIC_ANSWER_SPINNER, false, true,
	  .after = RNIC_AFTER_YIELD },
	{ "a spinner, others compute", RNIC_ANSWER_SPINNER, true, true,
	  .is_skipped = true },
};

CASE(an_answer_gives_up_the_cpu)
{
	for (size_t i = 0; i < ARRAY_LEN(posts); i++) {
		struct rnic_sched sched = {
			.is_crowded = posts[i].is_crowded,
			.polls.sleeper_cnt = posts[i].has_sleeper,
			.polls.is_attended = posts[i].is_attended,
			.skip.cnt = posts[i].is_skipped,
		};

		rnic_answer_note(&sched.answers, posts[i].answer);
		assert_row(posts[i].name,
			   rnic_sched_post(&sched, posts[i].has_memory) ==
				   posts[i].after);
		/* The same is not answered twice. */
		assert_row(posts[i].name,
			   !rnic_sched_post(&sched, posts[i].has_memory));
	}
}

/* A program that polls needs no completion thread for what it receives. */
CASE(a_poller_is_told_from_a_spinner)
{
	struct rnic_sched sched = { .burst.is_watched = true };

	rnic_sched_note_write(&sched);
	assert_int_equal(rnic_answer_take(&sched.answers), RNIC_ANSWER_POLLER);
	rnic_burst_unwatch(&sched.burst);
	rnic_sched_note_write(&sched);
	assert_int_equal(rnic_answer_take(&sched.answers), RNIC_ANSWER_SPINNER);
	rnic_sched_note_write(&sched);
	rnic_sched_note_told(&sched);
	assert_int_equal(rnic_answer_take(&sched.answers), RNIC_ANSWER_NONE);
	atomic_store(&sched.is_spinning, true);
	rnic_sched_note_write(&sched);
	assert_int_equal(rnic_answer_take(&sched.answers), RNIC_ANSWER_NONE);
}

CASE(octets_end_what_is_in_vain)
{
	struct rnic_sched sched = { .polls.vain_cnt = 5,
				    .arrival_no = UINT32_MAX };

	rnic_sched_note_arrival(&sched);
	assert_int_equal(sched.polls.vain_cnt, 0);
	assert_int_equal(rnic_sched_arrival_no(&sched), 0);
}

/* ---- the completion thread ---- */

static const struct {
	const char *name;
	bool is_polled, is_distrusted, has_events, is_called;
	enum rnic_sched_next next;
} wakes[] = {
	{ "nobody polls", .has_events = true, .next = RNIC_NEXT_SERVE },
	{ "a poller", .is_polled = true, .has_events = true,
	  .next = RNIC_NEXT_PARK },
	{ "a poller that had gone", .is_polled = true, .is_distrusted = true,
	  .has_events = true, .next = RNIC_NEXT_SERVE },
	{ "a deadline", .is_polled = true, .next = RNIC_NEXT_SERVE },
	{ "it is called", .is_polled = true, .has_events = true,
	  .is_called = true, .next = RNIC_NEXT_SERVE },
};

CASE(it_leaves_events_to_a_poller)
{
	for (size_t i = 0; i < ARRAY_LEN(wakes); i++) {
		struct rnic_sched sched = { 0 };

		if (wakes[i].is_polled)
			rnic_polls_note(&sched.polls, BEGIN_NS);
		if (wakes[i].is_distrusted)
			rnic_sched_parked(&sched, BEGIN_NS, false);
		assert_row(wakes[i].name, rnic_sched_woke(&sched, BEGIN_NS,
							  wakes[i].has_events,
							  wakes[i].is_called) ==
						  wakes[i].next);
	}
}

static const struct {
	const char *name;
	bool is_asked, is_distrusted, has_come, has_idle, is_attended,
		has_sleeper;
	enum rnic_sched_next next;
} serves[] = {
	{ "nothing came", .has_idle = true },
	{ "no idle CPU", .has_come = true },
	{ "octets", .has_come = true, .has_idle = true,
	  .next = RNIC_NEXT_SPIN },
	{ "octets, attended", .has_come = true, .has_idle = true,
	  .is_attended = true },
	{ "octets, one sleeps", .has_come = true, .has_idle = true,
	  .has_sleeper = true },
	{ "asked to park", .is_asked = true, .has_come = true, .has_idle = true,
	  .next = RNIC_NEXT_PARK },
	{ "asked by one that had gone", .is_asked = true,
	  .is_distrusted = true },
};

CASE(it_sleeps_spins_or_parks)
{
	for (size_t i = 0; i < ARRAY_LEN(serves); i++) {
		struct rnic_sched sched = {
			.cpu.has_idle = serves[i].has_idle,
			.burst.wants_park = serves[i].is_asked,
			.polls.is_attended = serves[i].is_attended,
			.polls.sleeper_cnt = serves[i].has_sleeper,
		};

		if (serves[i].has_come)
			rnic_sched_note_arrival(&sched);
		if (serves[i].is_distrusted)
			rnic_sched_parked(&sched, BEGIN_NS, false);
		assert_row(serves[i].name,
			   rnic_sched_served(&sched, BEGIN_NS) ==
				   serves[i].next);
		assert_row(serves[i].name,
			   rnic_sched_is_spinning(&sched) ==
				   (serves[i].next == RNIC_NEXT_SPIN));
	}
}

CASE(it_parks_as_long_as_a_thread_polls)
{
	struct rnic_sched sched = { 0 };

	assert_int_equal(rnic_sched_park_ns(&sched, BEGIN_NS, 0), 0);
	rnic_polls_note(&sched.polls, BEGIN_NS);
	/* Another thread may have had the poller's CPU for this long. */
	assert_int_equal(rnic_sched_park_ns(&sched, BEGIN_NS + NS_PER_MS, 0),
			 50000);
	assert_int_equal(rnic_sched_park_ns(&sched, BEGIN_NS + 49999, 50000),
			 100000);
	assert_int_equal(rnic_sched_park_ns(&sched, BEGIN_NS + 50000, 50000),
			 0);
}

static const struct {
	const char *name;
	bool was_served, is_attended, is_polled, is_distrusted;
} parks[] = {
	{ "nobody has read", .is_polled = true, .is_distrusted = true },
	{ "somebody has", .was_served = true },
	{ "works on what it got", .is_attended = true, .is_polled = true },
	{ "does not come back", .is_attended = true, .is_distrusted = true },
};

CASE(it_distrusts_a_poller_that_had_gone)
{
	for (size_t i = 0; i < ARRAY_LEN(parks); i++) {
		struct rnic_sched sched = { .polls.is_attended =
						    parks[i].is_attended };

		if (parks[i].is_polled)
			rnic_polls_note(&sched.polls, BEGIN_NS);
		rnic_sched_parked(&sched, BEGIN_NS, parks[i].was_served);
		assert_row(parks[i].name,
			   rnic_park_may(&sched.park, BEGIN_NS) !=
				   parks[i].is_distrusted);
	}
}

CASE(it_spins_on_until_another_thread_looks)
{
	struct rnic_sched sched = { .is_spinning = true };

	assert_true(rnic_sched_spins_on(&sched, BEGIN_NS));
	atomic_store(&sched.polls.sleeper_cnt, 1);
	assert_false(rnic_sched_spins_on(&sched, BEGIN_NS));
	atomic_store(&sched.polls.sleeper_cnt, 0);
	rnic_polls_note(&sched.polls, BEGIN_NS);
	assert_false(rnic_sched_spins_on(&sched, BEGIN_NS));
	rnic_sched_spun(&sched, true);
	assert_true(rnic_sched_is_spinning(&sched));
	rnic_sched_spun(&sched, false);
	assert_false(rnic_sched_is_spinning(&sched));
}
