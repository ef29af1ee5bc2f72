/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The end of the process: how long it takes, what is left to another process,
 * and what happens if there is none. */
#include "test.h"

#include <string.h>

#include "sock/enter/enter.h"
#include "sock/share/end.h"
#include "sock/show/epoll.h"
#include "sock/process/exit.h"
#include "sock/start/owed.h"
#include "sock/process/proxy.h"
#include "sock/share/relay.h"
#include "sock/start/start.h"
#include "verbs/sdp-link.h"

#include "sock-fixture.h"

#define SECOND 1000000000ull

/* ---- stand-ins for other files ---- */

static struct sdp_sock socks[2];
static uint64_t now, step;
static int left_cnt, owed_cnt, fork_ret, resume_ret;
static bool is_heir;
static uint64_t heir_now;
static int heir_owed, drain_ret, full_cnt;
static struct {
	int flushes, resumes, gives, go_ons, parts, drains, heir_drains, stops,
		ends;
	uint64_t drain_deadline, heir_drain_ns, stop_ns;
} seen;

uint64_t sdp_now_ns(void)
{
	now += is_heir ? 600 * SECOND : step;
	return now;
}

void sdp_enter_never(struct sdp_sock *of)
{
	(void)of;
}

void sdp_sock_end(struct sdp_sock *sock)
{
	fail_msg("there is no socket");
}

void sdp_watch_forget(struct sdp_sock *sock, int fd)
{
	fail_msg("there is no socket");
}

void sdp_relay_end(uint64_t deadline)
{
	assert_true(deadline > now);
}

void sdp_verbs_end(void)
{
	seen.ends++;
}

bool sdp_owed_stop(uint64_t deadline)
{
	assert_true(deadline > now && deadline <= now + SECOND);
	seen.stops++;
	seen.stop_ns = now;
	return left_cnt > 0;
}

struct sdp_sock *sdp_owed_take(void)
{
	return left_cnt > 0 ? &socks[--left_cnt] : NULL;
}

void sdp_owed_give(void)
{
	seen.gives++;
	owed_cnt -= left_cnt;
	left_cnt = 0;
}

void sdp_owed_go_on(void)
{
	assert_int_equal(seen.resumes, 0);
	seen.go_ons++;
}

void sdp_owed_end(void)
{
	owed_cnt--;
}

/* An heir's starts end after a while. */
int sdp_owed_cnt(void)
{
	if (is_heir && resume_ret == 0 && now > 1800 * SECOND)
		owed_cnt = 0;
	return owed_cnt;
}

int sdp_start_resume(struct sdp_sock *sock)
{
	assert_ptr_equal(sock, &socks[left_cnt]);
	assert_int_equal(seen.parts, is_heir);
	seen.resumes++;
	return resume_ret;
}

/* Runs the heir before the program. */
int sdp_proxy_fork(void (*run)(void *arg), void *arg)
{
	int left = left_cnt, owed = owed_cnt;
	uint64_t begin = now;

	if (fork_ret < 0)
		return fork_ret;
	is_heir = true;
	run(arg);
	is_heir = false;
	heir_now = now;
	heir_owed = owed_cnt;
	now = begin;
	left_cnt = left;
	owed_cnt = owed;
	return 0;
}

void sdp_proxy_part(int keep)
{
	assert_int_equal(keep, -1);
	seen.parts++;
}

int sdp_verbs_drain(uint64_t deadline)
{
	if (is_heir) {
		seen.heir_drains++;
		seen.heir_drain_ns = deadline - now;
		return 0;
	}
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
	now = 0;
	step = SECOND / 10;
	left_cnt = owed_cnt = 2;
	fork_ret = resume_ret = drain_ret = full_cnt = 0;
	is_heir = false;
	sdp_begun = true;
	sdp_is_ending = false;
	return 0;
}

/* ---- cases ---- */

static void nothing_is_done_before_sdp(void **state)
{
	sdp_begun = false;
	sdp_exit_run(true);
	assert_false(sdp_is_ending);
	assert_int_equal(seen.ends + seen.drains, 0);
}

static void what_the_links_have_is_sent(void **state)
{
	left_cnt = owed_cnt = 0;
	sdp_exit_run(true);
	assert_int_equal(seen.ends, 1);
	assert_int_equal(seen.drains, 1);
	assert_in_range(seen.drain_deadline, 2 * SECOND, 3 * SECOND);
	assert_int_equal(seen.stops + seen.flushes, 0);
	assert_true(now < SECOND);
	/* exit() and _exit() both come here. */
	sdp_exit_run(false);
	assert_int_equal(seen.ends, 1);
}

static void a_peer_without_room_gets_another_carrier(void **state)
{
	left_cnt = owed_cnt = 0;
	drain_ret = 1;
	full_cnt = 1;
	sdp_exit_run(true);
	assert_int_equal(seen.flushes, 1);
	assert_int_equal(seen.drains, 2);
	assert_in_range(seen.drain_deadline, 10 * SECOND, 11 * SECOND);
}

/* They have sent all, and their peers have not closed. */
static void links_that_owe_nothing_are_not_waited_for_again(void **state)
{
	left_cnt = owed_cnt = 0;
	drain_ret = 1;
	sdp_exit_run(true);
	assert_int_equal(seen.drains, 1);
}

static void another_process_goes_on(void **state)
{
	sdp_exit_run(true);
	/* Most peers answer before that. */
	assert_in_range(seen.stop_ns, SECOND / 5, SECOND);
	assert_int_equal(seen.parts, 1);
	assert_int_equal(seen.resumes, 2);
	/* It waits for the peers, then for what the links have. */
	assert_true(heir_now > 1800 * SECOND && heir_now < 3600 * SECOND);
	assert_int_equal(seen.heir_drains, 1);
	assert_int_equal(seen.heir_drain_ns, 60 * SECOND);
	assert_int_equal(seen.gives, 1);
	assert_int_equal(seen.go_ons, 0);
	assert_int_equal(seen.drains, 1);
	assert_true(now < 2 * SECOND);
}

/* A peer that never looks does not keep it for ever. */
static void it_does_not_wait_for_ever(void **state)
{
	owed_cnt = 3;
	resume_ret = -1;
	sdp_exit_run(true);
	assert_int_equal(heir_owed, 1);
	assert_true(heir_now > 3600 * SECOND && heir_now < 6000 * SECOND);
}

/* A peer that answers when the starts stop is waited for. */
static void those_that_do_not_stop_are_waited_for(void **state)
{
	left_cnt = 0;
	sdp_exit_run(true);
	assert_int_equal(seen.stops, 1);
	assert_int_equal(seen.gives + seen.go_ons + seen.resumes, 0);
	assert_in_range(now, 10 * SECOND, 11 * SECOND);
	assert_int_equal(seen.drains, 1);
}

static void without_one_this_process_goes_on(void **state)
{
	fork_ret = -1;
	sdp_exit_run(true);
	assert_int_equal(seen.go_ons, 1);
	assert_int_equal(seen.resumes, 2);
	assert_int_equal(seen.gives + seen.parts + seen.heir_drains, 0);
	assert_in_range(now, 10 * SECOND, 11 * SECOND);
	assert_int_equal(seen.drains, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(nothing_is_done_before_sdp, begin),
		cmocka_unit_test_setup(what_the_links_have_is_sent, begin),
		cmocka_unit_test_setup(a_peer_without_room_gets_another_carrier,
				       begin),
		cmocka_unit_test_setup(
			links_that_owe_nothing_are_not_waited_for_again, begin),
		cmocka_unit_test_setup(another_process_goes_on, begin),
		cmocka_unit_test_setup(it_does_not_wait_for_ever, begin),
		cmocka_unit_test_setup(those_that_do_not_stop_are_waited_for,
				       begin),
		cmocka_unit_test_setup(without_one_this_process_goes_on, begin),
	};

	return cmocka_run_group_tests(tests, table_start, NULL);
}
