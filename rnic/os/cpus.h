/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the system tells about the CPUs that the process has. */
#ifndef RNIC_CPUS_H
#define RNIC_CPUS_H

#include <stdbool.h>
#include <stdint.h>

/* Is there a limit to the CPU time of its cgroup?  An idle CPU is not free of
 * charge then. */
bool rnic_cpus_have_quota(void);

/* How often threads of the process have lost their CPU to another thread.  A
 * system call; cancellation does not end it. */
uint64_t rnic_cpus_lost_cnt(void);

/* Does the text of cpu.max (cgroup v2) or cpu.cfs_quota_us (v1) set a limit? */
bool rnic_cpus_parse_is_limited(const char *text);

#endif
