/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which process gets SIGURG, and which calls a signal handler interrupts. */
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sock/base/signals.h"

static struct sdp_sock sock;

static void ignore(int sig)
{
	(void)sig;
}

/* SIGURG stays blocked, so it is pending after it was sent: a sanitizer's
 * runtime calls handlers later than the kernel would. */
static sigset_t urgent_set(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	return set;
}

/* Return: whether one was sent; it is consumed. */
static bool urgent_take(void)
{
	static const struct timespec none = { 0 };
	sigset_t set = urgent_set();

	return sigtimedwait(&set, NULL, &none) == SIGURG;
}

static int begin(void **state)
{
	sock.tcp_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return sock.tcp_fd < 0;
}

static int end(void **state)
{
	signal(SIGUSR1, SIG_DFL);
	signal(SIGSEGV, SIG_DFL);
	return close(sock.tcp_fd);
}

#define FILE_CASE(name) CASE_WITH(name, begin, end)

FILE_CASE(no_signal_without_an_owner)
{
	sdp_signals_urgent(sock.tcp_fd);
	assert_false(urgent_take());
}

FILE_CASE(tells_a_process)
{
	assert_int_equal(fcntl(sock.tcp_fd, F_SETOWN, getpid()), 0);
	sdp_signals_urgent(sock.tcp_fd);
	assert_true(urgent_take());
	assert_false(urgent_take());
}

FILE_CASE(tells_a_thread)
{
	struct f_owner_ex owner = { .type = F_OWNER_TID,
				    .pid = (pid_t)syscall(SYS_gettid) };

	assert_int_equal(fcntl(sock.tcp_fd, F_SETOWN_EX, &owner), 0);
	sdp_signals_urgent(sock.tcp_fd);
	assert_true(urgent_take());
	assert_false(urgent_take());
}

FILE_CASE(goes_on_after_handlers_with_sa_restart)
{
	struct sigaction action = { .sa_handler = ignore,
				    .sa_flags = SA_RESTART };

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	assert_true(sdp_signals_restart());
	action.sa_flags = 0;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	assert_false(sdp_signals_restart());
}

FILE_CASE(goes_on_without_a_sleep)
{
	struct sigaction action = { .sa_handler = ignore };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	assert_false(sdp_signals_go_on(fd, 0));
	assert_true(sdp_signals_go_on(fd, MSG_DONTWAIT));
	assert_true(sdp_signals_go_on(-1, 0));
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	assert_true(sdp_signals_go_on(fd, 0));
	close(fd);
}

/* A fault does not interrupt a sleep. Many programs have a handler that logs a
 * fault, and so has a sanitizer's runtime. */
FILE_CASE(handlers_of_faults_do_not_count)
{
	static const int faults[] = { SIGSEGV, SIGBUS,	SIGFPE,
				      SIGILL,  SIGTRAP, SIGSYS };
	struct sigaction restarts = { .sa_handler = ignore,
				      .sa_flags = SA_RESTART },
			 ends = { .sa_handler = ignore }, old;

	assert_int_equal(sigaction(SIGUSR1, &restarts, NULL), 0);
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		assert_int_equal(sigaction(faults[i], &ends, &old), 0);
		assert_true(sdp_signals_restart());
		assert_int_equal(sigaction(faults[i], &old, NULL), 0);
	}
}

BEFORE_CASES()
{
	sigset_t set = urgent_set();

	sigprocmask(SIG_BLOCK, &set, NULL);
}
