/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A poster gives its CPU to the thread that reads what it has written.
 *
 * Where no CPU is idle, the peer's completion thread is woken on the CPU of the
 * poster, or waits there already.  engine/yield.h says why the scheduler may
 * let it wait until the next clock tick.  sched_yield() helps only if both
 * threads are in one group of the scheduler (autogroup, cgroup), which two
 * terminals and two containers are not.  A poster that sleeps always helps.
 *
 * The memory that both ends share tells the poster whether it is necessary.  If
 * the octets are not read after some microseconds, it sleeps on a word of that
 * memory, and the peer wakes it when it has served the wake-up.
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
	_Atomic uint32_t *sleeper;    /* 1: a poster sleeps on it */
	bool was_asleep; /* the peer has been woken for them, and wakes */
};

enum rnic_handover_end {
	RNIC_HANDOVER_READ,  /* no system call was necessary */
	RNIC_HANDOVER_SLEPT, /* the poster has slept */
	RNIC_HANDOVER_LATE,  /* ... and they are not read even so */
};

/* Have they been read? */
static inline bool rnic_handover_is_over(const struct rnic_handover *handover)
{
	/* relaxed: only the index is looked at */
	return (int64_t)(atomic_load_explicit(handover->read,
					      memory_order_relaxed) -
			 handover->written) >= 0;
}

/* Waits for that, first without and then with sleep, for a millisecond. */
enum rnic_handover_end rnic_handover(const struct rnic_handover *handover);

/* The reader: does a poster sleep? */
static inline bool rnic_handover_has_sleeper(const _Atomic uint32_t *sleeper)
{
	/* relaxed: the fence behind the reader's index orders this */
	return atomic_load_explicit(sleeper, memory_order_relaxed);
}

/* ... then it goes on. */
void rnic_handover_wake(_Atomic uint32_t *sleeper);

#endif
