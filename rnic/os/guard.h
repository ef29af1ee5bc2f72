/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Access to the application's memory that may have gone: unmapped, protected,
 * its file truncated.  Such an access answers -EFAULT instead of ending the
 * process.
 *
 * The first registration of memory puts handlers for SIGSEGV and SIGBUS in
 * front of the application's; whatever is not a guarded access goes on to
 * those, as if we were not there.
 */
#ifndef RNIC_GUARD_H
#define RNIC_GUARD_H

#include <stdbool.h>

#include "rnic.h"

/**
 * rnic_guard - run @access, which may fault
 * @access: is left in the middle, like by longjmp(), when its memory faults:
 *   it must take no lock, allocate nothing and keep nothing half changed.
 *   May itself call rnic_guard().
 *
 * A few ns; no system call.
 * Return: 0; -EFAULT: it faulted, how far it came is unknown.
 * Context: any thread, in which SIGSEGV and SIGBUS are not blocked, see
 *   rnic_guard_thread().  Not from signal handlers.
 */
int rnic_guard(void (*access)(void *arg), void *arg)
	__attribute__((warn_unused_result));

/* Memory is going to be registered: from now on rnic_guard() works.  Return:
 * 0; -ENOSYS: libc's own functions cannot be found. */
int rnic_guard_install(void) __attribute__((warn_unused_result));

/*
 * This thread is going to call rnic_guard(): a fault under a blocked signal
 * kills, so SIGSEGV and SIGBUS are unblocked here, once per thread.  Cheap
 * after that, and before anything is guarded.
 */
void rnic_guard_thread(void);

/* Forked child: the thread that held the lock does not exist here. */
void rnic_guard_fork_child(void);

#endif
