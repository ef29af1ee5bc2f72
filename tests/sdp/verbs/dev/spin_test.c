/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * How long threads poll, with simulated peers: a request is answered after a
 * time that depends on whether the thread still polls.
 */
#include "test.h"

#include "verbs/dev/spin.h"

#define LOOK_NS 500u
#define US 1000u
#define MS 1000000u

struct play {
	struct sdp_budget budget;
	uint64_t now;
	uint64_t polled_ns;
	unsigned int won_cnt, slept_cnt;
};

static void play_init(struct play *play, int cpu_cnt)
{
	*play = (struct play){ .now = 1000 * (uint64_t)MS };
	sdp_budget_init(&play->budget, cpu_cnt);
}

/* A wait for an answer that comes @after_ns from now; with @needs_cpu it comes
 * @after_ns after the thread went to sleep. Return: whether polling detected
 * it. */
static bool wait(struct play *play, uint64_t after_ns, bool needs_cpu)
{
	uint64_t begin = play->now, slept;
	struct sdp_spin spin = SDP_SPIN_INIT;

	if (sdp_budget_spins(&play->budget)) {
		sdp_budget_begin(&spin, play->now);
		do {
			play->now += LOOK_NS;
			if (!needs_cpu && play->now - begin >= after_ns) {
				play->polled_ns += play->now - begin;
				play->won_cnt++;
				return true;
			}
		} while (sdp_budget_goes_on(&play->budget, &spin, play->now));
	}
	play->polled_ns += play->now - begin;
	slept = needs_cpu ? after_ns : begin + after_ns - play->now;
	play->now += slept;
	play->slept_cnt++;
	sdp_budget_slept(&play->budget, slept, play->now);
	return false;
}

CASE(grows_until_answers_are_seen)
{
	static const uint64_t answers_us[] = { 3, 12, 30, 37 };

	for (size_t i = 0; i < sizeof(answers_us) / sizeof(*answers_us); i++) {
		struct play play;

		play_init(&play, 2);
		for (int n = 0; n < 1000; n++)
			wait(&play, answers_us[i] * US, false);
		assert_in_range(play.won_cnt, 990, 1000);
	}
}

CASE(shrinks_to_nothing_when_nothing_comes)
{
	struct play play;

	play_init(&play, 2);
	for (int n = 0; n < 1000; n++)
		wait(&play, 10 * MS, false);
	assert_false(sdp_budget_spins(&play.budget));
	assert_in_range(play.polled_ns, 0, MS);
}

/* The answer of a peer on the same processor comes only after the thread
 * sleeps: all polling is in vain, and must be rare. */
CASE(rarely_polls_for_a_peer_on_the_same_processor)
{
	struct play play;
	uint64_t begin, polled;

	play_init(&play, 2);
	for (int n = 0; n < 100000; n++)
		wait(&play, 7 * US, true);
	assert_int_equal(play.won_cnt, 0);
	/* 2 % in the long run */
	begin = play.now;
	polled = play.polled_ns;
	for (int n = 0; n < 100000; n++)
		wait(&play, 7 * US, true);
	assert_in_range(100 * (play.polled_ns - polled), 0,
			2 * (play.now - begin));
}

/* A single late answer costs a short rest, not a long one. */
CASE(a_late_answer_costs_a_short_pause)
{
	struct play play;

	play_init(&play, 2);
	for (int n = 0; n < 10000; n++)
		wait(&play, (n % 1000 == 999 ? 90 : 20) * US, false);
	/* each costs a rest of 0.4 ms, 20 answers, and the growth */
	assert_in_range(play.slept_cnt, 10, 10 * 40);
}

CASE(stops_where_it_is_interrupted)
{
	struct sdp_spin spin = SDP_SPIN_INIT;
	struct sdp_budget budget;

	sdp_budget_init(&budget, 2);
	sdp_budget_begin(&spin, MS);
	assert_true(sdp_budget_goes_on(&budget, &spin, MS + LOOK_NS));
	assert_false(sdp_budget_goes_on(&budget, &spin,
					MS + SDP_SPIN_NS_GAP + 2 * LOOK_NS));
	assert_false(sdp_budget_spins(&budget));
}

CASE(pauses_double_up_to_the_longest)
{
	uint64_t want = SDP_SPIN_REST_NS_MIN;
	struct play play;

	play_init(&play, 2);
	for (int n = 0; n < 12; n++) {
		uint64_t end = atomic_load(&play.budget.rest_end);

		while (atomic_load(&play.budget.rest_end) == end)
			wait(&play, 7 * US, true);
		assert_int_equal(atomic_load(&play.budget.rest_end) - play.now,
				 want);
		want = 2 * want < SDP_SPIN_REST_NS_MAX ? 2 * want
						       : SDP_SPIN_REST_NS_MAX;
	}
	/* much later the next one is short again */
	play.now += 5 * (uint64_t)SDP_SPIN_REST_NS_MAX + SDP_SPIN_REST_NS_MAX;
	atomic_store(&play.budget.ns, SDP_SPIN_NS_MAX);
	sdp_budget_slept(&play.budget, US, play.now);
	assert_int_equal(atomic_load(&play.budget.rest_end) - play.now,
			 SDP_SPIN_REST_NS_MIN);
}

CASE(one_processor_never_polls)
{
	struct play play;

	play_init(&play, 1);
	for (int n = 0; n < 1000; n++)
		wait(&play, 5 * US, false);
	assert_int_equal(play.polled_ns, 0);
}
