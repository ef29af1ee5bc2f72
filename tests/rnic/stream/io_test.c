/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * stream.c: passes over a TCP that returns and accepts any pieces, is full, or
 * fails at any call: the same result, or one completion each.
 */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dev/rnic-stats.h"
#include "mem/context.h"
#include "engine/engine.h"
#include "qp/qp.h"
#include "rawpeer.h"
#include "stats.h"
#include "qp/object.h"
#include "stream/io.h"
#include "stream/object.h"
#include "tcpfake.h"

static const struct rnicpair_options defaults = RNICPAIR_OPTIONS_INIT;

/* ---- a little traffic of every kind ---- */

#define SEND_LEN 3000u
#define SEND_CNT 3u
/* Completions on side 0: sends, a write, a READ; on side 1: receives. */
#define SQ_CNT (SEND_CNT + 2)

static void traffic_post(struct rnicpair *p, size_t bulk)
{
	struct rnicpair_side *a = &p->side[0], *b = &p->side[1];
	struct usiw_sge sge = rnicpair_sge(a, 0, bulk);
	struct rnicpair_wr wr = {
		.wr_id = 0,
		.opcode = USIW_WR_WRITE,
		.flags = USIW_SQE_SIGNALED,
		.sge = &sge,
		.sge_cnt = 1,
		.rkey = b->stag,
		.remote_addr = rnicpair_addr(b, 0),
	};

	rnicpair_fill(a->buf, bulk, 1);
	memset(b->buf, 0, bulk);
	/* Read back from where it was written, into the other half. */
	memset(a->buf + (1u << 20), 0, bulk);
	for (uint64_t i = 0; i < SEND_CNT; i++) {
		struct usiw_sge to =
			rnicpair_sge(b, (2u << 20) + i * SEND_LEN, SEND_LEN);

		assert_int_equal(rnicpair_post_recv(b, i, &to, 1), 0);
		rnicpair_fill(a->buf + (2u << 20) + i * SEND_LEN, SEND_LEN,
			      (uint32_t)i);
	}
	assert_int_equal(rnicpair_post(a, &wr), 0);
	wr.wr_id = 1;
	wr.opcode = USIW_WR_READ;
	sge = rnicpair_sge(a, 1u << 20, bulk);
	assert_int_equal(rnicpair_post(a, &wr), 0);
	for (uint64_t i = 0; i < SEND_CNT; i++) {
		sge = rnicpair_sge(a, (2u << 20) + i * SEND_LEN, SEND_LEN);
		wr.wr_id = 2 + i;
		wr.opcode = USIW_WR_SEND;
		assert_int_equal(rnicpair_post(a, &wr), 0);
	}
}

static void traffic_check(struct rnicpair *p, size_t bulk)
{
	struct rnicpair_side *a = &p->side[0], *b = &p->side[1];

	for (uint64_t i = 0; i < SQ_CNT; i++) {
		struct usiw_cqe cqe = rnicpair_take(a, a->scq);

		assert_int_equal(cqe.wr_id, i);
		assert_int_equal(cqe.status, USIW_WC_SUCCESS);
	}
	for (uint64_t i = 0; i < SEND_CNT; i++) {
		struct usiw_cqe cqe = rnicpair_take(b, b->rcq);

		assert_int_equal(cqe.wr_id, i);
		assert_int_equal(cqe.status, USIW_WC_SUCCESS);
		assert_int_equal(cqe.byte_len, SEND_LEN);
		assert_true(
			rnicpair_is_filled(b->buf + (2u << 20) + i * SEND_LEN,
					   SEND_LEN, (uint32_t)i));
	}
	assert_true(rnicpair_is_filled(b->buf, bulk, 1));
	assert_true(rnicpair_is_filled(a->buf + (1u << 20), bulk, 1));
}

static void run_traffic(const struct tcpfake_plan *plan, bool has_crc,
			size_t bulk)
{
	struct rnicpair_options opt = defaults;
	struct rnicpair p;

	opt.has_crc = has_crc;
	rnicpair_open(&p, &opt);
	tcpfake_install(plan);
	traffic_post(&p, bulk);
	traffic_check(&p, bulk);
	tcpfake_remove();
	rnicpair_close(&p);
}

/* Traffic between two QPs of lo counts as sent and as received. */
CASE(devices_count_their_traffic)
{
	const uint64_t payload = 2 * 100000 + SEND_CNT * SEND_LEN;

	for (int has_crc = 0; has_crc < 2; has_crc++) {
		const struct tcpfake_plan plan = { .fd = -1 };
		struct rnic_device *lo = rnic_device_by_name("usiw_lo");
		struct rnic_device_stats old, now;

		rnic_device_stats(lo, &old);
		run_traffic(&plan, has_crc, 100000);
		rnic_device_stats(lo, &now);
		assert_int_equal(now.tx_inplace + now.tx_copied -
					 old.tx_inplace - old.tx_copied,
				 payload);
		assert_int_equal(now.rx_direct + now.rx_staged - old.rx_direct -
					 old.rx_staged,
				 payload);
		assert_in_range(now.tx_fpdu - old.tx_fpdu, SQ_CNT, payload);
		assert_int_equal(now.rx_fpdu - old.rx_fpdu,
				 now.tx_fpdu - old.tx_fpdu);
		assert_int_equal(now.rx_crc_bad, old.rx_crc_bad);
	}
}

static const struct {
	const char *name;
	enum rnic_stat stat;
	uint64_t min, max;
} counts[] = {
#define PAYLOAD (2 * 100000 + SEND_CNT * SEND_LEN)
	{ "streams opened", RNIC_STAT_streams_opened, 2, 2 },
	{ "streams ended", RNIC_STAT_streams_ended, 2, 2 },
	{ "payload", RNIC_STAT_tx_payload, PAYLOAD, PAYLOAD },
	{ "octets sent", RNIC_STAT_tx_octets, PAYLOAD, 2 * PAYLOAD },
	{ "octets received", RNIC_STAT_rx_octets, PAYLOAD, 2 * PAYLOAD },
	{ "FPDUs sent", RNIC_STAT_tx_fpdu, SQ_CNT, PAYLOAD },
	{ "FPDUs received", RNIC_STAT_rx_fpdu, SQ_CNT, PAYLOAD },
	{ "calls that send", RNIC_STAT_tx_calls, 1, PAYLOAD },
	{ "calls that receive", RNIC_STAT_rx_calls, 1, PAYLOAD },
	{ "no TERMINATE", RNIC_STAT_term_sent, 0, 0 },
#undef PAYLOAD
};

CASE(the_page_counts_all)
{
	uint64_t before[RNIC_STAT_CNT], more[RNIC_STAT_CNT];
	struct rnicpair p;

	rnicpair_open_idle(&p, &defaults);
	for (int i = 0; i < RNIC_STAT_CNT; i++)
		before[i] = test_stat(i);
	rnicpair_connect(&p);
	traffic_post(&p, 100000);
	traffic_check(&p, 100000);
	rnicpair_close(&p);
	for (int i = 0; i < RNIC_STAT_CNT; i++)
		more[i] = test_stat(i) - before[i];
	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		assert_row(counts[i].name,
			   more[counts[i].stat] >= counts[i].min &&
				   more[counts[i].stat] <= counts[i].max);
}

/* Who leads a pass is left to chance: another thread may lead all of them for
 * a while. */
CASE(posts_and_polls_count_what_they_lead)
{
	uint64_t posts = test_stat(RNIC_STAT_passes_post), polls;
	struct rnicpair p;

	rnicpair_open(&p, &defaults);
	do {
		traffic_post(&p, 1000);
		traffic_check(&p, 1000);
	} while (test_stat(RNIC_STAT_passes_post) == posts);
	polls = test_stat(RNIC_STAT_passes_poll);
	do {
		rnic_cq_progress(p.side[0].scq);
	} while (test_stat(RNIC_STAT_passes_poll) == polls);
	rnicpair_close(&p);
}

/* ---- pieces ---- */

CASE(any_cut_gives_the_same_result)
{
	static const size_t cuts[] = { 1,  2,  3,    5,	    17,	  18,
				       20, 64, 1000, 16391, 70000 };

	for (size_t i = 0; i < ARRAY_LEN(cuts); i++) {
		/* Without CRC 70000 octets are read directly. Use less where
		 * each octet costs a call. */
		size_t bulk = cuts[i] < 64 ? 20000 : 200000;

		for (int mode = 0; mode < 6; mode++) {
			struct tcpfake_plan plan = {
				.fd = -1,
				.recv_max = mode / 2 != 1 ? cuts[i] : 0,
				.send_max = mode / 2 != 0 ? cuts[i] : 0,
			};

			run_traffic(&plan, mode & 1, bulk);
		}
	}
}

CASE(waiting_often_changes_nothing)
{
	for (unsigned every = 2; every < 6; every++)
		for (int has_crc = 0; has_crc < 2; has_crc++) {
			struct tcpfake_plan plan = { .fd = -1,
						     .eagain_every = every,
						     .recv_max = 4001,
						     .send_max = 3001 };

			run_traffic(&plan, has_crc, 100000);
		}
}

CASE(waiting_once_anywhere_changes_nothing)
{
	for (unsigned at = 1; at < 60; at++) {
		struct tcpfake_plan plan = { .fd = -1,
					     .eagain_at = at,
					     .send_max = 20000 };

		run_traffic(&plan, at & 1, 100000);
	}
}

/* ---- failures ---- */

/* Completions of the side whose socket fails: one each, in order, successes
 * before failures. */
static void check_each_once(struct rnicpair *p)
{
	struct rnicpair_side *a = &p->side[0], *b = &p->side[1];
	bool has_failed = false;

	for (uint64_t i = 0; i < SQ_CNT; i++) {
		struct usiw_cqe cqe = rnicpair_take(a, a->scq);

		assert_int_equal(cqe.wr_id, i);
		has_failed |= cqe.status != USIW_WC_SUCCESS;
		assert_true(!has_failed || cqe.status != USIW_WC_SUCCESS);
	}
	has_failed = false;
	for (uint64_t i = 0; i < SEND_CNT; i++) {
		struct usiw_cqe cqe = rnicpair_take(b, b->rcq);

		assert_int_equal(cqe.wr_id, i);
		has_failed |= cqe.status != USIW_WC_SUCCESS;
		assert_true(!has_failed || cqe.status != USIW_WC_SUCCESS);
		if (!has_failed)
			assert_true(rnicpair_is_filled(b->buf + (2u << 20) +
							       i * SEND_LEN,
						       SEND_LEN, (uint32_t)i));
	}
	assert_true(rnicpair_is_quiet(p, a->scq));
	assert_true(rnicpair_is_quiet(p, b->rcq));
}

static int stream_fd(struct rnicpair_side *s)
{
	return with_lead(s->ctx->engine, rnic_qp_stream(s->qp)->source.fd);
}

static void fail_at(struct tcpfake_plan *plan, int side, bool has_crc)
{
	struct rnicpair_options opt = defaults;
	struct rnicpair p;

	opt.has_crc = has_crc;
	rnicpair_open(&p, &opt);
	plan->fd = stream_fd(&p.side[side]);
	tcpfake_install(plan);
	traffic_post(&p, 100000);
	/* Until the call that fails, or until everything is done. */
	while (rnic_qp_state(p.side[side].qp) == RNIC_QPS_RTS) {
		rnic_cq_progress(p.side[0].scq);
		rnic_cq_progress(p.side[1].scq);
		if (usiw_ring_used(rnic_cq_ring(p.side[0].scq)) == SQ_CNT &&
		    usiw_ring_used(rnic_cq_ring(p.side[1].rcq)) == SEND_CNT)
			break;
	}
	/* Work that has not failed by itself ends now too. */
	if (rnic_qp_state(p.side[0].qp) == RNIC_QPS_RTS)
		assert_int_equal(rnic_qp_modify(p.side[0].qp, RNIC_QPS_ERROR),
				 0);
	if (rnic_qp_state(p.side[1].qp) == RNIC_QPS_RTS)
		assert_int_equal(rnic_qp_modify(p.side[1].qp, RNIC_QPS_ERROR),
				 0);
	check_each_once(&p);
	tcpfake_remove();
	rnicpair_close(&p);
}

CASE(failing_anywhere_completes_each_once)
{
	static const int errs[] = { ECONNRESET, EFAULT, EPIPE, ETIMEDOUT };

	for (unsigned at = 1; at < 24; at++)
		for (int mode = 0; mode < 4; mode++) {
			struct tcpfake_plan plan = {
				.send_max = 20000,
				.recv_max = 20000,
				.recv_fail_at = mode & 1 ? at : 0,
				.send_fail_at = mode & 1 ? 0 : at,
				.err = errs[at % 4],
			};

			fail_at(&plan, mode >> 1, at & 1);
		}
}

/* The socket tells its error once: behind it, a read finds FIN only. */
PAIR_CASE(an_error_that_a_send_got_is_no_fin)
{
	struct rnicpair *p = *state;
	int peer = stream_fd(&p->side[1]), rc;
	struct rnic_stream *stream;

	rnic_engine_lead(p->side[0].ctx->engine);
	stream = rnic_qp_stream(p->side[0].qp);
	stream->send_error = -ECONNRESET;
	assert_int_equal(shutdown(peer, SHUT_WR), 0);
	do
		rc = rnic_stream_read(stream);
	while (rc >= 0 && !stream->has_peer_fin);
	assert_int_equal(rc, -ECONNRESET);
	assert_false(stream->has_peer_fin);
	rnic_engine_unlead(p->side[0].ctx->engine);
}

/* ---- placement ---- */

static struct smpa_counters counters(struct rnicpair_side *s)
{
	return with_lead(s->ctx->engine,
			 *smpa_conn_counters(rnic_qp_stream(s->qp)->conn));
}

/* Without CRC, large messages are read directly to their destination. */
CASE(large_messages_are_placed_directly)
{
	static const uint8_t opcodes[] = { USIW_WR_WRITE, USIW_WR_SEND,
					   USIW_WR_READ };

	for (size_t i = 0; i < sizeof(opcodes); i++) {
		struct rnicpair_options opt = defaults;
		struct smpa_counters cnt;
		struct rnicpair p;
		struct rnicpair_side *a = &p.side[0], *b = &p.side[1];

		opt.has_crc = false;
		rnicpair_open(&p, &opt);
		for (uint64_t n = 0; n < 20; n++) {
			struct usiw_sge sge = rnicpair_sge(a, 0, 2u << 20);
			struct usiw_sge to = rnicpair_sge(b, 0, 2u << 20);
			struct rnicpair_wr wr = {
				.opcode = opcodes[i],
				.flags = USIW_SQE_SIGNALED,
				.sge = &sge,
				.sge_cnt = 1,
				.rkey = b->stag,
				.remote_addr = rnicpair_addr(b, 0),
			};

			if (opcodes[i] == USIW_WR_SEND)
				assert_int_equal(
					rnicpair_post_recv(b, n, &to, 1), 0);
			assert_int_equal(rnicpair_post(a, &wr), 0);
			assert_int_equal(rnicpair_take(a, a->scq).status, 0);
			if (opcodes[i] == USIW_WR_SEND)
				assert_int_equal(
					rnicpair_take(b, b->rcq).status, 0);
		}
		cnt = counters(opcodes[i] == USIW_WR_READ ? a : b);
		print_message("opcode %d: direct %llu staged %llu\n",
			      opcodes[i], (unsigned long long)cnt.rx_direct,
			      (unsigned long long)cnt.rx_staged);
		assert_true(cnt.rx_direct / 9 >= cnt.rx_staged);
		rnicpair_close(&p);
	}
}

PAIR_CASE(idle_streams_hold_no_staging)
{
	struct rnicpair *p = *state;

	traffic_post(p, 200000);
	traffic_check(p, 200000);
	assert_true(rnicpair_is_quiet(p, p->side[0].scq));
	for (int i = 0; i < 2; i++) {
		struct rnic_engine *engine = p->side[i].ctx->engine;
		struct rnic_stream *stream = rnic_qp_stream(p->side[i].qp);

		assert_null(with_lead(engine, stream->rx_staging));
		assert_null(with_lead(engine, stream->tx_staging));
		assert_null(with_lead(engine, stream->start_rx));
		/* The next one gets it. */
		assert_non_null(with_lead(engine, engine->rx_pool.free_list));
		assert_non_null(with_lead(engine, engine->tx_pool.free_list));
	}
}

/* ---- a peer that does not read ---- */

CASE(work_waits_for_a_peer_that_does_not_read)
{
	for (int has_crc = 0; has_crc < 2; has_crc++) {
		struct rnicpair_options opt = defaults;
		struct rnicpair p;
		struct rawpeer raw;
		struct rnicpair_side *a = &p.side[0];
		struct usiw_sge sge;
		struct usiw_cqe cqe;
		uint32_t done = 0;

		opt.sockbuf = 16384;
		opt.has_crc = has_crc;
		rawpeer_open(&raw, &p, &opt);
		sge = rnicpair_sge(a, 0, 1u << 20);
		rnicpair_fill(a->buf, 1u << 20, 6);
		for (uint64_t i = 0; i < 8; i++)
			rnicpair_post_wr(a, .wr_id = i, .opcode = USIW_WR_SEND,
					 .flags = USIW_SQE_SIGNALED,
					 .sge = &sge, .sge_cnt = 1);
		assert_true(rnicpair_is_quiet(&p, a->scq));
		/* Meanwhile the other direction continues. */
		rawpeer_write(&raw, a->stag, rnicpair_addr(a, 3u << 20),
			      "across", 6);
		while (memcmp(a->buf + (3u << 20), "across", 6) != 0)
			rnic_cq_progress(a->scq);
		for (uint64_t i = 0; i < 8; i++) {
			struct smpa_event ev = rawpeer_event(&raw);

			assert_int_equal(ev.type, SMPA_EV_MESSAGE);
			assert_int_equal(ev.msg.len, 1u << 20);
			assert_true(rnicpair_is_filled(raw.sink, 1u << 20, 6));
		}
		while (done < 8) {
			cqe = rnicpair_take(a, a->scq);
			assert_int_equal(cqe.wr_id, done++);
			assert_int_equal(cqe.status, USIW_WC_SUCCESS);
		}
		rawpeer_close_both(&raw, &p);
	}
}

/* ---- a peer that sends nothing ---- */

/* siw as the Responder misses what directly follows its Reply. */
CASE(probes_a_silent_peer_until_it_speaks)
{
	uint64_t begin;

	for (int speaks_after = 1; speaks_after <= 2; speaks_after++) {
		struct rnicpair_side *a;
		struct smpa_event ev;
		struct rawpeer raw;
		struct rnicpair p;

		begin = util_now_ns();
		a = rawpeer_open(&raw, &p, &defaults);
		/* The RTR itself causes no event. */
		for (int i = 0; i < speaks_after; i++) {
			ev = rawpeer_event_or_probe(&raw);
			assert_int_equal(ev.type, SMPA_EV_MESSAGE);
			assert_int_equal(ev.msg.opcode, SMPA_OP_WRITE);
			assert_int_equal(ev.msg.len, 0);
		}
		/* Not before it has had time to answer. */
		assert_true(util_now_ns() - begin >= 200000000);
		assert_int_equal(rnicpair_post_recv(a, 1, NULL, 0), 0);
		rawpeer_send_octets(&raw, SMPA_OP_SEND, NULL, 0);
		assert_int_equal(rnicpair_take(a, a->rcq).status,
				 USIW_WC_SUCCESS);
		begin = util_now_ns();
		while (util_now_ns() - begin < 900000000)
			assert_int_equal(rawpeer_try(&raw).type, SMPA_EV_NONE);
		assert_true(rnicpair_is_quiet(&p, a->scq));
		rawpeer_close_both(&raw, &p);
	}
}

/* The Initiator must send first. If it has sent nothing, the peer cannot have
 * missed anything. */
CASE(probes_only_behind_what_it_sent)
{
	for (int role = 0; role < 2; role++) {
		struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
		uint64_t begin = util_now_ns();
		struct rawpeer raw;
		struct rnicpair p;

		if (role == 0)
			opt.rtr = 0;
		rnicpair_open_idle(&p, &opt);
		rawpeer_join(&raw, &p, role);
		while (util_now_ns() - begin < 300000000)
			assert_int_equal(rawpeer_try(&raw).type, SMPA_EV_NONE);
		rawpeer_close_both(&raw, &p);
	}
}

/* ---- the order in which octets are seen ---- */

struct spin {
	const volatile uint32_t *word;
	size_t cnt;
	_Atomic bool is_over;
	_Atomic uint32_t seen; /* the last value at the end */
	uint32_t bad_cnt;      /* ... with an older one in front of it */
};

static void *spin_run(void *arg)
{
	struct spin *spin = arg;
	uint32_t last = 0, now;

	while (!atomic_load(&spin->is_over)) {
		now = spin->word[spin->cnt - 1];
		if (now == last)
			continue;
		for (size_t i = 0; i + 1 < spin->cnt; i++) {
			if ((int32_t)(spin->word[i] - now) < 0) {
				spin->bad_cnt++;
				break;
			}
		}
		last = now;
		atomic_store(&spin->seen, now);
	}
	return NULL;
}

static const struct {
	size_t len;
	bool has_crc;
} spins[] = {
	{ 256, true },	 { 1024, true },   { 4096, true },
	{ 1024, false }, { 20000, false },
};

/* A program that spins on the last octets of a Write finds all others there. */
CASE(the_last_octets_are_seen_last)
{
	for (size_t i = 0; i < sizeof(spins) / sizeof(*spins); i++) {
		struct rnicpair_options opt = defaults;
		struct rnicpair_side *a, *b;
		struct rnicpair p;
		struct spin spin = { .cnt = spins[i].len / 4 };
		pthread_t thread;

		opt.has_crc = spins[i].has_crc;
		rnicpair_open(&p, &opt);
		a = &p.side[0];
		b = &p.side[1];
		spin.word = (const volatile uint32_t *)(const void *)b->buf;
		must(pthread_create(&thread, NULL, spin_run, &spin) == 0);
		for (uint32_t value = 1; value <= 1500; value++) {
			struct usiw_sge sge = rnicpair_sge(a, 0, spins[i].len);
			uint32_t *word = (uint32_t *)(void *)a->buf;

			for (size_t j = 0; j < spin.cnt; j++)
				word[j] = value;
			rnicpair_post_wr(a, .opcode = USIW_WR_WRITE,
					 .flags = USIW_SQE_SIGNALED,
					 .sge = &sge, .sge_cnt = 1,
					 .rkey = b->stag,
					 .remote_addr = rnicpair_addr(b, 0));
			must(rnicpair_take(a, a->scq).status ==
			     USIW_WC_SUCCESS);
			while (atomic_load(&spin.seen) != value)
				sched_yield();
		}
		atomic_store(&spin.is_over, true);
		must(pthread_join(thread, NULL) == 0);
		assert_int_equal(spin.bad_cnt, 0);
		rnicpair_close(&p);
	}
}

static const struct {
	const char *name;
	size_t len; /* octets of an FPDU before the FIN */
} fins[] = {
	{ "between FPDUs", 0 },
	{ "amid the length", 1 },
	{ "amid the header", 9 },
};

/* Whatever else it is, the socket is not to be read any more. */
CASE(a_fin_anywhere_is_noted_at_once)
{
	static const uint8_t front[] = { 0, 22, 0xc1, 0x40, 0, 0, 0, 1, 0 };

	for (size_t i = 0; i < ARRAY_LEN(fins); i++) {
		struct rnicpair_side *s;
		struct rnic_stream *stream;
		struct pollfd pfd = { .events = POLLRDHUP };
		struct rawpeer raw;
		struct rnicpair p;
		bool is_seen, is_noted;

		s = rawpeer_open(&raw, &p, &defaults);
		/* Nobody else reads it. */
		rnic_engine_lead(s->ctx->engine);
		stream = rnic_qp_stream(s->qp);
		must(write(raw.fd, front, fins[i].len) == (int)fins[i].len);
		must(!shutdown(raw.fd, SHUT_WR));
		pfd.fd = stream->source.fd;
		is_seen = poll(&pfd, 1, RNICPAIR_LIMIT_MS) == 1;
		for (int k = 0; k < 3 && !stream->has_peer_fin; k++)
			(void)rnic_stream_read(stream);
		is_noted = stream->has_peer_fin;
		rnic_engine_unlead(s->ctx->engine);
		assert_true(is_seen);
		assert_row(fins[i].name, is_noted);
		rawpeer_close_both(&raw, &p);
	}
}
