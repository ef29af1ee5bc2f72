/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The end of the process: what is waited for, and how long. */
#include "loopback.h"
#include "test.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sock/enter/enter.h"
#include "sock/share/end.h"
#include "sock/show/epoll.h"
#include "sock/share/exit.h"
#include "sock/start/owed.h"
#include "sock/share/relay.h"
#include "verbs/sdp-link.h"

#include "fake-sock.h"
#include "sock-fixture.h"

#define SECOND 1000000000ull

/* ---- stand-ins for other files ---- */

static uint64_t now, step;
static int drain_ret, full_cnt;
static bool is_entering; /* a connection that is still TCP */
static struct {
	int flushes, drains, ends, stays, waits, confirms;
	uint64_t drain_deadline, wait_deadline;
} seen;
static bool is_relay_owing;

uint64_t sdp_now_ns(void)
{
	now += step;
	return now;
}

void sdp_sock_end(struct sdp_sock *sock)
{
	fail_msg("there is no socket");
}

void sdp_watch_forget(struct sdp_sock *sock, int fd)
{
	fail_msg("there is no socket");
}

void sdp_enter_never(struct sdp_sock *sock)
{
	seen.stays++;
	sdp_begun |= is_entering;
}

bool sdp_relay_is_any(void)
{
	return false;
}

void sdp_relay_end(uint64_t deadline)
{
	assert_true(deadline > now);
}

bool sdp_relay_is_owing(void)
{
	return is_relay_owing;
}

/* A handler is to run, the first time. */
int sdp_link_wait(struct sdp_link *link, unsigned int what, uint64_t deadline)
{
	assert_int_equal(what, SDP_LINK_DRAINED | SDP_LINK_CLOSED);
	seen.wait_deadline = deadline;
	return seen.waits++ ? -ETIMEDOUT : -EINTR;
}

/* The last of all, and not for long. */
int sdp_verbs_confirm(uint64_t deadline)
{
	assert_true(seen.drains > seen.confirms);
	assert_true(deadline <= now + 2 * SECOND + step);
	seen.confirms++;
	return 0;
}

int sdp_verbs_drain(uint64_t deadline)
{
	seen.drains++;
	seen.drain_deadline = deadline;
	return drain_ret;
}

int sdp_verbs_flush(uint64_t deadline)
{
	assert_int_equal(seen.drains, 1);
	seen.flushes++;
	return full_cnt;
}

static int begin(void **state)
{
	memset(&seen, 0, sizeof(seen));
	fake_reset();
	now = 0;
	step = SECOND / 10;
	drain_ret = full_cnt = 0;
	is_entering = is_relay_owing = false;
	sdp_begun = true;
	sdp_is_ending = false;
	return 0;
}

/* ---- cases ---- */

CASE_WITH(nothing_is_done_before_sdp, begin, NULL)
{
	sdp_begun = false;
	sdp_exit_run(true);
	assert_false(sdp_is_ending);
	assert_int_equal(fake.sdp_verbs_end.cnt + seen.drains, 0);
}

/* No link is made that the end of the process would cut off. */
CASE_WITH(what_is_tcp_stays_tcp, begin, NULL)
{
	struct sdp_sock *sock;
	int fd[2];

	test_tcp_pair(fd);
	sock = sock_add(fd[0], end_nothing);
	sdp_begun = false;
	sdp_exit_run(true);
	assert_int_equal(seen.stays, 1);
	assert_int_equal(seen.drains, 0);
	/* One is under way. */
	is_entering = true;
	sdp_exit_run(true);
	assert_int_equal(seen.drains, 1);
	program_close(fd[0]);
	close(fd[1]);
	sdp_sock_drop(sock);
}

CASE_WITH(what_the_links_have_is_sent, begin, NULL)
{
	sdp_exit_run(true);
	assert_int_equal(fake.sdp_verbs_end.cnt, 1);
	assert_int_equal(seen.drains, 1);
	assert_in_range(seen.drain_deadline, 2 * SECOND, 3 * SECOND);
	assert_int_equal(seen.flushes, 0);
	assert_true(now < SECOND);
	/* exit() and _exit() both come here. */
	sdp_exit_run(false);
	assert_int_equal(fake.sdp_verbs_end.cnt, 1);
}

CASE_WITH(a_peer_without_room_gets_another_carrier, begin, NULL)
{
	drain_ret = 1;
	full_cnt = 1;
	sdp_exit_run(true);
	assert_int_equal(seen.flushes, 1);
	assert_int_equal(seen.drains, 2);
	assert_in_range(seen.drain_deadline, 10 * SECOND, 11 * SECOND);
}

/* They have sent all, and their peers have not closed. */
CASE_WITH(links_that_owe_nothing_are_not_waited_for_again, begin, NULL)
{
	drain_ret = 1;
	sdp_exit_run(true);
	assert_int_equal(seen.drains, 1);
}

/* A peer that never looks does not keep it for ever. */
CASE_WITH(starts_that_owe_octets_are_waited_for, begin, NULL)
{
	fake.sdp_owed_cnt.ret = 2;
	sdp_exit_run(true);
	assert_in_range(now, 10 * SECOND, 11 * SECOND);
	assert_int_equal(seen.drains, 1);
}

/* If there is no other program, this one goes on. */
CASE_WITH(exec_ends_nothing, begin, NULL)
{
	drain_ret = full_cnt = 1;
	sdp_exit_exec();
	assert_false(sdp_is_ending);
	assert_int_equal(fake.sdp_verbs_end.cnt, 0);
	assert_int_equal(seen.flushes, 1);
	assert_int_equal(seen.drains, 2);
	assert_in_range(seen.drain_deadline, 10 * SECOND, 11 * SECOND);
	seen.drains = 0;
	sdp_exit_exec();
	assert_int_equal(seen.drains, 2);
}

CASE_WITH(exec_waits_for_starts, begin, NULL)
{
	fake.sdp_owed_cnt.ret = 1;
	sdp_exit_exec();
	assert_in_range(now, 10 * SECOND, 11 * SECOND);
	assert_int_equal(seen.drains, 1);
}

CASE_WITH(exec_waits_less_for_relays, begin, NULL)
{
	is_relay_owing = true;
	sdp_exit_exec();
	assert_in_range(now, 2 * SECOND, 3 * SECOND);
	assert_int_equal(seen.drains, 1);
}

CASE_WITH(exec_waits_less_for_open_links, begin, NULL)
{
	struct sdp_sock *sock;
	int fd[2], link;

	test_tcp_pair(fd);
	sock = sock_add(fd[0], end_nothing);
	sdp_exit_exec();
	assert_int_equal(seen.waits, 0);
	sdp_sock_link_put(sock, (struct sdp_link *)&link);
	sdp_exit_exec();
	assert_int_equal(seen.waits, 2);
	assert_int_equal(seen.confirms, 2);
	assert_in_range(seen.wait_deadline, 2 * SECOND, now + 2 * SECOND);
	/* That of a relay belongs to its threads. */
	sock->relay.is_on = true;
	sdp_exit_exec();
	assert_int_equal(seen.waits, 2);
	sdp_sock_link_put(sock, NULL);
	program_close(fd[0]);
	close(fd[1]);
	sdp_sock_drop(sock);
}

CASE_WITH(exec_of_a_vfork_child_waits_for_nothing, begin, NULL)
{
	int status;
	pid_t pid = fork(); /* no handler makes it an owner */

	assert_true(pid >= 0);
	if (pid == 0) {
		sdp_exit_exec();
		_exit(seen.drains);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

CASE_WITH(exec_before_sdp_waits_for_nothing, begin, NULL)
{
	sdp_begun = false;
	sdp_exit_exec();
	assert_int_equal(seen.drains, 0);
}

ALL_CASES_WITH(table_start, NULL);
