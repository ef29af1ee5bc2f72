/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Runs a part of a test in a child process: settings are parsed once per
 * process, and a lock error aborts it. */
#ifndef CHILD_H
#define CHILD_H

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Runs @fn in a child; @ret_err gets what it wrote to stderr. Return: its exit
 * code, or minus the signal that ended it.
 */
static inline int child_run(int (*fn)(void *arg), void *arg, char *ret_err,
			    size_t err_size)
{
	const struct rlimit no_core = { 0, 0 };
	size_t len = 0;
	ssize_t got;
	int pipe_fd[2], status;
	pid_t pid;

	if (pipe(pipe_fd) < 0)
		abort();
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGABRT, SIG_DFL);
		dup2(pipe_fd[1], STDERR_FILENO);
		close(pipe_fd[0]);
		close(pipe_fd[1]);
		_exit(fn(arg));
	}
	close(pipe_fd[1]);
	while (len + 1 < err_size &&
	       (got = read(pipe_fd[0], ret_err + len, err_size - 1 - len)) > 0)
		len += (size_t)got;
	ret_err[len] = '\0';
	close(pipe_fd[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

#endif
