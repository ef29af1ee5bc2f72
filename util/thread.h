/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Threads of the library's own inside the program's process. */
#ifndef UTIL_THREAD_H
#define UTIL_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

/* Enough for each of them: what is large is on the heap. */
#define UTIL_THREAD_STACK ((size_t)256 * 1024)

/*
 * Blocks all signals but SIGSEGV and SIGBUS in the calling thread, since a
 * fault that is blocked ends the program.  A thread that is made now inherits
 * this.  *ret_old is the mask to go back to, by util_signals_restore().
 */
void util_signals_block(sigset_t *ret_old);

static inline void util_signals_restore(const sigset_t *old)
{
	pthread_sigmask(SIG_SETMASK, old, NULL);
}

/* The same until the scope is left.  A declaration: among the first of its
 * scope. */
/* clang-format off */
#define UTIL_SIGNALS_OFF()                                                     \
	__attribute__((cleanup(util_signals_restore), unused))                 \
	sigset_t util_old_signals;                                             \
	util_signals_block(&util_old_signals)
/* clang-format on */

/*
 * A detached thread that runs @fn(@arg) with a stack of @stack_size octets.
 * Its signals are blocked by util_signals_block(): they are for the program's
 * threads.
 * Return: 0; -EAGAIN: a limit of threads or memory; other -errno.
 */
int util_thread_run(void *(*fn)(void *arg), void *arg, size_t stack_size);

#endif
