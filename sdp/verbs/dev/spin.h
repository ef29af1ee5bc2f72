/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * How long a thread polls before it sleeps. The time adapts to earlier results.
 *
 * Polling pays off if the peer runs on another processor: the answer arrives
 * sooner than a sleeping thread wakes. It does harm if the peer waits for the
 * processor that polls. The time grows when an answer came soon after the
 * thread went to sleep. It shrinks when polling was in vain. If polling for the
 * longest time was in vain, no thread polls for a while: the rest. Rests that
 * follow each other closely double in length, from REST_NS_MIN to REST_NS_MAX.
 * So one late answer costs little, and a peer on the same processor soon gets
 * that processor.
 *
 * There are no locks and no clock: the caller passes the time, in nanoseconds
 * of CLOCK_MONOTONIC. Threads may use a budget concurrently. An update that is
 * lost is learnt again.
 */
#ifndef SDP_SPIN_H
#define SDP_SPIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "verbs/sdp-link.h"

#define SDP_SPIN_NS_MAX 50000u
#define SDP_SPIN_REST_NS_MIN 400000u
#define SDP_SPIN_REST_NS_MAX 50000000u
/* Maximum time between two polls of a thread that was not interrupted. */
#define SDP_SPIN_NS_GAP 300000u

struct sdp_budget {
	uint32_t ns_max;	  /* 0: never poll, there is one processor */
	_Atomic uint32_t ns;	  /* polling time of the next thread; 0: none */
	_Atomic uint32_t rest_ns; /* length of the last rest */
	_Atomic uint64_t rest_end; /* the time does not grow before this */
};

/* @cpu_cnt: processors of the machine. Even a process bound to one processor
 *   may have its peer on another. */
void sdp_budget_init(struct sdp_budget *budget, int cpu_cnt);

static inline bool sdp_budget_spins(const struct sdp_budget *budget)
{
	return atomic_load_explicit(&budget->ns, memory_order_relaxed) > 0;
}

void sdp_budget_begin(struct sdp_spin *spin, uint64_t now);

/* Called after a poll without result. Return: whether to poll again. */
bool sdp_budget_goes_on(struct sdp_budget *budget, struct sdp_spin *spin,
			uint64_t now);

/* What the thread waited for came @slept_ns after it went to sleep. */
void sdp_budget_slept(struct sdp_budget *budget, uint64_t slept_ns,
		      uint64_t now);

#endif
