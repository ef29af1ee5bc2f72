/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Memory windows: created, and bound by each of the calls. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "fake-rnic.h"

static char buf[4096];

#define RIGHTS (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED)

static const struct usiw_ring *sq_of(struct ibv_qp *qp)
{
	return usiw_qp(qp)->sq;
}

static struct ibv_mr *mr_new(struct ibv_pd *pd)
{
	struct ibv_mr *mr =
		ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_MW_BIND);

	assert_non_null(mr);
	return mr;
}

static struct ibv_mw *mw_new(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, type);

	assert_non_null(mw);
	return mw;
}

/* Checks the entry of a binding to octets 64 to 163 of @mr. */
static void assert_entry(const struct usiw_sqe *sqe, uint32_t rkey,
			 const struct ibv_mr *mr)
{
	assert_non_null(sqe);
	assert_int_equal(sqe->opcode, USIW_WR_BIND_MW);
	assert_int_equal(sqe->wr_id, 5);
	assert_int_equal(sqe->sge_cnt, 0);
	assert_int_equal(sqe->inline_len, 0);
	assert_int_equal(sqe->rkey, rkey);
	assert_int_equal(sqe->imm_be, mr->lkey);
	assert_true(sqe->remote_addr == (uintptr_t)buf + 64);
	assert_int_equal(sqe->compare_add, 100);
	assert_int_equal(sqe->swap, RIGHTS);
}

FAKE_CASE(windows_are_made_of_the_rnic)
{
	struct fake_world *w = *state;
	struct ibv_device_attr attr;
	struct ibv_mw *mw;
	int type;

	assert_int_equal(ibv_query_device(w->context, &attr), 0);
	assert_int_equal(attr.max_mw, 1005);
	assert_true(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW);
	assert_true(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	assert_false(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2A);
	for (type = IBV_MW_TYPE_1; type <= IBV_MW_TYPE_2; type++) {
		mw = mw_new(w->pd, (enum ibv_mw_type)type);
		assert_int_equal(fake.mw_type, type);
		assert_int_equal(mw->type, type);
		assert_int_equal(mw->rkey, 0xabcdefff);
		assert_ptr_equal(mw->pd, w->pd);
		assert_ptr_equal(mw->context, w->context);
		fake.fail_name = "rnic_mw_dealloc";
		fake.fail_err = -EBUSY;
		assert_int_equal(ibv_dealloc_mw(mw), EBUSY);
		fake.fail_name = NULL;
		assert_int_equal(ibv_dealloc_mw(mw), 0);
	}
	for (type = -1; type <= 4; type++) {
		if (type == IBV_MW_TYPE_1 || type == IBV_MW_TYPE_2)
			continue;
		assert_null(ibv_alloc_mw(w->pd, (enum ibv_mw_type)type));
		assert_int_equal(errno, EINVAL);
	}
	fake.fail_name = "rnic_mw_alloc";
	fake.fail_err = -ENOMEM;
	assert_null(ibv_alloc_mw(w->pd, IBV_MW_TYPE_1));
	assert_int_equal(errno, ENOMEM);
}

FAKE_CASE(type_1_gets_its_key_at_once)
{
	struct fake_world *w = *state;
	struct ibv_mr *mr = mr_new(w->pd);
	struct ibv_mw *mw = mw_new(w->pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = {
		.wr_id = 5,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE,
		.bind_info = { mr, (uintptr_t)buf + 64, 100,
			       RIGHTS | IBV_ACCESS_LOCAL_WRITE |
				       IBV_ACCESS_RELAXED_ORDERING },
	};
	struct usiw_sqe *sqe;

	assert_int_equal(ibv_bind_mw(w->qp, mw, &bind), 0);
	assert_int_equal(mw->rkey, 0xabcdef00); /* the index stays */
	assert_int_equal(fake.ring_sq_cnt, 1);
	sqe = usiw_ring_peek(sq_of(w->qp), 0);
	assert_entry(sqe, 0xabcdef00, mr);
	assert_int_equal(sqe->flags, USIW_SQE_SIGNALED | USIW_SQE_FENCE);
	/* length 0, with and without a region */
	bind.bind_info = (struct ibv_mw_bind_info){ .mr = NULL };
	assert_int_equal(ibv_bind_mw(w->qp, mw, &bind), 0);
	sqe = usiw_ring_peek(sq_of(w->qp), 1);
	assert_int_equal(sqe->compare_add, 0);
	assert_int_equal(sqe->imm_be, 0);
	bind.bind_info.mr = mr;
	assert_int_equal(ibv_bind_mw(w->qp, mw, &bind), 0);
	assert_int_equal(mw->rkey, 0xabcdef02);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

FAKE_CASE(type_2_is_posted_either_way)
{
	struct fake_world *w = *state;
	struct ibv_mr *mr = mr_new(w->pd);
	struct ibv_mw *mw = mw_new(w->pd, IBV_MW_TYPE_2);
	struct ibv_send_wr *bad, wr = {
		.wr_id = 5,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
		/* meaningless here */
		.num_sge = 1000,
		.bind_mw = { mw,
			     0xabcdef42,
			     { mr, (uintptr_t)buf + 64, 100, RIGHTS } },
	};
	struct ibv_qp_init_attr plain = fake_qp_attr(w);
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = plain.send_cq,
		.recv_cq = plain.recv_cq,
		.cap = plain.cap,
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = w->pd,
		.send_ops_flags = IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(w->context, &attr);
	struct ibv_qp_ex *qpx;
	struct usiw_sqe *sqe;

	assert_non_null(qp);
	qpx = ibv_qp_to_qp_ex(qp);
	assert_int_equal(ibv_post_send(w->qp, &wr, &bad), 0);
	sqe = usiw_ring_peek(sq_of(w->qp), 0);
	assert_entry(sqe, 0xabcdef42, mr);
	assert_int_equal(sqe->flags, USIW_SQE_SIGNALED);
	assert_int_equal(mw->rkey, 0xabcdefff); /* the application keeps it */

	ibv_wr_start(qpx);
	qpx->wr_id = 5;
	qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_bind_mw(qpx, mw, 0xabcdef42, &wr.bind_mw.bind_info);
	assert_int_equal(ibv_wr_complete(qpx), 0);
	assert_entry(usiw_ring_peek(sq_of(qp), 0), 0xabcdef42, mr);
	/* and accepts no data */
	ibv_wr_start(qpx);
	ibv_wr_bind_mw(qpx, mw, 0xabcdef43, &wr.bind_mw.bind_info);
	ibv_wr_set_sge(qpx, 1, 2, 3);
	assert_int_equal(ibv_wr_complete(qpx), EINVAL);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

FAKE_CASE(wrong_bindings_are_refused)
{
	struct fake_world *w = *state;
	struct ibv_context *other = fake_open();
	struct ibv_pd *foreign = ibv_alloc_pd(other);
	struct ibv_pd *second = ibv_alloc_pd(w->context);
	struct ibv_mr *mr = mr_new(w->pd), *mr2 = mr_new(second);
	struct ibv_mr *fmr = mr_new(foreign);
	struct ibv_mw *mw1 = mw_new(w->pd, IBV_MW_TYPE_1);
	struct ibv_mw *mw2 = mw_new(w->pd, IBV_MW_TYPE_2);
	struct ibv_mw *fmw1 = mw_new(foreign, IBV_MW_TYPE_1);
	struct ibv_mw *fmw2 = mw_new(foreign, IBV_MW_TYPE_2);
	const struct {
		struct ibv_mw *mw;
		struct ibv_mr *mr;
		uint64_t len;
		uint32_t rkey;
		unsigned int flags;
		int err;
	} rows[] = {
		/* by ibv_bind_mw() */
		{ mw2, mr, 1, 0, 0, EINVAL },
		{ mw1, NULL, 1, 0, 0, EINVAL },
		{ mw1, mr2, 1, 0, 0, EPERM },
		{ mw1, mr, 1, 0, IBV_SEND_INLINE, EINVAL },
		{ mw1, mr, 1, 0, IBV_SEND_SOLICITED, EINVAL },
		{ mw1, mr, 1, 0, 1u << 31, EINVAL },
		{ fmw1, fmr, 1, 0, 0, EINVAL },
		/* by ibv_post_send() */
		{ mw1, mr, 1, 0xabcdef01, 0, EINVAL },
		{ mw2, mr, 1, 0xabcdee01, 0, EINVAL },
		{ mw2, mr, 1, 1, 0, EINVAL },
		{ mw2, NULL, 1, 0xabcdef01, 0, EINVAL },
		{ NULL, mr, 1, 0xabcdef01, 0, EINVAL },
		{ fmw2, mr, 1, 0xabcdef01, 0, EINVAL },
		{ mw2, fmr, 1, 0xabcdef01, 0, EINVAL },
		{ mw2, mr, 1, 0xabcdef01, 1u << 31, EINVAL },
	};
	size_t i;

	for (i = 0; i < ARRAY_LEN(rows); i++) {
		struct ibv_mw_bind_info info = { rows[i].mr, 0, rows[i].len,
						 0 };
		struct ibv_mw_bind bind = { 1, rows[i].flags, info };
		struct ibv_send_wr *bad = NULL, wr = {
			.opcode = IBV_WR_BIND_MW,
			.send_flags = rows[i].flags,
			.bind_mw = { rows[i].mw, rows[i].rkey, info },
		};
		int err = rows[i].rkey ? ibv_post_send(w->qp, &wr, &bad)
				       : ibv_bind_mw(w->qp, rows[i].mw, &bind);

		if (err != rows[i].err)
			fail_msg("row %zu: %d", i, err);
		assert_int_equal(usiw_ring_used(sq_of(w->qp)), 0);
		if (rows[i].mw)
			assert_int_equal(rows[i].mw->rkey, 0xabcdefff);
	}
	assert_int_equal(ibv_dealloc_mw(mw1), 0);
	assert_int_equal(ibv_dealloc_mw(mw2), 0);
	assert_int_equal(ibv_dealloc_mw(fmw1), 0);
	assert_int_equal(ibv_dealloc_mw(fmw2), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dereg_mr(mr2), 0);
	assert_int_equal(ibv_dereg_mr(fmr), 0);
	assert_int_equal(ibv_dealloc_pd(second), 0);
	assert_int_equal(ibv_dealloc_pd(foreign), 0);
	fake_close(other);
}

FAKE_CASE(binding_takes_a_queue_pair_with_room)
{
	struct fake_world *w = *state;
	struct ibv_mr *mr = mr_new(w->pd);
	struct ibv_mw *mw = mw_new(w->pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = { .bind_info = { mr, 0, 1, 0 } };

	fake.qp_state = RNIC_QPS_IDLE;
	assert_int_equal(ibv_bind_mw(w->qp, mw, &bind), EINVAL);
	fake.qp_state = RNIC_QPS_RTS;
	for (int i = 0; i < 4; i++)
		assert_int_equal(ibv_bind_mw(w->qp, mw, &bind), 0);
	assert_int_equal(ibv_bind_mw(w->qp, mw, &bind), ENOMEM);
	assert_int_equal(mw->rkey, 0xabcdef03); /* four times */
	fake.fork_gen++;
	assert_int_equal(ibv_bind_mw(w->qp, mw, &bind), ENODEV);
	assert_null(ibv_alloc_mw(w->pd, IBV_MW_TYPE_1));
	assert_int_equal(errno, ENODEV);
	fake.fork_gen--;
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}
