/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A poster lets the completion thread of its peer have the CPU. */
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

static void yield_was_long(struct rnic_yield *yield)
{
	uint32_t skip = yield_get(&yield->skip_next);

	if (skip < YIELD_SKIP_MIN)
		skip = YIELD_SKIP_MIN;
	yield_set(&yield->skip_cnt, skip);
	yield_set(&yield->skip_next,
		  skip < YIELD_SKIP_MAX ? 2 * skip : YIELD_SKIP_MAX);
}

bool rnic_yield_may(struct rnic_yield *yield)
{
	uint32_t skip = yield_get(&yield->skip_cnt);

	if (skip)
		yield_set(&yield->skip_cnt, skip - 1);
	return !skip;
}

void rnic_yield_done(struct rnic_yield *yield, bool was_long)
{
	if (was_long)
		yield_was_long(yield);
	else
		yield_set(&yield->skip_next, yield_get(&yield->skip_next) / 2);
}

void rnic_yield(struct rnic_yield *yield)
{
	uint64_t begin_ns = rnic_now_ns();

	sched_yield();
	rnic_yield_done(yield, rnic_now_ns() - begin_ns >= YIELD_LONG_NS);
}
