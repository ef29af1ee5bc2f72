/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A poster gives its CPU to the thread that reads what it has written.
 *
 * Where no CPU is idle, the peer's completion thread is woken on the CPU of the
 * poster, or waits there already.  sched/answer.h says why the scheduler may
 * let it wait until the next clock tick.  The memory that both ends share tells
 * the poster whether it has run.
 */
#ifndef RNIC_LOCAL_HANDOVER_H
#define RNIC_LOCAL_HANDOVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What a poster has written, and by what it learns that the peer has read it.
 * The peer may write anything there at any time. */
struct rnic_handover {
	const _Atomic uint64_t *read; /* octets that the peer has read ... */
	uint64_t written;	      /* ... of so many; both run freely */
	bool was_asleep;	      /* the peer has been woken for them */
};

/* Have they been read? */
static inline bool rnic_handover_is_over(const struct rnic_handover *handover)
{
	/* relaxed: only the index is looked at */
	return (int64_t)(atomic_load_explicit(handover->read,
					      memory_order_relaxed) -
			 handover->written) >= 0;
}

#endif
