/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Starts that owe octets: how their connection ends, and their number. */
#include "loopback.h"
#include "test.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sock/start/owed.h"

#include "sock-fixture.h"

CASE(the_end_is_a_reset_while_octets_are_owed)
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

CASE(counts_until_each_has_ended)
{
	struct sdp_sock sock = { .tcp_fd = -1 }, other = sock;

	assert_int_equal(sdp_owed_cnt(), 0);
	sdp_owed_begin(&sock);
	sdp_owed_begin(&other);
	sdp_owed_begin(&sock); /* for another reason */
	assert_int_equal(sdp_owed_cnt(), 2);
	sdp_owed_add();
	assert_int_equal(sdp_owed_cnt(), 3);
	sdp_owed_end();
	assert_int_equal(sdp_owed_cnt(), 2);
	sdp_owed_fork_child();
	assert_int_equal(sdp_owed_cnt(), 0);
}

ALL_CASES_WITH(table_start, NULL);
