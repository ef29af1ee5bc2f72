/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* full.h: how long a sender waits for receivers that are full. */
#include "test.h"

#include "dgram/full.h"

/* Steps in order, at one sender. */
static const struct {
	const char *name;
	char what; /* 'f': it is full; 't': it takes one; 'e': lost otherwise */
	uint32_t num;
	uint64_t ms;
	bool waits;
} steps[] = {
	{ "one is waited for", 'f', 1, 1000, true },
	{ "until the time is over", 'f', 1, 1099, true },
	{ "then it is lost", 'f', 1, 1100, false },
	{ "its end", 'e', 0, 0, false },
	{ "the next one at once", 'f', 1, 1100, false },
	{ "another one is waited for", 'f', 2, 1200, true },
	{ "and takes one", 't', 2, 0, false },
	{ "again, from the beginning", 'f', 2, 1290, true },
	{ "to the end", 'f', 2, 1389, true },
	{ "its end", 'e', 0, 0, false },
	{ "the first takes one", 't', 1, 0, false },
	{ "and is waited for again", 'f', 1, 2000, true },
	{ "until it is lost", 'f', 1, 2100, false },
	{ "its end", 'e', 0, 0, false },
	{ "one of the same place", 'f', 1 + RNIC_FULL_CNT, 2100, true },
	{ "does not take for it", 't', 1 + RNIC_FULL_CNT, 0, false },
	{ "which is still lost", 'f', 1, 2200, false },
};

CASE(one_is_waited_for_once)
{
	struct rnic_full full = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		if (steps[i].what == 'f')
			assert_row(steps[i].name,
				   rnic_full_waits(&full, steps[i].num,
						   steps[i].ms * NS_PER_MS) ==
					   steps[i].waits);
		else if (steps[i].what == 't')
			rnic_full_taken(&full, steps[i].num);
		else
			rnic_full_end(&full);
	}
}
