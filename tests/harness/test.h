/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cmocka with the headers that it needs, cases that register themselves, and
 * further assertions.
 */
#ifndef TEST_TEST_H
#define TEST_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "case.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof(*(a)))

/* Fails with the name of the table row. */
#define assert_row(name, cond)                                                 \
	do {                                                                   \
		if (!(cond))                                                   \
			fail_msg("%s: %s does not hold", (name), #cond);       \
	} while (0)

/* Skips the case. scripts/count-tests prints the reason. */
#define skip_because(reason)                                                   \
	do {                                                                   \
		print_message("skipped: %s\n", (reason));                      \
		skip();                                                        \
	} while (0)

#endif
