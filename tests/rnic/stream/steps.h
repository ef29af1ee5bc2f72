/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * For tests that replace the steps of a function by --wrap, and compare the
 * letters that the steps leave. Include it in one source file.
 */
#ifndef STREAM_STEPS_H
#define STREAM_STEPS_H

#include <string.h>

#include "must.h"

static char steps_log[64];

static inline void steps_clear(void)
{
	memset(steps_log, 0, sizeof(steps_log));
}

static inline void step(char letter)
{
	size_t len = strlen(steps_log);

	must(len + 1 < sizeof(steps_log));
	steps_log[len] = letter;
}

#define WRAP(type, function, args)                                             \
	type __wrap_##function args;                                           \
	type __wrap_##function args
#define STEP(function, object, letter)                                         \
	WRAP(void, function, (object * o))                                     \
	{                                                                      \
		step(letter);                                                  \
	}

#endif
