/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which waits poll, with simulated peers: a request is answered after a time
 * that depends on whether the thread still polls.
 */
#include "test.h"

#include "verbs/dev/spin.h"

#define US 1000u
#define MS 1000000u
#define WAITS 100000u

struct play {
	struct sdp_budget budget;
	uint64_t ns, polled_ns;
	unsigned int won_cnt, polled_cnt;
};

/* A wait for an answer that comes after that time; with @needs_cpu it comes so
 * long after the thread went to sleep. */
static void wait(struct play *play, uint64_t after_ns, bool needs_cpu)
{
	bool found = !needs_cpu && after_ns < SDP_SPIN_NS;

	play->ns += after_ns;
	if (!sdp_budget_spins(&play->budget))
		return;
	sdp_budget_note(&play->budget, found);
	play->polled_cnt++;
	play->polled_ns += found ? after_ns : SDP_SPIN_NS;
	play->ns += needs_cpu ? SDP_SPIN_NS : 0;
	play->won_cnt += found;
}

CASE(polls_where_answers_come_soon)
{
	static const uint64_t answers_us[] = { 3, 12, 30, 37 };

	for (size_t i = 0; i < ARRAY_LEN(answers_us); i++) {
		struct play play = { 0 };

		for (unsigned int n = 0; n < WAITS; n++)
			wait(&play, answers_us[i] * US, false);
		assert_int_equal(play.won_cnt, WAITS);
	}
}

/* Also if the answer of a peer on the same processor comes only after the
 * thread sleeps, and once in a while by chance before. */
CASE(polls_seldom_where_that_finds_nothing)
{
	static const struct {
		const char *name;
		uint64_t after_ns;
		bool needs_cpu;
		unsigned int chance; /* one of so many; 0: none */
	} rows[] = {
		{ "rare requests", 10 * MS, false, 0 },
		{ "a peer on the same processor", 7 * US, true, 0 },
		{ "and by chance", 7 * US, true, 10000 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct play play = { 0 };

		for (unsigned int n = 1; n <= WAITS; n++)
			wait(&play, rows[i].after_ns,
			     rows[i].needs_cpu &&
				     (!rows[i].chance || n % rows[i].chance));
		assert_row(rows[i].name, play.polled_cnt < WAITS / 500);
		/* 2 % of the time */
		assert_row(rows[i].name, play.polled_ns * 50 < play.ns);
	}
}

/* A single late answer costs a short pause. */
CASE(polls_again_after_a_late_answer)
{
	struct play play = { 0 };

	for (unsigned int n = 0; n < WAITS; n++)
		wait(&play, (n % 1000 == 999 ? 90 : 20) * US, false);
	assert_in_range(play.won_cnt, WAITS - 2 * WAITS / 1000, WAITS);
}

/* The peer has moved to another processor. */
CASE(finds_out_that_it_pays_off_again)
{
	struct play play = { 0 };

	for (unsigned int n = 0; n < WAITS; n++)
		wait(&play, 7 * US, true);
	for (unsigned int n = 0; n < WAITS; n++)
		wait(&play, 7 * US, false);
	assert_in_range(play.won_cnt, WAITS - SDP_SPIN_SKIPS, WAITS);
}
