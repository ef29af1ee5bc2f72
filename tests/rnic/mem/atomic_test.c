/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * atomic.c: the effect of the operations on memory: alone, from both sides of a
 * connection, and all at once.
 */
#define _GNU_SOURCE
#include "../../harness/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../util/child.h"
#include "mem/atomic.h"
#include "os/guard.h"
#include "mem/context.h"
#include "qp/qp.h"
#include "engine/engine.h"
#include "rawpeer.h"
#include "rnicpair.h"

static const struct rnicpair_options defaults = RNICPAIR_OPTIONS_INIT;

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* ---- operations ---- */

/* Bit by bit, as in section 5.1 of RFC 7306. */
static uint64_t stupid_add(uint64_t a, uint64_t b, uint64_t mask)
{
	uint64_t sum = 0;
	int carry = 0;

	for (int i = 0; i < 64; i++) {
		int bits = (int)(a >> i & 1) + (int)(b >> i & 1) + carry;

		sum |= (uint64_t)(bits & 1) << i;
		carry = mask >> i & 1 ? 0 : bits >> 1;
	}
	return sum;
}

static uint64_t stupid_swap(uint64_t a, const struct rnic_atomic *op)
{
	uint64_t to = 0;

	for (int i = 0; i < 64; i++) {
		uint64_t bit = 1ull << i;

		if (op->compare_mask & bit && (a ^ op->compare) & bit)
			return a;
		to |= (op->add_swap_mask & bit ? op->add_swap : a) & bit;
	}
	return to;
}

static void check_one(const struct rnic_atomic *op, uint64_t before)
{
	uint64_t word[3] = { 0x5555, before, 0x5555 }, old = 0;
	uint64_t want =
		op->op == RNIC_FETCH_ADD
			? stupid_add(before, op->add_swap, op->add_swap_mask)
			: stupid_swap(before, op);

	assert_int_equal(rnic_atomic_execute(op, &word[1], &old), 0);
	assert_true(old == before);
	assert_true(word[1] == want);
	assert_true(word[0] == 0x5555 && word[2] == 0x5555);
}

static const uint64_t masks[] = {
	0,
	UINT64_MAX,
	1ull << 63,
	0x8000000080000000,
	0x8080808080808080,
	1,
	0x00000000ffffffff,
	0x0123456789abcdef,
};

/* U-19 */
CASE(does_what_the_rfc_says)
{
	uint64_t seed = 88172645463325252;

	for (int i = 0; i < 20000; i++) {
		struct rnic_atomic op = {
			.op = i & 1 ? RNIC_FETCH_ADD : RNIC_CMP_SWP,
			.add_swap = next_random(&seed),
			.add_swap_mask = masks[next_random(&seed) % 8],
			.compare = next_random(&seed),
			.compare_mask = masks[next_random(&seed) % 8],
		};
		uint64_t before = next_random(&seed);

		/* Random words would hardly ever compare equal. */
		if (next_random(&seed) % 2)
			op.compare = before ^ (op.compare & ~op.compare_mask);
		check_one(&op, before);
		op.add_swap = UINT64_MAX; /* carries in every bit */
		check_one(&op, before);
	}
}

/* ---- inaccessible memory ---- */

static int child_gone(void *arg)
{
	static const struct rnic_atomic ops[] = {
		{ .op = RNIC_FETCH_ADD, .add_swap = 1 },
		{ .op = RNIC_FETCH_ADD, .add_swap = 1, .add_swap_mask = 1 },
		{ .op = RNIC_CMP_SWP,
		  .add_swap_mask = UINT64_MAX,
		  .compare_mask = UINT64_MAX },
	};
	uint64_t *mem = mmap(NULL, 4096, *(int *)arg,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec iov = { mem, 8 }, parts[2] = { { mem, 3 }, { mem, 5 } };
	uint64_t old = 7;

	must(mem != MAP_FAILED);
	must(rnic_guard_install() == 0);
	for (size_t i = 0; i < ARRAY_LEN(ops); i++)
		must(rnic_atomic_execute(&ops[i], mem, &old) == -EFAULT);
	must(old == 7);
	must(rnic_atomic_store(&iov, 1) == -EFAULT);
	must(rnic_atomic_store(parts, 1) == -EFAULT);
	return 0;
}

/* The peer of an application that unmaps its registered memory. */
static int child_gone_at_work(void *arg)
{
	struct smpa_msg msg = { .opcode = SMPA_OP_ATOMIC_REQUEST,
				.quiet = true };
	struct rnicpair_side *s;
	struct smpa_event ev;
	struct rnicpair p;
	struct rawpeer raw;

	(void)arg;
	s = rawpeer_open(&raw, &p, &defaults);
	must(mprotect(s->buf, 4096, PROT_NONE) == 0);
	msg.atomic.stag = s->stag;
	msg.atomic.to = rnicpair_addr(s, 8);
	rawpeer_send(&raw, &msg);
	ev = rawpeer_event(&raw);
	must(ev.type == SMPA_EV_TERMINATE);
	must(ev.term.fault.value == SMPA_F_RDMAP_BOUNDS);
	must(ev.term.has_ddp && ev.term.qn == 1 && ev.term.msn == 1);
	must(ev.term.opcode == SMPA_OP_ATOMIC_REQUEST && !ev.term.has_read);
	must(rnicpair_async(s, NULL) == USIW_EVENT_QP_ACCESS_ERR);
	must(rnic_qp_state(s->qp) == RNIC_QPS_TERMINATE);
	rawpeer_close_both(&raw, &p);
	return 0;
}

/* The memory of this side's SGE is unmapped while the peer works. */
static int child_gone_meanwhile(void *arg)
{
	struct smpa_msg msg = { .opcode = SMPA_OP_ATOMIC_RESPONSE,
				.quiet = true };
	struct rnicpair_side *s;
	struct smpa_event ev;
	struct usiw_cqe cqe;
	struct usiw_sge sge;
	struct rnicpair p;
	struct rawpeer raw;

	(void)arg;
	s = rawpeer_open(&raw, &p, &defaults);
	sge = rnicpair_sge(s, 0, 8);
	rnicpair_post_wr(s, .wr_id = 5, .opcode = USIW_WR_FETCH_ADD,
			 .sge = &sge, .sge_cnt = 1);
	ev = rawpeer_event(&raw);
	must(ev.type == SMPA_EV_ATOMIC);
	must(mprotect(s->buf, 4096, PROT_READ) == 0);
	msg.atomic.id = ev.atomic.id;
	rawpeer_send(&raw, &msg);
	must(rawpeer_event(&raw).type == SMPA_EV_TERMINATE);
	cqe = rnicpair_take(s, s->scq);
	must(cqe.wr_id == 5 && cqe.status != USIW_WC_SUCCESS);
	must(rnicpair_async(s, NULL) == USIW_EVENT_QP_FATAL);
	rawpeer_close_both(&raw, &p);
	return 0;
}

/* Runs before any other test: the parent has cmocka's handlers, and no
 * threads. */
CASE(memory_that_is_gone_ends_the_stream_only)
{
	static int (*const children[])(void *) = { child_gone, child_gone,
						   child_gone_at_work,
						   child_gone_meanwhile };
	static int prot[] = { PROT_NONE, PROT_READ, 0, 0 };
	char err[2048];

	for (size_t i = 0; i < ARRAY_LEN(children); i++)
		if (child_run(children[i], &prot[i], err, sizeof(err)))
			fail_msg("child %zu: %s", i, err);
}

/* ---- over a connection ---- */

static struct usiw_cqe work(struct rnicpair_side *a, struct rnicpair_side *b,
			    uint8_t opcode, size_t off, uint64_t compare_add,
			    uint64_t swap, const struct usiw_sge *sge,
			    uint16_t sge_cnt)
{
	struct rnicpair_wr wr = {
		.wr_id = 11,
		.opcode = opcode,
		.flags = USIW_SQE_SIGNALED,
		.sge = sge,
		.sge_cnt = sge_cnt,
		.remote_addr = rnicpair_addr(b, off),
		.rkey = b->stag,
		.compare_add = compare_add,
		.swap = swap,
	};
	struct usiw_cqe cqe;

	assert_int_equal(rnicpair_post(a, &wr), 0);
	cqe = rnicpair_take(a, a->scq);
	assert_int_equal(cqe.wr_id, 11);
	return cqe;
}

static uint64_t word_at(const uint8_t *mem)
{
	uint64_t word;

	memcpy(&word, mem, sizeof(word));
	return word;
}

/* Old values are returned in host order, however the buffer is cut. */
CASE(returns_old_values)
{
	static const struct {
		uint8_t opcode, wc_opcode;
		uint64_t before, compare_add, swap, after;
	} rows[] = {
		{ USIW_WR_FETCH_ADD, USIW_WC_FETCH_ADD, 0x0102030405060708,
		  0x10, 99, 0x0102030405060718 },
		{ USIW_WR_FETCH_ADD, USIW_WC_FETCH_ADD, UINT64_MAX, 2, 99, 1 },
		{ USIW_WR_CMP_SWP, USIW_WC_CMP_SWP, 7, 7, 0x1122334455667788,
		  0x1122334455667788 },
		{ USIW_WR_CMP_SWP, USIW_WC_CMP_SWP, 8, 7, 5, 8 },
	};

	for (size_t n = 0; n < 4 * ARRAY_LEN(rows); n++) {
		struct rnicpair_options opt = defaults;
		size_t i = n / 4, cuts[] = { 8, 0, 3, 5 };
		struct usiw_sge sge[2];
		struct rnicpair_side *a, *b;
		struct usiw_cqe cqe;
		struct rnicpair p;
		bool is_cut = n & 1;

		opt.has_crc = n & 2;
		rnicpair_open(&p, &opt);
		a = &p.side[0];
		b = &p.side[1];
		memset(a->buf, 0xee, 64);
		memset(b->buf, 0xdd, 64);
		memcpy(b->buf + 8, &rows[i].before, 8);
		sge[0] = rnicpair_sge(a, 17, cuts[2 * is_cut]);
		sge[1] = rnicpair_sge(a, 17 + cuts[2 * is_cut],
				      cuts[2 * is_cut + 1]);
		cqe = work(a, b, rows[i].opcode, 8, rows[i].compare_add,
			   rows[i].swap, sge, 2);
		assert_int_equal(cqe.status, USIW_WC_SUCCESS);
		assert_int_equal(cqe.opcode, rows[i].wc_opcode);
		assert_int_equal(cqe.byte_len, 8);
		assert_true(word_at(a->buf + 17) == rows[i].before);
		assert_true(word_at(b->buf + 8) == rows[i].after);
		assert_int_equal(a->buf[16], 0xee);
		assert_int_equal(a->buf[25], 0xee);
		assert_int_equal(b->buf[7], 0xdd);
		assert_int_equal(b->buf[16], 0xdd);
		assert_true(rnicpair_is_quiet(&p, b->rcq)); /* EXT-9 */
		rnicpair_close(&p);
	}
}

/* RFC 7306 5.2.2, RDMAP-44: with Reads, Writes and Sends, in posting order.
 * Each sees what was done before it. A fence waits for atomics too. */
CASE(keeps_order_among_other_work)
{
	struct rnicpair_options opt = defaults;
	struct rnicpair_side *a, *b;
	struct rnicpair p;

	opt.ird = opt.ord = 3;
	opt.max_wr = 256;
	opt.cqe = 512;
	rnicpair_open(&p, &opt);
	a = &p.side[0];
	b = &p.side[1];
	memset(b->buf, 0, 8);
	for (uint64_t i = 0; i < 40; i++) {
		struct usiw_sge old = rnicpair_sge(a, 64 + 8 * i, 8);
		struct usiw_sge seen = rnicpair_sge(a, 4096 + 8 * i, 8);
		struct rnicpair_wr wr = {
			.wr_id = 4 * i,
			.opcode = USIW_WR_FETCH_ADD,
			.flags = USIW_SQE_SIGNALED,
			.sge = &old,
			.sge_cnt = 1,
			.remote_addr = rnicpair_addr(b, 0),
			.rkey = b->stag,
			.compare_add = 1,
		};

		assert_int_equal(rnicpair_post(a, &wr), 0);
		wr.wr_id++;
		wr.opcode = USIW_WR_READ;
		wr.sge = &seen;
		assert_int_equal(rnicpair_post(a, &wr), 0);
		wr.wr_id++;
		wr.opcode = USIW_WR_CMP_SWP;
		wr.sge = &old;
		wr.compare_add = i + 1;
		wr.swap = i + 1;
		assert_int_equal(rnicpair_post(a, &wr), 0);
		/* Carries what the atomic before it has returned. */
		wr.wr_id++;
		wr.opcode = USIW_WR_WRITE;
		wr.flags |= USIW_SQE_FENCE;
		wr.remote_addr = rnicpair_addr(b, 4096 + 8 * i);
		assert_int_equal(rnicpair_post(a, &wr), 0);
	}
	for (uint64_t i = 0; i < 160; i++) {
		struct usiw_cqe cqe = rnicpair_take(a, a->scq);

		assert_int_equal(cqe.status, USIW_WC_SUCCESS);
		assert_int_equal(cqe.wr_id, i);
	}
	for (uint64_t i = 0; i < 40; i++)
		assert_true(word_at(a->buf + 4096 + 8 * i) == i + 1);
	/* After the last Write. */
	assert_int_equal(rnicpair_post_recv(b, 1, NULL, 0), 0);
	rnicpair_post_wr(a, .opcode = USIW_WR_SEND);
	assert_int_equal(rnicpair_take(b, b->rcq).wr_id, 1);
	for (uint64_t i = 0; i < 40; i++)
		assert_true(word_at(b->buf + 4096 + 8 * i) == i + 1);
	rnicpair_close(&p);
}

/* RDMAP-51: a peer that does not answer receives ORD requests of both kinds. */
CASE(counts_against_ord)
{
	static const uint8_t opcodes[] = { USIW_WR_READ, USIW_WR_FETCH_ADD,
					   USIW_WR_CMP_SWP, USIW_WR_READ };
	struct rnicpair_options opt = defaults;
	struct smpa_event ev[3];
	struct smpa_msg msg = { .opcode = SMPA_OP_ATOMIC_RESPONSE,
				.quiet = true };
	struct rnicpair_side *s;
	struct rawpeer raw;
	struct rnicpair p;

	opt.ird = opt.ord = 2;
	s = rawpeer_open(&raw, &p, &opt);
	for (uint64_t i = 0; i < 4; i++) {
		struct usiw_sge sge = rnicpair_sge(s, 0, 8);
		struct rnicpair_wr wr = { .wr_id = i,
					  .opcode = opcodes[i],
					  .flags = USIW_SQE_SIGNALED,
					  .sge = &sge,
					  .sge_cnt = 1,
					  .rkey = 0x77,
					  .remote_addr = 0x88,
					  .compare_add = 0x99,
					  .swap = 0xaa };

		assert_int_equal(rnicpair_post(s, &wr), 0);
	}
	ev[0] = rawpeer_event(&raw);
	ev[1] = rawpeer_event(&raw);
	assert_int_equal(ev[0].type, SMPA_EV_READ);
	assert_int_equal(ev[1].type, SMPA_EV_ATOMIC);
	assert_int_equal(ev[1].atomic.op, 0);
	assert_true(ev[1].atomic.stag == 0x77 && ev[1].atomic.to == 0x88);
	assert_true(ev[1].atomic.add_swap == 0x99);
	assert_true(ev[1].atomic.add_swap_mask == 0);
	assert_true(rnicpair_is_quiet(&p, s->scq));
	assert_int_equal(rawpeer_try(&raw).type, SMPA_EV_NONE);
	rawpeer_respond(&raw, ev[0].read.sink_stag, ev[0].read.sink_to,
			"response", 8);
	assert_int_equal(rnicpair_take(s, s->scq).wr_id, 0);
	ev[2] = rawpeer_event(&raw);
	assert_int_equal(ev[2].type, SMPA_EV_ATOMIC);
	assert_int_equal(ev[2].atomic.op, 2);
	assert_true(ev[2].atomic.compare == 0x99);
	assert_true(ev[2].atomic.add_swap == 0xaa);
	assert_true(ev[2].atomic.compare_mask == UINT64_MAX);
	assert_true(ev[2].atomic.add_swap_mask == UINT64_MAX);
	for (uint64_t i = 1; i < 3; i++) {
		/* EXT-13: not before the answer. */
		assert_true(rnicpair_is_quiet(&p, s->scq));
		msg.atomic.id = ev[i].atomic.id;
		msg.atomic.value = i;
		rawpeer_send(&raw, &msg);
		assert_int_equal(rnicpair_take(s, s->scq).wr_id, i);
		assert_true(word_at(s->buf) == i);
		if (i == 1)
			assert_int_equal(rawpeer_event(&raw).type,
					 SMPA_EV_READ);
	}
	rawpeer_close_both(&raw, &p);
}

/* ---- a peer of another implementation ---- */

static void raw_atomic(struct rawpeer *raw, uint32_t id,
		       const struct rnicpair_side *s, size_t off,
		       const struct rnic_atomic *op)
{
	struct smpa_msg msg = { .opcode = SMPA_OP_ATOMIC_REQUEST,
				.quiet = true,
				.atomic = { .op = op->op,
					    .id = id,
					    .stag = s->stag,
					    .to = rnicpair_addr(s, off),
					    .add_swap = op->add_swap,
					    .add_swap_mask = op->add_swap_mask,
					    .compare = op->compare,
					    .compare_mask =
						    op->compare_mask } };

	rawpeer_send(raw, &msg);
}

/* Masks, and identifiers that the requester chooses. */
IDLE_PAIR_CASE(answers_masked_forms)
{
	struct rnicpair_side *s;
	uint64_t seed = 4711;
	struct rawpeer raw;
	struct rnicpair *p = *state;

	s = &p->side[0];
	rawpeer_join(&raw, p, 0);
	for (int i = 0; i < 200; i++) {
		struct rnic_atomic op = {
			.op = i & 1 ? RNIC_FETCH_ADD : RNIC_CMP_SWP,
			.add_swap = next_random(&seed),
			.add_swap_mask = masks[next_random(&seed) % 8],
			.compare = next_random(&seed),
			.compare_mask = masks[next_random(&seed) % 8],
		};
		uint64_t before = next_random(&seed);
		uint32_t id = (uint32_t)next_random(&seed);
		struct smpa_event ev;

		memcpy(s->buf + 24, &before, 8);
		raw_atomic(&raw, id, s, 24, &op);
		ev = rawpeer_event(&raw);
		assert_int_equal(ev.type, SMPA_EV_ATOMIC_DONE);
		assert_int_equal(ev.atomic_done.id, id);
		assert_true(ev.atomic_done.value == before);
		assert_true(word_at(s->buf + 24) ==
			    (i & 1 ? stupid_add(before, op.add_swap,
						op.add_swap_mask)
				   : stupid_swap(before, &op)));
	}
	rawpeer_close(&raw);
}

/*
 * EXT-8, EXT-9: answers in the order of the requests, each executed once,
 * however little TCP accepts. A Read before an atomic returns the old content,
 * although its response is sent directly from the memory.
 */
CASE(executes_in_turn_and_once)
{
	const struct rnic_atomic add = { .op = RNIC_FETCH_ADD, .add_swap = 1 };
	const uint32_t read_len = 300000;

	for (int has_crc = 0; has_crc < 2; has_crc++) {
		struct rnicpair_options opt = defaults;
		struct rnicpair_side *s;
		struct smpa_event ev;
		struct rawpeer raw;
		struct rnicpair p;

		opt.has_crc = has_crc;
		opt.sockbuf = 32768;
		s = rawpeer_open(&raw, &p, &opt);
		memset(s->buf + read_len - 8, 0, 8);
		for (uint64_t round = 0; round < 10; round++) {
			for (uint32_t i = 0; i < 4; i++) {
				rawpeer_read(&raw, i, 0, s->stag,
					     rnicpair_addr(s, 0), read_len);
				raw_atomic(&raw, i, s, read_len - 8, &add);
			}
			for (uint64_t i = 0; i < 4; i++) {
				uint64_t want = 4 * round + i;

				ev = rawpeer_event(&raw);
				assert_int_equal(ev.type, SMPA_EV_MESSAGE);
				assert_int_equal(ev.msg.stag, i);
				assert_true(word_at(raw.sink + raw.sink_len -
						    8) == want);
				ev = rawpeer_event(&raw);
				assert_int_equal(ev.type, SMPA_EV_ATOMIC_DONE);
				assert_int_equal(ev.atomic_done.id, i);
				assert_true(ev.atomic_done.value == want);
			}
		}
		assert_true(word_at(s->buf + read_len - 8) == 40);
		rawpeer_close_both(&raw, &p);
	}
}

/* Number of the peer's requests that are not completely answered. */
static uint32_t request_cnt(struct rnicpair_side *s)
{
	return with_lead(s->ctx->engine, s->qp->irq.cnt);
}

/* An atomic waits for its turn when its region is deregistered, or the QP loses
 * the right. */
static void a_waiting_atomic_is_not_done(bool by_right)
{
	const struct rnic_atomic add = { .op = RNIC_FETCH_ADD, .add_swap = 1 };
	struct rnicpair_options opt = defaults;
	struct rnicpair_side *s;
	struct rnic_mr *mr;
	struct smpa_event ev;
	struct rawpeer raw;
	struct rnicpair p;
	struct smpa_msg msg = { .opcode = SMPA_OP_ATOMIC_REQUEST,
				.quiet = true,
				.atomic = { .op = add.op, .add_swap = 1 } };

	opt.sockbuf = 16384;
	s = rawpeer_open(&raw, &p, &opt);
	assert_int_equal(
		rnic_mr_reg(s->pd, s->buf, 4096, rnicpair_addr(s, 0),
			    RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_ATOMIC,
			    &mr),
		0);
	memset(s->buf, 0, 8);
	rawpeer_read(&raw, 1, 0, s->stag, rnicpair_addr(s, 0), 3000000);
	msg.atomic.stag = rnic_mr_stag(mr);
	msg.atomic.to = rnicpair_addr(s, 0);
	rawpeer_send(&raw, &msg);
	while (!smpa_conn_counters(raw.conn)->rx_fpdu)
		assert_int_equal(rawpeer_try(&raw).type, SMPA_EV_NONE);
	wait_until(request_cnt(s) == 2);
	if (by_right)
		rnic_qp_set_access(s->qp, RNIC_ACCESS_REMOTE_READ);
	else
		assert_int_equal(rnic_mr_dereg(mr), 0);
	ev = rawpeer_event(&raw);
	assert_int_equal(ev.type, SMPA_EV_TERMINATE);
	assert_int_equal(ev.term.fault.value,
			 by_right ? SMPA_F_RDMAP_ACCESS : SMPA_F_RDMAP_STAG);
	assert_true(ev.term.has_ddp && !ev.term.has_read);
	assert_int_equal(ev.term.opcode, SMPA_OP_ATOMIC_REQUEST);
	assert_int_equal(ev.term.msn, 2);
	assert_true(word_at(s->buf) == 0);
	if (by_right)
		assert_int_equal(rnic_mr_dereg(mr), 0);
	rawpeer_close_both(&raw, &p);
}

CASE(a_waiting_atomic_fails_without_its_region_or_right)
{
	a_waiting_atomic_is_not_done(false);
	a_waiting_atomic_is_not_done(true);
}

/* Responses that do not match the oldest request. */
CASE(answers_must_fit_the_request)
{
	static const struct {
		const char *name;
		uint8_t asked, answered;
		uint32_t id_xor;
		uint16_t fault;
	} rows[] = {
		{ "another identifier", USIW_WR_FETCH_ADD,
		  SMPA_OP_ATOMIC_RESPONSE, 1, SMPA_F_RDMAP_UNSPEC },
		{ "an atomic's answer to a Read", USIW_WR_READ,
		  SMPA_OP_ATOMIC_RESPONSE, 0, SMPA_F_RDMAP_OPCODE },
		{ "a Read's answer to an atomic", USIW_WR_CMP_SWP,
		  SMPA_OP_READ_RESPONSE, 0, SMPA_F_RDMAP_OPCODE },
		{ "nothing as a Read's answer to an atomic", USIW_WR_CMP_SWP,
		  SMPA_OP_READ_RESPONSE, 8, SMPA_F_RDMAP_OPCODE },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rnicpair_side *s;
		struct smpa_event ev;
		struct usiw_cqe cqe;
		struct usiw_sge sge;
		struct rnicpair p;
		struct rawpeer raw;
		struct smpa_msg msg = { .opcode = SMPA_OP_ATOMIC_RESPONSE,
					.quiet = true };

		print_message("%s\n", rows[i].name);
		s = rawpeer_open(&raw, &p, &defaults);
		memset(s->buf, 0xee, 8);
		sge = rnicpair_sge(s, 0, 8);
		rnicpair_post_wr(s, .wr_id = 3, .opcode = rows[i].asked,
				 .sge = &sge, .sge_cnt = 1);
		ev = rawpeer_event(&raw);
		msg.atomic.id = ev.atomic.id ^ rows[i].id_xor;
		if (rows[i].answered == SMPA_OP_READ_RESPONSE)
			rawpeer_respond(&raw, sge.lkey, sge.addr, "response",
					8 - rows[i].id_xor);
		else
			rawpeer_send(&raw, &msg);
		ev = rawpeer_event(&raw);
		assert_int_equal(ev.type, SMPA_EV_TERMINATE);
		assert_int_equal(ev.term.fault.value, rows[i].fault);
		cqe = rnicpair_take(s, s->scq);
		assert_int_equal(cqe.wr_id, 3);
		assert_int_equal(cqe.status, USIW_WC_WR_FLUSH_ERR);
		assert_true(word_at(s->buf) == 0xeeeeeeeeeeeeeeee);
		rawpeer_close_both(&raw, &p);
	}
}

/*
 * EXT-20: a program that does not know whether its peer supports atomics adds
 * zero and checks the result: the word, or the error of a peer without atomics.
 */
CASE(adding_nothing_finds_out_whether_the_peer_can)
{
	for (int can = 0; can < 2; can++) {
		struct rnicpair p;
		struct rnicpair_side *s = &p.side[0];
		struct smpa_msg answer = { .opcode = SMPA_OP_ATOMIC_RESPONSE,
					   .quiet = true,
					   .atomic.value = 77 };
		struct smpa_event ev;
		struct usiw_cqe cqe;
		struct usiw_sge sge;
		struct rawpeer raw;

		rawpeer_open(&raw, &p, &defaults);
		sge = rnicpair_sge(s, 0, 8);
		rnicpair_post_wr(s, .wr_id = 3, .opcode = USIW_WR_FETCH_ADD,
				 .flags = USIW_SQE_SIGNALED, .sge = &sge,
				 .sge_cnt = 1);
		ev = rawpeer_event(&raw);
		assert_int_equal(ev.type, SMPA_EV_ATOMIC);
		assert_int_equal(ev.atomic.op, RNIC_FETCH_ADD);
		assert_true(ev.atomic.add_swap == 0);
		answer.atomic.id = ev.atomic.id;
		if (can)
			rawpeer_send(&raw, &answer);
		else /* a peer with RFC 5040 only, where 0xa is not an opcode */
			smpa_conn_refuse_read(
				raw.conn, &ev,
				(struct smpa_fault){ SMPA_F_RDMAP_OPCODE });
		(void)rawpeer_try(&raw);
		cqe = rnicpair_take(s, s->scq);
		assert_int_equal(cqe.wr_id, 3);
		assert_int_equal(cqe.status, can ? USIW_WC_SUCCESS
						 : USIW_WC_REM_INV_REQ_ERR);
		if (can)
			assert_true(word_at(s->buf) == 77);
		rawpeer_close_both(&raw, &p);
	}
}

/* ---- all at once ---- */

#define CROWD_PAIRS 4	 /* contexts */
#define CROWD_QPS 4	 /* of each */
#define CROWD_OPS 400u	 /* of each QP */
#define CROWD_CPU 20000u /* of each CPU thread */

static uint64_t crowd_word[2] __attribute__((aligned(64)));

struct crowd {
	struct rnicpair p;
	struct rnic_qp *qp[2][CROWD_QPS];
	struct rnic_mr *mr;
	pthread_t thread;
};

/* The next operation of QP @n / 2: adds to word 0, or compares and swaps word
 * 1. */
static void crowd_post(struct crowd *c, uint64_t n, uint64_t guess)
{
	struct rnicpair_side *a = &c->p.side[0];
	struct usiw_sge sge = rnicpair_sge(a, 64 * n, 8);
	struct rnicpair_wr wr = {
		.wr_id = n,
		.opcode = n % 2 ? USIW_WR_CMP_SWP : USIW_WR_FETCH_ADD,
		.flags = USIW_SQE_SIGNALED,
		.sge = &sge,
		.sge_cnt = 1,
		.rkey = rnic_mr_stag(c->mr),
		.remote_addr = (uintptr_t)&crowd_word[n % 2],
		.compare_add = n % 2 ? guess : 1,
		.swap = guess + 1,
	};

	must(!rnicpair_post_qp(a, c->qp[0][n / 2], &wr));
}

/* One thread drives the QPs of one context, two requests of each at a time. */
static void *crowd_run(void *arg)
{
	struct crowd *c = arg;
	struct rnicpair_side *a = &c->p.side[0];
	uint64_t guess[CROWD_QPS * 2] = { 0 };
	uint32_t done[CROWD_QPS * 2] = { 0 }, left = CROWD_QPS * 2;

	for (uint64_t n = 0; n < CROWD_QPS * 2; n++)
		crowd_post(c, n, 0);
	while (left) {
		struct usiw_cqe cqe = rnicpair_take(a, a->scq);
		uint64_t n = cqe.wr_id, old = word_at(a->buf + 64 * n);
		bool has_won = n % 2 == 0 || old == guess[n];

		must(cqe.status == USIW_WC_SUCCESS);
		guess[n] = has_won ? old + 1 : old;
		done[n] += has_won;
		if (done[n] == CROWD_OPS)
			left--;
		else
			crowd_post(c, n, guess[n]);
	}
	return NULL;
}

static void *crowd_cpu(void *arg)
{
	(void)arg;
	for (uint32_t i = 0; i < CROWD_CPU; i++) {
		uint64_t old =
			__atomic_load_n(&crowd_word[1], __ATOMIC_RELAXED);

		__atomic_fetch_add(&crowd_word[0], 1, __ATOMIC_RELAXED);
		while (!__atomic_compare_exchange_n(
			&crowd_word[1], &old, old + 1, 0, __ATOMIC_RELAXED,
			__ATOMIC_RELAXED))
			;
	}
	return NULL;
}

static void crowd_open(struct crowd *c)
{
	rnicpair_open(&c->p, &defaults);
	for (int i = 0; i < CROWD_QPS; i++) {
		c->qp[0][i] = i ? rnicpair_qp_new(&c->p, 0) : c->p.side[0].qp;
		c->qp[1][i] = i ? rnicpair_qp_new(&c->p, 1) : c->p.side[1].qp;
		if (i)
			rnicpair_join(&c->p, c->qp[0][i], c->qp[1][i]);
	}
	assert_int_equal(
		rnic_mr_reg(c->p.side[1].pd, crowd_word, sizeof(crowd_word),
			    (uintptr_t)crowd_word,
			    RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_ATOMIC,
			    &c->mr),
		0);
}

static void crowd_close(struct crowd *c)
{
	uint32_t events;

	for (int i = 1; i < CROWD_QPS; i++)
		for (int side = 0; side < 2; side++)
			assert_int_equal(
				rnic_qp_destroy(c->qp[side][i], &events), 0);
	assert_int_equal(rnic_mr_dereg(c->mr), 0);
	rnicpair_close(&c->p);
}

/* EXT-3: 16 QPs of four contexts, and the CPU, on the same two words. */
CASE(no_addition_is_lost)
{
	const uint64_t want =
		CROWD_PAIRS * CROWD_QPS * CROWD_OPS + 2 * CROWD_CPU;
	static struct crowd crowd[CROWD_PAIRS];
	pthread_t cpu[2];

	for (int i = 0; i < CROWD_PAIRS; i++)
		crowd_open(&crowd[i]);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&cpu[i], NULL, crowd_cpu, NULL),
				 0);
	for (int i = 0; i < CROWD_PAIRS; i++)
		assert_int_equal(pthread_create(&crowd[i].thread, NULL,
						crowd_run, &crowd[i]),
				 0);
	for (int i = 0; i < CROWD_PAIRS; i++)
		pthread_join(crowd[i].thread, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(cpu[i], NULL);
	assert_true(__atomic_load_n(&crowd_word[0], __ATOMIC_SEQ_CST) == want);
	assert_true(__atomic_load_n(&crowd_word[1], __ATOMIC_SEQ_CST) == want);
	for (int i = 0; i < CROWD_PAIRS; i++)
		crowd_close(&crowd[i]);
}
