/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Programs that commands start, as usiw run does. */
#ifndef LAUNCH_H
#define LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "options.h"

/*
 * Sets the environment of the program, and warns of what will not work.
 * Return: 0; -1: the reason is on stderr.
 */
int launch_prepare(const struct options *options, char *const *argv);

/*
 * Executes @argv, and returns only if that fails, with the exit code of a
 * shell; the reason is on stderr.
 * @command: its name, for errors: "run".
 */
int launch_exec(const char *command, char *const *argv);

struct launched {
	pid_t pid;  /* 0: none, or it has ended */
	int status; /* of waitpid(2) */
};

/* The same in a child, for which SIGINT and SIGTERM are as usual.  Return: 0;
 * -1: the reason is on stderr. */
int launch_spawn(struct launched *ret_program, const char *command,
		 char *const *argv);

/* Does not wait. */
bool launched_lives(struct launched *program);

/* Of a program that has ended, as a shell says it; 0: there was none. */
int launched_exit_code(const struct launched *program);

#endif
