/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The loop's thread, and what its users say to it. */
#ifndef RNIC_LOOP_H
#define RNIC_LOOP_H

#include "ref.h"
#include "timer.h"

/* Once, before anything else: by a constructor. */
void rnic_loop_set_ops(const struct rnic_loop_ops *ops);

/* Make sure that the thread runs.  Return: 0; -errno; -EIO: it cannot wait
 * for sockets any more.  Locked. */
int rnic_loop_start(void);

/* (De)register; @events 0 removes.  Return: 0; -ENOMEM, -ENOSPC.  Locked. */
int rnic_loop_watch(int fd, enum rnic_loop_tag tag, uint64_t ref,
		    uint32_t events, uint32_t *registered);

/* Do the thread's work while there is some, until @is_done(@arg) is true of
 * what the caller is about to wait for.  Not locked; @is_done is called locked.
 */
void rnic_loop_help(bool (*is_done)(const void *arg), const void *arg);

/* Process exit: within the limit of a drain, the thread ends, and what is left
 * is closed. */
void rnic_loop_stop(void);

/* Forked child.  @keeps_refs: the table of references is whole. */
void rnic_loop_reset(bool keeps_refs);

#endif
