/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See park.h. */
#include "park.h"

#include "util/clock.h"

/*
 * A parked thread looks after the poller at growing intervals: a thread that
 * has polled for a while is trusted for as long again.  Each look costs the
 * poller some 10 us where cores are few.
 */
#define PARK_MIN_NS 50000ull
#define PARK_MAX_NS (8 * NS_PER_MS)
/* The poller had gone: no parking for a while, longer each time that it happens
 * again. */
#define PARK_LOST_MIN_NS (1 * NS_PER_MS)
#define PARK_LOST_MAX_NS (128 * NS_PER_MS)

uint64_t rnic_park_ns(uint64_t last_ns)
{
	if (!last_ns)
		return PARK_MIN_NS;
	return 2 * last_ns < PARK_MAX_NS ? 2 * last_ns : PARK_MAX_NS;
}

void rnic_park_note_unread(struct rnic_park *park, uint64_t now_ns)
{
	if (now_ns > park->not_before_ns + 2 * park->lost_ns)
		park->lost_ns = PARK_LOST_MIN_NS;
	else if (park->lost_ns < PARK_LOST_MAX_NS)
		park->lost_ns *= 2;
	park->not_before_ns = now_ns + park->lost_ns;
}
