/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The commands of usiw(1).  Each takes its own name as argv[0] and returns
 * the exit code: 0, 1 (failure), 2 (wrong usage). */
#ifndef CMD_H
#define CMD_H

#include <stdbool.h>
#include <string.h>

#define USAGE_EXIT 2

int cmd_run(int argc, char **argv);
int cmd_devices(int argc, char **argv);
int cmd_capture(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_trace(int argc, char **argv);

/* True if @word asks for the usage. */
static inline bool cmd_is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

#endif
