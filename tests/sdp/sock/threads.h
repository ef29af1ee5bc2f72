/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The detached threads of the files under test. A test that links with
 * --wrap=util_thread_run limits their number, and waits for their end: what a
 * thread uses of the test is free only then.
 */
#ifndef SOCK_THREADS_H
#define SOCK_THREADS_H

/* How many can be made from now on; more give -EAGAIN. */
extern int threads_left;

/* Waits until all have ended. */
void threads_wait(void);

#endif
