/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Waiting for a state that no descriptor reports.  This is the only place
 * where a unit test sleeps between two checks, so that the processor is free
 * for what it waits for.
 */
#ifndef TEST_UNTIL_H
#define TEST_UNTIL_H

#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "must.h"

/* Longer than anything may take, also under a sanitizer: only a hang reaches
 * it. */
#define UNTIL_LIMIT_MS 20000

static inline uint64_t until_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Checks @cond again and again until it holds, and aborts at the limit. */
#define wait_until(cond)                                                       \
	do {                                                                   \
		uint64_t end_ms_ = until_ms() + UNTIL_LIMIT_MS;                \
		while (!(cond)) {                                              \
			if (until_ms() >= end_ms_)                             \
				must(!"waited in vain for " #cond);            \
			usleep(100);                                           \
		}                                                              \
	} while (0)

#endif
