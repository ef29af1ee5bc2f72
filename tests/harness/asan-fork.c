/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fork() in a process with threads, under AddressSanitizer: linked to every
 * program of the tests then.
 *
 * The child of such a process may allocate memory: libc locks its allocator
 * around a fork. AddressSanitizer before GCC 14 does not, and the child waits
 * for ever for a lock that another thread had. So a fork waits here until the
 * other threads sleep, as they do when they have nothing to do. If one goes on
 * for longer than the limit, the fork takes place all the same.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "until.h"

#define BUSY_LIMIT_MS 500

/* Whether every thread but the calling one sleeps in a system call. */
static bool threads_sleep(void)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *entry;
	long self = syscall(SYS_gettid);
	bool all_sleep = true;

	if (!dir)
		return true; /* no descriptor is left, or there is no /proc */
	while (all_sleep && (entry = readdir(dir))) {
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

static void before_fork(void)
{
	uint64_t end_ms = until_ms() + BUSY_LIMIT_MS;

	while (!threads_sleep() && until_ms() < end_ms)
		usleep(100);
}

__attribute__((constructor)) static void asan_fork_start(void)
{
	must(!pthread_atfork(before_fork, NULL, NULL));
}
