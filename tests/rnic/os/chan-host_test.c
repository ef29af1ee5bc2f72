/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* chan-host.c: a thread sleeps on the channel and on its host, serves the host,
 * and reacts to signals and to cancellation as in read(). */
#define _GNU_SOURCE
#include "os/chan-host.h"

#include "test.h"
#include "util/thread.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- a host ---- */

static struct {
	struct rnic_chan_host host;
	int fd, chan_fd;
	int rest; /* what rest() answers; 0: fd */
	int sig;  /* raised before the sleep */
	bool is_blocked_in_serve;
	unsigned int serve_cnt;
} fake;

/* Are the application's signals blocked in this thread? */
static bool is_signal_blocked(void)
{
	sigset_t set;

	assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &set), 0);
	return sigismember(&set, SIGUSR1) == 1;
}

static int fake_rest(struct rnic_chan_host *host)
{
	int ret = fake.rest ? fake.rest : fake.fd;

	fake.rest = 0;
	assert_true(is_signal_blocked());
	if (fake.sig)
		assert_int_equal(raise(fake.sig), 0); /* waits for the sleep */
	fake.sig = 0;
	errno = EBADF;
	return ret;
}

static void fake_serve(struct rnic_chan_host *host)
{
	eventfd_t value;

	fake.is_blocked_in_serve = is_signal_blocked();
	fake.serve_cnt++;
	(void)eventfd_read(fake.fd, &value);
}

static const struct rnic_chan_host_ops fake_ops = {
	.rest = fake_rest,
	.serve = fake_serve,
};

/* @arg: what the thread gets from it. */
static bool serve(struct rnic_chan_host *host, void *arg)
{
	host->ops->serve(host);
	return *(bool *)arg;
}

static bool has_event;

static int attend(void)
{
	sigset_t app_signals;
	int ret;

	util_signals_block(&app_signals);
	ret = rnic_chan_host_attend(&fake.host, fake.chan_fd, &app_signals,
				    serve, &has_event);
	assert_true(is_signal_blocked());
	util_signals_restore(&app_signals);
	return ret;
}

static int setup(void **state)
{
	memset(&fake, 0, sizeof(fake));
	has_event = false;
	fake.host.ops = &fake_ops;
	fake.fd = eventfd(0, EFD_NONBLOCK);
	fake.chan_fd = eventfd(0, EFD_NONBLOCK);
	return fake.fd < 0 || fake.chan_fd < 0;
}

static int teardown(void **state)
{
	signal(SIGUSR1, SIG_DFL);
	signal(SIGUSR2, SIG_DFL);
	signal(SIGSEGV, SIG_DFL);
	return close(fake.fd) || close(fake.chan_fd);
}

#define FILE_CASE(name) CASE_WITH(name, setup, teardown)

/* ---- sleep and work ---- */

FILE_CASE(serves_what_wakes_it)
{
	assert_int_equal(eventfd_write(fake.fd, 1), 0);
	assert_int_equal(attend(), 0);
	assert_int_equal(fake.serve_cnt, 1);
	assert_true(fake.is_blocked_in_serve);

	has_event = true;
	assert_int_equal(eventfd_write(fake.fd, 1), 0);
	assert_int_equal(attend(), 1);
	assert_int_equal(fake.serve_cnt, 2);
}

FILE_CASE(serves_news_before_it_sleeps)
{
	fake.rest = -EALREADY;
	has_event = true;
	assert_int_equal(attend(), 1);
	assert_int_equal(fake.serve_cnt, 1);
}

/* Another thread has brought it. */
FILE_CASE(an_event_comes_before_work)
{
	assert_int_equal(eventfd_write(fake.fd, 1), 0);
	assert_int_equal(eventfd_write(fake.chan_fd, 1), 0);
	assert_int_equal(attend(), 0);
	assert_int_equal(fake.serve_cnt, 0);
}

FILE_CASE(the_host_may_be_busy)
{
	fake.rest = -EAGAIN;
	assert_int_equal(attend(), -EAGAIN);
	assert_int_equal(fake.serve_cnt, 0);
}

FILE_CASE(the_host_s_descriptor_may_be_gone)
{
	assert_int_equal(close(fake.fd), 0);
	assert_int_equal(attend(), -EAGAIN);
	fake.fd = eventfd(0, EFD_NONBLOCK);
}

FILE_CASE(errno_is_kept)
{
	assert_int_equal(eventfd_write(fake.fd, 1), 0);
	errno = ENOTTY;
	assert_int_equal(attend(), 0);
	assert_int_equal(errno, ENOTTY);
}

/* ---- signals ---- */

static volatile sig_atomic_t handled;
static sigjmp_buf jump;

static void handle(int sig)
{
	handled = sig;
}

static void handle_by_jump(int sig)
{
	siglongjmp(jump, sig);
}

static void set_handler(int sig, void (*fn)(int), int flags)
{
	struct sigaction action = { .sa_handler = fn, .sa_flags = flags };

	assert_int_equal(sigaction(sig, &action, NULL), 0);
}

FILE_CASE(a_signal_ends_the_sleep_as_it_ends_read)
{
	const struct {
		const char *name;
		int flags;
		int other, other_flags; /* a handler that does not run */
		int expected;
	} rows[] = {
		{ "restarted", SA_RESTART, 0, 0, 0 },
		{ "not restarted", 0, 0, 0, -EINTR },
		{ "a handler of faults", SA_RESTART, SIGSEGV, 0, 0 },
		/* It cannot be told which one it was. */
		{ "both kinds", SA_RESTART, SIGUSR2, 0, -EINTR },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		set_handler(SIGUSR1, handle, rows[i].flags);
		if (rows[i].other)
			set_handler(rows[i].other, handle, rows[i].other_flags);
		handled = 0;
		fake.sig = SIGUSR1;
		assert_row(rows[i].name, attend() == rows[i].expected);
		assert_row(rows[i].name, handled == SIGUSR1);
		if (rows[i].other)
			signal(rows[i].other, SIG_DFL);
	}
	assert_int_equal(fake.serve_cnt, 0);
}

FILE_CASE(a_handler_may_jump_out)
{
	set_handler(SIGUSR1, handle_by_jump, 0);
	if (sigsetjmp(jump, 1) == 0) {
		fake.sig = SIGUSR1;
		(void)attend();
		fail_msg("the handler did not run");
	}
	assert_false(is_signal_blocked());
	assert_int_equal(eventfd_write(fake.fd, 1), 0);
	assert_int_equal(attend(), 0);
	assert_int_equal(fake.serve_cnt, 1);
}

/* ---- cancellation ---- */

static void *sleep_cancelled(void *arg)
{
	(void)arg;
	(void)pthread_cancel(pthread_self());
	(void)attend();
	return NULL;
}

FILE_CASE(a_sleeping_thread_can_be_cancelled)
{
	pthread_t thread;
	void *result;

#ifdef __SANITIZE_ADDRESS__
	skip_because("ASan reports errors on the stack of a cancelled thread");
#endif
	assert_int_equal(pthread_create(&thread, NULL, sleep_cancelled, NULL),
			 0);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	assert_int_equal(fake.serve_cnt, 0);
}
