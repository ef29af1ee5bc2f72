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

int util_thread_run(void *(*fn)(void *arg), void *arg, size_t stack_size)
{
	UTIL_SIGNALS_OFF(); /* the thread inherits it */
	pthread_attr_t attr;
	pthread_t thread;
	int ret = pthread_attr_init(&attr);

	if (ret)
		return -ret;
	pthread_attr_setstacksize(&attr, stack_size);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	ret = pthread_create(&thread, &attr, fn, arg);
	pthread_attr_destroy(&attr);
	return -ret;
}
