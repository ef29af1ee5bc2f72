/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How often the CPU may be given up. */
#include "yield.h"

#include <sched.h>

#include "os/clock.h"

/* A completion thread returns the CPU sooner.  A thread that computes keeps it
 * for a time slice, which is longer. */
#define YIELD_LONG_NS (1 * NS_PER_MS)
#define YIELD_SKIP_MIN 64u
#define YIELD_SKIP_MAX 65536u

/* relaxed: hints */
static uint32_t yield_get(const _Atomic uint32_t *cnt)
{
	return atomic_load_explicit(cnt, memory_order_relaxed);
}

static void yield_set(_Atomic uint32_t *cnt, uint32_t value)
{
	atomic_store_explicit(cnt, value, memory_order_relaxed);
}

static void yield_was_long(struct rnic_yield_skip *skip)
{
	uint32_t cnt = yield_get(&skip->next);

	if (cnt < YIELD_SKIP_MIN)
		cnt = YIELD_SKIP_MIN;
	yield_set(&skip->cnt, cnt);
	yield_set(&skip->next, cnt < YIELD_SKIP_MAX ? 2 * cnt : YIELD_SKIP_MAX);
}

bool rnic_yield_may(struct rnic_yield_skip *skip)
{
	uint32_t cnt = yield_get(&skip->cnt);

	if (cnt)
		yield_set(&skip->cnt, cnt - 1);
	return !cnt;
}

void rnic_yield_done(struct rnic_yield_skip *skip, bool was_long)
{
	if (was_long)
		yield_was_long(skip);
	else
		yield_set(&skip->next, yield_get(&skip->next) / 2);
}

void rnic_yield(struct rnic_yield_skip *skip)
{
	uint64_t begin_ns = rnic_now_ns();

	sched_yield();
	rnic_yield_done(skip, rnic_now_ns() - begin_ns >= YIELD_LONG_NS);
}
