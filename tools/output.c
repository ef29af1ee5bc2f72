/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See output.h. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int output_fail(const char *command)
{
	fprintf(stderr, "usiw: %s: standard output: %s\n", command,
		strerror(errno));
	return 1;
}

int output_begin(const char *command)
{
	return fcntl(STDOUT_FILENO, F_GETFD) < 0 ? output_fail(command) : 0;
}

int output_end(const char *command)
{
	return fflush(stdout) || ferror(stdout) ? output_fail(command) : 0;
}
