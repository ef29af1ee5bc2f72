/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Processes with usiw devices, and copies of their counter pages. */
#ifndef STAT_PROCESS_H
#define STAT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "util/stat-read.h"

struct process {
	int pid;     /* as it is called here; of a file: as it was there */
	int fd;	     /* of the page */
	int proc_fd; /* of /proc/PID; -1: a file */
	int num;     /* of the page in the process; not of a file */
	/* Or, of one that was found in /proc, has the page no more: it executes
	 * another program. */
	bool has_ended;
	char user[33];
	struct util_stat stat; /* the last copy */
};

struct process_list {
	struct process **at;
	size_t cnt;
	int misfit_pid; /* one with a page of another version; 0: none */
};

/*
 * Adds each process that is not in the list yet; @pid not 0: only that one, and
 * a page of it that is being made is waited for, for about a second.
 * Return: 0; -errno as util_page_find(), -EPROTONOSUPPORT, -EPROTO or
 *   -EAGAIN as util_stat_read() for @pid.
 */
int process_find(struct process_list *list, int pid);

/* Adds a page in a file, or those of a directory, that are not in the list yet.
 * Return: 0; -errno as util_page_find_file() and util_stat_read(). */
int process_find_file(struct process_list *list, const char *path);

/*
 * Copies the page anew, or the one of the program that the process executes
 * now.  One that has ended keeps its last copy.
 * Return: 0; -errno as util_stat_read(): as before, and nothing more is to be
 *   expected of it.
 */
int process_refresh(struct process *process);

/* As the member will be. */
bool process_has_ended(const struct process *process);

/* Of one that was found in /proc.  One that lives and has_ended may have a page
 * again. */
bool process_lives(const struct process *process);

/* Copies each page anew.  Takes out those that are unreadable, files that were
 * removed, and, unless @keeps_ended, processes of /proc that have ended. */
void process_list_refresh(struct process_list *list, bool keeps_ended);

void process_list_free(struct process_list *list);

/* Why process_find() failed, for a message. */
const char *process_error(int err);

#endif
