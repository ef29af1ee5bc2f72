/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Chances to give up the CPU that are not taken.
 *
 * If a thread that gave up the CPU got it back late, a program that computes
 * had it.  The next chances are not taken then, and twice as many each time
 * that it happens again.
 *
 * All are hints of several threads at once, so races are harmless.
 */
#ifndef RNIC_SCHED_SKIP_H
#define RNIC_SCHED_SKIP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Zero at first. */
struct rnic_skip {
	_Atomic uint32_t cnt;  /* chances that are not taken */
	_Atomic uint32_t next; /* ... after the next long one */
};

/* A chance.  Return: whether it is taken. */
bool rnic_skip_may(struct rnic_skip *skip);

/* The CPU has been away for that time. */
void rnic_skip_note(struct rnic_skip *skip, uint64_t away_ns);

#endif
