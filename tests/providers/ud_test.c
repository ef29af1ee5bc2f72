/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* UD queue pairs: their transitions, and what may be posted. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "fake-rnic.h"

struct ud {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
};

static void ud_open(struct ud *u)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_UD,
					 .cap = { .max_send_wr = 4,
						  .max_send_sge = 1,
						  .max_recv_wr = 1,
						  .max_recv_sge = 1,
						  .max_inline_data = 32 } };
	struct ibv_ah_attr ah = { .is_global = 1, .port_num = 1 };

	fake.device.persona = RNIC_PERSONA_CA;
	fake.qp_state = RNIC_QPS_IDLE;
	fake.device.gid_cnt = 1;
	memset(fake.device.gid[0], 7, 16);
	memset(ah.grh.dgid.raw, 8, 16);
	u->context = fake_open();
	u->pd = ibv_alloc_pd(u->context);
	u->cq = ibv_create_cq(u->context, 8, NULL, NULL, 0);
	attr.send_cq = attr.recv_cq = u->cq;
	u->qp = ibv_create_qp(u->pd, &attr);
	u->ah = ibv_create_ah(u->pd, &ah);
	assert_non_null(u->qp);
	assert_non_null(u->ah);
}

static void ud_close(struct ud *u)
{
	assert_int_equal(ibv_destroy_qp(u->qp), 0);
	assert_int_equal(ibv_destroy_ah(u->ah), 0);
	assert_int_equal(ibv_destroy_cq(u->cq), 0);
	assert_int_equal(ibv_dealloc_pd(u->pd), 0);
	fake_close(u->context);
}

static int move(struct ud *u, enum ibv_qp_state to, int mask)
{
	struct ibv_qp_attr attr = {
		.qp_state = to, .port_num = 1, .qkey = 0x11, .sq_psn = 0x5000007
	};
	int err;

	fake.move_cnt = 0;
	err = ibv_modify_qp(u->qp, &attr, mask | IBV_QP_STATE);
	if (!err && (to == IBV_QPS_RESET || to == IBV_QPS_INIT))
		fake.qp_state = RNIC_QPS_IDLE;
	if (!err && to == IBV_QPS_ERR)
		fake.qp_state = RNIC_QPS_ERROR;
	return err;
}

#define INIT (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY)

static void walk(struct ud *u, enum ibv_qp_state to)
{
	assert_int_equal(move(u, IBV_QPS_RESET, 0), 0);
	if (to >= IBV_QPS_INIT)
		assert_int_equal(move(u, IBV_QPS_INIT, INIT), 0);
	if (to >= IBV_QPS_RTR)
		assert_int_equal(move(u, IBV_QPS_RTR, 0), 0);
	if (to >= IBV_QPS_RTS)
		assert_int_equal(move(u, IBV_QPS_RTS, IBV_QP_SQ_PSN), 0);
}

static const struct {
	enum ibv_qp_state from, to;
	int mask, err;
} moves[] = {
	{ IBV_QPS_RESET, IBV_QPS_INIT, INIT, 0 },
	{ IBV_QPS_RESET, IBV_QPS_INIT, INIT & ~IBV_QP_QKEY, EINVAL },
	{ IBV_QPS_RESET, IBV_QPS_INIT, INIT | IBV_QP_ACCESS_FLAGS, EINVAL },
	{ IBV_QPS_RESET, IBV_QPS_RTR, 0, EINVAL },
	{ IBV_QPS_RESET, IBV_QPS_RTS, IBV_QP_SQ_PSN, EINVAL },
	{ IBV_QPS_RESET, IBV_QPS_RESET, 0, 0 },
	{ IBV_QPS_INIT, IBV_QPS_INIT, IBV_QP_QKEY, 0 },
	{ IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_QKEY, 0 },
	{ IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_DEST_QPN, EINVAL },
	{ IBV_QPS_INIT, IBV_QPS_RTS, IBV_QP_SQ_PSN, EINVAL },
	{ IBV_QPS_RTR, IBV_QPS_INIT, INIT, EINVAL },
	{ IBV_QPS_RTR, IBV_QPS_RTS, 0, EINVAL },
	{ IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN | IBV_QP_QKEY, 0 },
	{ IBV_QPS_RTS, IBV_QPS_RTS, IBV_QP_QKEY, 0 },
	{ IBV_QPS_RTS, IBV_QPS_SQD, 0, EOPNOTSUPP },
	{ IBV_QPS_RTS, IBV_QPS_ERR, 0, 0 },
	{ IBV_QPS_RTS, IBV_QPS_RESET, 0, 0 },
};

FAKE_CASE(each_transition_of_ud)
{
	struct ud u;

	(void)state;
	ud_open(&u);
	for (size_t i = 0; i < ARRAY_LEN(moves); i++) {
		walk(&u, moves[i].from);
		assert_int_equal(move(&u, moves[i].to, moves[i].mask),
				 moves[i].err);
	}
	ud_close(&u);
}

FAKE_CASE(it_receives_from_rtr_on)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ud u;

	(void)state;
	ud_open(&u);
	walk(&u, IBV_QPS_INIT);
	assert_int_equal(fake.ud.start_cnt, 0);
	assert_int_equal(move(&u, IBV_QPS_RTR, 0), 0);
	assert_int_equal(fake.ud.start_cnt, 1);
	assert_int_equal(fake.ud.opt.qkey, 0x11);
	assert_int_equal(ibv_query_qp(u.qp, &attr, IBV_QP_QKEY, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTR);
	assert_int_equal(attr.qkey, 0x11);
	assert_int_equal(move(&u, IBV_QPS_RTS, IBV_QP_SQ_PSN), 0);
	assert_int_equal(fake.ud.start_cnt, 1);
	assert_int_equal(fake.ud.opt.psn, 7);
	assert_int_equal(ibv_query_qp(u.qp, &attr, IBV_QP_QKEY, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	ud_close(&u);
}

static int post(struct ud *u, enum ibv_wr_opcode opcode, bool has_ah)
{
	struct ibv_send_wr wr = {
		.opcode = opcode,
		.wr.ud = { .ah = has_ah ? u->ah : NULL,
			   .remote_qpn = 0x123456,
			   .remote_qkey = 0x22 },
	};
	struct ibv_send_wr *bad;

	return ibv_post_send(u->qp, &wr, &bad);
}

static int post_recv(struct ud *u)
{
	struct ibv_recv_wr wr = { .wr_id = 1 };
	struct ibv_recv_wr *bad = NULL;
	int err = ibv_post_recv(u->qp, &wr, &bad);

	assert_ptr_equal(bad, err ? &wr : NULL);
	return err;
}

FAKE_CASE(receives_are_taken_from_init_on)
{
	struct ud u;

	(void)state;
	ud_open(&u);
	assert_int_equal(post_recv(&u), EINVAL);
	walk(&u, IBV_QPS_RTS);
	walk(&u, IBV_QPS_RESET);
	assert_int_equal(post_recv(&u), EINVAL);
	assert_int_equal(fake.ring_rq_cnt, 0);
	walk(&u, IBV_QPS_INIT);
	assert_int_equal(post_recv(&u), 0);
	assert_int_equal(fake.ring_rq_cnt, 1);
	ud_close(&u);
}

FAKE_CASE(what_may_be_posted)
{
	const struct usiw_ud_sqe *sqe;
	struct ud u;

	(void)state;
	ud_open(&u);
	walk(&u, IBV_QPS_RTR);
	assert_int_equal(post(&u, IBV_WR_SEND, true), EINVAL);
	assert_int_equal(move(&u, IBV_QPS_RTS, IBV_QP_SQ_PSN), 0);
	assert_int_equal(post(&u, IBV_WR_RDMA_WRITE, true), EINVAL);
	assert_int_equal(post(&u, IBV_WR_SEND_WITH_INV, true), EINVAL);
	assert_int_equal(post(&u, IBV_WR_SEND, false), EINVAL);
	assert_int_equal(fake.ring_sq_cnt, 0);
	assert_int_equal(post(&u, IBV_WR_SEND_WITH_IMM, true), 0);
	assert_int_equal(fake.ring_sq_cnt, 1);
	sqe = usiw_ring_peek(usiw_qp(u.qp)->sq, 0);
	assert_int_equal(sqe->opcode, USIW_WR_SEND_IMM);
	assert_int_equal(sqe->dest, 0x123456);
	assert_int_equal(sqe->qkey, 0x22);
	/* They are flushed after the end. */
	assert_int_equal(move(&u, IBV_QPS_ERR, 0), 0);
	assert_int_equal(post(&u, IBV_WR_SEND, true), 0);
	ud_close(&u);
}

FAKE_CASE(an_rnic_has_no_ud)
{
	struct fake_world *w = *state;
	struct ibv_qp_init_attr attr = fake_qp_attr(w);

	attr.qp_type = IBV_QPT_UD;
	assert_null(ibv_create_qp(w->pd, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
}

FAKE_CASE(wr_calls_of_ud)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 2, .max_send_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND |
				  IBV_QP_EX_WITH_RDMA_WRITE,
	};
	const struct usiw_ud_sqe *sqe;
	struct ibv_qp_ex *qpx;
	struct ud u;

	(void)state;
	ud_open(&u);
	attr.send_cq = attr.recv_cq = u.cq;
	attr.pd = u.pd;
	assert_null(ibv_create_qp_ex(u.context, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	attr.send_ops_flags = IBV_QP_EX_WITH_SEND;
	assert_int_equal(ibv_destroy_qp(u.qp), 0);
	u.qp = ibv_create_qp_ex(u.context, &attr);
	assert_non_null(u.qp);
	walk(&u, IBV_QPS_RTS);
	qpx = ibv_qp_to_qp_ex(u.qp);
	for (int i = 0; i < 2; i++) { /* in either order */
		ibv_wr_start(qpx);
		ibv_wr_send(qpx);
		if (i)
			ibv_wr_set_inline_data(qpx, "x", 1);
		ibv_wr_set_ud_addr(qpx, u.ah, 5, 6);
		if (!i)
			ibv_wr_set_inline_data(qpx, "x", 1);
		assert_int_equal(ibv_wr_complete(qpx), 0);
		sqe = usiw_ring_peek(usiw_qp(u.qp)->sq, (uint32_t)i);
		assert_int_equal(sqe->dest, 5);
		assert_int_equal(sqe->qkey, 6);
		assert_int_equal(sqe->inline_len, 1);
	}
	ibv_wr_start(qpx);
	ibv_wr_set_ud_addr(qpx, u.ah, 5, 6);
	assert_int_equal(ibv_wr_complete(qpx), EINVAL);
	ud_close(&u);
}
