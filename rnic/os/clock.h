/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The time, in nanoseconds of one of the system's clocks.
 */
#ifndef USIW_RNIC_CLOCK_H
#define USIW_RNIC_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_MS UINT64_C(1000000)

static inline uint64_t rnic_clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The clock of all deadlines: it does not jump. */
static inline uint64_t rnic_now_ns(void)
{
	return rnic_clock_ns(CLOCK_MONOTONIC);
}

#endif
