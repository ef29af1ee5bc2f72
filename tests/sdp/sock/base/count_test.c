/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The counters of a socket: exact at its end, updated seldom before. */
#include "test.h"

#include <stdbool.h>
#include <string.h>

#include "../../../util/child.h"
#include "util/log.h"
#include "sock/base/count.h"
#include "stat/read.h"
#include "verbs/sdp-link.h"

static char link_place;
#define LINK ((struct sdp_link *)(void *)&link_place)

static struct sdp_sock sock;
static struct sdp_link_stats link_stats;
static int look_cnt, page_fd;

void sdp_link_get_stats(struct sdp_link *link, struct sdp_link_stats *ret)
{
	assert_ptr_equal(link, LINK);
	look_cnt++;
	*ret = link_stats;
}

static uint64_t counted(enum sdp_stat_counter counter)
{
	return sock.stat->counter[counter];
}

static int begin(void **state)
{
	memset(&sock, 0, sizeof(sock));
	memset(&link_stats, 0, sizeof(link_stats));
	sock.local.sa.sa_family = sock.peer.sa.sa_family = AF_INET;
	sdp_count_open(&sock, 7);
	atomic_store(&sock.link, LINK);
	look_cnt = 0;
	return 0;
}

static int end(void **state)
{
	sdp_count_close(&sock);
	return 0;
}

#define FILE_CASE(name) CASE_WITH(name, begin, end)

static int open_logged(void *arg)
{
	sock.is_accepting = *(const bool *)arg;
	if (util_log_route("sdp", UTIL_LOG_INFO, UTIL_LOG_STDERR, NULL) < 0)
		return 1;
	sdp_count_open(&sock, 8);
	return 0;
}

FILE_CASE(a_connection_is_logged)
{
	static const struct {
		bool is_accepting;
		const char *want;
	} rows[] = { { false, "descriptor 8: SDP begins, as the client\n" },
		     { true, "descriptor 8: SDP begins, as the server\n" } };
	char log[200];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool is_accepting = rows[i].is_accepting;

		assert_int_equal(
			child_run(open_logged, &is_accepting, log, sizeof(log)),
			0);
		assert_non_null(strstr(log, rows[i].want));
	}
}

FILE_CASE(looks_seldom)
{
	sdp_count_send(&sock, 1);
	assert_int_equal(look_cnt, 1);
	for (int i = 0; i < 255; i++)
		sdp_count_send(&sock, 1);
	assert_int_equal(look_cnt, 1);
	sdp_count_recv(&sock, 1);
	assert_int_equal(look_cnt, 2);
	/* Updated after each MiB: if a process is killed, at most that much is
	 * missing. */
	sdp_count_recv(&sock, (1 << 20) - 2);
	assert_int_equal(look_cnt, 2);
	sdp_count_recv(&sock, 1);
	assert_int_equal(look_cnt, 3);
	sdp_count_send(&sock, 5 << 20);
	assert_int_equal(look_cnt, 4);
}

/* The page's content for the process. */
static struct sdp_stat_snapshot page_look(void)
{
	struct sdp_stat_snapshot page;

	assert_int_equal(sdp_stat_read(page_fd, &page), 0);
	return page;
}

static uint64_t resets(void)
{
	struct sdp_stat_snapshot page = page_look();
	uint64_t cnt = page.head.event[SDP_STAT_resets];

	sdp_stat_snapshot_free(&page);
	return cnt;
}

FILE_CASE(counts_what_has_not_ended_well)
{
	assert_int_equal(resets(), 0);
	sdp_count_close(&sock);
	assert_int_equal(resets(), 0);
	sdp_count_open(&sock, 7);
	link_stats.is_failed = true;
	sdp_count_update(&sock);
	sdp_count_close(&sock);
	sdp_count_close(&sock);
	assert_int_equal(resets(), 1);
}

FILE_CASE(tells_of_both_credits)
{
	link_stats.send_credit = 5;
	link_stats.recv_credit = 31;
	sdp_count_update(&sock);
	assert_int_equal(sock.stat->gauge[SDP_STAT_send_credits], 5);
	assert_int_equal(sock.stat->gauge[SDP_STAT_recv_credits], 31);
}

FILE_CASE(octets_of_advertisements_count_apart)
{
	link_stats.tx_carried = 30;
	link_stats.rx_carried = 8;
	link_stats.tx_read = 50;
	atomic_store(&sock.tx_octets, 100);
	atomic_store(&sock.rx_octets, 100);
	sdp_count_update(&sock);
	assert_int_equal(counted(SDP_STAT_tx_transaction), 30);
	assert_int_equal(counted(SDP_STAT_tx_bcopy), 20);
	assert_int_equal(counted(SDP_STAT_rx_transaction), 8);
	assert_int_equal(counted(SDP_STAT_rx_bcopy), 92);
}

/* The link counts transfers without copying when they begin: for a while more
 * than the program has seen. */
FILE_CASE(copies_are_what_is_left)
{
	static const struct {
		uint64_t all, read, write, copied;
	} rows[] = {
		{ 100, 0, 0, 100 },  { 100, 60, 10, 30 }, { 100, 60, 40, 0 },
		{ 100, 100, 50, 0 }, { 0, 1, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		atomic_store(&sock.tx_octets, rows[i].all);
		atomic_store(&sock.rx_octets, rows[i].all);
		link_stats.tx_read = link_stats.rx_write = rows[i].read;
		link_stats.tx_write = link_stats.rx_read = rows[i].write;
		sdp_count_update(&sock);
		assert_int_equal(counted(SDP_STAT_tx_bcopy), rows[i].copied);
		assert_int_equal(counted(SDP_STAT_rx_bcopy), rows[i].copied);
		assert_int_equal(counted(SDP_STAT_tx_read), rows[i].read);
		assert_int_equal(counted(SDP_STAT_rx_read), rows[i].write);
	}
}

FILE_CASE(counts_what_is_relayed)
{
	sock.relay.is_on = true;
	sdp_count_relay(&sock, 10, true);
	sdp_count_relay(&sock, 5, false);
	assert_int_equal(counted(SDP_STAT_relayed), 15);
	assert_int_equal(counted(SDP_STAT_tx_bcopy), 10);
	assert_int_equal(counted(SDP_STAT_rx_bcopy), 5);
	assert_int_equal(sock.stat->gauge[SDP_STAT_relay], 1);
}

/* A start that failed has a slot in the page, and no link. */
FILE_CASE(does_without_a_link)
{
	atomic_store(&sock.link, NULL);
	sdp_count_send(&sock, 3);
	sdp_count_relay(&sock, 4, true);
	sdp_count_close(&sock);
	assert_null(sock.stat);
	/* And no slot. */
	atomic_store(&sock.link, LINK);
	sdp_count_send(&sock, 1);
	sdp_count_relay(&sock, 1, false);
	sdp_count_close(&sock);
	assert_int_equal(look_cnt, 0);
}

/* connect() with AF_UNSPEC ends a connection, and the socket makes another. */
FILE_CASE(the_next_connection_counts_from_zero)
{
	sdp_count_send(&sock, 1 << 20);
	sdp_count_recv(&sock, 30);
	sdp_count_close(&sock);
	sdp_count_open(&sock, 7);
	sdp_count_update(&sock);
	assert_int_equal(counted(SDP_STAT_tx_bcopy), 0);
	assert_int_equal(counted(SDP_STAT_rx_bcopy), 0);
	look_cnt = 0;
	sdp_count_send(&sock, 1);
	assert_int_equal(look_cnt, 1);
	assert_int_equal(counted(SDP_STAT_tx_bcopy), 1);
}

FILE_CASE(is_exact_at_the_end)
{
	struct sdp_stat_sock *stat = sock.stat;

	sdp_count_send(&sock, 1);
	sdp_count_send(&sock, 41);
	assert_int_equal(counted(SDP_STAT_tx_bcopy), 1);
	link_stats.tx_msgs = 2;
	sdp_count_close(&sock);
	assert_int_equal(look_cnt, 2);
	assert_null(sock.stat);
	/* The slot is free for the next one. */
	sdp_count_open(&sock, 8);
	assert_ptr_equal(sock.stat, stat);
	assert_int_equal(counted(SDP_STAT_tx_bcopy), 0);
	assert_int_equal(sock.stat->gauge[SDP_STAT_fd], 8);
}

static int start(void **state)
{
	page_fd = sdp_stat_fd_take();
	return page_fd < 0;
}

ALL_CASES_WITH(start, NULL);
