/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The end of the process: what is waited for, and how long. */
#include "test.h"

#include <string.h>

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
static struct {
	int flushes, drains, ends;
	uint64_t drain_deadline;
} seen;

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

bool sdp_relay_is_any(void)
{
	return false;
}

void sdp_relay_end(uint64_t deadline)
{
	assert_true(deadline > now);
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

ALL_CASES_WITH(table_start, NULL);
