/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Copies of the statistics pages of processes, and of files. */
#ifndef STAT_FIND_H
#define STAT_FIND_H

#include <stdbool.h>
#include <stddef.h>

#include "stat/read.h"

struct stat_process {
	int pid; /* as seen from here; for a file: as the process saw it */
	bool is_ended;
	struct sdp_stat_snapshot snapshot;
};

struct stat_list {
	struct stat_process *process;
	size_t cnt;
	int misfit_pid; /* a process with a page of another build; 0: none */
};

/* Adds every process, or only process @pid if it is not 0. Return: 0;
 * -ENOMEM, or an error of /proc. */
int stat_find_processes(struct stat_list *list, int pid);

/* Adds a file, or each file usiw-sdp.* of a directory. Return: 0; negative
 * errno: it cannot be read, or is not a page. */
int stat_find_file(struct stat_list *list, const char *path);

void stat_list_clear(struct stat_list *list);

#endif
