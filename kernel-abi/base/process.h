/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The process that owns the tables, and their state after a fork. */
#ifndef KABI_PROCESS_H
#define KABI_PROCESS_H

#include <stdbool.h>

#include "util/lock.h"

/* The only lock of kernel-abi/ except that of ucm.c; a leaf. */
extern struct util_lock kabi_lock;

/* During the first touch.  Return: 0; an error number. */
int kabi_process_start(void);

/*
 * False in a child made by vfork().  It shares the memory but not the fds, so
 * that fds which it closes must stay in the tables.
 */
bool kabi_is_owner(void);

#endif
