/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Cases with a directory for counters. Each case runs in its own process,
 * because settings are read once.
 */
#ifndef TEST_STATDIR_H
#define TEST_STATDIR_H

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"

static char dir[64];

static int setup(void **state)
{
	strcpy(dir, "/tmp/usiw-stat-test.XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	struct dirent *entry;
	DIR *d = opendir(dir);

	while (d && (entry = readdir(d)))
		unlinkat(dirfd(d), entry->d_name, 0);
	if (d)
		closedir(d);
	return rmdir(dir);
}

/* Return: the result of @check in a child with this USIW_STAT_DIR, or without
 *   it. */
static inline int run(int (*check)(void), const char *stat_dir)
{
	if (stat_dir)
		setenv("USIW_STAT_DIR", stat_dir, 1);
	else
		unsetenv("USIW_STAT_DIR");
	return in_child(check);
}

#endif
