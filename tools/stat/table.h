/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What usiw stat prints for people. */
#ifndef STAT_TABLE_H
#define STAT_TABLE_H

#include "filter.h"
#include "process.h"

/* A line for each process, and the sums of their devices. Return: 0; -errno. */
int table_processes(const struct process_list *list);

/*
 * Everything of a process that the filter takes.
 * @is_named: also says so if there is nothing.
 * Return: 0; -errno.
 */
int table_process(const struct process *process, const struct filter *filter,
		  bool is_named);

#endif
