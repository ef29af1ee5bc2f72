/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Who gets SIGURG, and which calls a signal handler ends. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "sock/signals.h"

static struct sdp_sock sock;
static volatile sig_atomic_t urgent_cnt;

static void count(int sig)
{
	(void)sig;
	urgent_cnt++;
}

static int begin(void **state)
{
	(void)state;
	sock.tcp_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	urgent_cnt = 0;
	signal(SIGURG, count);
	return sock.tcp_fd < 0;
}

static int end(void **state)
{
	(void)state;
	signal(SIGURG, SIG_DFL);
	signal(SIGUSR1, SIG_DFL);
	return close(sock.tcp_fd);
}

static void nobody_is_told_without_an_owner(void **state)
{
	(void)state;
	sdp_signals_urgent(sock.tcp_fd);
	assert_int_equal(urgent_cnt, 0);
}

/* A signal to the own process is delivered before kill() returns, if no other
 * thread takes it; this is the only one. */
static void tells_a_process(void **state)
{
	(void)state;
	assert_int_equal(
		sdp_signals_own(&sock, F_SETOWN, (void *)(intptr_t)getpid()),
		0);
	sdp_signals_urgent(sock.tcp_fd);
	assert_int_equal(urgent_cnt, 1);
}

static void tells_a_thread(void **state)
{
	struct f_owner_ex owner = { .type = F_OWNER_TID,
				    .pid = (pid_t)syscall(SYS_gettid) };

	(void)state;
	assert_int_equal(sdp_signals_own(&sock, F_SETOWN_EX, &owner), 0);
	sdp_signals_urgent(sock.tcp_fd);
	assert_int_equal(urgent_cnt, 1);
}

static void goes_on_after_handlers_with_sa_restart(void **state)
{
	struct sigaction action = { .sa_handler = count,
				    .sa_flags = SA_RESTART };

	(void)state;
	/* signal() has made the one of SIGURG restart. */
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	assert_true(sdp_signals_restart());
	action.sa_flags = 0;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	assert_false(sdp_signals_restart());
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
		TEST(nobody_is_told_without_an_owner),
		TEST(tells_a_process),
		TEST(tells_a_thread),
		TEST(goes_on_after_handlers_with_sa_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
