/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Whether a CPU is idle, for a thread that could use it. */
#ifndef RNIC_CPUS_H
#define RNIC_CPUS_H

#include <stdbool.h>
#include <stdint.h>

/* What one thread knows about it.  No locking. */
struct rnic_cpus {
	int fd;		  /* /proc/loadavg; -1: it cannot be read */
	uint32_t max;	  /* threads that can run at a time, here */
	uint64_t next_ns; /* the next look */
	bool has_idle;
};

/*
 * @max: the CPUs that the calling thread may use.  Where its cgroup has a
 * quota, an idle CPU is not free of charge: it has none then.
 */
void rnic_cpus_init(struct rnic_cpus *cpus, uint32_t max);
void rnic_cpus_fini(struct rnic_cpus *cpus);

/*
 * Is one of them idle while the calling thread runs on another?  The answer is
 * up to a millisecond old, and up to ten if it is no.  The threads of the whole
 * machine count, as /proc/loadavg counts them, so a machine with more CPUs than
 * the thread may use says no sooner.
 */
bool rnic_cpus_have_idle(struct rnic_cpus *cpus, uint64_t now_ns);

/* Does that say anything?  Not where it cannot be read, or is not free. */
static inline bool rnic_cpus_are_known(const struct rnic_cpus *cpus)
{
	return cpus->fd >= 0;
}

/* Threads that run or want to, from the text of /proc/loadavg.  Return: -1:
 * it is another text. */
long rnic_cpus_parse_running(const char *text);

/* Does the text of cpu.max (cgroup v2) or cpu.cfs_quota_us (v1) set a limit? */
bool rnic_cpus_parse_is_limited(const char *text);

#endif
