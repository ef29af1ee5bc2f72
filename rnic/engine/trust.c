/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See trust.h. */
#include "trust.h"

#include "util/clock.h"

/*
 * A parked thread looks after the poller at growing intervals: a thread that
 * has polled for a while is trusted for as long again.  Each look costs the
 * poller some 10 us where cores are few, so looking every 50 us would double
 * its latency.  A poller that pauses, to compute, might do so again: what comes
 * in the pause waits for the next look.
 */
#define TRUST_PARK_MIN_NS 50000ull
#define TRUST_PARK_MAX_NS (1 * NS_PER_MS)
#define TRUST_PARK_STEADY_NS (8 * NS_PER_MS)
/* A steady poller is trusted for this part of the time that it has polled. */
#define TRUST_STEADY_RATIO 8
/* Data waited unread behind a parked thread: no parking for a while, longer
 * each time that it happens again. */
#define TRUST_LOST_MIN_NS (1 * NS_PER_MS)
#define TRUST_LOST_MAX_NS (128 * NS_PER_MS)

uint64_t rnic_trust_park_ns(uint64_t last_ns, uint64_t run_ns)
{
	uint64_t next_ns = last_ns ? 2 * last_ns : TRUST_PARK_MIN_NS;
	uint64_t max_ns = run_ns / TRUST_STEADY_RATIO;

	if (max_ns < TRUST_PARK_MAX_NS)
		max_ns = TRUST_PARK_MAX_NS;
	else if (max_ns > TRUST_PARK_STEADY_NS)
		max_ns = TRUST_PARK_STEADY_NS;
	return next_ns < max_ns ? next_ns : max_ns;
}

void rnic_trust_note_unread(struct rnic_trust *trust, uint64_t now_ns,
			    bool comes_back)
{
	if (trust->was_served || comes_back)
		return;
	if (now_ns > trust->distrust_until_ns + 2 * trust->distrust_ns)
		trust->distrust_ns = TRUST_LOST_MIN_NS;
	else if (trust->distrust_ns < TRUST_LOST_MAX_NS)
		trust->distrust_ns *= 2;
	trust->distrust_until_ns = now_ns + trust->distrust_ns;
}

void rnic_trust_note_posts(struct rnic_trust *trust, uint64_t now_ns)
{
	trust->distrust_until_ns = now_ns + TRUST_LOST_MIN_NS;
}
