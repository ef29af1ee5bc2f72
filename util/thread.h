/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Threads that the library makes inside the program's process. */
#ifndef UTIL_THREAD_H
#define UTIL_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* Enough for each of them, because large objects are on the heap. */
#define UTIL_THREAD_STACK ((size_t)256 * 1024)

/*
 * Blocks all signals in the calling thread except SIGSEGV and SIGBUS, because a
 * fault under a blocked signal ends the program.  A thread that is made now
 * inherits the mask.  *ret_old is the mask for util_signals_restore().
 */
void util_signals_block(sigset_t *ret_old);

static inline void util_signals_restore(const sigset_t *old)
{
	pthread_sigmask(SIG_SETMASK, old, NULL);
}

/* The same until the scope is left.  It is a declaration; put it at the
 * beginning of the scope. */
/* clang-format off */
#define UTIL_SIGNALS_OFF()                                                     \
	__attribute__((cleanup(util_signals_restore), unused))                 \
	sigset_t util_old_signals;                                             \
	util_signals_block(&util_old_signals)
/* clang-format on */

/* Does @sig tell of a fault, which the thread itself has caused? */
static inline bool util_signal_is_fault(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE ||
	       sig == SIGILL || sig == SIGTRAP || sig == SIGSYS;
}

/*
 * Makes a thread that runs @fn(@arg) with a stack of UTIL_THREAD_STACK octets,
 * whatever RLIMIT_STACK is.  util_signals_block() blocks its signals, which are
 * for the program's threads.  The caller joins it.
 * Return: 0; -EAGAIN: a limit of threads or memory; other -errno.
 */
int util_thread_start(pthread_t *ret_thread, void *(*fn)(void *arg), void *arg);

/* The same, detached, and with a stack of @stack_size octets. */
int util_thread_run(void *(*fn)(void *arg), void *arg, size_t stack_size);

#endif
