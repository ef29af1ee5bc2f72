/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the completion thread has learnt about the threads that poll: whether it
 * may park, because they read what comes, and for how long.
 */
#ifndef RNIC_ENGINE_TRUST_H
#define RNIC_ENGINE_TRUST_H

#include <stdbool.h>
#include <stdint.h>

/* Of the completion thread; zero at first. */
struct rnic_trust {
	bool was_parked;
	bool was_served; /* ... and octets were read meanwhile */
	uint64_t distrust_ns;
	uint64_t distrust_until_ns;
};

static inline bool rnic_trust_may_park(const struct rnic_trust *trust,
				       uint64_t now_ns)
{
	return now_ns >= trust->distrust_until_ns;
}

/*
 * How long the parked thread sleeps before it looks whether the poller still
 * polls, in ns.  @last_ns: how long it has slept the last time; 0: it parks.
 * @run_ns: how long the poller has polled without a pause.
 */
uint64_t rnic_trust_park_ns(uint64_t last_ns, uint64_t run_ns);

/*
 * Octets lay unread when the parked thread came back: the poller had gone, if
 * nobody has read any in the meantime.  If somebody has, it posts now, and
 * reads the others soon.  @comes_back: so does a thread that sleeps on the
 * sockets, as long as it polls at all.  It was busy with what it had got
 * before, and is not disturbed by a thread that reads and completes beside it.
 */
void rnic_trust_note_unread(struct rnic_trust *trust, uint64_t now_ns,
			    bool comes_back);

/* Only posts waited, and the thread ends their burst: a short pause will do. */
void rnic_trust_note_posts(struct rnic_trust *trust, uint64_t now_ns);

#endif
