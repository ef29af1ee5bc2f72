/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The commands of usiw(1).  Each takes its own name as argv[0] and returns
 * the exit code: 0, 1 (it did not work), 2 (it was asked wrongly). */
#ifndef CMD_H
#define CMD_H

#include <stdbool.h>

#define USAGE_EXIT 2

int cmd_run(int argc, char **argv);
int cmd_devices(int argc, char **argv);

/* Does @word ask for the usage? */
bool is_help(const char *word);

/*
 * Set LD_PRELOAD and RDMAV_DRIVERS, so that what is executed next sees usiw
 * devices.  Return: 0; -1, and the reason is on stderr.
 */
int run_environment_set(void);

#endif
