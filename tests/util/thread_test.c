/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A thread of the library: its signals, its stack, its end. */
#include "test.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>

#include "util/thread.h"

struct seen {
	sigset_t mask;
	size_t stack_size;
	int detach_state;
	sem_t is_over;
};

static void *look(void *arg)
{
	struct seen *seen = arg;
	pthread_attr_t attr;

	pthread_sigmask(SIG_SETMASK, NULL, &seen->mask);
	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstacksize(&attr, &seen->stack_size);
	pthread_attr_getdetachstate(&attr, &seen->detach_state);
	pthread_attr_destroy(&attr);
	sem_post(&seen->is_over);
	return NULL;
}

/* Signals that a fault causes must not be blocked. */
static bool is_blockable(int sig)
{
	return sig != SIGKILL && sig != SIGSTOP && sig != SIGSEGV &&
	       sig != SIGBUS;
}

CASE(runs_without_signals)
{
	struct seen seen;
	sigset_t mask, before;

	sem_init(&seen.is_over, 0, 0);
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	assert_int_equal(util_thread_run(look, &seen, UTIL_THREAD_STACK), 0);
	while (sem_wait(&seen.is_over) != 0)
		;
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	for (int sig = 1; sig <= SIGSYS; sig++) {
		assert_int_equal(sigismember(&seen.mask, sig),
				 is_blockable(sig));
		/* The caller's mask is unchanged. */
		assert_int_equal(sigismember(&mask, sig),
				 sigismember(&before, sig));
	}
	assert_true(seen.stack_size >= UTIL_THREAD_STACK);
#ifndef __SANITIZE_THREAD__ /* it makes all stacks larger */
	assert_true(seen.stack_size < 2 * UTIL_THREAD_STACK);
#endif
	assert_int_equal(seen.detach_state, PTHREAD_CREATE_DETACHED);
	sem_destroy(&seen.is_over);
}

CASE(returns_why_it_does_not_run)
{
	struct seen seen;
	sigset_t mask;

	assert_true(util_thread_run(look, &seen, SIZE_MAX / 4) < 0);
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	assert_int_equal(sigismember(&mask, SIGTERM), 0);
}
