/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Threads of the library's own inside the program's process. */
#ifndef UTIL_THREAD_H
#define UTIL_THREAD_H

#include <stddef.h>

/* Enough for each of them: what is large is on the heap. */
#define UTIL_THREAD_STACK ((size_t)256 * 1024)

/*
 * A detached thread that runs @fn(@arg) with a stack of @stack_size octets.
 * All signals are blocked in it: they are for the program's threads.  But
 * SIGSEGV and SIGBUS are not, since a fault that is blocked ends the program.
 * Return: 0; -EAGAIN: a limit of threads or memory; other -errno.
 */
int util_thread_run(void *(*fn)(void *arg), void *arg, size_t stack_size);

#endif
