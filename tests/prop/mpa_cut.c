/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * However the stream is cut, events and memory are the same. However tx_commit
 * is called, the octets sent are the same.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "pair.h"

#define MSG_CNT 40
#define SRC_SIZE (256u * 1024)

struct config {
	bool has_crc, a_markers, b_markers;
	uint8_t rtr;
	uint32_t mulpdu;
};

/* The results of one script: octets, events and memory of both ends. */
struct trace {
	uint8_t *wire_a, *wire_b;
	size_t wire_a_len, wire_b_len;
	uint64_t digest_a, digest_b;
	uint64_t mem_a, mem_b;
};

static uint8_t *source;

static uint64_t sum(const uint8_t *p, size_t len)
{
	uint64_t s = 0xcbf29ce484222325u;

	for (size_t i = 0; i < len; i += 8) {
		uint64_t v;

		memcpy(&v, p + i, 8);
		s = (s ^ v) * 0x100000001b3u;
		s ^= s >> 31;
	}
	return s;
}

static uint64_t mem_sum(const struct end *e)
{
	return sum(e->mem, 1200000) ^
	       3 * sum(e->recv, (e->recv_pos + 7) & ~7ul);
}

static void options(const struct config *cfg, struct smpa_options *a,
		    struct smpa_options *b)
{
	*a = test_options(SMPA_INITIATOR);
	*b = test_options(SMPA_RESPONDER);
	a->no_crc = b->no_crc = !cfg->has_crc;
	a->want_markers = cfg->a_markers;
	b->want_markers = cfg->b_markers;
	a->mulpdu = b->mulpdu = cfg->mulpdu;
	a->ord = b->ird = 2 * MSG_CNT; /* a Read as RTR counts too (D-26) */
	a->rtr = cfg->rtr;
	b->rtr = SMPA_RTR_SEND | SMPA_RTR_WRITE | SMPA_RTR_READ;
}

/* The n-th message of the script of @seed; iov has room for SMPA_IOV_MAX
 * entries. */
static struct smpa_msg script(uint64_t seed, int n, struct iovec *iov)
{
	static const uint8_t ops[] = {
		SMPA_OP_SEND,	      SMPA_OP_SEND_INV,
		SMPA_OP_SEND_SE,      SMPA_OP_SEND_SE_INV,
		SMPA_OP_WRITE,	      SMPA_OP_WRITE,
		SMPA_OP_IMM,	      SMPA_OP_IMM_SE,
		SMPA_OP_READ_REQUEST, SMPA_OP_ATOMIC_REQUEST,
	};
	static const uint32_t lens[] = { 0, 1, 40, 1500, 5000, 40000, 70000 };
	uint64_t r = seed * 1000 + (uint64_t)n;
	struct smpa_msg msg = {
		.opcode = ops[test_random(&r) % sizeof(ops)],
		.cookie = (uint64_t)n,
		.copy = test_random(&r) % 3 == 0,
		.stag = (uint32_t)test_random(&r),
	};
	uint32_t len = lens[test_random(&r) % ARRAY_LEN(lens)];
	size_t at = 0;

	switch (msg.opcode) {
	case SMPA_OP_IMM:
	case SMPA_OP_IMM_SE:
		test_fill(msg.imm, sizeof(msg.imm), r);
		return msg;
	case SMPA_OP_READ_REQUEST:
		msg.read.len = len;
		msg.read.sink_to = test_random(&r) % 100000;
		msg.read.src_to = test_random(&r) % 100000;
		return msg;
	case SMPA_OP_ATOMIC_REQUEST:
		msg.atomic.id = (uint32_t)n;
		msg.atomic.add_swap = test_random(&r);
		return msg;
	}
	if (len)
		len -= (uint32_t)(test_random(&r) % len) / 2;
	msg.len = len;
	msg.to = test_random(&r) % 1000000;
	msg.iov = iov;
	while (len > 0) {
		size_t piece = msg.iovcnt == SMPA_IOV_MAX - 1
				       ? len
				       : 1 + test_random(&r) % len;

		iov[msg.iovcnt].iov_base = source + at;
		iov[msg.iovcnt++].iov_len = piece;
		at += piece;
		len -= (uint32_t)piece;
	}
	return msg;
}

static void submit_script(struct end *e, uint64_t seed, struct iovec *iovs)
{
	for (int n = 0; n < MSG_CNT; n++) {
		struct smpa_msg msg = script(seed, n, iovs + n * SMPA_IOV_MAX);

		assert_int_equal(end_submit(e, &msg), 0);
		end_drain(e);
	}
}

/* Runs the Initiator's script against a Responder that answers, without
 * cuts. */
static void reference(const struct config *cfg, uint64_t seed, struct trace *t)
{
	struct iovec *iovs = calloc(MSG_CNT * SMPA_IOV_MAX, sizeof(*iovs));
	struct smpa_options a, b;
	struct pair p;

	options(cfg, &a, &b);
	pair_init(&p, &a, &b);
	test_fill(p.b.mem, 300000, seed);
	p.is_recording = true;
	pair_start(&p);
	submit_script(&p.a, seed, iovs);
	pair_run(&p);
	assert_int_equal(end_count(&p.a, SMPA_EV_FAULT), 0);
	assert_int_equal(end_count(&p.b, SMPA_EV_FAULT), 0);
	assert_int_equal(end_count(&p.a, SMPA_EV_SENT), MSG_CNT);
	*t = (struct trace){
		.wire_a = p.wire_a,
		.wire_b = p.wire_b,
		.wire_a_len = p.wire_a_len,
		.wire_b_len = p.wire_b_len,
		.digest_a = end_digest(&p.a),
		.digest_b = end_digest(&p.b),
		.mem_a = mem_sum(&p.a),
		.mem_b = mem_sum(&p.b),
	};
	p.wire_a = NULL;
	p.wire_b = NULL;
	pair_fini(&p);
	free(iovs);
}

/* Runs the Responder alone, with its input cut. */
static void replay_b(const struct config *cfg, uint64_t seed,
		     const struct trace *t, size_t max_rx, size_t max_tx,
		     int sink_pieces)
{
	struct smpa_options a, b;
	struct end e;

	options(cfg, &a, &b);
	end_init(&e, &b);
	test_fill(e.mem, 300000, seed);
	e.rx_cut = (struct end_cut){ seed + max_rx, max_rx };
	e.tx_cut = (struct end_cut){ seed + max_tx, max_tx };
	e.sink_pieces = sink_pieces;
	assert_int_equal(smpa_conn_start(e.conn, NULL, 0), 0);
	end_feed(&e, t->wire_a, 24);
	end_drain(&e); /* the Reply is sent before anything may arrive */
	end_feed(&e, t->wire_a + 24, t->wire_a_len - 24);
	end_drain(&e);
	end_pull(&e);
	assert_int_equal(e.out_end, t->wire_b_len);
	assert_memory_equal(e.out, t->wire_b, t->wire_b_len);
	assert_true(end_digest(&e) == t->digest_b);
	assert_true(mem_sum(&e) == t->mem_b);
	end_fini(&e);
}

/* Runs the Initiator alone: cuts its output, then its input. */
static void replay_a(const struct config *cfg, uint64_t seed,
		     const struct trace *t, size_t max_rx, size_t max_tx)
{
	struct iovec *iovs = calloc(MSG_CNT * SMPA_IOV_MAX, sizeof(*iovs));
	struct smpa_options a, b;
	struct end e;

	options(cfg, &a, &b);
	end_init(&e, &a);
	e.rx_cut = (struct end_cut){ seed + max_rx, max_rx };
	e.tx_cut = (struct end_cut){ seed + max_tx, max_tx };
	assert_int_equal(smpa_conn_start(e.conn, NULL, 0), 0);
	end_drain(&e);
	end_feed(&e, t->wire_b, 24);
	submit_script(&e, seed, iovs);
	assert_int_equal(e.out_end, t->wire_a_len);
	assert_memory_equal(e.out, t->wire_a, t->wire_a_len);
	end_feed(&e, t->wire_b + 24, t->wire_b_len - 24);
	assert_int_equal(end_count(&e, SMPA_EV_SENT), MSG_CNT);
	assert_true(end_digest(&e) == t->digest_a);
	assert_true(mem_sum(&e) == t->mem_a);
	end_fini(&e);
	free(iovs);
}

static void check(const struct config *cfg, uint64_t seed)
{
	/* sizes of receive, send and sink pieces; 0: whole */
	static const struct {
		size_t rx, tx;
		int sink;
	} cuts[] = { { 1, 0, 1 },
		     { 7, 100, 1 },
		     { 100, 7, 5 },
		     { 3000, 5000, 32 },
		     { 100000, 70000, 3 } };
	struct trace t;

	reference(cfg, seed, &t);
	for (size_t i = 0; i < ARRAY_LEN(cuts); i++) {
		replay_b(cfg, seed, &t, cuts[i].rx, cuts[i].tx, cuts[i].sink);
		replay_a(cfg, seed, &t, cuts[i].rx, cuts[i].tx);
	}
	free(t.wire_a);
	free(t.wire_b);
}

static void check_all(bool has_crc, bool has_markers)
{
	static const uint32_t mulpdus[] = { 128, 1442, 9000, 64768 };
	uint64_t seed = has_crc + 2u * has_markers;

	for (size_t i = 0; i < ARRAY_LEN(mulpdus); i++) {
		struct config cfg = {
			.has_crc = has_crc,
			.a_markers = has_markers,
			.b_markers = has_markers && i % 2,
			.rtr = (uint8_t)(1u << i & 7),
			.mulpdu = mulpdus[i],
		};

		check(&cfg, 100 * seed + i);
	}
}

CASE(gives_the_same_events_for_any_cut_plain)
{
	check_all(false, false);
}

CASE(gives_the_same_events_for_any_cut_with_crc)
{
	check_all(true, false);
}

CASE(gives_the_same_events_for_any_cut_with_markers)
{
	check_all(false, true);
}

/* T-6, T-32, like the three before */
CASE(gives_the_same_events_for_any_cut_with_both)
{
	check_all(true, true);
}

static int make_source(void **state)
{
	source = malloc(SRC_SIZE);
	if (!source)
		return -1;
	test_fill(source, SRC_SIZE, 77);
	return 0;
}

static int free_source(void **state)
{
	free(source);
	return 0;
}

ALL_CASES_WITH(make_source, free_source);
