/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Memory for objects that threads write to often. */
#ifndef RNIC_ALLOC_H
#define RNIC_ALLOC_H

#include <stdlib.h>
#include <string.h>

#include "../../abi/usiw-abi.h"

/* As calloc(1, size), and no other object is in its cache lines.  Freed by
 * free(). */
static inline void *rnic_alloc_lines(size_t size)
{
	size_t whole = (size + USIW_CACHE_LINE - 1) / USIW_CACHE_LINE *
		       USIW_CACHE_LINE;
	void *mem = aligned_alloc(USIW_CACHE_LINE, whole);

	if (mem)
		memset(mem, 0, whole);
	return mem;
}

#endif
