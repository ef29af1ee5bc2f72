/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * rnr.c: a Send that invalidates a window takes effect after the READs of that
 * window that came before it, as with InfiniBand. READ responses are larger
 * here than TCP's buffers, so a READ is not answered before the peer reads.
 */
#include "test.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "rnr-fixture.h"
#include "engine/engine.h"
#include "qp/ack.h"

#define READ_LEN (3u << 20)
#define SOCKBUF 65536

static uint8_t octets[100000];

/* A peer without an RNIC, and a window that it may read. */
struct world {
	struct rnicpair p;
	struct rnicpair_side *side;
	struct rawpeer raw;
	struct rnic_mr *mr;
	struct rnic_mw *mw;
	uint32_t stag;
};

static void world_open(struct world *w, bool has_crc, bool has_srq)
{
	struct rnicpair_options opt = defaults;

	opt.has_crc = has_crc;
	opt.srq_wr = has_srq ? 8 : 0;
	opt.sockbuf = SOCKBUF;
	rnicpair_open_idle(&w->p, &opt);
	w->side = &w->p.side[1];
	assert_int_equal(rnic_mr_reg(w->side->pd, w->side->buf, READ_LEN, 0,
				     RNIC_ACCESS_MW_BIND, &w->mr),
			 0);
	rawpeer_join(&w->raw, &w->p, 1);
	rnicpair_fill(octets, sizeof(octets), 3);
	w->mw = rnicpair_window_open(w->side, w->side->qp, w->mr,
				     RNIC_MW_TYPE_2, RNIC_ACCESS_REMOTE_READ);
	w->stag = rnic_mw_stag(w->mw);
}

static void world_close(struct world *w)
{
	rawpeer_close(&w->raw);
	assert_int_equal(rnic_mw_dealloc(w->mw), 0);
	assert_int_equal(rnic_mr_dereg(w->mr), 0);
	rnicpair_close(&w->p);
}

static void send_inv(struct world *w, size_t len)
{
	struct iovec iov = { octets, len };
	struct smpa_msg msg = { .opcode = SMPA_OP_SEND_INV,
				.quiet = true,
				.stag = w->stag,
				.iov = &iov,
				.iovcnt = len ? 1 : 0,
				.len = len };

	rawpeer_send(&w->raw, &msg);
}

static void take_response(struct world *w)
{
	struct smpa_event ev = rawpeer_event(&w->raw);

	assert_int_equal(ev.type, SMPA_EV_MESSAGE);
	assert_int_equal(ev.msg.opcode, SMPA_OP_READ_RESPONSE);
}

static void take_send(struct world *w, uint64_t wr_id, size_t off, size_t len,
		      bool is_inv)
{
	struct usiw_cqe cqe = rnicpair_take(w->side, w->side->rcq);

	assert_int_equal(cqe.wr_id, wr_id);
	assert_int_equal(cqe.status, USIW_WC_SUCCESS);
	assert_int_equal(cqe.byte_len, len);
	assert_int_equal(cqe.wc_flags, is_inv ? USIW_WC_FLAG_INV : 0);
	if (is_inv)
		assert_int_equal(cqe.imm_be, w->stag);
	assert_true(rnicpair_is_filled(w->side->buf + off, len, 3));
}

/* ---- the READ is answered, then the window goes ---- */

struct order {
	const char *name;
	size_t len; /* of the Send that invalidates */
	bool is_recv_late, has_crc, has_srq, has_fin;
};

static const struct order orders[] = {
	{ "a receive is posted", 8, false, true, false, false },
	{ "nothing in it, no CRC", 0, false, false, false, false },
	{ "many segments", 100000, false, true, false, false },
	{ "the receive is late", 8, true, true, false, false },
	{ "a shared receive", 8, false, true, true, false },
	{ "a shared receive is late", 8, true, false, true, false },
	{ "FIN behind", 8, false, true, false, true },
};

static void order_run(const struct order *row)
{
	const size_t room = 100000, off = READ_LEN;
	struct world w;

	print_message("%s\n", row->name);
	world_open(&w, row->has_crc, row->has_srq);
	for (uint64_t i = 0; i < 2 && !row->is_recv_late; i++)
		post_recv(w.side, i, off + i * room, room);
	rawpeer_read(&w.raw, 1, 0, w.stag, 0, READ_LEN);
	send_inv(&w, row->len);
	rawpeer_send_octets(&w.raw, SMPA_OP_SEND, octets, 100);
	if (row->has_fin)
		assert_int_equal(shutdown(w.raw.fd, SHUT_WR), 0);
	wait_for(row->has_fin ? has_peer_fin : is_rnr, w.side);
	assert_true(rnicpair_is_quiet(&w.p, w.side->rcq));
	/* The READ takes this time, not a missing receive. */
	assert_int_equal(limit_ns(w.side), 0);
	take_response(&w);
	for (uint64_t i = 0; i < 2 && row->is_recv_late; i++)
		post_recv(w.side, i, off + i * room, room);
	take_send(&w, 0, off, row->len, true);
	take_send(&w, 1, off + room, 100, false);
	assert_false(is_rnr(w.side));
	if (row->has_fin) {
		rnicpair_wait_state(w.side, RNIC_QPS_ERROR);
	} else {
		assert_int_equal(rnic_qp_state(w.side->qp), RNIC_QPS_RTS);
		rawpeer_read(&w.raw, 1, 0, w.stag, 0, 8);
		assert_int_equal(rawpeer_event(&w.raw).type, SMPA_EV_TERMINATE);
	}
	world_close(&w);
}

CASE(an_invalidation_waits_for_reads)
{
	for (size_t i = 0; i < ARRAY_LEN(orders); i++)
		order_run(&orders[i]);
}

/* READs of other memory, and empty READs, do not delay it. */
CASE(what_does_not_need_it_is_not_waited_for)
{
	struct world w;

	world_open(&w, true, false);
	post_recv(w.side, 0, READ_LEN, 100);
	rawpeer_read(&w.raw, 1, 0, w.side->stag, rnicpair_addr(w.side, 0),
		     READ_LEN);
	rawpeer_read(&w.raw, 1, 0, w.stag, 0, 0);
	send_inv(&w, 8);
	take_send(&w, 0, READ_LEN, 8, true);
	take_response(&w);
	take_response(&w);
	world_close(&w);
}

/* The RNR time begins when only the receive is missing. */
CASE(the_receive_has_its_time_afterwards)
{
	struct world w;

	world_open(&w, true, false);
	rawpeer_read(&w.raw, 1, 0, w.stag, 0, READ_LEN);
	send_inv(&w, 8);
	wait_for(is_rnr, w.side);
	assert_int_equal(limit_ns(w.side), 0);
	take_response(&w);
	while (!limit_ns(w.side))
		rnic_cq_progress(w.side->rcq);
	assert_true(is_rnr(w.side));
	world_close(&w);
}

/* ---- where waiting would never end ---- */

/* The empty READ by which the peer asks what is placed (ack.c) comes before the
 * READ, and is not delayed by what follows both. */
CASE(an_acknowledgement_goes_first)
{
	struct world w;

	world_open(&w, true, false);
	post_recv(w.side, 0, READ_LEN, 100);
	/* All of it before the first answer. */
	rnic_engine_lead(w.side->qp->engine);
	rawpeer_read(&w.raw, 1, 0, RNIC_ACK_STAG, 0, 0);
	rawpeer_read(&w.raw, 1, 0, w.stag, 0, READ_LEN);
	send_inv(&w, 8);
	rawpeer_read(&w.raw, 1, 0, RNIC_ACK_STAG, 0, 0);
	rnic_engine_unlead(w.side->qp->engine);
	for (int i = 0; i < 3; i++)
		take_response(&w);
	take_send(&w, 0, READ_LEN, 8, true);
	world_close(&w);
}

/* The memory is full: the READ loses its window. */
CASE(full_memory_does_not_wait)
{
	struct world w;

	world_open(&w, true, false);
	post_recv(w.side, 0, READ_LEN, 100);
	rawpeer_read(&w.raw, 1, 0, w.stag, 0, READ_LEN);
	send_inv(&w, 8);
	for (int i = 0; rnic_qp_state(w.side->qp) == RNIC_QPS_RTS; i++) {
		must(i < 10000);
		rawpeer_send_octets(&w.raw, SMPA_OP_SEND, octets, 10000);
	}
	assert_int_equal(rnic_qp_state(w.side->qp), RNIC_QPS_TERMINATE);
	world_close(&w);
}

/* Two peers that do the same to each other. */
CASE(both_sides_at_once)
{
	struct rnicpair_options opt = defaults;
	struct rnic_mr *mr[2];
	struct rnic_mw *mw[2];
	struct rnicpair p;

	opt.sockbuf = SOCKBUF;
	rnicpair_open(&p, &opt);
	for (int i = 0; i < 2; i++) {
		struct rnicpair_side *s = &p.side[i];

		assert_int_equal(rnic_mr_reg(s->pd, s->buf, READ_LEN / 2, 0,
					     RNIC_ACCESS_MW_BIND, &mr[i]),
				 0);
		mw[i] = rnicpair_window_open(s, s->qp, mr[i], RNIC_MW_TYPE_2,
					     RNIC_ACCESS_REMOTE_READ);
		post_recv(s, 1, READ_LEN, 100);
	}
	for (int i = 0; i < 2; i++) {
		struct rnicpair_side *s = &p.side[i];
		struct usiw_sge sge =
			rnicpair_sge(s, READ_LEN / 2, READ_LEN / 2);
		uint32_t stag = rnic_mw_stag(mw[1 - i]);
		struct rnicpair_wr wr = { .wr_id = 2,
					  .opcode = USIW_WR_READ,
					  .flags = USIW_SQE_SIGNALED,
					  .rkey = stag,
					  .sge = &sge,
					  .sge_cnt = 1 };

		assert_int_equal(rnicpair_post(s, &wr), 0);
		wr = (struct rnicpair_wr){ .wr_id = 3,
					   .opcode = USIW_WR_SEND_INV,
					   .flags = USIW_SQE_SIGNALED,
					   .rkey = stag };
		assert_int_equal(rnicpair_post(s, &wr), 0);
	}
	for (int i = 0; i < 2; i++) {
		struct rnicpair_side *s = &p.side[i];

		for (uint64_t wr_id = 2; wr_id <= 3; wr_id++) {
			struct usiw_cqe cqe = rnicpair_take(s, s->scq);

			assert_int_equal(cqe.status, USIW_WC_SUCCESS);
			assert_int_equal(cqe.wr_id, wr_id);
		}
		assert_int_equal(rnicpair_take(s, s->rcq).wc_flags,
				 USIW_WC_FLAG_INV);
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rnic_mw_dealloc(mw[i]), 0);
		assert_int_equal(rnic_mr_dereg(mr[i]), 0);
	}
	rnicpair_close(&p);
}

BEFORE_CASES()
{
	setenv("USIW_RNR_MS", "600000", 1);
}
