/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The end of a socket in each state. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "sock/enter/enter.h"
#include "sock/base/count.h"
#include "sock/share/end.h"
#include "sock/show/epoll.h"
#include "sock/listen/listen.h"
#include "sock/share/relay.h"
#include "sock/show/shadow.h"
#include "sock/start/start.h"
#include "verbs/sdp-link.h"

#include "fake-sock.h"
#include "sock-fixture.h"

#define SECOND 1000000000ull

static char places[2];
#define LINK FAKE_LINK
#define PAST ((struct sdp_link *)(void *)&places[1])

/* ---- stand-ins for other files ---- */

static struct sdp_sock sock;
static bool ends_again;
static struct {
	int link_closes, past_closes, counts, shadows, listeners;
	int waits;
	uint64_t close_deadline, linger_deadline, start_deadline;
} seen;

int sdp_start_wait(struct sdp_sock *of, uint64_t deadline)
{
	assert_ptr_equal(of, &sock);
	assert_int_equal(seen.shadows, 1);
	seen.start_deadline = deadline;
	return -EAGAIN;
}

void sdp_link_set_notify(struct sdp_link *link, sdp_notify_fn *fn, void *arg)
{
	assert_ptr_equal(link, LINK);
	assert_null(fn);
	(void)arg;
}

int sdp_link_linger(struct sdp_link *link, uint64_t deadline)
{
	assert_ptr_equal(link, LINK);
	/* The link may be found only during exit. */
	assert_true(sdp_is_ending || !sdp_sock_link(&sock));
	seen.linger_deadline = deadline;
	fake.sdp_now_ns.ret = deadline;
	return -1;
}

void sdp_link_close(struct sdp_link *link, uint64_t deadline)
{
	if (link == PAST) {
		assert_int_equal(deadline, 0);
		seen.past_closes++;
		return;
	}
	assert_ptr_equal(link, LINK);
	seen.link_closes++;
	seen.close_deadline = deadline;
	if (!ends_again)
		return;
	ends_again = false;
	sdp_sock_end(&sock);
	assert_int_equal(seen.shadows, 0);
	assert_non_null(sock.start.early);
}

void sdp_shadow_close(struct sdp_shadow *shadow)
{
	seen.shadows++;
	shadow->lib_fd = -1;
}

void sdp_watch_forget(struct sdp_sock *of, int fd)
{
	assert_ptr_equal(of, &sock);
	assert_int_equal(fd, -1);
}

bool sdp_start_asked(struct sdp_sock *of, uint64_t deadline)
{
	assert_true(deadline == SDP_NEVER);
	assert_ptr_equal(of, &sock);
	assert_true(fake.sdp_start_abandon.ret);
	/* A jump out of it leaves nothing behind. */
	assert_int_equal(seen.shadows, 1);
	seen.waits++;
	return true;
}

static int begin(void **state)
{
	memset(&sock, 0, sizeof(sock));
	memset(&seen, 0, sizeof(seen));
	fake_reset();
	fake.sock = &sock;
	util_lock_init(&sock.lock, UTIL_RANK_SDP_SOCK);
	util_lock_init(&sock.shadow.lock, UTIL_RANK_SDP_SHADOW);
	sock.options.linger_s = -1;
	sock.shadow.lib_fd = 1000;
	sock.tcp_fd = -1;
	sock.state = SDP_SOCK_STREAM;
	sock.link = LINK;
	fake.sdp_now_ns.ret = 5 * SECOND;
	ends_again = false;
	return 0;
}

/* ---- a socket ---- */

CASE_WITH(lingers_for_the_time_of_so_linger, begin, NULL)
{
	static const struct {
		const char *name;
		int seconds;
		uint64_t linger, close; /* points in time; 0: none, at once */
	} rows[] = {
		{ "in the background", -1, 0, 65 * SECOND },
		{ "not at all", 0, 0, 0 },
		{ "for a while", 7, 12 * SECOND, 65 * SECOND },
		{ "for long", 65535, 65540 * SECOND, 65 * SECOND },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		begin(state);
		sock.options.linger_s = rows[i].seconds;
		sdp_sock_end(&sock);
		assert_row(rows[i].name,
			   seen.linger_deadline == rows[i].linger);
		assert_row(rows[i].name, seen.close_deadline == rows[i].close);
		assert_row(rows[i].name, seen.link_closes == 1);
		assert_row(rows[i].name, seen.shadows == 1);
		assert_row(rows[i].name, !sdp_sock_link(&sock));
	}
}

/* close() waits for what was sent before the peer took part. */
CASE_WITH(lingers_for_a_start, begin, NULL)
{
	static const struct {
		const char *name;
		int seconds;
		uint32_t early_len;
		bool is_exit;
		uint64_t deadline; /* 0: it does not wait */
	} rows[] = {
		{ "octets are owed", 7, 1, false, 12 * SECOND },
		{ "nothing is owed", 7, 0, false, 0 },
		{ "in the background", -1, 1, false, 0 },
		{ "not at all", 0, 1, false, 0 },
		{ "the process ends", 7, 1, true, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		begin(state);
		sock.state = SDP_SOCK_STARTING;
		fake.sdp_start_abandon.ret = true;
		sock.options.linger_s = rows[i].seconds;
		atomic_store(&sock.start.early_len, rows[i].early_len);
		sdp_is_ending = rows[i].is_exit;
		sdp_sock_end(&sock);
		sdp_is_ending = false;
		assert_row(rows[i].name,
			   seen.start_deadline == rows[i].deadline);
	}
}

/* A relay's last thread and close() may both call it. */
CASE_WITH(ends_once, begin, NULL)
{
	sock.past_link = PAST;
	sock.start.early = malloc(1);
	sdp_sock_end(&sock);
	sdp_sock_end(&sock);
	assert_int_equal(seen.link_closes, 1);
	assert_int_equal(seen.past_closes, 1);
	assert_int_equal(fake.sdp_count_close.cnt, 1);
	assert_int_equal(seen.shadows, 1);
	assert_null(sock.start.early);
}

/* The second call leaves everything to the first. */
CASE_WITH(ends_once_while_it_ends, begin, NULL)
{
	sock.start.early = malloc(1);
	ends_again = true;
	sdp_sock_end(&sock);
	assert_false(ends_again);
	assert_int_equal(seen.link_closes, 1);
	assert_int_equal(seen.shadows, 1);
	assert_null(sock.start.early);
}

CASE_WITH(releases_what_each_state_has, begin, NULL)
{
	static const struct {
		const char *name;
		enum sdp_sock_state state;
		bool is_kept, is_abandoned;
		int link_closes, past_closes, shadows, listeners;
	} rows[] = {
		{ "TCP", SDP_SOCK_TCP, .past_closes = 1, .shadows = 1 },
		{ "a listener", SDP_SOCK_LISTENING, .past_closes = 1,
		  .shadows = 1, .listeners = 1 },
		{ "pending", SDP_SOCK_PENDING, .past_closes = 1, .shadows = 1 },
		/* The thread of the start does the rest. */
		{ "starting", SDP_SOCK_STARTING, .is_abandoned = true,
		  .shadows = 1 },
		{ "just started", SDP_SOCK_STARTING, .link_closes = 1,
		  .past_closes = 1, .shadows = 1 },
		{ "a parent's", SDP_SOCK_RELAY, .link_closes = 1,
		  .past_closes = 1, .shadows = 1 },
		{ "used by others", SDP_SOCK_STREAM, .is_kept = true },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		begin(state);
		sock.past_link = PAST;
		sock.state = rows[i].state;
		fake.sdp_relay_keeps.ret = rows[i].is_kept;
		fake.sdp_start_abandon.ret = rows[i].is_abandoned;
		sdp_sock_end(&sock);
		assert_row(rows[i].name,
			   seen.link_closes == rows[i].link_closes);
		assert_row(rows[i].name,
			   seen.past_closes == rows[i].past_closes);
		assert_row(rows[i].name, seen.shadows == rows[i].shadows);
		assert_row(rows[i].name,
			   fake.sdp_listen_end.cnt == rows[i].listeners);
		assert_row(rows[i].name, seen.waits == rows[i].is_abandoned);
	}
}

/* When the process exits, threads inside a call find the link unchanged. */
CASE_WITH(keeps_the_link_at_exit, begin, NULL)
{
	sdp_is_ending = true;
	sdp_sock_end(&sock);
	sdp_is_ending = false;
	assert_int_equal(seen.link_closes, 1);
	assert_ptr_equal(sdp_sock_link(&sock), LINK);
}

ALL_CASES_WITH(table_start, NULL);
