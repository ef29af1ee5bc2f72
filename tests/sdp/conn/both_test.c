/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Two connections in memory: results of both ends together.
 */
#include "test.h"

#include <string.h>

#include "conn/state.h"
#include "sdpsim.h"

static void open_with(struct sim *s, const struct sdp_options *a,
		      const struct sdp_options *b)
{
	sim_init(s, a, b, 7);
	sim_open(s);
}

/* Options of both ends for copying only, with @bufs receives of @size
 * octets. */
static void copying(struct sdp_options opt[2], uint32_t bufs, uint32_t size)
{
	for (int i = 0; i < 2; i++) {
		opt[i] = sim_options((enum sdp_role)i, SDP_STREAM);
		opt[i].has_manual_mode = true;
		opt[i].bufs = bufs;
		opt[i].buf_size = size;
		opt[i].ird = opt[i].ord = 2;
	}
}

/* T19: neither ULP reads, until nothing more is sent. */
CASE(recovers_when_both_were_blocked)
{
	for (uint32_t bufs = 3; bufs <= 32; bufs++) {
		/* Of three receives, two are for control messages: each message
		 * waits for an update, and updates that cross are delayed. */
		uint64_t limit = bufs == 3 ? 100000000000u : 1000000000;
		struct sdp_options opt[2];
		struct sim s;

		copying(opt, bufs, 100);
		open_with(&s, &opt[0], &opt[1]);
		for (int i = 0; i < 2; i++) {
			while (sim_send(&s, &s.end[i], 300, 0))
				;
		}
		sim_run(&s);
		for (int i = 0; i < 2; i++) {
			assert_true(s.end[i].conn->send_cnt > 0);
			assert_true(sdp_conn_credit(s.end[i].conn) < 3);
		}
		do {
			sim_drain(&s);
			assert_true(s.now < limit);
		} while (s.end[0].conn->send_cnt || s.end[1].conn->send_cnt);
		sim_check_rest(&s);
		sim_fini(&s);
	}
}

/* Both ends do everything at the same time, and no ULP reads: credit for
 * SuspComm comes by an update that does not cross one of the other end. */
static void suspend_in_step(uint32_t bufs, int who, int waits, uint64_t seed)
{
	struct sdp_options opt[2];
	struct sim s;

	copying(opt, bufs, 100);
	sim_init(&s, &opt[0], &opt[1], seed);
	sim_open(&s);
	for (int i = 0; i < 2; i++) {
		while (sim_send(&s, &s.end[i], 300, 0))
			;
	}
	sim_run(&s);
	while (waits-- > 0 && sim_wait(&s))
		sim_run_in_step(&s);
	assert_true(s.end[0].conn->send_cnt && s.end[1].conn->send_cnt);
	assert_int_equal(sdp_conn_suspend(s.end[who].conn, 80, s.now), 0);
	sim_run_in_step(&s);
	while (!s.end[0].is_suspended || !s.end[1].is_suspended) {
		assert_int_equal(s.end[who].fault, SDP_FAULT_NONE);
		assert_true(sim_wait(&s));
		sim_run_in_step(&s);
	}
	sim_fini(&s);
}

CASE(moves_when_both_were_blocked)
{
	for (uint32_t bufs = 3; bufs <= 32; bufs++) {
		for (uint64_t seed = 0; seed < 6; seed++) {
			for (int waits = 0; waits < 12; waits++) {
				suspend_in_step(bufs, 0, waits, seed);
				suspend_in_step(bufs, 1, waits, seed);
			}
		}
	}
}

static uint32_t messages_of(const struct sim *s)
{
	uint32_t cnt = 0;

	for (int i = 0; i < 2; i++) {
		for (int mid = 0; mid < 256; mid++)
			cnt += s->end[i].mid_cnt[mid];
	}
	return cnt;
}

/* T21: with so few receives that each update uses up credit. */
CASE(falls_silent_when_idle)
{
	for (uint32_t bufs = 3; bufs < 8; bufs++) {
		struct sdp_options opt[2];
		struct sim s;
		uint32_t cnt;
		int waits = 0;

		copying(opt, bufs, 100);
		open_with(&s, &opt[0], &opt[1]);
		for (int i = 0; i < 20; i++) {
			sim_send(&s, &s.end[i % 2], 250, 0);
			sim_drain(&s);
		}
		cnt = messages_of(&s);
		/* 100 s: actions whose delay doubles may continue. */
		while (s.now < 100000000000u && sim_wait(&s)) {
			sim_run(&s);
			assert_true(++waits < 1000);
		}
		assert_in_range(messages_of(&s) - cnt, 0, 100);
		sim_check_rest(&s);
		sim_fini(&s);
	}
}

/* T22: the soft NIC fails a message that is larger than the receive. */
CASE(keeps_within_the_peers_size)
{
	static const uint32_t sizes[] = { 37, 38, 100, 4096 };

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct sdp_options opt[2];
		struct sim s;

		copying(opt, 64, 5000);
		opt[1].buf_size = sizes[i];
		opt[0].inline_max = 5000;
		open_with(&s, &opt[0], &opt[1]);
		assert_int_equal(sdp_conn_peer_size(s.end[0].conn), sizes[i]);
		sim_send(&s, &s.end[0], 10 * (sizes[i] - 16), 0);
		sim_drain(&s);
		/* The minimum number of messages for that size. */
		assert_int_equal(s.end[0].mid_cnt[SDP_MID_DATA], 10);
		sim_send(&s, &s.end[0], 10000, SDP_BUF_RDMA);
		sim_drain(&s);
		assert_true(s.end[0].mid_cnt[SDP_MID_SRC_AVAIL] > 0);
		(void)sdp_conn_set_mode(s.end[1].conn, SDP_MODE_PIPELINED);
		sim_drain(&s);
		sim_send(&s, &s.end[0], sizes[i] - 36, 0);
		sim_post_recv(&s, &s.end[0], 6000, SDP_BUF_RDMA);
		sim_run(&s); /* a Transaction of the maximum size */
		assert_int_equal(s.end[0].mid_cnt[SDP_MID_SINK_AVAIL], 1);
		sim_take(&s, &s.end[1], UINT32_MAX);
		assert_int_equal(s.end[1].got.len,
				 10 * (sizes[i] - 16) + 10000 + sizes[i] - 36);
		sdp_conn_abort(s.end[0].conn, s.now);
		sim_run(&s);
		sim_fini(&s);
	}
}

/*
 * SDP-130, C25: receives grow while a receive buffer between the old and the
 * new size is posted. A buffer that is advertised gets all of one message
 * (SDP-174). A larger message would leave a rest, which the Write into the next
 * advertised buffer would overtake.
 */
CASE(grows_receives_beside_advertised_buffers)
{
	struct sdp_options opt[2];
	struct sim s;

	copying(opt, 8, 256);
	opt[0].buf_size_max = 512;
	open_with(&s, &opt[0], &opt[1]);
	(void)sdp_conn_set_mode(s.end[1].conn, SDP_MODE_PIPELINED);
	sim_run(&s);
	assert_true(sim_post_recv(&s, &s.end[0], 400, SDP_BUF_RDMA));
	assert_true(sim_post_recv(&s, &s.end[0], 800, SDP_BUF_RDMA));
	sim_run(&s);
	assert_int_equal(sdp_conn_ask_size(s.end[1].conn, 512), 0);
	sim_run(&s);
	assert_int_equal(sdp_conn_peer_size(s.end[1].conn), 512);
	assert_true(sim_send(&s, &s.end[1], 496, 0));
	assert_true(sim_send(&s, &s.end[1], 704, SDP_BUF_RDMA));
	sim_drain(&s);
	assert_int_equal(s.end[0].got.len, 1200);
	sim_check_rest(&s);
	sim_fini(&s);
}

/* T23 */
CASE(carries_a_million_single_octets)
{
	struct sdp_options opt[2];
	struct sim s;

	copying(opt, 8, 256);
	open_with(&s, &opt[0], &opt[1]);
	for (uint32_t i = 0; i < 1000000; i++) {
		while (!sim_send(&s, &s.end[0], 1, 0))
			sim_drain(&s);
	}
	sim_drain(&s);
	assert_int_equal(s.end[1].got.len, 1000000);
	sim_check_rest(&s);
	sim_fini(&s);
}

/* T52: both have advertised, and neither has queued a receive buffer. */
CASE(ends_the_deadlock_of_two_writers)
{
	struct sdp_options opt[2];
	struct sim s;
	uint32_t turns = 0;

	copying(opt, 8, 256);
	open_with(&s, &opt[0], &opt[1]);
	for (int i = 0; i < 2; i++)
		assert_true(sim_send(&s, &s.end[i], 20000, SDP_BUF_RDMA));
	sim_run(&s);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(s.end[i].mid_cnt[SDP_MID_SRC_AVAIL], 1);
		assert_int_equal(s.end[i].conn->source.src_cnt, 1);
	}
	/* One of them has its octets copied. Then that one reads. */
	while (s.end[0].got.len < 20000 && s.end[1].got.len < 20000) {
		assert_true(++turns < 100000);
		if (!sim_step(&s)) {
			sim_take(&s, &s.end[0], UINT32_MAX);
			sim_take(&s, &s.end[1], UINT32_MAX);
			if (!sim_step(&s))
				sim_wait(&s);
		}
	}
	assert_int_equal(s.end[0].read_cnt + s.end[1].read_cnt, 0);
	sim_drain(&s);
	sim_check_rest(&s);
	sim_fini(&s);
}

/* T77: each end may have one advertisement of either kind. */
CASE(keeps_within_max_adverts_of_one)
{
	struct sdp_options opt[2];
	uint32_t most[2] = { 0 }, turns = 0;
	struct sim s;

	copying(opt, 8, 256);
	opt[0].max_adverts = opt[1].max_adverts = 1;
	open_with(&s, &opt[0], &opt[1]);
	for (int i = 0; i < 2; i++)
		(void)sdp_conn_set_mode(s.end[i].conn, SDP_MODE_PIPELINED);
	while (turns++ < 20000) {
		struct sim_end *e = &s.end[turns / 16 % 2];

		if (turns % 16 == 0)
			sim_send(&s, e, 900, SDP_BUF_RDMA);
		if (turns % 16 == 3)
			sim_post_recv(&s, e, 700, SDP_BUF_RDMA);
		if (turns % 16 == 5)
			sim_take(&s, e, UINT32_MAX);
		if (!sim_step(&s))
			sim_wait(&s);
		for (int i = 0; i < 2; i++) {
			const struct sdp_conn *c = s.end[i].conn;
			uint32_t cnt = c->source.src_cnt + c->sink.out_cnt;

			most[i] = cnt > most[i] ? cnt : most[i];
		}
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(most[i], 1);
		assert_int_equal(s.end[i].fault, SDP_FAULT_NONE);
		assert_true(s.end[i].mid_cnt[SDP_MID_SRC_AVAIL] > 10);
		assert_true(s.end[i].mid_cnt[SDP_MID_SINK_AVAIL] > 10);
	}
	sdp_conn_abort(s.end[0].conn, s.now);
	sim_run(&s);
	sim_fini(&s);
}
