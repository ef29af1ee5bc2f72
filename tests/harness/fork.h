/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fork() in a process with threads, also under AddressSanitizer.
 */
#ifndef TEST_FORK_H
#define TEST_FORK_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "until.h"

/* Whether every thread but the calling one sleeps in a system call. */
static inline bool threads_sleep(void)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *entry;
	long self = syscall(SYS_gettid);
	bool all_sleep = true;

	must(dir != NULL);
	while ((entry = readdir(dir)) && all_sleep) {
		char path[280], line[512] = "";
		const char *name_end;
		FILE *file;

		if (entry->d_name[0] == '.' || atol(entry->d_name) == self)
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/stat",
			 entry->d_name);
		file = fopen(path, "r");
		if (!file) /* the thread has ended */
			continue;
		name_end = fgets(line, sizeof(line), file) ? strrchr(line, ')')
							   : NULL;
		fclose(file);
		all_sleep = !name_end || strncmp(name_end, ") S", 3) == 0;
	}
	closedir(dir);
	return all_sleep;
}

/*
 * fork().  The child may allocate memory: libc locks its allocator around a
 * fork.  AddressSanitizer before GCC 14 does not, and the child waits for ever
 * for a lock that another thread had.  Under ASan this waits until the other
 * threads sleep, as they do when they have nothing to do.
 */
static inline pid_t fork_beside_threads(void)
{
#ifdef __SANITIZE_ADDRESS__
	wait_until(threads_sleep());
#endif
	return fork();
}

#endif
