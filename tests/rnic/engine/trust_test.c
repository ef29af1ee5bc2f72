/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* trust.c: when the completion thread may park, and for how long. */
#include "test.h"

#include "engine/trust.h"
#include "util/clock.h"

CASE(a_steady_poller_is_trusted_longer)
{
	static const struct {
		uint64_t last_ns, run_ns, next_ns;
	} cases[] = {
		{ 0, 0, 50000 },
		{ 50000, 0, 100000 },
		{ 800000, 0, 1000000 },
		{ 1000000, 0, 1000000 },
		{ 1000000, 10000000, 1250000 },
		{ 1000000, 1000000000, 2000000 },
		{ 2000000, 24000000, 3000000 },
		{ 8000000, 1000000000, 8000000 },
		/* It has paused. */
		{ 8000000, 100000, 1000000 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(
			rnic_trust_park_ns(cases[i].last_ns, cases[i].run_ns),
			cases[i].next_ns);
}

#define LOOKS 10

static const struct {
	const char *name;
	struct {
		uint64_t after_ms; /* the end of the pause before */
		bool was_served, comes_back;
		uint64_t lost_ms; /* for how long it does not park */
	} looks[LOOKS];
} rows[] = {
	{ "nobody reads",
	  { { 1, false, false, 1 },
	    { 1, false, false, 2 },
	    { 1, false, false, 4 },
	    { 1, false, false, 8 },
	    { 1, false, false, 16 },
	    { 1, false, false, 32 },
	    { 1, false, false, 64 },
	    { 1, false, false, 128 },
	    { 1, false, false, 128 } } },
	{ "nobody reads, now and then",
	  { { 1, false, false, 1 },
	    { 3, false, false, 1 },
	    { 1, false, false, 2 },
	    { 5, false, false, 1 } } },
	{ "the poller reads, and posts in between",
	  { { 1, true, false, 0 },
	    { 1, true, false, 0 },
	    { 1, true, false, 0 } } },
	{ "it sleeps on the sockets",
	  { { 1, false, true, 0 }, { 1, false, true, 0 } } },
	{ "it stops to read, and begins again",
	  { { 1, true, false, 0 },
	    { 1, false, false, 1 },
	    { 1, false, false, 2 },
	    { 1, true, false, 0 } } },
};

CASE(a_poller_that_has_gone_is_distrusted)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rnic_trust trust = { .was_parked = false };
		uint64_t now_ns = NS_PER_MS;

		for (size_t j = 0; j < LOOKS && rows[i].looks[j].after_ms;
		     j++) {
			uint64_t lost_ns = rows[i].looks[j].lost_ms * NS_PER_MS;

			now_ns += rows[i].looks[j].after_ms * NS_PER_MS;
			assert_row(rows[i].name,
				   rnic_trust_may_park(&trust, now_ns));
			trust.was_served = rows[i].looks[j].was_served;
			rnic_trust_note_unread(&trust, now_ns,
					       rows[i].looks[j].comes_back);
			assert_row(rows[i].name,
				   !lost_ns || !rnic_trust_may_park(
						       &trust,
						       now_ns + lost_ns - 1));
			now_ns += lost_ns;
			assert_row(rows[i].name,
				   rnic_trust_may_park(&trust, now_ns));
		}
	}
}

CASE(posts_that_waited_cost_a_short_pause)
{
	struct rnic_trust trust = { .was_parked = false };
	uint64_t now_ns = NS_PER_MS;

	for (int i = 0; i < 10; i++) {
		rnic_trust_note_posts(&trust, now_ns);
		assert_false(
			rnic_trust_may_park(&trust, now_ns + NS_PER_MS - 1));
		now_ns += NS_PER_MS;
		assert_true(rnic_trust_may_park(&trust, now_ns));
	}
}
