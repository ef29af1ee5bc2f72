/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * How long a thread polls before it sleeps, learnt from what became of it.
 *
 * Polling pays where the peer runs on another processor: the answer comes
 * sooner than a sleeping thread wakes.  It harms where the peer waits for the
 * very processor that polls.  The time grows when an answer came soon after the
 * thread went to sleep, and shrinks when polling was in vain.  When the longest
 * time was in vain, no thread polls for a while, the rest; rests that follow
 * each other closely double, from REST_NS_MIN to REST_NS_MAX.  So one late
 * answer costs little, and a peer on the same processor is soon left alone.
 *
 * No locks and no clock: the caller says what time it is, in nanoseconds of
 * CLOCK_MONOTONIC.  Threads may use a budget at once; what they lose of each
 * other's changes is learnt again.
 */
#ifndef SDP_SPIN_H
#define SDP_SPIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sdp-link.h"

#define SDP_SPIN_NS_MAX 50000u
#define SDP_SPIN_REST_NS_MIN 400000u
#define SDP_SPIN_REST_NS_MAX 50000000u
/* Between two looks of a thread that has not been interrupted. */
#define SDP_SPIN_NS_GAP 300000u

struct sdp_budget {
	uint32_t ns_max;	   /* 0: with one processor no thread polls */
	_Atomic uint32_t ns;	   /* how long the next thread polls; 0: not */
	_Atomic uint32_t rest_ns;  /* the last rest */
	_Atomic uint64_t rest_end; /* the time does not grow before */
};

/* @cpu_cnt: the machine's processors.  A process that may run on one of them
 * only may have its peer on another. */
void sdp_budget_init(struct sdp_budget *budget, int cpu_cnt);

static inline bool sdp_budget_spins(const struct sdp_budget *budget)
{
	return atomic_load_explicit(&budget->ns, memory_order_relaxed) > 0;
}

void sdp_budget_begin(struct sdp_spin *spin, uint64_t now);

/* After a look in vain.  Return: whether another one is worth it. */
bool sdp_budget_goes_on(struct sdp_budget *budget, struct sdp_spin *spin,
			uint64_t now);

/* What the thread waited for came @slept_ns after it had gone to sleep. */
void sdp_budget_slept(struct sdp_budget *budget, uint64_t slept_ns,
		      uint64_t now);

#endif
