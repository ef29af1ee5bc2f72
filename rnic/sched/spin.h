/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whether the completion thread looks for more octets before it sleeps: a
 * thread that sleeps takes longer to wake up than most answers take to come.
 * It does so if a CPU is idle.
 */
#ifndef RNIC_SCHED_SPIN_H
#define RNIC_SCHED_SPIN_H

#include <stdbool.h>
#include <stdint.h>

/* Of the completion thread; zero at first. */
struct rnic_spin {
	uint32_t skip_cnt;   /* it does not spin so many times */
	uint32_t gap;	     /* ... after the last time that was in vain */
	uint32_t arrival_no; /* of the octets that it has served */
};

/* It has served octets, or nothing.  Return: whether it spins now. */
bool rnic_spin_is_due(struct rnic_spin *spin, uint32_t arrival_no,
		      bool has_idle_cpu);

/* It has spun.  @found: octets. */
void rnic_spin_note(struct rnic_spin *spin, bool found);

#endif
