/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Memory for objects that threads write to often. */
#ifndef UTIL_ALLOC_H
#define UTIL_ALLOC_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define UTIL_CACHE_LINE 64u

/* As calloc(), and no other object is in the cache lines of the array.  Writes
 * to all of it: not for long arrays that may stay unused.  Freed by free(). */
static inline void *util_alloc_lines(size_t cnt, size_t size)
{
	size_t whole;
	void *mem;

	if (__builtin_mul_overflow(cnt, size, &whole) ||
	    whole > SIZE_MAX - UTIL_CACHE_LINE)
		return NULL;
	whole = (whole + UTIL_CACHE_LINE - 1) / UTIL_CACHE_LINE *
		UTIL_CACHE_LINE;
	mem = aligned_alloc(UTIL_CACHE_LINE, whole);
	if (mem)
		memset(mem, 0, whole);
	return mem;
}

#endif
