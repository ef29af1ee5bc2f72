/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The loop's thread, and the calls of its users. */
#ifndef RNIC_LOOP_H
#define RNIC_LOOP_H

#include "ref.h"
#include "timer.h"

/* Makes sure that the thread runs. Return: 0; -errno; -EIO: it cannot wait for
 * sockets any more. Locked. */
int rnic_loop_start(void);

/* Registers, or changes the events; @events 0 removes. Return: 0; -ENOMEM,
 * -ENOSPC. Locked. */
int rnic_loop_watch(int fd, enum rnic_loop_tag tag, uint64_t ref,
		    uint32_t events, uint32_t *registered);

/* Does the thread's work while there is some, until @is_done(@arg) is true for
 * what the caller waits for. Not locked; @is_done is called locked. */
void rnic_loop_help(bool (*is_done)(const void *arg), const void *arg);

/* Process exit: ends the thread within the drain limit, and closes what is
 * left. */
void rnic_loop_stop(void);

/* In a forked child. @keeps_refs: the table of references is complete. */
void rnic_loop_reset(bool keeps_refs);

#endif
