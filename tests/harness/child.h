/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What runs in a child, because it changes the process or ends it.
 */
#ifndef TEST_CHILD_H
#define TEST_CHILD_H

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

/* For a child, in place of an assertion: its exit code is 1. */
#define CHECK(cond)                                                            \
	do {                                                                   \
		if (!(cond)) {                                                 \
			fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, \
				__LINE__, #cond);                              \
			return 1;                                              \
		}                                                              \
	} while (0)

/* Exit code of @fn in a child; minus the signal. */
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

/* @fn says 0; or 77, where the machine has no filters of system calls. */
static inline void assert_in_filtered_child(int (*fn)(void))
{
	int code = in_child(fn);

	if (code == 77)
		skip_because("no seccomp filter can be set");
	assert_int_equal(code, 0);
}

#endif
