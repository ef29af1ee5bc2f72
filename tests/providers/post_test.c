/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Conversion of work requests to queue entries: each opcode, each limit, lists,
 * flags. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "fake-rnic.h"

static char data[64] =
	"the quick brown fox jumps over the lazy dog, twice over";

static const struct usiw_ring *sq_of(struct ibv_qp *qp)
{
	return usiw_qp(qp)->sq;
}

/* Returns the SQE of a post that must succeed. The ring is empty afterwards. */
static struct usiw_sqe *post_one(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = (void *)0x1;
	struct usiw_sqe *sqe;

	assert_int_equal(ibv_post_send(qp, wr, &bad), 0);
	assert_ptr_equal(bad, (void *)0x1); /* unchanged on success */
	assert_int_equal(usiw_ring_used(sq_of(qp)), 1);
	sqe = usiw_ring_peek(sq_of(qp), 0);
	usiw_ring_consume(sq_of(qp), 1);
	return sqe;
}

static void refused_with(struct ibv_qp *qp, struct ibv_send_wr *wr, int err)
{
	struct ibv_send_wr *bad = NULL;
	uint32_t rung = fake.ring_sq_cnt;

	assert_int_equal(ibv_post_send(qp, wr, &bad), err);
	assert_ptr_equal(bad, wr);
	assert_int_equal(usiw_ring_used(sq_of(qp)), 0);
	assert_int_equal(fake.ring_sq_cnt, rung);
}

FAKE_CASE(each_opcode_is_encoded)
{
	static const struct {
		enum ibv_wr_opcode verb;
		enum usiw_wr_opcode entry;
		bool has_remote, has_inv, has_imm;
	} rows[] = {
		{ IBV_WR_SEND, USIW_WR_SEND, false, false, false },
		{ IBV_WR_SEND_WITH_INV, USIW_WR_SEND_INV, false, true, false },
		{ IBV_WR_SEND_WITH_IMM, USIW_WR_SEND_IMM, false, false, true },
		{ IBV_WR_LOCAL_INV, USIW_WR_LOCAL_INV, false, true, false },
		{ IBV_WR_RDMA_WRITE, USIW_WR_WRITE, true, false, false },
		{ IBV_WR_RDMA_WRITE_WITH_IMM, USIW_WR_WRITE_IMM, true, false,
		  true },
		{ IBV_WR_RDMA_READ, USIW_WR_READ, true, false, false },
	};
	struct fake_world *w = *state;
	size_t i;

	for (i = 0; i < ARRAY_LEN(rows); i++) {
		struct ibv_send_wr wr = fake_send_wr(rows[i].verb);
		struct usiw_sqe *sqe = post_one(w->qp, &wr);

		assert_int_equal(sqe->wr_id, 0x99);
		assert_int_equal(sqe->opcode, rows[i].entry);
		assert_int_equal(sqe->flags, USIW_SQE_SIGNALED);
		assert_int_equal(sqe->inline_len, 0);
		if (rows[i].entry == USIW_WR_LOCAL_INV) {
			assert_int_equal(sqe->sge_cnt, 0);
		} else {
			assert_int_equal(sqe->sge_cnt, 2);
			assert_memory_equal(sqe + 1, fake_sges,
					    2 * sizeof(fake_sges[0]));
		}
		assert_true(sqe->remote_addr ==
			    (rows[i].has_remote ? 0x7fff00001234 : 0));
		assert_int_equal(sqe->rkey, rows[i].has_remote ? 0xabcdef01
					    : rows[i].has_inv  ? 0x01020304
							       : 0);
		assert_int_equal(sqe->imm_be, rows[i].has_imm ? 0x01020304 : 0);
	}
	assert_int_equal(fake.ring_sq_cnt, ARRAY_LEN(rows));
}

FAKE_CASE(opcodes_not_offered_are_refused)
{
	static const struct {
		int opcode, err;
	} rows[] = {
		{ IBV_WR_TSO, EOPNOTSUPP },
		{ IBV_WR_DRIVER1, EOPNOTSUPP },
		{ 15, EOPNOTSUPP },
		{ 16, EINVAL },
		{ 255, EINVAL },
		{ -1, EINVAL },
	};
	struct fake_world *w = *state;
	size_t i;

	for (i = 0; i < ARRAY_LEN(rows); i++) {
		struct ibv_send_wr wr =
			fake_send_wr((enum ibv_wr_opcode)rows[i].opcode);

		refused_with(w->qp, &wr, rows[i].err);
	}
}

FAKE_CASE(flags_are_translated)
{
	struct fake_world *w = *state;
	struct ibv_send_wr wr = fake_send_wr(IBV_WR_SEND);

	wr.send_flags = 0;
	assert_int_equal(post_one(w->qp, &wr)->flags, 0);
	wr.send_flags = IBV_SEND_SOLICITED | IBV_SEND_FENCE;
	assert_int_equal(post_one(w->qp, &wr)->flags,
			 USIW_SQE_SOLICITED | USIW_SQE_FENCE);
	wr.send_flags = IBV_SEND_IP_CSUM;
	refused_with(w->qp, &wr, EINVAL);
	wr.send_flags = 1u << 31;
	refused_with(w->qp, &wr, EINVAL);
}

FAKE_CASE(sq_sig_all_signals_all)
{
	struct fake_world *w = *state;
	struct ibv_qp_init_attr attr = fake_qp_attr(w);
	struct ibv_send_wr wr = fake_send_wr(IBV_WR_SEND);
	struct ibv_qp *qp;

	attr.sq_sig_all = 1;
	qp = ibv_create_qp(w->pd, &attr);
	assert_non_null(qp);
	wr.send_flags = 0;
	assert_int_equal(post_one(qp, &wr)->flags, USIW_SQE_SIGNALED);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

FAKE_CASE(element_counts_have_limits)
{
	struct fake_world *w = *state;
	struct ibv_send_wr wr = fake_send_wr(IBV_WR_SEND);

	wr.num_sge = 3;
	assert_int_equal(post_one(w->qp, &wr)->sge_cnt, 3);
	wr.num_sge = 0;
	wr.sg_list = NULL;
	assert_int_equal(post_one(w->qp, &wr)->sge_cnt, 0);
	wr.sg_list = fake_sges;
	wr.num_sge = 4;
	refused_with(w->qp, &wr, EINVAL);
	wr.num_sge = -1;
	refused_with(w->qp, &wr, EINVAL);
	wr.num_sge = INT32_MIN;
	refused_with(w->qp, &wr, EINVAL);
	/* a READ has its own limit: two */
	wr.opcode = IBV_WR_RDMA_READ;
	wr.num_sge = 3;
	refused_with(w->qp, &wr, EINVAL);
	wr.num_sge = 2;
	assert_int_equal(post_one(w->qp, &wr)->sge_cnt, 2);
}

FAKE_CASE(lengths_are_summed_without_wrap)
{
	struct ibv_sge sge[3] = { { 0, 1u << 29, 0 }, { 0, 1u << 29, 0 } };
	struct fake_world *w = *state;
	struct ibv_send_wr wr = fake_send_wr(IBV_WR_SEND);

	wr.sg_list = sge;
	(void)post_one(w->qp, &wr); /* 1 GiB: the limit */
	sge[1].length++;
	refused_with(w->qp, &wr, EINVAL);
	sge[0].length = UINT32_MAX; /* the sum wraps to 1 in 32 bits */
	sge[1].length = 2;
	refused_with(w->qp, &wr, EINVAL);
	sge[0].length = sge[1].length = sge[2].length = UINT32_MAX;
	wr.num_sge = 3;
	refused_with(w->qp, &wr, EINVAL);
}

FAKE_CASE(inline_data_is_gathered)
{
	struct fake_world *w = *state;
	struct ibv_sge sge[5] = {
		{ (uintptr_t)data, 4, 0 },
		{ 0, 0, 0 }, /* empty: its address is ignored */
		{ (uintptr_t)data + 10, 5, 0 },
		{ (uintptr_t)data + 4, 6, 0 },
		{ (uintptr_t)data + 15, 33, 0 },
	};
	struct ibv_send_wr wr = fake_send_wr(IBV_WR_RDMA_WRITE);
	struct usiw_sqe *sqe;

	wr.send_flags = IBV_SEND_INLINE;
	wr.sg_list = sge;
	wr.num_sge = 5; /* more than max_send_sge: allowed, because inline data
			   is gathered */
	sqe = post_one(w->qp, &wr);
	assert_int_equal(sqe->flags, USIW_SQE_INLINE);
	assert_int_equal(sqe->sge_cnt, 0);
	assert_int_equal(sqe->inline_len, 48); /* 32 requested, 48 granted */
	assert_memory_equal(sqe + 1, data, 4);
	assert_memory_equal((char *)(sqe + 1) + 4, data + 10, 5);
	assert_memory_equal((char *)(sqe + 1) + 9, data + 4, 6);
	assert_memory_equal((char *)(sqe + 1) + 15, data + 15, 33);
	sge[4].length++;
	refused_with(w->qp, &wr, EINVAL);
	sge[4].length = UINT32_MAX;
	refused_with(w->qp, &wr, EINVAL);
	wr.num_sge = 0;
	assert_int_equal(post_one(w->qp, &wr)->inline_len, 0);
	wr.num_sge = -1;
	refused_with(w->qp, &wr, EINVAL);
	wr.num_sge = 1;
	wr.opcode = IBV_WR_RDMA_READ;
	refused_with(w->qp, &wr, EINVAL);
}

/* Inline data is copied during the call. The caller may reuse the buffer. */
FAKE_CASE(inline_buffer_may_be_reused)
{
	struct fake_world *w = *state;
	char own[8] = "before";
	struct ibv_sge sge = { (uintptr_t)own, sizeof(own), 0 };
	struct ibv_send_wr wr = fake_send_wr(IBV_WR_SEND);
	struct usiw_sqe *sqe;

	wr.send_flags = IBV_SEND_INLINE;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	sqe = post_one(w->qp, &wr);
	memset(own, 'x', sizeof(own));
	assert_string_equal((char *)(sqe + 1), "before");
}

static void chain(struct ibv_send_wr *wr, size_t cnt)
{
	size_t i;

	for (i = 0; i < cnt; i++) {
		wr[i] = fake_send_wr(IBV_WR_SEND);
		wr[i].wr_id = i;
		wr[i].next = i + 1 < cnt ? &wr[i + 1] : NULL;
	}
}

FAKE_CASE(list_is_posted_up_to_the_bad_one)
{
	struct fake_world *w = *state;
	struct ibv_send_wr wr[4], *bad = NULL;
	struct usiw_sqe *sqe;
	uint32_t i;

	chain(wr, 4);
	wr[2].opcode = IBV_WR_TSO;
	assert_int_equal(ibv_post_send(w->qp, wr, &bad), EOPNOTSUPP);
	assert_ptr_equal(bad, &wr[2]);
	assert_int_equal(usiw_ring_used(sq_of(w->qp)), 2);
	assert_int_equal(fake.ring_sq_cnt, 1);
	for (i = 0; i < 2; i++) {
		sqe = usiw_ring_peek(sq_of(w->qp), i);
		assert_int_equal(sqe->wr_id, i);
	}
	usiw_ring_consume(sq_of(w->qp), 2);
}

FAKE_CASE(full_queue_is_enomem)
{
	struct fake_world *w = *state;
	struct ibv_send_wr wr[6], *bad = NULL;
	struct ibv_send_wr one = fake_send_wr(IBV_WR_SEND);

	chain(wr, 6);
	assert_int_equal(ibv_post_send(w->qp, wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr[4]);
	assert_int_equal(usiw_ring_used(sq_of(w->qp)), 4);
	assert_int_equal(ibv_post_send(w->qp, &one, &bad), ENOMEM);
	assert_ptr_equal(bad, &one);
	usiw_ring_consume(sq_of(w->qp), 1);
	assert_int_equal(ibv_post_send(w->qp, &one, &bad), 0);
	assert_int_equal(fake.ring_sq_cnt,
			 2); /* not for the one that was refused */
	usiw_ring_consume(sq_of(w->qp), 4);
}

FAKE_CASE(state_decides)
{
	struct fake_world *w = *state;
	struct ibv_send_wr wr = fake_send_wr(IBV_WR_SEND);
	struct ibv_recv_wr recv = { 0 }, *bad = NULL;

	fake.qp_state = RNIC_QPS_IDLE;
	refused_with(w->qp, &wr, EINVAL);
	assert_int_equal(ibv_post_recv(w->qp, &recv, &bad), 0);
	usiw_ring_consume(usiw_qp(w->qp)->rq, 1);
	/* the RNIC flushes what is posted after the end */
	fake.qp_state = RNIC_QPS_ERROR;
	(void)post_one(w->qp, &wr);
	fake.qp_state = RNIC_QPS_TERMINATE;
	(void)post_one(w->qp, &wr);
	fake.qp_state = RNIC_QPS_CLOSING;
	(void)post_one(w->qp, &wr);
}

FAKE_CASE(receives_are_encoded)
{
	struct fake_world *w = *state;
	const struct usiw_ring *rq = usiw_qp(w->qp)->rq;
	struct ibv_recv_wr wr[3] = {
		{ .wr_id = 1, .sg_list = fake_sges, .num_sge = 3 },
		{ .wr_id = 2 },
		{ .wr_id = 3, .sg_list = fake_sges, .num_sge = 4 },
	};
	struct ibv_recv_wr *bad = NULL;
	const struct usiw_rqe *rqe;

	wr[0].next = &wr[1];
	wr[1].next = &wr[2];
	assert_int_equal(ibv_post_recv(w->qp, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[2]);
	assert_int_equal(usiw_ring_used(rq), 2);
	assert_int_equal(fake.ring_rq_cnt, 1);
	rqe = usiw_ring_peek(rq, 0);
	assert_int_equal(rqe->wr_id, 1);
	assert_int_equal(rqe->sge_cnt, 3);
	assert_memory_equal(rqe + 1, fake_sges, sizeof(fake_sges));
	rqe = usiw_ring_peek(rq, 1);
	assert_int_equal(rqe->wr_id, 2);
	assert_int_equal(rqe->sge_cnt, 0);
	wr[2].num_sge = -1;
	assert_int_equal(ibv_post_recv(w->qp, &wr[2], &bad), EINVAL);
	wr[2].num_sge = 0;
	assert_int_equal(ibv_post_recv(w->qp, &wr[2], &bad), 0);
	assert_int_equal(ibv_post_recv(w->qp, &wr[2], &bad), 0);
	assert_int_equal(ibv_post_recv(w->qp, &wr[2], &bad), ENOMEM);
	assert_ptr_equal(bad, &wr[2]);
	usiw_ring_consume(rq, 4);
}

FAKE_CASE(receive_on_a_qp_with_srq_is_einval)
{
	struct fake_world *w = *state;
	struct ibv_recv_wr wr = { 0 }, *bad = NULL;

	assert_int_equal(ibv_post_recv(w->srq_qp, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	assert_int_equal(fake.ring_rq_cnt, 0);
}

FAKE_CASE(empty_lists_are_nothing)
{
	struct fake_world *w = *state;
	struct ibv_send_wr *bad_send = (void *)0x1;
	struct ibv_recv_wr *bad_recv = (void *)0x1;

	assert_int_equal(ibv_post_send(w->qp, NULL, &bad_send), 0);
	assert_int_equal(ibv_post_recv(w->qp, NULL, &bad_recv), 0);
	assert_int_equal(fake.ring_sq_cnt, 0);
	assert_int_equal(fake.ring_rq_cnt, 0);
}
