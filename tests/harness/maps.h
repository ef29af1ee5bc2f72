/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The mappings of this process. */
#ifndef TEST_MAPS_H
#define TEST_MAPS_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "must.h"

/* Number of mappings of files whose names contain @name. */
static inline uint32_t maps_cnt(const char *name)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4096];
	uint32_t cnt = 0;

	must(maps);
	while (fgets(line, sizeof(line), maps))
		cnt += strstr(line, name) != NULL;
	fclose(maps);
	return cnt;
}

#endif
