/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What is written to stderr between two calls, at most a pipe full. */
#ifndef HARNESS_SAID_H
#define HARNESS_SAID_H

#include <unistd.h>

#include "test.h"

static int said_fd[2], said_stderr;

static inline void said_begin(void)
{
	said_stderr = dup(STDERR_FILENO);
	assert_true(said_stderr >= 0);
	assert_int_equal(pipe(said_fd), 0);
	assert_true(dup2(said_fd[1], STDERR_FILENO) >= 0);
	close(said_fd[1]);
}

/* Return: valid until the next call. */
static inline const char *said_end(void)
{
	static char text[1024];
	ssize_t len;

	assert_true(dup2(said_stderr, STDERR_FILENO) >= 0);
	close(said_stderr);
	len = read(said_fd[0], text, sizeof(text) - 1);
	assert_true(len >= 0);
	text[len] = '\0';
	close(said_fd[0]);
	return text;
}

#endif
