/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Octets in the form that test tables use.
 */
#ifndef TEST_HEX_H
#define TEST_HEX_H

#include <ctype.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Converts hex to octets and returns their number. White space is skipped. */
static inline size_t test_unhex(const char *hex, uint8_t *out, size_t size)
{
	size_t n = 0;

	for (; *hex; hex++) {
		unsigned int v;

		if (isspace((unsigned char)*hex))
			continue;
		if (n >= size || sscanf(hex, "%2x", &v) != 1)
			abort();
		out[n++] = (uint8_t)v;
		hex++;
	}
	return n;
}

#endif
