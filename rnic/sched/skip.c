/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See skip.h. */
#include "skip.h"

#include "util/clock.h"

/* A completion thread returns the CPU sooner.  A thread that computes keeps it
 * for a time slice, which is longer. */
#define SKIP_LATE_NS (1 * NS_PER_MS)
#define SKIP_MIN 64u
#define SKIP_MAX 65536u

/* relaxed: hints */
static uint32_t skip_get(const _Atomic uint32_t *cnt)
{
	return atomic_load_explicit(cnt, memory_order_relaxed);
}

static void skip_set(_Atomic uint32_t *cnt, uint32_t value)
{
	atomic_store_explicit(cnt, value, memory_order_relaxed);
}

bool rnic_skip_may(struct rnic_skip *skip)
{
	uint32_t cnt = skip_get(&skip->cnt);

	if (cnt)
		skip_set(&skip->cnt, cnt - 1);
	return !cnt;
}

void rnic_skip_note(struct rnic_skip *skip, uint64_t away_ns)
{
	uint32_t next = skip_get(&skip->next);

	if (away_ns < SKIP_LATE_NS) {
		skip_set(&skip->next, next / 2);
		return;
	}
	if (next < SKIP_MIN)
		next = SKIP_MIN;
	skip_set(&skip->cnt, next);
	skip_set(&skip->next, next < SKIP_MAX ? 2 * next : SKIP_MAX);
}
