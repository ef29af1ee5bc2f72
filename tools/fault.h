/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Faults that usiw run asks for: the options --fault and --chaos. */
#ifndef FAULT_H
#define FAULT_H

/*
 * Takes the option at @argv[*@at], adds its rules to USIW_FAULT of the program
 * that is started, and moves *@at behind it and its value.
 * Return: 0; USAGE_EXIT or 1: the reason is on stderr; -1: another option.
 */
int fault_take(char **argv, int *at);

#endif
