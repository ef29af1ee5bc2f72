/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Access to memory of the application that may not exist any more: unmapped,
 * protected, or in a truncated file. Such an access returns -EFAULT and does
 * not end the process.
 *
 * The first registration of memory installs handlers for SIGSEGV and SIGBUS
 * before the application's. Any other fault or signal is passed to those, as if
 * the RNIC had no handlers.
 */
#ifndef RNIC_GUARD_H
#define RNIC_GUARD_H

#include <stdbool.h>

#include "rnic.h"

/**
 * rnic_guard - runs @access, which may fault
 * @access: is left as by longjmp() if its memory faults. So it must take no
 *   lock, allocate nothing and leave nothing half changed. It may call
 *   rnic_guard() itself.
 *
 * Costs a few ns; no system call.
 * Return: 0; -EFAULT: it faulted; an unknown part of it was done.
 * Context: any thread in which SIGSEGV and SIGBUS are not blocked, see
 *   rnic_guard_thread(). Not from signal handlers.
 */
int rnic_guard(void (*access)(void *arg), void *arg)
	__attribute__((warn_unused_result));

/* Memory is about to be registered: makes rnic_guard() work. Return: 0;
 * -ENOSYS: libc's own functions were not found. */
int rnic_guard_install(void) __attribute__((warn_unused_result));

/*
 * This thread is about to call rnic_guard(). A fault under a blocked signal
 * kills the process, so this unblocks SIGSEGV and SIGBUS, once per thread.
 * Later calls are cheap, and so are calls before anything is guarded.
 */
void rnic_guard_thread(void);

/* In a forked child: the thread that held the lock does not exist here. */
void rnic_guard_fork_child(void);

#endif
