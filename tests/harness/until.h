/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Waits for a state that no descriptor reports. This is the only place where a
 * unit test sleeps between two checks, so that other threads get the processor.
 */
#ifndef TEST_UNTIL_H
#define TEST_UNTIL_H

#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "must.h"

/* Longer than any operation takes, also under a sanitizer: only a hang reaches
 * it. */
#define UNTIL_LIMIT_MS 20000

static inline uint64_t until_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Checks @cond repeatedly until it holds; aborts at the limit. */
#define wait_until(cond)                                                              \
	do {                                                                          \
		uint64_t end_ms_ = until_ms() + UNTIL_LIMIT_MS;                       \
		while (!(cond)) {                                                     \
			if (until_ms() >= end_ms_)                                    \
				must(!"time limit reached while waiting for " #cond); \
			usleep(100);                                                  \
		}                                                                     \
	} while (0)

#endif
