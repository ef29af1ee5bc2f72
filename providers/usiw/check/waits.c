/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See waits.h.  The kernel tells in /proc/self/task/TID/syscall which call a
 * thread is in. */
#define _GNU_SOURCE
#include "waits.h"

#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cancel.h"
#include "hash.h"

#define POLL_FDS_MAX 1024

struct call {
	long nr;
	unsigned long args[6];
};

/* Return: false: the thread is in no call, or has ended. */
static bool call_read(const char *tid, struct call *call)
{
	unsigned long *arg = call->args;
	char path[64];
	FILE *file;
	int cnt;

	snprintf(path, sizeof(path), "/proc/self/task/%.20s/syscall", tid);
	file = fopen(path, "re");
	if (!file)
		return false;
	cnt = fscanf(file, "%ld %lx %lx %lx %lx %lx %lx", &call->nr, &arg[0],
		     &arg[1], &arg[2], &arg[3], &arg[4], &arg[5]);
	fclose(file);
	return cnt == 7;
}

static bool poll_has(unsigned long fds, unsigned long cnt, int fd)
{
	struct pollfd one;

	for (unsigned long i = 0; i < cnt && i < POLL_FDS_MAX; i++) {
		if (usiw_check_copy_memory(fds + i * sizeof(one), &one,
					   sizeof(one)))
			return false;
		if (one.fd == fd && one.events & POLLIN)
			return true;
	}
	return false;
}

static bool select_has(unsigned long cnt, unsigned long set, int fd)
{
	unsigned long word;
	size_t bits = 8 * sizeof(word);
	unsigned long at = set + (unsigned long)fd / bits * sizeof(word);

	return set && (unsigned long)fd < cnt &&
	       !usiw_check_copy_memory(at, &word, sizeof(word)) &&
	       word >> (unsigned long)fd % bits & 1;
}

static bool epoll_has(unsigned long epfd, int fd)
{
	char path[64], line[128];
	bool is_there = false;
	FILE *file;
	int one;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", (int)epfd);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!is_there && fgets(line, sizeof(line), file))
		is_there = sscanf(line, "tfd: %d", &one) == 1 && one == fd;
	fclose(file);
	return is_there;
}

/* Does the call wait for @fd, for ever? */
static bool call_waits(const struct call *call, int fd)
{
	const unsigned long *arg = call->args;

	switch (call->nr) {
#ifdef SYS_poll
	case SYS_poll:
		return (int)arg[2] < 0 && poll_has(arg[0], arg[1], fd);
#endif
	case SYS_ppoll:
		return !arg[2] && poll_has(arg[0], arg[1], fd);
#ifdef SYS_select
	case SYS_select:
#endif
	case SYS_pselect6:
		return !arg[4] && select_has(arg[0], arg[1], fd);
#ifdef SYS_epoll_wait
	case SYS_epoll_wait:
#endif
	case SYS_epoll_pwait:
		return (int)arg[3] < 0 && epoll_has(arg[0], fd);
#ifdef SYS_epoll_pwait2
	case SYS_epoll_pwait2:
		return !arg[3] && epoll_has(arg[0], fd);
#endif
	default:
		return false;
	}
}

static bool thread_waits(const char *tid, int fd)
{
	struct call call;

	return *tid != '.' && call_read(tid, &call) && call_waits(&call, fd);
}

/* readdir() would be a cancellation point. */
struct entry {
	uint64_t ino, off;
	uint16_t len;
	uint8_t type;
	char name[];
};

bool usiw_check_is_waited_for(int fd)
{
	int dir = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/task",
			       O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_Alignas(struct entry) char buf[4096];
	bool is_found = false;
	long len = 0, at;

	while (dir >= 0 && !is_found &&
	       (len = syscall(SYS_getdents64, dir, buf, sizeof(buf))) > 0)
		for (at = 0; at < len && !is_found;
		     at += ((struct entry *)&buf[at])->len)
			is_found = thread_waits(
				((struct entry *)&buf[at])->name, fd);
	if (dir >= 0)
		(void)util_sys_close(dir);
	return is_found;
}
