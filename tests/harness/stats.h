/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What this process has counted in its page, all parts together. */
#ifndef TEST_STATS_H
#define TEST_STATS_H

#include <stdatomic.h>

#include "os/stat.h"

/* Before a context is open there is no page. */
static inline uint64_t test_stat(enum rnic_stat stat)
{
	struct usiw_stat_page *page = &rnic_stat_memory.page;
	uint64_t sum = atomic_load(&page->stat[stat].value);

	for (uint32_t i = 0; i < USIW_STAT_PARTS; i++)
		sum += atomic_load(&page->part[i].value[stat]);
	return sum;
}

#endif
