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
#include <unistd.h>

#include "util/clock.h"

/* More is a program that prints without end. */
#define READ_MAX ((size_t)4 << 20)
#define READ_STEP 65536

/* Return: the number of octets; 0: the end; -1: the deadline has passed. */
static ssize_t some_read(int fd, char *to, size_t size, uint64_t deadline_ns)
{
	struct pollfd look = { .fd = fd, .events = POLLIN };

	for (;;) {
		uint64_t now = util_now_ns();
		ssize_t len;

		if (now >= deadline_ns ||
		    poll(&look, 1, (int)((deadline_ns - now) / NS_PER_MS)) == 0)
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
	uint64_t deadline_ns = util_now_ns() + (uint64_t)limit_ms * NS_PER_MS;
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
				deadline_ns);
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
