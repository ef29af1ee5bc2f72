/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See child.h. */
#define _GNU_SOURCE
#include "doctor/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* More is a program that prints without end. */
#define READ_MAX ((size_t)4 << 20)
#define READ_STEP 65536

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Return: the number of octets; 0: the end; -1: the deadline has passed. */
static ssize_t some_read(int fd, char *to, size_t size, long deadline_ms)
{
	struct pollfd look = { .fd = fd, .events = POLLIN };

	for (;;) {
		long left_ms = deadline_ms - now_ms();
		ssize_t len;

		if (left_ms <= 0 || poll(&look, 1, (int)left_ms) == 0)
			return -1;
		len = read(fd, to, size);
		if (len >= 0)
			return len;
		if (errno != EINTR)
			return 0;
	}
}

/* Return: false: it does not end. */
static bool all_read(struct child *child, int fd, int limit_ms)
{
	long deadline_ms = now_ms() + limit_ms;
	size_t len = 0, size = 0;
	ssize_t cnt;
	char *more;

	for (;;) {
		if (size - len < 2) {
			size += READ_STEP;
			more = realloc(child->octets, size);
			if (!more)
				child->err = ENOMEM;
			if (!more || size > READ_MAX)
				return false;
			child->octets = more;
		}
		cnt = some_read(fd, child->octets + len, size - len - 1,
				deadline_ms);
		if (cnt > 0)
			len += (size_t)cnt;
		child->octets[len] = '\0';
		if (cnt <= 0)
			return cnt == 0;
	}
}

static void child_end(struct child *child, pid_t pid, bool is_end)
{
	pid_t ended;
	int status;

	child->is_hung = !is_end;
	if (!is_end)
		kill(pid, SIGKILL);
	do {
		ended = waitpid(pid, &status, 0);
	} while (ended < 0 && errno == EINTR);
	if (ended != pid)
		return;
	if (WIFSIGNALED(status))
		child->signal = WTERMSIG(status);
	else
		child->code = WEXITSTATUS(status);
}

void child_run(struct child *ret_child, int (*body)(const void *arg),
	       const void *arg, int limit_ms)
{
	int fds[2];
	pid_t pid;

	memset(ret_child, 0, sizeof(*ret_child));
	if (pipe2(fds, O_CLOEXEC) < 0) {
		ret_child->err = errno;
		return;
	}
	pid = fork();
	if (pid == 0) {
		if (dup2(fds[1], STDOUT_FILENO) < 0 ||
		    dup2(fds[1], STDERR_FILENO) < 0)
			_exit(1);
		_exit(body(arg));
	}
	ret_child->err = pid < 0 ? errno : 0;
	close(fds[1]);
	if (pid > 0)
		child_end(ret_child, pid,
			  all_read(ret_child, fds[0], limit_ms));
	close(fds[0]);
}
