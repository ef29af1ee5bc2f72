/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * An assertion for a harness, and for tests without cmocka: it aborts.
 */
#ifndef TEST_MUST_H
#define TEST_MUST_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define must(cond)                                                             \
	do {                                                                   \
		if (!(cond)) {                                                 \
			fprintf(stderr, "%s:%d: %s: %s does not hold (%s)\n",  \
				__FILE__, __LINE__, __func__, #cond,           \
				strerror(errno));                              \
			abort();                                               \
		}                                                              \
	} while (0)

#endif
