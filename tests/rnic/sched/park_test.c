/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* park.c: when the completion thread may park, and for how long. */
#include "test.h"

#include "sched/park.h"
#include "util/clock.h"

CASE(a_poller_is_trusted_for_longer)
{
	static const uint64_t parks_ns[] = { 50000,   100000,  200000,	400000,
					     800000,  1600000, 3200000, 6400000,
					     8000000, 8000000 };
	uint64_t last_ns = 0;

	for (size_t i = 0; i < ARRAY_LEN(parks_ns); i++) {
		last_ns = rnic_park_ns(last_ns);
		assert_int_equal(last_ns, parks_ns[i]);
	}
}

static const struct {
	const char *name;
	struct {
		uint64_t after_ms; /* the end of the pause before */
		uint64_t lost_ms;
	} looks[10];
} rows[] = {
	{ "nobody reads",
	  { { 1, 1 },
	    { 1, 2 },
	    { 1, 4 },
	    { 1, 8 },
	    { 1, 16 },
	    { 1, 32 },
	    { 1, 64 },
	    { 1, 128 },
	    { 1, 128 } } },
	{ "nobody reads, now and then",
	  { { 1, 1 }, { 3, 1 }, { 1, 2 }, { 5, 1 } } },
};

CASE(a_poller_that_has_gone_is_distrusted)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rnic_park park = { 0 };
		uint64_t now_ns = NS_PER_MS;

		for (size_t j = 0; j < 10 && rows[i].looks[j].after_ms; j++) {
			now_ns += rows[i].looks[j].after_ms * NS_PER_MS;
			assert_row(rows[i].name, rnic_park_may(&park, now_ns));
			rnic_park_note_unread(&park, now_ns);
			now_ns += rows[i].looks[j].lost_ms * NS_PER_MS;
			assert_row(rows[i].name,
				   !rnic_park_may(&park, now_ns - 1));
			assert_row(rows[i].name, rnic_park_may(&park, now_ns));
		}
	}
}
