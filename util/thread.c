/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See thread.h. */
#include "thread.h"

#include <pthread.h>

void util_signals_block(sigset_t *ret_old)
{
	sigset_t all;

	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, ret_old);
}

static int thread_create(pthread_t *ret_thread, void *(*fn)(void *arg),
			 void *arg, size_t stack_size, int detach_state)
{
	UTIL_SIGNALS_OFF(); /* the thread inherits it */
	pthread_attr_t attr;
	int ret = pthread_attr_init(&attr);

	if (ret)
		return -ret;
	pthread_attr_setstacksize(&attr, stack_size);
	pthread_attr_setdetachstate(&attr, detach_state);
	ret = pthread_create(ret_thread, &attr, fn, arg);
	pthread_attr_destroy(&attr);
	return -ret;
}

int util_thread_start(pthread_t *ret_thread, void *(*fn)(void *arg), void *arg)
{
	return thread_create(ret_thread, fn, arg, UTIL_THREAD_STACK,
			     PTHREAD_CREATE_JOINABLE);
}

int util_thread_run(void *(*fn)(void *arg), void *arg, size_t stack_size)
{
	pthread_t thread;

	return thread_create(&thread, fn, arg, stack_size,
			     PTHREAD_CREATE_DETACHED);
}
