/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * show.c, and where QPs, queues and regions write what others see of them: the
 * page is read as another process reads it.
 */
#include "../../harness/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "engine/engine.h"
#include "mem/object.h"
#include "qp/object.h"
#include "resources.h"
#include "rnicpair.h"

static struct usiw_res_qp qp_seen(const struct rnic_qp *qp)
{
	struct usiw_res_qp seen;

	assert_true(resource_find(USIW_RES_QP, qp->num, &seen));
	return seen;
}

static struct usiw_res_cq cq_seen(const struct rnic_cq *cq)
{
	struct usiw_res_cq seen;

	assert_true(resource_find(USIW_RES_CQ, cq->res->head.id, &seen));
	return seen;
}

static void assert_loopback(const struct usiw_res_addr *addr)
{
	static const uint8_t lo[4] = { 127, 0, 0, 1 };

	assert_int_equal(addr->family, AF_INET);
	assert_true(addr->port != 0);
	assert_memory_equal(addr->addr, lo, 4);
}

PAIR_CASE(a_connected_pair_is_seen)
{
	struct rnicpair *p = *state;
	struct rnic_qp *qp = p->side[0].qp;
	struct usiw_res_qp seen = qp_seen(qp), peer = qp_seen(p->side[1].qp);
	struct usiw_res_device device;
	struct usiw_res_context ctx;
	struct usiw_res_pd pd;

	assert_int_equal(seen.state, USIW_RES_QPS_RTS);
	assert_int_equal(seen.type, USIW_RES_QPT_RC);
	assert_int_equal(seen.carrier, USIW_RES_CARRIER_TCP);
	assert_int_equal(seen.crc, USIW_RES_CRC_TX | USIW_RES_CRC_RX);
	assert_int_equal(seen.sq_depth, 64);
	assert_int_equal(seen.rq_depth, 64);
	assert_int_equal(seen.send_sge, 4);
	assert_int_equal(seen.recv_sge, 4);
	assert_true(seen.inline_max >= 128);
	assert_int_equal(seen.reads_in_max, 8);
	assert_int_equal(seen.reads_out_max, 8);
	assert_true(seen.state_ns >= seen.head.made_ns);
	assert_loopback(&seen.local);
	assert_loopback(&seen.peer);
	assert_int_equal(seen.local.port, peer.peer.port);
	assert_true(resource_find(USIW_RES_PD, seen.pd, &pd));
	assert_int_equal(pd.context, seen.context);
	assert_true(resource_find(USIW_RES_CONTEXT, seen.context, &ctx));
	assert_true(resource_find(USIW_RES_DEVICE, ctx.device, &device));
	assert_string_equal(device.name, "usiw_lo");
	assert_string_equal(device.ifname, "lo");
	assert_int_not_equal(seen.context, peer.context);
	assert_int_equal(cq_seen(qp->send_cq).head.id, seen.send_cq);
	assert_int_equal(cq_seen(qp->recv_cq).depth, 256);
}

/* What an operation makes at both ends. */
static const struct {
	uint8_t opcode;
	enum usiw_res_op op;
	uint32_t len;
	bool has_recv;
} works[] = {
	{ USIW_WR_SEND, USIW_RES_OP_SEND, 100, true },
	{ USIW_WR_SEND_IMM, USIW_RES_OP_SEND, 50, true },
	{ USIW_WR_WRITE, USIW_RES_OP_WRITE, 70000, false },
	{ USIW_WR_WRITE_IMM, USIW_RES_OP_WRITE, 7, true },
	{ USIW_WR_WRITE_IMM, USIW_RES_OP_WRITE, 0, true },
	{ USIW_WR_READ, USIW_RES_OP_READ, 9000, false },
	{ USIW_WR_FETCH_ADD, USIW_RES_OP_ATOMIC, 8, false },
};

static void work_do(struct rnicpair *p, size_t i)
{
	struct usiw_sge sge = rnicpair_sge(&p->side[0], 0, works[i].len);

	if (works[i].has_recv) {
		struct usiw_sge to = rnicpair_sge(&p->side[1], 0, 4096);

		must(!rnicpair_post_recv(&p->side[1], 2, &to, 1));
	}
	rnicpair_post_wr(&p->side[0], .wr_id = 1, .opcode = works[i].opcode,
			 .flags = USIW_SQE_SIGNALED,
			 .sge_cnt = works[i].len > 0, .sge = &sge,
			 .rkey = p->side[1].stag,
			 .remote_addr = rnicpair_addr(&p->side[1], 0));
	/* The peer of a Write has to read, too. */
	if (works[i].has_recv)
		rnicpair_take(&p->side[1], p->side[1].rcq);
	while (!rnicpair_peek(&p->side[0], p->side[0].scq,
			      &(struct usiw_cqe){ 0 })) {
		rnic_cq_progress(p->side[0].scq);
		rnic_cq_progress(p->side[1].scq);
	}
}

static uint64_t messages(const struct usiw_res_traffic *traffic,
			 enum usiw_res_op op)
{
	return traffic->messages[op];
}

static uint64_t octets(const struct usiw_res_traffic *traffic,
		       enum usiw_res_op op)
{
	return op == USIW_RES_OP_ATOMIC ? 0 : traffic->octets[op];
}

static bool has_come(const struct rnic_qp *qp, enum usiw_res_op op,
		     uint64_t cnt, uint64_t len)
{
	const struct usiw_res_qp seen = qp_seen(qp);

	rnic_cq_progress(qp->send_cq);
	return messages(&seen.rx, op) == cnt && octets(&seen.rx, op) == len;
}

PAIR_CASE(messages_and_octets_are_counted_at_both_ends)
{
	struct rnicpair *p = *state;

	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
		enum usiw_res_op op = works[i].op;
		struct usiw_res_qp tx = qp_seen(p->side[0].qp), now;
		struct usiw_res_qp rx = qp_seen(p->side[1].qp);
		uint32_t len = op == USIW_RES_OP_ATOMIC ? 0 : works[i].len;

		work_do(p, i);
		wait_until(has_come(p->side[1].qp, op, messages(&rx.rx, op) + 1,
				    octets(&rx.rx, op) + len));
		now = qp_seen(p->side[0].qp);
		assert_int_equal(messages(&now.tx, op),
				 messages(&tx.tx, op) + 1);
		assert_int_equal(octets(&now.tx, op), octets(&tx.tx, op) + len);
		assert_true(now.tx.stream_octets > tx.tx.stream_octets);
		assert_int_equal(now.sq_posted_idx, i + 1);
		assert_int_equal(now.sq_sent_idx, i + 1);
		assert_int_equal(now.sq_done_idx, i + 1);
		assert_int_equal(now.reads_out, 0);
	}
	assert_int_equal(qp_seen(p->side[0].qp).rx.messages[USIW_RES_OP_SEND],
			 0);
	assert_int_equal(qp_seen(p->side[1].qp).tx.messages[USIW_RES_OP_SEND],
			 0);
}

/* What a program that hangs has not polled. */
PAIR_CASE(fill_of_queues_is_seen)
{
	struct rnicpair *p = *state;
	struct usiw_res_cq scq, rcq;
	struct usiw_res_qp seen;
	struct usiw_cqe cqe;

	for (int i = 0; i < 2; i++)
		rnicpair_post_echo(p, 0, 64);
	while (cq_seen(p->side[1].qp->recv_cq).pushed_idx < 2)
		rnic_cq_progress(p->side[1].rcq);
	assert_true(rnicpair_peek(&p->side[1], p->side[1].rcq, &cqe));
	seen = qp_seen(p->side[1].qp);
	rcq = cq_seen(p->side[1].qp->recv_cq);
	assert_int_equal(seen.rq_posted_idx, 2);
	assert_int_equal(seen.rq_taken_idx, 2);
	assert_int_equal(rcq.pushed_idx, 2);
	assert_int_equal(rcq.polled_idx, 1);
	assert_int_equal(rcq.is_overrun, 0);
	scq = cq_seen(p->side[0].qp->send_cq);
	assert_int_equal(scq.pushed_idx - scq.polled_idx, 2);
}

IDLE_PAIR_CASE(posts_that_nobody_serves_are_seen)
{
	struct rnicpair *p = *state;
	struct usiw_res_qp seen;

	rnicpair_post_wr(&p->side[0], .opcode = USIW_WR_SEND);
	rnicpair_post_wr(&p->side[0], .opcode = USIW_WR_SEND);
	seen = qp_seen(p->side[0].qp);
	assert_int_equal(seen.sq_posted_idx, 2);
	assert_int_equal(seen.sq_sent_idx, 0);
	assert_int_equal(seen.sq_done_idx, 0);
}

PAIR_CASE(outstanding_reads_are_seen)
{
	struct rnicpair *p = *state;
	struct rnic_engine *peer = p->side[1].qp->engine;

	rnic_engine_lead(peer); /* it does not answer */
	rnicpair_post_read(p, 0, 5, 4096);
	assert_int_equal(qp_seen(p->side[0].qp).reads_out, 1);
	rnic_engine_unlead(peer);
	(void)rnicpair_take(&p->side[0], p->side[0].scq);
	assert_int_equal(qp_seen(p->side[0].qp).reads_out, 0);
	/* The peer's thread notes a response as sent after the carrier has it,
	 * and by then it may have come here. */
	wait_until(qp_seen(p->side[1].qp).reads_in == 0);
}

static bool is_held(const struct rnic_qp *qp, uint32_t cnt)
{
	rnic_cq_progress(qp->send_cq);
	return qp_seen(qp).rnr_held == cnt;
}

PAIR_CASE(sends_without_receive_are_seen)
{
	struct rnicpair *p = *state;
	struct usiw_sge sge = rnicpair_sge(&p->side[0], 0, 10);
	struct usiw_sge to = rnicpair_sge(&p->side[1], 0, 10);

	rnicpair_post_wr(&p->side[0], .opcode = USIW_WR_SEND, .sge_cnt = 1,
			 .sge = &sge);
	wait_until(is_held(p->side[1].qp, 1));
	/* Counted with its last octet. */
	wait_until(qp_seen(p->side[1].qp).rnr_cnt == 1);
	must(!rnicpair_post_recv(&p->side[1], 2, &to, 1));
	(void)rnicpair_take(&p->side[1], p->side[1].rcq);
	assert_int_equal(qp_seen(p->side[1].qp).rnr_held, 0);
	assert_int_equal(qp_seen(p->side[1].qp).rnr_cnt, 1);
}

PAIR_CASE(the_end_and_its_cause_are_seen)
{
	struct rnicpair *p = *state;
	struct usiw_sge bad = { .addr = 1, .len = 1, .lkey = 0x4711 };
	struct usiw_res_qp seen;

	rnicpair_post_wr(&p->side[0], .opcode = USIW_WR_SEND, .sge_cnt = 1,
			 .sge = &bad);
	rnicpair_wait_state(&p->side[0], RNIC_QPS_TERMINATE);
	/* The rest of the end follows, maybe in another thread. */
	wait_until(qp_seen(p->side[0].qp).sq_done_idx == 1);
	seen = qp_seen(p->side[0].qp);
	assert_int_equal(seen.state, USIW_RES_QPS_TERMINATE);
	assert_int_equal(seen.status, USIW_WC_LOC_PROT_ERR);
	assert_int_equal(seen.carrier, USIW_RES_CARRIER_NONE);
	rnicpair_wait_state(&p->side[1], RNIC_QPS_TERMINATE);
	wait_until(qp_seen(p->side[1].qp).status != USIW_WC_SUCCESS);
	assert_int_equal(rnic_qp_modify(p->side[0].qp, RNIC_QPS_IDLE), 0);
	seen = qp_seen(p->side[0].qp);
	assert_int_equal(seen.state, USIW_RES_QPS_IDLE);
	assert_int_equal(seen.status, USIW_WC_SUCCESS);
	assert_int_equal(seen.peer.family, 0);
}

IDLE_PAIR_CASE(whom_a_queue_pair_waits_for_is_seen)
{
	struct rnicpair *p = *state;
	struct usiw_res_qp seen;
	uint32_t num = p->side[1].qp->num;

	assert_int_equal(qp_seen(p->side[0].qp).peer.family, 0);
	assert_int_equal(rnicpair_rtr(p->side[0].qp, num), 0);
	seen = qp_seen(p->side[0].qp);
	assert_int_equal(seen.state, USIW_RES_QPS_CONNECTING);
	assert_int_equal(seen.peer_num, num);
	assert_loopback(&seen.peer);
	assert_int_equal(rnicpair_rtr(p->side[1].qp, p->side[0].qp->num), 0);
	rnicpair_wait_rts(p);
	seen = qp_seen(p->side[0].qp);
	assert_int_equal(seen.state, USIW_RES_QPS_RTS);
	assert_int_equal(seen.peer_num, num);
}

IDLE_PAIR_CASE(an_armed_queue_is_seen)
{
	struct rnicpair *p = *state;
	struct rnic_chan *chan;
	struct usiw_res_cq seen;
	struct rnic_cq *cq;
	uint32_t a, b;

	assert_int_equal(rnic_chan_new(sizeof(struct usiw_comp_event), &chan),
			 0);
	assert_int_equal(rnic_cq_create(p->side[0].ctx, 5, chan, 0, NULL, &cq),
			 0);
	assert_int_equal(cq_seen(cq).armed, USIW_RES_NOT_ARMED);
	assert_int_equal(cq_seen(cq).has_channel, 1);
	rnic_cq_arm(cq, true);
	assert_int_equal(cq_seen(cq).armed, USIW_RES_ARMED_SOLICITED);
	rnic_cq_arm(cq, false);
	assert_int_equal(cq_seen(cq).armed, USIW_RES_ARMED_ANY);
	assert_int_equal(rnic_cq_resize(cq, 50, NULL), 0);
	seen = cq_seen(cq);
	assert_int_equal(seen.depth, 50);
	assert_int_equal(seen.fired_cnt, 0);
	assert_int_equal(rnic_cq_destroy(cq, &a, &b), 0);
	rnic_chan_close(chan);
}

IDLE_PAIR_CASE(a_shared_receive_queue_is_seen)
{
	struct rnicpair *p = *state;
	struct rnic_srq_options opt = { .max_wr = 10, .max_sge = 2 };
	struct usiw_res_srq seen;
	struct rnic_srq *srq;
	uint32_t id, events;

	assert_int_equal(rnic_srq_create(p->side[0].pd, &opt, &srq), 0);
	id = srq->res->head.id;
	usiw_ring_commit(rnic_srq_ring(srq), 3);
	assert_int_equal(rnic_srq_set_limit(srq, 2), 0);
	assert_true(resource_find(USIW_RES_SRQ, id, &seen));
	assert_int_equal(seen.depth, 10);
	assert_int_equal(seen.max_sge, 2);
	assert_int_equal(seen.posted_idx, 3);
	assert_int_equal(seen.taken_idx, 0);
	assert_int_equal(seen.limit, 2);
	assert_int_equal(rnic_srq_resize(srq, 20, NULL), 0);
	assert_true(resource_find(USIW_RES_SRQ, id, &seen));
	assert_int_equal(seen.depth, 20);
	assert_int_equal(rnic_srq_destroy(srq, &events), 0);
	assert_false(resource_find(USIW_RES_SRQ, id, NULL));
}

IDLE_PAIR_CASE(regions_are_seen)
{
	struct rnicpair *p = *state;
	struct rnicpair_side *s = &p->side[0];
	struct rnic_mr_change change = { .what = RNIC_MR_CHANGE_ACCESS };
	struct usiw_res_mr seen;
	struct rnic_mr *mr;
	uint32_t stag;

	assert_int_equal(rnic_mr_reg(s->pd, s->buf, 5000, 77, 1, &mr), 0);
	stag = rnic_mr_stag(mr);
	assert_true(resource_find(USIW_RES_MR, stag, &seen));
	assert_int_equal(seen.addr, (uintptr_t)s->buf);
	assert_int_equal(seen.len, 5000);
	assert_int_equal(seen.iova, 77);
	assert_int_equal(seen.access, RNIC_ACCESS_LOCAL_WRITE);
	assert_int_equal(seen.type, USIW_RES_MR_REGION);
	assert_int_equal(seen.pd, s->pd->res->head.id);
	assert_int_equal(seen.is_valid, 1);
	change.access = RNIC_ACCESS_REMOTE_READ;
	assert_int_equal(rnic_mr_rereg(mr, &change), 0);
	assert_true(resource_find(USIW_RES_MR, stag, &seen));
	assert_int_equal(seen.access, RNIC_ACCESS_REMOTE_READ);
	assert_int_equal(rnic_mr_dereg(mr), 0);
	assert_false(resource_find(USIW_RES_MR, stag, NULL));
}

PAIR_CASE(windows_are_seen_as_they_are_bound)
{
	struct rnicpair *p = *state;
	struct rnicpair_side *s = &p->side[0];
	struct usiw_res_mr seen;
	struct rnic_mr *mr;
	struct rnic_mw *mw;
	uint32_t stag;

	assert_int_equal(rnic_mr_reg(s->pd, s->buf, 5000, (uintptr_t)s->buf,
				     RNIC_ACCESS_MW_BIND, &mr),
			 0);
	mw = rnicpair_window_open(s, s->qp, mr, RNIC_MW_TYPE_2,
				  RNIC_ACCESS_REMOTE_READ);
	stag = rnic_mw_stag(mw);
	assert_true(resource_find(USIW_RES_MR, stag, &seen));
	assert_int_equal(seen.type, USIW_RES_MR_WINDOW);
	assert_int_equal(seen.is_valid, 1);
	assert_int_equal(seen.len, 5000);
	rnicpair_post_wr(s, .wr_id = 3, .opcode = USIW_WR_LOCAL_INV,
			 .flags = USIW_SQE_SIGNALED, .rkey = stag);
	(void)rnicpair_take(s, s->scq);
	assert_true(resource_find(USIW_RES_MR, stag, &seen));
	assert_int_equal(seen.is_valid, 0);
	assert_int_equal(rnic_mw_dealloc(mw), 0);
	assert_int_equal(rnic_mr_dereg(mr), 0);
	assert_false(resource_find(USIW_RES_MR, stag, NULL));
}

CASE(nothing_is_left_of_what_has_ended)
{
	uint32_t cnt[USIW_RES_KIND_CNT];
	struct rnicpair p;

	for (int kind = 2; kind < USIW_RES_KIND_CNT; kind++)
		cnt[kind] = resource_cnt((enum usiw_res_kind)kind);
	rnicpair_open(&p, &(struct rnicpair_options)RNICPAIR_OPTIONS_INIT);
	assert_int_equal(resource_cnt(USIW_RES_QP), cnt[USIW_RES_QP] + 2);
	rnicpair_close(&p);
	for (int kind = 2; kind < USIW_RES_KIND_CNT; kind++)
		assert_int_equal(resource_cnt((enum usiw_res_kind)kind),
				 cnt[kind]);
}
