/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The program's handlers run outside the library, and see what the kernel
 * gives. */
#include "test.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "util/defer.h"

static volatile int ran, value, depth_seen;
static sigjmp_buf back;

static void plain(int sig)
{
	(void)sig;
	ran++;
	depth_seen = (int)util_defer_me.depth;
}

static void with_info(int sig, siginfo_t *info, void *context)
{
	(void)context;
	plain(sig);
	value = info->si_value.sival_int;
}

static void jump(int sig)
{
	plain(sig);
	siglongjmp(back, 1);
}

static bool is_blocked(int sig)
{
	sigset_t mask;

	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &mask), 0);
	return sigismember(&mask, sig);
}

static void install(int sig, void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	assert_int_equal(
		util_defer_sigaction(sigaction, true, sig, &action, NULL), 0);
}

static int reset(void **state)
{
	ran = value = depth_seen = 0;
	util_defer_me.depth = 0;
	return 0;
}

CASE_WITH(waits_until_the_end, reset, NULL)
{
	static const int flags[] = { 0, SA_NODEFER, SA_RESTART };

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		ran = 0;
		install(SIGUSR1, plain, flags[i]);
		raise(SIGUSR1);
		assert_int_equal(ran, 1);
		util_defer_begin();
		util_defer_begin();
		raise(SIGUSR1);
		raise(SIGUSR1); /* kept once, as the kernel does */
		assert_int_equal(ran, 1);
		assert_false(is_blocked(SIGUSR1));
		util_defer_end();
		assert_int_equal(ran, 1);
		util_defer_end();
		assert_int_equal(ran, 2);
		assert_int_equal(depth_seen, 0);
		assert_false(is_blocked(SIGUSR1));
	}
}

CASE_WITH(keeps_what_came_with_it, reset, NULL)
{
	struct sigaction action = { .sa_sigaction = with_info,
				    .sa_flags = SA_SIGINFO };

	assert_int_equal(
		util_defer_sigaction(sigaction, true, SIGRTMIN, &action, NULL),
		0);
	util_defer_begin();
	for (int i = 1; i <= 3; i++)
		assert_int_equal(sigqueue(getpid(), SIGRTMIN,
					  (union sigval){ .sival_int = i }),
				 0);
	assert_int_equal(ran, 0);
	util_defer_end();
	assert_int_equal(ran, 3);
	assert_int_equal(value, 3);
}

/* Then it runs at once. */
CASE_WITH(has_a_limit, reset, NULL)
{
	struct sigaction action = { .sa_sigaction = with_info,
				    .sa_flags = SA_SIGINFO };

	assert_int_equal(
		util_defer_sigaction(sigaction, true, SIGRTMIN, &action, NULL),
		0);
	util_defer_begin();
	for (int i = 1; i <= UTIL_DEFER_MAX + 2; i++)
		assert_int_equal(sigqueue(getpid(), SIGRTMIN,
					  (union sigval){ .sival_int = i }),
				 0);
	assert_int_equal(ran, 2);
	util_defer_end();
	assert_int_equal(ran, UTIL_DEFER_MAX + 2);
	assert_int_equal(value, UTIL_DEFER_MAX);
}

CASE_WITH(is_seen_by_a_sleep, reset, NULL)
{
	bool is_open;

	install(SIGUSR1, plain, 0);
	util_defer_begin();
	raise(SIGUSR1);
	errno = 0;
	assert_int_equal(UTIL_DEFER_SLEEP(poll(NULL, 0, -1), false), -1);
	assert_int_equal(errno, EINTR);
	assert_int_equal(ran, 1);
	raise(SIGUSR1);
	assert_int_equal(UTIL_DEFER_SLEEP(poll(NULL, 0, 1), true), 0);
	assert_int_equal(ran, 2);
	/* While it sleeps the handler runs at once. */
	assert_false(util_defer_open(&is_open));
	raise(SIGUSR1);
	assert_int_equal(ran, 3);
	util_defer_close(is_open);
	/* A nested call is not interrupted. */
	util_defer_begin();
	raise(SIGUSR1);
	assert_int_equal(UTIL_DEFER_SLEEP(poll(NULL, 0, 1), false), 0);
	assert_int_equal(ran, 3);
	util_defer_end();
	util_defer_end();
	assert_int_equal(ran, 4);
}

/* A sleep that the library itself has ended, while a handler ran in it: to the
 * program the call has slept all the time. */
CASE_WITH(is_seen_by_the_next_sleep, reset, NULL)
{
	install(SIGUSR1, plain, 0);
	util_defer_begin();
	assert_int_equal(UTIL_DEFER_SLEEP(raise(SIGUSR1), false), 0);
	assert_int_equal(ran, 1);
	errno = 0;
	assert_int_equal(UTIL_DEFER_SLEEP(poll(NULL, 0, 1), false), -1);
	assert_int_equal(errno, EINTR);
	/* It is told once. */
	assert_int_equal(UTIL_DEFER_SLEEP(poll(NULL, 0, 1), false), 0);
	assert_int_equal(
		UTIL_DEFER_SLEEP((raise(SIGUSR1), errno = EINTR, -1), false),
		-1);
	assert_int_equal(UTIL_DEFER_SLEEP(poll(NULL, 0, 1), false), 0);
	assert_int_equal(UTIL_DEFER_SLEEP(raise(SIGUSR1), false), 0);
	util_defer_end();
	/* It was another call's. */
	util_defer_begin();
	assert_int_equal(UTIL_DEFER_SLEEP(poll(NULL, 0, 1), false), 0);
	util_defer_end();
}

CASE_WITH(may_leave_by_a_jump, reset, NULL)
{
	install(SIGUSR1, jump, SA_NODEFER);
	for (volatile int i = 1; i <= 2; i++) {
		util_defer_begin();
		raise(SIGUSR1);
		if (sigsetjmp(back, 1) == 0) {
			util_defer_end();
			assert_true(false);
		}
		assert_int_equal(ran, i);
		assert_int_equal(util_defer_me.depth, 0);
	}
}

CASE_WITH(runs_once_if_asked, reset, NULL)
{
	struct sigaction old;

	install(SIGUSR1, plain, (int)SA_RESETHAND);
	util_defer_begin();
	raise(SIGUSR1);
	assert_int_equal(
		util_defer_sigaction(sigaction, true, SIGUSR1, NULL, &old), 0);
	assert_true(old.sa_handler == plain);
	assert_true(old.sa_flags & (int)SA_RESETHAND);
	util_defer_end();
	assert_int_equal(ran, 1);
	assert_int_equal(sigaction(SIGUSR1, NULL, &old), 0);
	assert_true(old.sa_handler == SIG_DFL);
}

CASE_WITH(shows_what_the_program_installed, reset, NULL)
{
	struct sigaction action = { .sa_sigaction = with_info,
				    .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigaction old;

	install(SIGUSR1, plain, 0);
	assert_int_equal(
		util_defer_sigaction(sigaction, true, SIGUSR1, &action, &old),
		0);
	assert_true(old.sa_handler == plain);
	assert_false(old.sa_flags & SA_SIGINFO);
	/* libc installs it, then the library. */
	assert_true(util_defer_installed(sigaction, true, SIGUSR1,
					 signal(SIGUSR1, plain)) ==
		    (util_sighandler)(void *)with_info);
	util_defer_begin();
	raise(SIGUSR1);
	assert_int_equal(ran, 0);
	util_defer_end();
	assert_int_equal(ran, 1);
	assert_true(signal(SIGUSR1, SIG_IGN) != SIG_ERR);
	assert_int_equal(
		util_defer_sigaction(sigaction, true, SIGUSR1, NULL, &old), 0);
	assert_true(old.sa_handler == SIG_IGN);
}

/* A fault would come again and again, and the child of a vfork() must not
 * change its parent's handlers. */
CASE_WITH(leaves_others_alone, reset, NULL)
{
	struct sigaction action = { .sa_handler = plain }, now;

	assert_int_equal(
		util_defer_sigaction(sigaction, true, SIGFPE, &action, NULL),
		0);
	assert_int_equal(
		util_defer_sigaction(sigaction, false, SIGUSR2, &action, NULL),
		0);
	assert_int_equal(sigaction(SIGFPE, NULL, &now), 0);
	assert_true(now.sa_handler == plain);
	assert_int_equal(sigaction(SIGUSR2, NULL, &now), 0);
	assert_true(now.sa_handler == plain);
	assert_int_equal(
		util_defer_sigaction(sigaction, true, 1000, &action, NULL), -1);
	assert_int_equal(errno, EINVAL);
}
