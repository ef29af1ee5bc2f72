/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * For a test that sets the time: linked with --wrap=clock_gettime.
 * Include it in one source file.
 */
#ifndef TEST_WRAP_CLOCK_H
#define TEST_WRAP_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

static _Atomic uint64_t fake_now_ns; /* 0: the real time */

int __real_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	uint64_t now_ns = fake_now_ns;

	if (!now_ns)
		return __real_clock_gettime(id, ts);
	ts->tv_sec = (time_t)(now_ns / 1000000000);
	ts->tv_nsec = (long)(now_ns % 1000000000);
	return 0;
}

#endif
