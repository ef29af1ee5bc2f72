/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Starts that owe octets: how their connection ends, their number, and how they
 * stop. */
#include "loopback.h"
#include "test.h"
#include "until.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sock/start/owed.h"
#include "verbs/sdp-link.h"

#include "sock-fixture.h"

static void the_end_is_a_reset_while_octets_are_owed(void **state)
{
	for (int is_settled = 0; is_settled < 2; is_settled++) {
		struct sdp_sock sock = { .tcp_fd = -1 };
		char octet;
		int fd[2];

		test_tcp_pair(fd);
		sock.tcp_fd = fd[0];
		sdp_owed_begin(&sock);
		if (is_settled)
			sdp_owed_settle(&sock);
		close(fd[0]);
		assert_int_equal(recv(fd[1], &octet, 1, 0),
				 is_settled ? 0 : -1);
		if (!is_settled)
			assert_int_equal(errno, ECONNRESET);
		close(fd[1]);
		sdp_owed_end();
	}
}

static void counts_until_each_has_ended(void **state)
{
	struct sdp_sock sock = { .tcp_fd = -1 };

	assert_int_equal(sdp_owed_cnt(), 0);
	sdp_owed_begin(&sock);
	sdp_owed_begin(&sock);
	assert_int_equal(sdp_owed_cnt(), 2);
	sdp_owed_end();
	assert_int_equal(sdp_owed_cnt(), 1);
	sdp_owed_fork_child();
	assert_int_equal(sdp_owed_cnt(), 0);
}

/* ---- stopping ---- */

static bool is_stopping(void)
{
	struct pollfd pfd = { .fd = sdp_owed_stop_fd(), .events = POLLIN };

	assert_true(pfd.fd > 0);
	return poll(&pfd, 1, 0) == 1;
}

static void *stop_late(void *arg)
{
	wait_until(is_stopping());
	sdp_owed_put(arg);
	return NULL;
}

static void those_that_stop_can_be_taken(void **state)
{
	struct sdp_sock socks[2] = { { .tcp_fd = -1 }, { .tcp_fd = -1 } };
	struct sdp_sock *first;
	pthread_t thread;

	assert_false(is_stopping());
	assert_false(sdp_owed_stop(0));
	assert_true(is_stopping());
	sdp_owed_go_on();
	assert_false(is_stopping());
	for (size_t i = 0; i < 2; i++)
		sdp_owed_begin(&socks[i]);
	sdp_owed_put(&socks[0]);
	assert_int_equal(pthread_create(&thread, NULL, stop_late, &socks[1]),
			 0);
	assert_true(sdp_owed_stop(UINT64_MAX));
	pthread_join(thread, NULL);
	assert_int_equal(sdp_owed_cnt(), 2);
	first = sdp_owed_take();
	assert_true(first == &socks[0] || first == &socks[1]);
	assert_ptr_equal(sdp_owed_take(), &socks[first == &socks[0]]);
	assert_null(sdp_owed_take());
	sdp_owed_end();
	sdp_owed_end();
	sdp_owed_go_on();
}

/* One that gets its answer now does not stop. */
static void waits_no_longer_than_it_should(void **state)
{
	struct sdp_sock sock = { .tcp_fd = -1 };

	sdp_owed_begin(&sock);
	assert_false(sdp_owed_stop(sdp_now_ns() + 10000000));
	sdp_owed_end();
	sdp_owed_go_on();
}

static void a_child_has_those_that_stopped(void **state)
{
	struct sdp_sock socks[2] = { { .tcp_fd = -1 }, { .tcp_fd = -1 } };
	int fd = sdp_owed_stop_fd();

	sdp_owed_begin(&socks[0]);
	sdp_owed_begin(&socks[1]);
	sdp_owed_put(&socks[1]);
	assert_true(sdp_owed_stop(0));
	sdp_owed_fork_child();
	assert_int_equal(sdp_owed_cnt(), 1);
	/* What stops the child does not stop the parent. */
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_false(is_stopping());
	sdp_owed_give();
	assert_int_equal(sdp_owed_cnt(), 0);
	assert_null(sdp_owed_take());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_is_a_reset_while_octets_are_owed),
		cmocka_unit_test(counts_until_each_has_ended),
		cmocka_unit_test(those_that_stop_can_be_taken),
		cmocka_unit_test(waits_no_longer_than_it_should),
		cmocka_unit_test(a_child_has_those_that_stopped),
	};

	return cmocka_run_group_tests(tests, table_start, NULL);
}
