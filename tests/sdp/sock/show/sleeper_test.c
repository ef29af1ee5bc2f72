/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Threads that sleep until another thread wakes them. */
#include "test.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sock/show/sleeper.h"
#include "sock/base/table.h"

#include "sock-fixture.h"

/* Sleeps without a time limit. Return: whether it was woken. */
static bool sleep_once(struct sdp_sleeper *sleeper, int ms)
{
	struct pollfd pfd = { .fd = sleeper->fd, .events = POLLIN };
	int ret = poll(&pfd, 1, ms);

	sdp_sleeper_end(sleeper, pfd.revents);
	return ret == 1 && pfd.revents == POLLIN;
}

CASE(a_thread_that_is_awake_is_not_woken)
{
	struct sdp_sleeper sleeper;

	sdp_sleeper_init(&sleeper);
	assert_true(sleeper.fd >= 0);
	assert_false(sdp_sleeper_wake(&sleeper));
	sdp_sleeper_begin(&sleeper);
	assert_false(sleep_once(&sleeper, 0));
	assert_false(sdp_sleeper_wake(&sleeper));
	sdp_sleeper_begin(&sleeper);
	assert_false(sleep_once(&sleeper, 0));
}

CASE(is_woken_once)
{
	struct sdp_sleeper sleeper;

	sdp_sleeper_init(&sleeper);
	sdp_sleeper_begin(&sleeper);
	assert_true(sdp_sleeper_wake(&sleeper));
	assert_false(sdp_sleeper_wake(&sleeper));
	assert_true(sleep_once(&sleeper, 0));
	/* The token was consumed. */
	sdp_sleeper_begin(&sleeper);
	assert_false(sleep_once(&sleeper, 0));
}

/* A token that arrives after the sleep makes only the next one short. */
CASE(a_late_token_is_consumed)
{
	struct sdp_sleeper sleeper;

	sdp_sleeper_init(&sleeper);
	sdp_sleeper_begin(&sleeper);
	assert_true(sdp_sleeper_wake(&sleeper));
	sdp_sleeper_end(&sleeper, false);
	sdp_sleeper_begin(&sleeper);
	assert_true(sleep_once(&sleeper, 0));
	sdp_sleeper_begin(&sleeper);
	assert_false(sleep_once(&sleeper, 0));
}

static void *wake(void *arg)
{
	while (!sdp_sleeper_wake(arg))
		;
	return NULL;
}

CASE(is_woken_by_another_thread)
{
	struct sdp_sleeper sleeper;
	pthread_t thread;

	sdp_sleeper_init(&sleeper);
	assert_int_equal(pthread_create(&thread, NULL, wake, &sleeper), 0);
	sdp_sleeper_begin(&sleeper);
	assert_true(sleep_once(&sleeper, -1));
	pthread_join(thread, NULL);
}

static void *fd_take(void *arg)
{
	struct sdp_sleeper sleeper;

	sdp_sleeper_init(&sleeper);
	*(int *)arg = sleeper.fd;
	return NULL;
}

/* Each thread has one descriptor: the same each time, above the program's
 * numbers, closed with the thread. */
CASE(has_a_descriptor_for_a_thread)
{
	struct sdp_sleeper one, two;
	pthread_t thread;
	int other = -1;

	errno = ERANGE;
	sdp_sleeper_init(&one);
	sdp_sleeper_init(&two);
	assert_int_equal(errno, ERANGE);
	assert_int_equal(one.fd, two.fd);
	assert_int_equal(sdp_fd_kind(one.fd), SDP_FD_PRIVATE);
	assert_int_equal(pthread_create(&thread, NULL, fd_take, &other), 0);
	pthread_join(thread, NULL);
	assert_true(other >= 0);
	assert_int_not_equal(other, one.fd);
	assert_int_equal(sdp_fd_kind(other), SDP_FD_NONE);
	assert_int_equal(write(other, "12345678", 8), -1);
	assert_int_equal(errno, EBADF);
}

static pthread_key_t later;

static void sleep_at_the_end(void *arg)
{
	struct sdp_sleeper sleeper;

	sdp_sleeper_init(&sleeper);
	*(bool *)arg = sleeper.fd >= 0 &&
		       sdp_fd_kind(sleeper.fd) == SDP_FD_PRIVATE;
}

static void *sleep_to_the_end(void *arg)
{
	struct sdp_sleeper sleeper;

	sdp_sleeper_init(&sleeper);
	assert_int_equal(pthread_setspecific(later, arg), 0);
	return NULL;
}

/* The program's destructors of a thread may sleep after the library's own has
 * run: libc calls those of older keys first. */
CASE(a_thread_sleeps_up_to_its_end)
{
	struct sdp_sleeper sleeper;
	bool has_own = false;
	pthread_t thread;

	sdp_sleeper_init(&sleeper); /* makes the library's key */
	assert_int_equal(pthread_key_create(&later, sleep_at_the_end), 0);
	assert_int_equal(
		pthread_create(&thread, NULL, sleep_to_the_end, &has_own), 0);
	pthread_join(thread, NULL);
	assert_true(has_own);
	pthread_key_delete(later);
}

/* 0: the child's sleeps are independent. */
static int child_check(struct sdp_sleeper *parents)
{
	struct sdp_sleeper own;

	sdp_table_fork_child();
	sdp_sleeper_fork_child();
	if (sdp_fd_kind(parents->fd) != SDP_FD_NONE)
		return 1;
	sdp_sleeper_init(&own);
	sdp_sleeper_begin(&own);
	if (!sdp_sleeper_wake(&own))
		return 2;
	return sleep_once(&own, 0) ? 0 : 3;
}

CASE(a_child_does_not_wake_its_parent)
{
	struct sdp_sleeper sleeper;
	int status = -1;
	pid_t pid;

	sdp_sleeper_init(&sleeper);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(child_check(&sleeper));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	sdp_sleeper_begin(&sleeper);
	assert_false(sleep_once(&sleeper, 0));
}

ALL_CASES_WITH(table_start, NULL);
