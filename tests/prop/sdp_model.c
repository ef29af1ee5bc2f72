/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Two SDP connections under a random scheduler (T70): in every order of
 * messages both streams arrive, octet for octet, and in the end both ends agree
 * on counters and advertisements. USIW_SDP_SEEDS sets the number of runs, and
 * USIW_SDP_SEED the first seed.
 */
#include "test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conn/state.h"
#include "random.h"
#include "sdpsim.h"

/* How often a run does what, of 256. */
struct profile {
	const char *name;
	uint8_t ulp; /* an action of a ULP, otherwise a step */
	uint8_t send, recv, take, cancel_send, cancel_recv, mode, refuse, size;
	bool has_rdma;
	bool has_manual_mode;
	bool is_pipelined; /* from the start, and most of the time */
};

static const struct profile profiles[] = {
	{ "copies", 60, 100, 30, 120, 0, 0, 0, 0, 0, false, true, false },
	{ "reads", 60, 100, 100, 20, 0, 0, 0, 4, 0, true, true, false },
	{ "modes", 50, 80, 80, 10, 0, 0, 60, 4, 0, true, true, false },
	{ "cancels", 50, 80, 80, 10, 30, 30, 20, 4, 0, true, true, false },
	{ "all", 50, 80, 80, 20, 10, 10, 20, 10, 6, true, true, false },
	{ "hints", 50, 80, 80, 10, 4, 4, 0, 4, 2, true, false, false },
	{ "writes", 40, 30, 120, 2, 2, 6, 20, 1, 1, true, true, true },
	{ "crossing", 90, 70, 90, 2, 10, 16, 40, 2, 0, true, true, true },
	{ "eager", 15, 80, 120, 10, 4, 4, 20, 4, 1, true, true, false },
};

/* How often each event happened in all runs. A model in which nothing ever
 * crosses proves nothing. */
static struct {
	uint64_t mids[256];
	uint64_t reads, writes, moves, stalls;
	uint64_t octets;
} seen;

static uint32_t pick(struct sim *s, uint32_t n)
{
	return (uint32_t)(test_random(&s->seed) % n);
}

static uint32_t length(struct sim *s)
{
	switch (pick(s, 4)) {
	case 0:
		return 1 + pick(s, 30);
	case 1:
		return 1 + pick(s, 310);
	default:
		return 1 + pick(s, 2000);
	}
}

static void cancel_one(struct sim *s, struct sim_end *e, bool is_recv)
{
	uint32_t first = pick(s, SIM_BUFS);

	for (uint32_t i = 0; i < SIM_BUFS; i++) {
		uint32_t j = (first + i) % SIM_BUFS;

		if (!e->bufs[j].is_used || e->bufs[j].is_recv != is_recv ||
		    e->bufs[j].is_oob)
			continue;
		if (is_recv)
			sdp_conn_cancel_recv(e->conn, j, s->now);
		else
			sdp_conn_cancel_send(e->conn, j, s->now);
		return;
	}
}

static void change_mode(struct sim *s, struct sim_end *e,
			const struct profile *p)
{
	if (p->is_pipelined)
		(void)sdp_conn_set_mode(e->conn, pick(s, 4)
							 ? SDP_MODE_PIPELINED
							 : SDP_MODE_COMBINED);
	else
		(void)sdp_conn_set_mode(e->conn, (enum sdp_mode)pick(s, 3));
}

static void ulp_acts(struct sim *s, const struct profile *p)
{
	struct sim_end *e = &s->end[pick(s, 2)];
	uint8_t rdma = p->has_rdma && pick(s, 4) ? SDP_BUF_RDMA : 0;
	uint32_t what = pick(s, 256);

#define CHANCE(n) (what < (n) ? true : (what -= (n), false))
	if (CHANCE(p->send)) {
		bool is_oob = !pick(s, 40);

		if (sim_send(s, e, length(s),
			     rdma | (is_oob ? SDP_BUF_OOB : 0)) &&
		    is_oob)
			e->bufs[sdp_conn_send_at(e->conn,
						 e->conn->send_cnt - 1u)
					->cookie]
				.is_oob = true;
	} else if (CHANCE(p->recv)) {
		/* In separate statements: the order in which a compiler
		 * evaluates arguments is not defined, and a seed must always
		 * give the same run. */
		uint32_t len = length(s);

		sim_post_recv(s, e, len,
			      rdma | (pick(s, 8) ? 0 : SDP_BUF_WAITALL));
	} else if (CHANCE(p->take)) {
		sim_take(s, e, length(s));
	} else if (CHANCE(p->cancel_send)) {
		cancel_one(s, e, false);
	} else if (CHANCE(p->cancel_recv)) {
		cancel_one(s, e, true);
	} else if (CHANCE(p->mode)) {
		change_mode(s, e, p);
	} else if (CHANCE(p->refuse)) {
		(void)sdp_conn_refuse_advert(e->conn);
	} else if (CHANCE(p->size)) {
		e->peer->grant_size = pick(s, 2) ? 64 + pick(s, 1000) : 0;
		(void)sdp_conn_ask_size(e->conn, 40 + pick(s, 1000));
	}
#undef CHANCE
}

/* The end that did not request the move connects again. Return: whether there
 * was a move. */
static bool move_on(struct sim *s)
{
	if (!s->end[0].is_suspended || !s->end[1].is_suspended)
		return false;
	assert_true(s->end[0].is_initiator != s->end[1].is_initiator);
	seen.moves++;
	sim_move(s, s->end[0].is_initiator);
	return true;
}

/* A move that crossed the peer's follows that one. */
static bool is_moving(const struct sdp_conn *conn)
{
	return sdp_conn_is_moving(conn) || !sdp_conn_is_open(conn);
}

/* Both ULPs take what is left. Cancels only waits for more octets than there
 * are. */
static void come_to_rest(struct sim *s)
{
	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < 2; i++) {
			struct sim_end *e = &s->end[i];

			for (uint32_t j = 0; j < SIM_BUFS; j++) {
				if (e->bufs[j].is_used && e->bufs[j].is_recv)
					sdp_conn_cancel_recv(e->conn, j,
							     s->now);
			}
		}
		sim_drain(s);
		/* What waited for the move was sent, and not received yet. */
		if (move_on(s))
			continue;
		if (!s->end[0].buf_cnt && !s->end[1].buf_cnt &&
		    !is_moving(s->end[0].conn) && !is_moving(s->end[1].conn))
			break;
	}
}

/*
 * SuspComm takes the last credit from a peer that has just used all others. The
 * peer cannot answer, and the moving side gives no more credit (SDP-237). The
 * draft provides only a time limit.
 */
static bool is_stalled(const struct sim *s)
{
	for (int i = 0; i < 2; i++) {
		const struct sdp_conn *conn = s->end[i].conn;

		if (conn->moving.is_rcvd && !conn->moving.is_ack_sent &&
		    sdp_conn_is_open(conn) && !sdp_credit_get(&conn->credit))
			return true;
	}
	return false;
}

static void end_stalled(struct sim *s)
{
	seen.stalls++;
	while (!s->end[0].is_closed && sim_wait(s))
		sim_drain(s);
	assert_true(s->end[0].is_closed && s->end[1].is_closed);
	assert_true(s->end[0].fault == SDP_FAULT_MOVE ||
		    s->end[1].fault == SDP_FAULT_MOVE);
}

static struct sdp_options options(struct sim *s, enum sdp_role role,
				  const struct profile *p)
{
	struct sdp_options opt =
		sim_options(role, (enum sdp_carrier)pick(s, 3));

	opt.has_manual_mode = p->has_manual_mode;
	opt.bufs = 3 + pick(s, 8);
	opt.buf_size = 60 + pick(s, 300);
	opt.buf_size_max = 600;
	opt.max_adverts = (uint16_t)(1 + pick(s, 5));
	opt.ord = (uint16_t)(1 + pick(s, 3));
	opt.ird = (uint16_t)(1 + pick(s, 3));
	opt.inline_max = 1 + pick(s, 64);
	opt.req_pipe = (enum sdp_req_pipe)pick(s, 3);
	opt.has_invalidate = pick(s, 2);
	opt.has_no_transaction = !pick(s, 4);
	opt.cancel_ms = 100000000;
	/* Both ends use the same first numbers: counters near their wrap. */
	opt.first_mseq = 0;
	return opt;
}

static void run(uint64_t seed)
{
	struct sim s;
	struct sim draw = { .seed = seed };
	const struct profile *p =
		&profiles[pick(&draw, (uint32_t)ARRAY_LEN(profiles))];
	struct sdp_options a = options(&draw, SDP_CONNECTING, p);
	struct sdp_options b = options(&draw, SDP_ACCEPTING, p);
	uint32_t steps = 200 + pick(&draw, 2500);
	bool has_moves = !pick(&draw, 8);

	if (pick(&draw, 3) == 0) {
		/* Not before a first MSeqAck: 0 would be ambiguous. */
		a.first_mseq = b.peer_first_mseq = -20 - pick(&draw, 40);
		b.first_mseq = a.peer_first_mseq = -20 - pick(&draw, 40);
		a.first_non_discards = b.first_non_discards = -pick(&draw, 20);
	}
	sim_init(&s, &a, &b, seed);
	sim_open(&s);
	for (int i = 0; i < 2 && p->is_pipelined; i++)
		(void)sdp_conn_set_mode(s.end[i].conn, SDP_MODE_PIPELINED);
	for (uint32_t i = 0; i < steps; i++) {
		if (pick(&s, 256) < p->ulp)
			ulp_acts(&s, p);
		else if (!sim_step(&s) &&
			 sdp_conn_deadline(s.end[0].conn) < s.now + 1000000000)
			sim_wait(&s);
		if (has_moves && !pick(&s, 1000)) {
			int who = (int)pick(&s, 2);

			if (sdp_conn_suspend(s.end[who].conn, 5001, s.now))
				continue;
			if (!pick(&s, 4))
				(void)sdp_conn_suspend(s.end[!who].conn, 5002,
						       s.now);
		}
		move_on(&s);
	}
	come_to_rest(&s);
	if (is_stalled(&s)) {
		end_stalled(&s);
		sim_fini(&s);
		return;
	}
	sim_check_rest(&s);
	assert_int_equal(sdp_conn_shutdown(s.end[0].conn, s.now), 0);
	assert_int_equal(sdp_conn_shutdown(s.end[1].conn, s.now), 0);
	sim_drain(&s);
	while (!s.end[0].is_closed && sim_wait(&s))
		sim_drain(&s);
	if (!s.end[0].is_closed || !s.end[1].is_closed || s.end[0].fault ||
	    s.end[1].fault) {
		sim_report(&s);
		fail_msg("seed %#llx (%s): no graceful close: %s, %s",
			 (unsigned long long)seed, p->name,
			 sdp_fault_str(s.end[0].fault),
			 sdp_fault_str(s.end[1].fault));
	}
	for (int i = 0; i < 2; i++) {
		for (int mid = 0; mid < 256; mid++)
			seen.mids[mid] += s.end[i].mid_cnt[mid];
		seen.reads += s.end[i].read_cnt;
		seen.writes += s.end[i].write_cnt;
		seen.octets += s.end[i].got.len;
	}
	sim_fini(&s);
}

static uint64_t setting(const char *name, uint64_t other)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 0) : other;
}

CASE(delivers_both_streams_whatever_crosses)
{
	uint64_t cnt = setting("USIW_SDP_SEEDS", 1000);
	uint64_t seed = setting("USIW_SDP_SEED", 1);

	for (uint64_t i = 0; i < cnt; i++)
		run(seed + i);
	printf("%llu runs, %llu octets, %llu reads, %llu writes, %llu moves, "
	       "%llu stalls\n",
	       (unsigned long long)cnt, (unsigned long long)seen.octets,
	       (unsigned long long)seen.reads, (unsigned long long)seen.writes,
	       (unsigned long long)seen.moves, (unsigned long long)seen.stalls);
	/* With pools of three to ten receives. */
	assert_true(seen.stalls * 5 <= seen.moves + 5);
	for (unsigned int mid = 0; mid < 256; mid++) {
		if (!sdp_mid_header_size((uint8_t)mid))
			continue;
		printf("%8llu %s\n", (unsigned long long)seen.mids[mid],
		       sim_mid_name((uint8_t)mid));
		/* Hello is sent in another way, and no side aborts. */
		if (cnt >= 1000 && mid != SDP_MID_HELLO &&
		    mid != SDP_MID_ABORT_CONN)
			assert_true(seen.mids[mid] > 0);
	}
}
