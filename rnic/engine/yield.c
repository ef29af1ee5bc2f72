/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How often the CPU may be given up. */
#include "yield.h"

#include <sched.h>

#include "util/clock.h"

/* A completion thread returns the CPU sooner.  A thread that computes keeps it
 * for a time slice, which is longer. */
#define YIELD_LONG_NS (1 * NS_PER_MS)
/* How long a poster waits for the peer's completion thread: that takes less if
 * it runs at all. */
#define YIELD_UNTIL_NS 15000u
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

static void yield_done(struct rnic_yield_skip *skip, uint64_t ns)
{
	if (ns >= YIELD_LONG_NS)
		yield_was_long(skip);
	else
		yield_set(&skip->next, yield_get(&skip->next) / 2);
}

void rnic_yield(struct rnic_yield_skip *skip)
{
	uint64_t begin_ns = util_now_ns();

	sched_yield();
	yield_done(skip, util_now_ns() - begin_ns);
}

bool rnic_yield_until(struct rnic_yield_skip *skip,
		      const struct rnic_handover *handover)
{
	uint64_t begin_ns, ns;

	if (rnic_handover_is_over(handover))
		return false;
	begin_ns = util_now_ns();
	do {
		sched_yield();
		ns = util_now_ns() - begin_ns;
	} while (ns < YIELD_UNTIL_NS && !rnic_handover_is_over(handover));
	yield_done(skip, ns);
	return true;
}
