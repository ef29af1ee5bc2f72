/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * For test programs that run under the preload library with the fake RNIC
 * library of fake_rnic.c. They execute themselves again with LD_PRELOAD.
 */
#ifndef PRELOADED_H
#define PRELOADED_H

#include "../harness/child.h"
#include "../harness/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#define IBDEV "/sys/class/infiniband/usiw_lo"
#define IBDOWN "/sys/class/infiniband/usiw_down0"
#define UVERBS "/dev/infiniband/uverbs1000"
#define UCM "/dev/infiniband/rdma_cm"

/* Call it first in main(). */
static inline void run_under_preload(char **argv)
{
	const char *now = getenv("LD_PRELOAD");

	if (now && strcmp(now, KABI_TEST_PRELOAD) == 0)
		return;
	setenv("LD_PRELOAD", KABI_TEST_PRELOAD, 1);
	setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0", 0);
	unsetenv("USIW_DEVICES");
	execv("/proc/self/exe", argv);
	perror("execv");
	exit(1);
}

/* Whether the RNIC library is loaded in this process. */
static inline bool is_touched(void)
{
	char line[512];
	bool is_there = false;
	FILE *maps = fopen("/proc/self/maps", "re");

	while (maps && fgets(line, sizeof(line), maps))
		is_there |= strstr(line, "libusiw-rnic") != NULL;
	if (maps)
		fclose(maps);
	return is_there;
}

#endif
