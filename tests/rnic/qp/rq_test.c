/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* rq.c: which receive a message takes, how it is reported, how it is
 * flushed. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "mem/context.h"
#include "engine/engine.h"
#include "qp/qp.h"
#include "qp/rq.h"
#include "rawpeer.h"

static const struct rnicpair_options defaults = RNICPAIR_OPTIONS_INIT;

static uint8_t octets[200000];

/* MSN by MSN: messages of many lengths into receives that are larger. */
CASE(messages_take_receives_in_order)
{
	struct rnicpair p;
	struct rawpeer raw;

	rawpeer_open(&raw, &p, &defaults);
	for (uint64_t round = 0; round < 4; round++) {
		for (uint64_t i = 0; i < 16; i++) {
			struct usiw_sge sge =
				rnicpair_sge(&p.side[0], i * 100000, 99999);

			assert_int_equal(
				rnicpair_post_recv(&p.side[0], i, &sge, 1), 0);
		}
		for (uint64_t i = 0; i < 16; i++) {
			rnicpair_fill(octets, i * 6001, (uint32_t)i);
			rawpeer_send_octets(
				&raw, i % 2 ? SMPA_OP_SEND : SMPA_OP_SEND_SE,
				octets, i * 6001);
		}
		for (uint64_t i = 0; i < 16; i++) {
			struct usiw_cqe cqe =
				rnicpair_take(&p.side[0], p.side[0].rcq);

			assert_int_equal(cqe.wr_id, i);
			assert_int_equal(cqe.byte_len, i * 6001);
			/* U-12 */
			assert_int_equal(cqe.wc_flags,
					 i % 2 ? 0 : USIW_WC_FLAG_SOLICITED);
			assert_true(
				rnicpair_is_filled(p.side[0].buf + i * 100000,
						   i * 6001, (uint32_t)i));
		}
	}
	rawpeer_close_both(&raw, &p);
}

/*
 * The ring is in the application's memory, so it may contain any number of
 * SGEs: no more are used than an entry has room for.
 */
CASE(takes_no_more_sges_than_fit)
{
	static const uint32_t lies[] = { 2, RNIC_SGE_MAX, RNIC_SGE_MAX + 1,
					 100000, UINT32_MAX };

	for (size_t i = 0; i < 2 * ARRAY_LEN(lies); i++) {
		struct rnicpair_options opt = defaults;
		struct rnicpair p;
		struct rnicpair_side *side = &p.side[1];
		const struct usiw_ring *ring;
		struct usiw_rqe *rqe;
		struct rawpeer raw;
		struct usiw_sge sge;
		struct usiw_cqe cqe;

		opt.max_sge = 1;
		opt.srq_wr = i % 2 ? 8 : 0;
		rnicpair_open_idle(&p, &opt);
		sge = rnicpair_sge(side, 0, 100);
		/* What follows the first would be an SGE of one octet. */
		assert_int_equal(rnicpair_post_recv(side, 1, &sge, 1), 0);
		assert_int_equal(rnicpair_post_recv(side, 2, &sge, 1), 0);
		ring = rnic_rq_ring(side->qp);
		rqe = usiw_ring_slot(ring, 0);
		assert_int_equal(rqe->wr_id, 1);
		rqe->sge_cnt = lies[i / 2];
		rawpeer_join(&raw, &p, 1);
		rawpeer_send_octets(&raw, SMPA_OP_SEND, octets, 101);
		cqe = rnicpair_take(side, side->rcq);
		assert_int_equal(cqe.wr_id, 1);
		assert_int_equal(cqe.status, USIW_WC_LOC_LEN_ERR);
		rawpeer_close_both(&raw, &p);
	}
}

/* Lists with holes, filled by messages that end anywhere in them. */
CASE(scatters_over_the_list)
{
	struct rnicpair_options opt = defaults;
	struct rnicpair p;
	struct rawpeer raw;
	struct usiw_sge sge[5];

	opt.max_sge = 5;
	rawpeer_open(&raw, &p, &opt);
	for (size_t len = 0; len <= 111; len++) {
		uint8_t *buf = p.side[0].buf;
		size_t done = 0;

		/* 1, 0, 10, 100 octets at 0, 50, 100, 200; then nothing. */
		sge[0] = rnicpair_sge(&p.side[0], 0, 1);
		sge[1] = rnicpair_sge(&p.side[0], 50, 0);
		sge[1].lkey = 0xdead; /* ignored */
		sge[2] = rnicpair_sge(&p.side[0], 100, 10);
		sge[3] = rnicpair_sge(&p.side[0], 200, 100);
		sge[4] = rnicpair_sge(&p.side[0], 400, 0);
		memset(buf, 0, 500);
		rnicpair_fill(octets, len, (uint32_t)len);
		assert_int_equal(rnicpair_post_recv(&p.side[0], len, sge, 5),
				 0);
		rawpeer_send_octets(&raw, SMPA_OP_SEND, octets, len);
		assert_int_equal(
			rnicpair_take(&p.side[0], p.side[0].rcq).byte_len, len);
		for (int i = 0; i < 5; i++) {
			size_t piece = sge[i].len < len - done ? sge[i].len
							       : len - done;
			const uint8_t *at =
				(const uint8_t *)(uintptr_t)sge[i].addr;

			assert_memory_equal(at, octets + done, piece);
			for (size_t j = piece; j < 40; j++)
				if (at + j < buf + 500)
					assert_int_equal(at[j], 0);
			done += piece;
		}
	}
	rawpeer_close_both(&raw, &p);
}

struct bad_receive {
	const char *name;
	uint32_t lkey_xor;
	uint32_t len;
	enum usiw_wc_status status;
	uint16_t fault;
};

static const struct bad_receive bad_receives[] = {
	{ "unknown key", 0x100, 1000, USIW_WC_LOC_PROT_ERR, SMPA_F_DDP_LOCAL },
	{ "past the region", 0, 5u << 20, USIW_WC_LOC_PROT_ERR,
	  SMPA_F_DDP_LOCAL },
	{ "too short by one", 0, 99, USIW_WC_LOC_LEN_ERR,
	  SMPA_F_DDP_U_TOO_LONG },
};

CASE(wrong_receives_are_reported)
{
	for (size_t i = 0; i < sizeof(bad_receives) / sizeof(*bad_receives);
	     i++) {
		const struct bad_receive *bad = &bad_receives[i];
		struct rnicpair p;
		struct rawpeer raw;
		struct usiw_sge sge;
		struct smpa_event ev;
		struct usiw_cqe cqe;

		rawpeer_open(&raw, &p, &defaults);
		sge = rnicpair_sge(&p.side[0], (4u << 20) - 999 - bad->lkey_xor,
				   bad->len);
		sge.lkey ^= bad->lkey_xor;
		for (uint64_t id = 0; id < 3; id++)
			assert_int_equal(
				rnicpair_post_recv(&p.side[0], id, &sge, 1), 0);
		rawpeer_send_octets(&raw, SMPA_OP_SEND, octets,
				    bad->len < 1000 ? 100 : 1000);
		ev = rawpeer_event(&raw);
		assert_int_equal(ev.type, SMPA_EV_TERMINATE);
		assert_int_equal(ev.term.fault.value, bad->fault);
		cqe = rnicpair_take(&p.side[0], p.side[0].rcq);
		assert_int_equal(cqe.wr_id, 0);
		assert_int_equal(cqe.status, bad->status);
		for (uint64_t id = 1; id < 3; id++) {
			cqe = rnicpair_take(&p.side[0], p.side[0].rcq);
			assert_int_equal(cqe.wr_id, id);
			assert_int_equal(cqe.status, USIW_WC_WR_FLUSH_ERR);
		}
		assert_true(rnicpair_is_quiet(&p, p.side[0].rcq));
		rawpeer_close_both(&raw, &p);
	}
}

/* A message has begun when the stream ends: its receive is flushed, first, and
 * once. */
CASE(a_message_half_arrived_is_flushed)
{
	for (int mode = 0; mode < 4; mode++) {
		struct rnicpair_options opt = defaults;
		struct rnicpair p;
		struct rawpeer raw;
		struct iovec iov = { octets, sizeof(octets) };
		struct smpa_msg msg = { .opcode = SMPA_OP_SEND,
					.iov = &iov,
					.iovcnt = 1,
					.len = sizeof(octets) };
		const struct iovec *out;
		bool is_open = false;
		struct usiw_sge sge;
		int cnt;

		opt.has_crc = mode & 1;
		opt.srq_wr = 0;
		rawpeer_open(&raw, &p, &opt);
		sge = rnicpair_sge(&p.side[0], 0, sizeof(octets));
		for (uint64_t id = 0; id < 2; id++)
			assert_int_equal(
				rnicpair_post_recv(&p.side[0], id, &sge, 1), 0);
		assert_int_equal(smpa_conn_tx_lend(raw.conn, NULL, 0), 0);
		assert_int_equal(smpa_conn_tx_lend(raw.conn, raw.tx, 262144),
				 0);
		assert_int_equal(smpa_conn_submit(raw.conn, &msg), 0);
		cnt = smpa_conn_tx_prepare(raw.conn, &out);
		assert_true(cnt > 0);
		/* 150000 octets: some segments, and a part of one. */
		for (size_t left = 150000; left > 0; out++) {
			size_t len = out->iov_len < left ? out->iov_len : left;
			struct iovec piece = { out->iov_base, len };

			while (piece.iov_len > 0) {
				ssize_t rc = writev(raw.fd, &piece, 1);

				if (rc > 0) {
					piece.iov_base =
						(char *)piece.iov_base + rc;
					piece.iov_len -= (size_t)rc;
				}
			}
			left -= len;
		}
		while (!is_open) {
			is_open = with_lead(p.side[0].ctx->engine,
					    p.side[0].qp->rq.current.is_open);
			rnic_cq_progress(p.side[0].rcq);
		}
		if (mode & 2)
			rawpeer_reset(&raw);
		else
			assert_int_equal(
				rnic_qp_modify(p.side[0].qp, RNIC_QPS_ERROR),
				0);
		for (uint64_t id = 0; id < 2; id++) {
			struct usiw_cqe cqe =
				rnicpair_take(&p.side[0], p.side[0].rcq);

			assert_int_equal(cqe.wr_id, id);
			assert_int_equal(cqe.status, USIW_WC_WR_FLUSH_ERR);
		}
		assert_true(rnicpair_is_quiet(&p, p.side[0].rcq));
		if (raw.stream)
			rawpeer_close(&raw);
		rnicpair_close(&p);
	}
}
