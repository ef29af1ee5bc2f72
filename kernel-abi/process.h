/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Whose tables these are, and what a fork leaves of them. */
#ifndef KABI_PROCESS_H
#define KABI_PROCESS_H

#include <stdbool.h>

#include "../util/lock.h"

/* The one lock of kernel-abi/ but for ucm.c; a leaf. */
extern struct util_lock kabi_lock;

/* During the first touch.  Return: 0; an error number. */
int kabi_process_start(void);

/*
 * False in a child made by vfork(): it shares our memory but not our fds, and
 * what it closes must stay open in our books.
 */
bool kabi_is_owner(void);

#endif
