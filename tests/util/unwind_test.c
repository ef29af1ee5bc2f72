/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A pushed function runs if its frame is left other than by a return. */
#include "test.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "util/unwind.h"

/* ASan considers the frames of a thread valid that has ended inside them. */
#define NOT_POISONED __attribute__((noinline, no_sanitize("address")))

/* TSan reports allocations by libc in a handler that ends its thread. */
#ifdef __SANITIZE_THREAD__
#define HAS_TSAN 1
#else
#define HAS_TSAN 0
#endif

static sigjmp_buf back;
static char left[8]; /* the functions that have run, in order */
static bool was_blocked;

static void note(void *arg)
{
	sigset_t mask;

	strncat(left, arg, 1);
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	was_blocked = sigismember(&mask, SIGTERM) == 1;
}

static void leave(int sig)
{
	sigjmp_buf here;

	(void)sig;
	/* A jump inside the frame does not leave it. */
	if (sigsetjmp(here, 0) == 0)
		siglongjmp(here, 1);
	assert_string_equal(left, "");
	siglongjmp(back, 1);
}

static void end_thread(int sig)
{
	(void)sig;
	pthread_exit(NULL);
}

static void come_back(int sig)
{
	(void)sig;
}

NOT_POISONED static void inner(void)
{
	struct util_unwind unwind;
	sigset_t none;

	sigemptyset(&none);
	util_unwind_push(&unwind, note, "i");
	sigsuspend(&none);
	util_unwind_pop(&unwind);
}

NOT_POISONED static void outer(void)
{
	struct util_unwind unwind;

	util_unwind_push(&unwind, note, "o");
	inner();
	util_unwind_pop(&unwind);
}

/* The signal is handled in inner(), whenever it is sent. */
static void begin(void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler };
	sigset_t usr1;

	memset(left, 0, sizeof(left));
	was_blocked = false;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	pthread_sigmask(SIG_SETMASK, &usr1, NULL);
}

CASE(runs_for_a_jump)
{
	struct util_unwind unwind;
	sigset_t mask;

	begin(leave);
	util_unwind_push(&unwind, note, "x");
	if (sigsetjmp(back, 1) == 0) {
		raise(SIGUSR1);
		outer();
	}
	/* This frame is not left. */
	assert_string_equal(left, "io");
	util_unwind_pop(&unwind);
	assert_true(was_blocked);
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	assert_int_equal(sigismember(&mask, SIGTERM), 0);
}

CASE(does_not_run_for_a_return)
{
	begin(come_back);
	raise(SIGUSR1);
	outer();
	assert_string_equal(left, "");
}

static void *sleep_main(void *arg)
{
	(void)arg;
	outer();
	return NULL;
}

CASE(runs_for_the_end_of_a_thread)
{
	pthread_t thread;

	for (int is_cancelled = 0; is_cancelled < 2; is_cancelled++) {
		begin(end_thread);
		assert_int_equal(
			pthread_create(&thread, NULL, sleep_main, NULL), 0);
		if (is_cancelled || HAS_TSAN)
			pthread_cancel(thread);
		else
			pthread_kill(thread, SIGUSR1);
		pthread_join(thread, NULL);
		assert_string_equal(left, "io");
	}
}
