/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See cpu.h. */
#include "cpu.h"

#include "util/clock.h"

/* A look takes a system call. */
#define CPU_LOOK_NS (1 * NS_PER_MS)
/* So many losses in each ms mean that no CPU is idle.  Threads that only check
 * something, as a parked completion thread does, cause fewer. */
#define CPU_LOSSES 4u

bool rnic_cpu_is_due(const struct rnic_cpu *cpu, uint64_t now_ns)
{
	return now_ns >= cpu->looked_ns + CPU_LOOK_NS;
}

bool rnic_cpu_note(struct rnic_cpu *cpu, uint64_t now_ns, uint64_t lost_cnt)
{
	/* The first look does not know since when. */
	bool is_first = !cpu->looked_ns;
	uint64_t cnt = is_first ? 0 : lost_cnt - cpu->lost_cnt;

	cpu->has_idle = !is_first && !cpu->is_limited &&
			cnt * NS_PER_MS <
				CPU_LOSSES * (now_ns - cpu->looked_ns);
	cpu->lost_cnt = lost_cnt;
	cpu->looked_ns = now_ns;
	return cnt;
}
