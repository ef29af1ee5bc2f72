/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sq.c: every kind of work over a real connection, with its content; order of
 * completions, fence, ORD; invalid work requests.
 */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "engine/engine.h"
#include "qp/qp.h"
#include "rawpeer.h"
#include "rnicpair.h"

#define MAX_LEN ((size_t)1500000)

/* ---- contents ---- */

static const size_t lens[] = { 0,    1,	    8,	    127,      2048,   2049,
			       4095, 65536, 100001, 1u << 20, MAX_LEN };

#define LEN_CNT (ARRAY_LEN(lens))

struct transfer {
	const char *name;
	uint8_t opcode;
	bool has_recv;
	bool is_from_peer; /* READ: octets come the other way */
};

static const struct transfer transfers[] = {
	{ "SEND", USIW_WR_SEND, true, false },
	{ "SEND_INV", USIW_WR_SEND_INV, true, false },
	{ "WRITE", USIW_WR_WRITE, false, false },
	{ "READ", USIW_WR_READ, false, true },
};

/* A WRITE makes no event at its target. The Send after it shows when it is
 * placed. */
static void signal_peer(struct rnicpair *p, int from)
{
	struct rnicpair_side *a = &p->side[from], *b = &p->side[!from];
	struct rnicpair_wr wr = { .wr_id = 99, .opcode = USIW_WR_SEND };

	assert_int_equal(rnicpair_post_recv(b, 98, NULL, 0), 0);
	assert_int_equal(rnicpair_post(a, &wr), 0);
	assert_int_equal(rnicpair_take(b, b->rcq).wr_id, 98);
}

static void transfer_one(struct rnicpair *p, int from, const struct transfer *t,
			 size_t len, uint32_t seed)
{
	struct rnicpair_side *a = &p->side[from], *b = &p->side[!from];
	struct rnicpair_side *src = t->is_from_peer ? b : a;
	struct rnicpair_side *dst = t->is_from_peer ? a : b;
	struct usiw_sge from_sge = rnicpair_sge(a, 64, len);
	struct usiw_sge to_sge = rnicpair_sge(b, 128, len);
	struct rnicpair_wr wr = {
		.wr_id = 7,
		.opcode = t->opcode,
		.flags = USIW_SQE_SIGNALED,
		.sge = &from_sge,
		.sge_cnt = len ? 1 : 0,
		.remote_addr = rnicpair_addr(b, 128),
		.rkey = b->stag,
	};
	struct rnic_mw *window = NULL;
	struct rnic_mr *mr = NULL;
	struct usiw_cqe cqe;
	size_t src_off = t->is_from_peer ? 128 : 64;
	size_t dst_off = t->is_from_peer ? 64 : 128;

	rnicpair_fill(src->buf + src_off, len, seed);
	memset(dst->buf + dst_off, 0xee, len + 1);
	if (t->opcode == USIW_WR_SEND_INV) {
		assert_int_equal(rnic_mr_reg(b->pd, b->buf, 4096,
					     rnicpair_addr(b, 0),
					     RNIC_ACCESS_MW_BIND, &mr),
				 0);
		window = rnicpair_window_open(b, b->qp, mr, RNIC_MW_TYPE_2,
					      RNIC_ACCESS_REMOTE_READ);
		wr.rkey = rnic_mw_stag(window);
	}
	if (t->has_recv)
		assert_int_equal(rnicpair_post_recv(b, 8, &to_sge, len ? 1 : 0),
				 0);
	assert_int_equal(rnicpair_post(a, &wr), 0);
	if (t->has_recv) {
		cqe = rnicpair_take(b, b->rcq);
		assert_int_equal(cqe.status, USIW_WC_SUCCESS);
		assert_int_equal(cqe.wr_id, 8);
		assert_int_equal(cqe.byte_len, len);
		assert_int_equal(cqe.opcode, USIW_WC_RECV);
		assert_int_equal(cqe.qp_num, rnic_qp_num(b->qp));
		if (window) {
			assert_int_equal(cqe.wc_flags, USIW_WC_FLAG_INV);
			assert_int_equal(cqe.imm_be, wr.rkey);
			assert_int_equal(rnic_mr_dereg(mr), 0);
			assert_int_equal(rnic_mw_dealloc(window), 0);
		}
	}
	cqe = rnicpair_take(a, a->scq);
	assert_int_equal(cqe.status, USIW_WC_SUCCESS);
	assert_int_equal(cqe.wr_id, 7);
	assert_int_equal(cqe.qp_num, rnic_qp_num(a->qp));
	if (t->opcode == USIW_WR_READ)
		assert_int_equal(cqe.byte_len, len);
	if (t->opcode == USIW_WR_WRITE)
		signal_peer(p, from);
	assert_true(rnicpair_is_filled(dst->buf + dst_off, len, seed));
	assert_int_equal(dst->buf[dst_off + len], 0xee);
}

static void carry_every_length(bool has_crc)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	struct rnicpair p;
	uint32_t seed = 1;

	opt.has_crc = has_crc;
	rnicpair_open(&p, &opt);
	for (size_t i = 0; i < ARRAY_LEN(transfers); i++)
		for (size_t j = 0; j < LEN_CNT; j++)
			for (int from = 0; from < 2; from++)
				transfer_one(&p, from, &transfers[i], lens[j],
					     seed++);
	assert_false(rnicpair_has_async(&p.side[0]));
	assert_false(rnicpair_has_async(&p.side[1]));
	rnicpair_close(&p);
}

CASE(carries_every_length_with_crc)
{
	carry_every_length(true);
}

CASE(carries_every_length_without_crc)
{
	carry_every_length(false);
}

/* 32 pieces of odd lengths on both sides, cut differently. */
static size_t cut_odd(const struct rnicpair_side *s, struct usiw_sge *sge,
		      uint32_t step, size_t len)
{
	size_t off = 0, cnt = 0;

	while (cnt < 31) {
		size_t piece = (cnt * step + 1) % 5003;

		if (cnt % 7 == 3)
			piece = 0;
		if (piece > len - off)
			piece = len - off;
		sge[cnt] = rnicpair_sge(s, off, piece);
		off += piece;
		cnt++;
	}
	sge[cnt] = rnicpair_sge(s, off, len - off);
	return cnt + 1;
}

static void carry_odd_lists(bool has_crc)
{
	static const size_t totals[] = { 1, 31, 9000, 60001, 400003 };
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	struct usiw_sge src[32], dst[32];
	struct rnicpair p;

	opt.has_crc = has_crc;
	opt.max_sge = 32;
	rnicpair_open(&p, &opt);
	for (size_t i = 0; i < ARRAY_LEN(totals); i++) {
		struct rnicpair_side *a = &p.side[0], *b = &p.side[1];
		size_t len = totals[i];
		struct rnicpair_wr wr = { .wr_id = i,
					  .opcode = USIW_WR_SEND,
					  .flags = USIW_SQE_SIGNALED,
					  .sge = src,
					  .sge_cnt = 32 };

		assert_int_equal(cut_odd(a, src, 613, len), 32);
		assert_int_equal(cut_odd(b, dst, 1409, len), 32);
		rnicpair_fill(a->buf, len, (uint32_t)i);
		memset(b->buf, 0, len + 1);
		assert_int_equal(rnicpair_post_recv(b, i, dst, 32), 0);
		assert_int_equal(rnicpair_post(a, &wr), 0);
		assert_int_equal(rnicpair_take(b, b->rcq).byte_len, len);
		assert_int_equal(rnicpair_take(a, a->scq).status, 0);
		assert_true(rnicpair_is_filled(b->buf, len, (uint32_t)i));
		/* And back by an RDMA Read into the list. */
		memset(a->buf, 0, len);
		wr.opcode = USIW_WR_READ;
		wr.remote_addr = rnicpair_addr(b, 0);
		wr.rkey = b->stag;
		assert_int_equal(rnicpair_post(a, &wr), 0);
		assert_int_equal(rnicpair_take(a, a->scq).byte_len, len);
		assert_true(rnicpair_is_filled(a->buf, len, (uint32_t)i));
	}
	rnicpair_close(&p);
}

CASE(carries_lists_of_odd_pieces)
{
	carry_odd_lists(true);
	carry_odd_lists(false);
}

CASE(takes_inline_data_at_posting)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	uint8_t data[128];
	struct rnicpair p;

	rnicpair_open(&p, &opt);
	for (uint32_t len = 1; len <= sizeof(data); len += 31) {
		struct rnicpair_side *a = &p.side[0], *b = &p.side[1];
		struct usiw_sge sge = rnicpair_sge(b, 0, sizeof(data));
		struct rnicpair_wr wr = {
			.opcode = USIW_WR_SEND,
			.flags = USIW_SQE_SIGNALED | USIW_SQE_INLINE,
			.inline_data = data,
			.inline_len = len,
		};

		rnicpair_fill(data, sizeof(data), len);
		assert_int_equal(rnicpair_post_recv(b, 1, &sge, 1), 0);
		assert_int_equal(rnicpair_post(a, &wr), 0);
		memset(data, 0, sizeof(data));
		assert_int_equal(rnicpair_take(b, b->rcq).byte_len, len);
		assert_true(rnicpair_is_filled(b->buf, len, len));
		assert_int_equal(rnicpair_take(a, a->scq).status, 0);
	}
	rnicpair_close(&p);
}

/* ---- completions ---- */

CASE(completes_only_what_is_signaled)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	struct rnicpair p;

	rnicpair_open(&p, &opt);
	/* Three times around the ring: slots are freed without completions. */
	for (uint64_t i = 0; i < 3 * 64; i++) {
		struct rnicpair_side *a = &p.side[0];
		struct usiw_sge sge = rnicpair_sge(a, 0, 100);
		struct rnicpair_wr wr = {
			.wr_id = i,
			.opcode = USIW_WR_WRITE,
			.flags = i % 32 == 31 ? USIW_SQE_SIGNALED : 0,
			.sge = &sge,
			.sge_cnt = 1,
			.remote_addr = rnicpair_addr(&p.side[1], 0),
			.rkey = p.side[1].stag,
		};

		assert_int_equal(rnicpair_post(a, &wr), 0);
		if (wr.flags)
			assert_int_equal(rnicpair_take(a, a->scq).wr_id, i);
	}
	assert_true(rnicpair_is_quiet(&p, p.side[0].scq));
	rnicpair_close(&p);
}

/* RDMAP-44: a Send after a Read completes after it, although it was sent. */
/* U-11 */
CASE(completes_in_posting_order)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	struct rnicpair p;

	opt.ird = opt.ord = 3;
	opt.cqe = 512;
	opt.max_wr = 200;
	rnicpair_open(&p, &opt);
	for (uint64_t i = 0; i < 120; i++) {
		struct rnicpair_side *a = &p.side[0], *b = &p.side[1];
		struct usiw_sge sge =
			rnicpair_sge(a, i * 8192, i % 3 ? 100 : 8192);
		struct rnicpair_wr wr = {
			.wr_id = i,
			.opcode = i % 3 == 0   ? USIW_WR_READ
				  : i % 3 == 1 ? USIW_WR_WRITE
					       : USIW_WR_SEND,
			.flags = USIW_SQE_SIGNALED,
			.sge = &sge,
			.sge_cnt = 1,
			.remote_addr = rnicpair_addr(b, i * 8192),
			.rkey = b->stag,
		};
		struct usiw_sge to = rnicpair_sge(b, 3u << 20, 100);

		if (wr.opcode == USIW_WR_SEND)
			assert_int_equal(rnicpair_post_recv(b, i, &to, 1), 0);
		assert_int_equal(rnicpair_post(a, &wr), 0);
	}
	for (uint64_t i = 0; i < 120; i++) {
		struct usiw_cqe cqe = rnicpair_take(&p.side[0], p.side[0].scq);

		assert_int_equal(cqe.status, USIW_WC_SUCCESS);
		assert_int_equal(cqe.wr_id, i);
	}
	rnicpair_close(&p);
}

/* ---- ORD and fence ---- */

static uint32_t reads_outstanding(struct rnic_qp *qp)
{
	return with_lead(qp->engine, qp->sq.orq.cnt);
}

/* RDMAP-51. The peer's IRD is as small, so one more would be refused. */
/* U-9 */
CASE(keeps_reads_within_ord)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	struct rnicpair p;
	uint32_t most = 0;

	opt.ird = opt.ord = 2;
	rnicpair_open(&p, &opt);
	for (uint64_t i = 0; i < 64; i++) {
		struct usiw_sge sge = rnicpair_sge(&p.side[0], 0, 65536);
		struct rnicpair_wr wr = {
			.wr_id = i,
			.opcode = USIW_WR_READ,
			.flags = USIW_SQE_SIGNALED,
			.sge = &sge,
			.sge_cnt = 1,
			.remote_addr = rnicpair_addr(&p.side[1], 0),
			.rkey = p.side[1].stag,
		};
		uint32_t now;

		assert_int_equal(rnicpair_post(&p.side[0], &wr), 0);
		now = reads_outstanding(p.side[0].qp);
		most = now > most ? now : most;
	}
	/* Answers may be faster than this look; the next test makes them
	 * wait. */
	assert_in_range(most, 0, 2);
	for (uint64_t i = 0; i < 64; i++) {
		struct usiw_cqe cqe = rnicpair_take(&p.side[0], p.side[0].scq);

		assert_int_equal(cqe.status, USIW_WC_SUCCESS);
		assert_int_equal(cqe.wr_id, i);
	}
	assert_int_equal(reads_outstanding(p.side[0].qp), 0);
	rnicpair_close(&p);
}

/* A peer that does not answer receives ORD requests and no more. */
CASE(asks_again_when_a_read_is_answered)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	struct smpa_event ev[3];
	struct rawpeer raw;
	struct rnicpair p;

	opt.ird = opt.ord = 2;
	rawpeer_open(&raw, &p, &opt);
	for (uint64_t i = 0; i < 3; i++) {
		struct usiw_sge sge = rnicpair_sge(&p.side[0], 0, 8);
		struct rnicpair_wr wr = { .wr_id = i,
					  .opcode = USIW_WR_READ,
					  .flags = USIW_SQE_SIGNALED,
					  .sge = &sge,
					  .sge_cnt = 1 };

		assert_int_equal(rnicpair_post(&p.side[0], &wr), 0);
	}
	for (int i = 0; i < 2; i++) {
		ev[i] = rawpeer_event(&raw);
		assert_int_equal(ev[i].type, SMPA_EV_READ);
	}
	assert_true(rnicpair_is_quiet(&p, p.side[0].scq));
	assert_int_equal(rawpeer_try(&raw).type, SMPA_EV_NONE);
	for (int i = 0; i < 3; i++) {
		rawpeer_respond(&raw, ev[i].read.sink_stag, ev[i].read.sink_to,
				"response", 8);
		assert_int_equal(rnicpair_take(&p.side[0], p.side[0].scq).wr_id,
				 i);
		if (i == 0) {
			ev[2] = rawpeer_event(&raw);
			assert_int_equal(ev[2].type, SMPA_EV_READ);
		}
	}
	assert_memory_equal(p.side[0].buf, "response", 8);
	rawpeer_close_both(&raw, &p);
}

/* A fenced WRITE carries what the READ before it has returned. */
/* U-10 */
CASE(fence_waits_for_reads)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	struct rnicpair p;

	rnicpair_open(&p, &opt);
	for (uint32_t i = 0; i < 50; i++) {
		struct rnicpair_side *a = &p.side[0], *b = &p.side[1];
		struct usiw_sge sge = rnicpair_sge(a, 0, 30000);
		struct rnicpair_wr wr = {
			.wr_id = 1,
			.opcode = USIW_WR_READ,
			.flags = USIW_SQE_SIGNALED,
			.sge = &sge,
			.sge_cnt = 1,
			.remote_addr = rnicpair_addr(b, 0),
			.rkey = b->stag,
		};

		rnicpair_fill(b->buf, 30000, i);
		memset(a->buf, 0, 30000);
		assert_int_equal(rnicpair_post(a, &wr), 0);
		wr.wr_id = 2;
		wr.opcode = USIW_WR_WRITE;
		wr.flags |= USIW_SQE_FENCE;
		wr.remote_addr = rnicpair_addr(b, 1u << 20);
		assert_int_equal(rnicpair_post(a, &wr), 0);
		assert_int_equal(rnicpair_take(a, a->scq).wr_id, 1);
		assert_int_equal(rnicpair_take(a, a->scq).wr_id, 2);
		signal_peer(&p, 0);
		assert_true(rnicpair_is_filled(b->buf + (1u << 20), 30000, i));
	}
	rnicpair_close(&p);
}

/* ---- invalid work requests ---- */

struct bad_wr {
	const char *name;
	uint8_t opcode;
	uint8_t flags;
	uint16_t sge_cnt;
	uint32_t sge_len, inline_len;
	uint32_t lkey_xor;
	uint16_t ord;
	enum usiw_wc_status status;
};

static const struct bad_wr bad_wrs[] = {
	{ "unknown opcode", 77, 0, 1, 8, 0, 0, 8, USIW_WC_LOC_QP_OP_ERR },
	{ "opcode 0", 0, 0, 1, 8, 0, 0, 8, USIW_WC_LOC_QP_OP_ERR },
	{ "atomic without ORD", USIW_WR_FETCH_ADD, 0, 1, 8, 0, 0, 0,
	  USIW_WC_LOC_QP_OP_ERR },
	{ "atomic, inline", USIW_WR_FETCH_ADD, USIW_SQE_INLINE, 0, 0, 8, 0, 8,
	  USIW_WC_LOC_QP_OP_ERR },
	{ "read, inline", USIW_WR_READ, USIW_SQE_INLINE, 0, 0, 8, 0, 8,
	  USIW_WC_LOC_QP_OP_ERR },
	{ "atomic into 7 octets", USIW_WR_FETCH_ADD, 0, 1, 7, 0, 0, 8,
	  USIW_WC_LOC_LEN_ERR },
	{ "atomic into 9 octets", USIW_WR_CMP_SWP, 0, 1, 9, 0, 0, 8,
	  USIW_WC_LOC_LEN_ERR },
	{ "atomic into nothing", USIW_WR_CMP_SWP, 0, 0, 0, 0, 0, 8,
	  USIW_WC_LOC_LEN_ERR },
	{ "atomic, unknown sink key", USIW_WR_CMP_SWP, 0, 1, 8, 0, 0x100, 8,
	  USIW_WC_LOC_PROT_ERR },
	{ "read without ORD", USIW_WR_READ, 0, 1, 8, 0, 0, 0,
	  USIW_WC_LOC_QP_OP_ERR },
	{ "unknown key", USIW_WR_SEND, 0, 1, 8, 0, 1, 8, USIW_WC_LOC_PROT_ERR },
	{ "unknown sink key", USIW_WR_READ, 0, 1, 8, 0, 0x100, 8,
	  USIW_WC_LOC_PROT_ERR },
	{ "past the region", USIW_WR_WRITE, 0, 1, 5u << 20, 0, 0, 8,
	  USIW_WC_LOC_PROT_ERR },
	{ "more than a message may have", USIW_WR_SEND, 0, 2, 0x40000001, 0, 0,
	  8, USIW_WC_LOC_LEN_ERR },
	{ "2^32 octets", USIW_WR_WRITE, 0, 4, 1u << 30, 0, 0, 8,
	  USIW_WC_LOC_LEN_ERR },
	{ "more than 2^32 octets, to read", USIW_WR_READ, 0, 4, 0x40000001, 0,
	  0, 8, USIW_WC_LOC_LEN_ERR },
	{ "as long as a message may be", USIW_WR_SEND, 0, 4, 1u << 29, 0, 0, 8,
	  USIW_WC_LOC_PROT_ERR },
	{ "more pieces than the queue's", USIW_WR_SEND, 0, 40, 8, 0, 0, 8,
	  USIW_WC_LOC_LEN_ERR },
	{ "more inline data than the queue's", USIW_WR_SEND, USIW_SQE_INLINE, 0,
	  0, 5000, 0, 8, USIW_WC_LOC_LEN_ERR },
};

/* The WR before it is sent. The invalid one and the following ones complete
 * with an error. */
CASE(wrong_work_fails_the_queue)
{
	static const uint8_t inline_data[8192];

	for (size_t i = 0; i < ARRAY_LEN(bad_wrs); i++) {
		const struct bad_wr *bad = &bad_wrs[i];
		struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
		struct rnicpair p;
		struct rnicpair_side *a = &p.side[0];
		struct usiw_sge sge[64], good;
		struct rnicpair_wr wr = { .wr_id = 1,
					  .opcode = USIW_WR_WRITE,
					  .sge_cnt = 1 };
		struct usiw_cqe cqe;
		uint64_t element;

		opt.ird = opt.ord = bad->ord;
		rnicpair_open(&p, &opt);
		good = rnicpair_sge(a, 0, 8);
		for (int j = 0; j < 64; j++) {
			sge[j] = rnicpair_sge(a, 0, bad->sge_len);
			sge[j].lkey ^= bad->lkey_xor;
		}
		wr.sge = &good;
		wr.flags = USIW_SQE_SIGNALED;
		wr.rkey = p.side[1].stag;
		wr.remote_addr = rnicpair_addr(&p.side[1], 0);
		assert_int_equal(rnicpair_post(a, &wr), 0);
		wr.wr_id = 2;
		wr.opcode = bad->opcode;
		wr.flags = bad->flags; /* not signalled, but reported */
		wr.sge = sge;
		/* A slot of the ring holds max_sge. The header may claim
		 * more. */
		wr.sge_cnt = bad->sge_cnt > opt.max_sge ? 0 : bad->sge_cnt;
		wr.inline_data = inline_data;
		wr.inline_len = bad->inline_len;
		if (bad->sge_cnt > opt.max_sge) {
			const struct usiw_ring *ring = rnic_qp_sq(a->qp);
			struct usiw_sqe *sqe = usiw_ring_reserve(ring, 0);

			*sqe = (struct usiw_sqe){ .wr_id = 2,
						  .opcode = bad->opcode,
						  .sge_cnt = bad->sge_cnt };
			usiw_ring_commit(ring, 1);
			rnic_qp_ring_sq(a->qp);
		} else {
			assert_int_equal(rnicpair_post(a, &wr), 0);
		}
		wr = (struct rnicpair_wr){ .wr_id = 3, .opcode = USIW_WR_SEND };
		assert_int_equal(rnicpair_post(a, &wr), 0);

		cqe = rnicpair_take(a, a->scq);
		assert_int_equal(cqe.wr_id, 1);
		assert_int_equal(cqe.status, USIW_WC_SUCCESS);
		cqe = rnicpair_take(a, a->scq);
		assert_int_equal(cqe.wr_id, 2);
		assert_int_equal(cqe.status, bad->status);
		cqe = rnicpair_take(a, a->scq);
		assert_int_equal(cqe.wr_id, 3);
		assert_int_equal(cqe.status, USIW_WC_WR_FLUSH_ERR);
		assert_int_equal(rnic_qp_state(a->qp), RNIC_QPS_TERMINATE);
		assert_int_equal(rnicpair_async(a, &element),
				 USIW_EVENT_QP_REQ_ERR);
		/* The peer gets the reason. */
		rnicpair_wait_state(&p.side[1], RNIC_QPS_TERMINATE);
		assert_int_equal(rnicpair_async(&p.side[1], &element),
				 USIW_EVENT_QP_FATAL);
		assert_true(rnicpair_is_quiet(&p, a->scq));
		rnicpair_close(&p);
	}
}
