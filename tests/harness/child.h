/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Runs a part of a test in a child process, because it changes or ends the
 * process.
 */
#ifndef TEST_CHILD_H
#define TEST_CHILD_H

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

/* Replaces assertions in a child: on failure the child exits with code 1. */
#define CHECK(cond)                                                            \
	do {                                                                   \
		if (!(cond)) {                                                 \
			fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, \
				__LINE__, #cond);                              \
			return 1;                                              \
		}                                                              \
	} while (0)

/* Return: exit code of @fn in a child, or minus the signal. */
static inline int in_child(int (*fn)(void))
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(fn());
	assert_true(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* @fn must return 0, or 77 where the machine does not allow seccomp filters. */
static inline void assert_in_filtered_child(int (*fn)(void))
{
	int code = in_child(fn);

	if (code == 77)
		skip_because("no seccomp filter can be set");
	assert_int_equal(code, 0);
}

#endif
