/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The time, in nanoseconds of one of the system's clocks. */
#ifndef UTIL_CLOCK_H
#define UTIL_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_US UINT64_C(1000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

static inline uint64_t util_timespec_ns(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * NS_PER_S + (uint64_t)ts->tv_nsec;
}

static inline struct timespec util_timespec(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / NS_PER_S),
				  .tv_nsec = (long)(ns % NS_PER_S) };
}

static inline uint64_t util_clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return util_timespec_ns(&ts);
}

/* The clock of all deadlines: it does not jump. */
static inline uint64_t util_now_ns(void)
{
	return util_clock_ns(CLOCK_MONOTONIC);
}

/* Of two deadlines; 0: none. */
static inline uint64_t util_earlier_ns(uint64_t a_ns, uint64_t b_ns)
{
	if (!a_ns || !b_ns)
		return a_ns ? a_ns : b_ns;
	return a_ns < b_ns ? a_ns : b_ns;
}

#endif
