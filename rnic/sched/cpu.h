/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Is a CPU idle for the threads of this process?
 *
 * The system tells how often one of them has had to give its CPU to another
 * thread.  If that was seldom, a CPU is idle.  Only what the own threads have
 * seen counts: CPUs that the process may not use, and threads that do not
 * disturb it, do not.
 *
 * Of the completion thread, which keeps it.  Zero at first, except is_limited.
 */
#ifndef RNIC_SCHED_CPU_H
#define RNIC_SCHED_CPU_H

#include <stdbool.h>
#include <stdint.h>

struct rnic_cpu {
	bool is_limited;    /* to one CPU, or by a quota: none is idle */
	bool has_idle;	    /* what the last look has found */
	uint64_t looked_ns; /* the last look; 0: none yet */
	uint64_t lost_cnt;  /* CPUs lost until then */
};

/* Is a new look due, for rnic_cpu_note()?  It takes a system call. */
bool rnic_cpu_is_due(const struct rnic_cpu *cpu, uint64_t now_ns);

/* The threads of the process have lost their CPU so often since it began.
 * Return: whether one has since the last look. */
bool rnic_cpu_note(struct rnic_cpu *cpu, uint64_t now_ns, uint64_t lost_cnt);

#endif
