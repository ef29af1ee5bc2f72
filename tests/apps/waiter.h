/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A thread that waits for an event of libibverbs or librdmacm, inside read(2),
 * or inside ppoll(2) while it does the RNIC's work; one at a time. The program
 * defines _GNU_SOURCE.
 */
#ifndef WAITER_H
#define WAITER_H

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "loop.h"

static _Atomic int waiter_tid;

/* Called by the thread before it waits. */
static inline void waiter_begin(void)
{
	atomic_store(&waiter_tid, gettid());
}

static inline bool waiter_is_blocked(void)
{
	int tid = atomic_load(&waiter_tid), fd;
	char path[64], text[64];
	long call;
	ssize_t len = -1;

	if (!tid)
		return false;
	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	fd = open(path, O_RDONLY);
	if (fd >= 0) {
		len = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	NEEDS(len > 0);
	text[len] = '\0';
	call = text[0] == 'r' ? -1 : strtol(text, NULL, 10); /* running */
	return call == SYS_read || call == SYS_ppoll;
}

/* Returns when the thread waits. */
static inline void waiter_start(pthread_t *ret_thread, void *(*main)(void *),
				void *arg)
{
	atomic_store(&waiter_tid, 0);
	NEEDS(!pthread_create(ret_thread, NULL, main, arg));
	while (!waiter_is_blocked())
		poll(NULL, 0, 1);
}

#endif
