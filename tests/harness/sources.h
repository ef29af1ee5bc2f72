/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The sources that an engine has. */
#ifndef TEST_SOURCES_H
#define TEST_SOURCES_H

#include "engine/object.h"

/* Under the lead. */
static inline uint32_t sources_cnt(const struct rnic_engine *of)
{
	const struct rnic_source *source;
	uint32_t cnt = 0;

	LIST_FOREACH(source, &of->slots.list, link)
	cnt++;
	return cnt;
}

#endif
