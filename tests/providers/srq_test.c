/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shared receive queues: limits, attributes, posting. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "fake-rnic.h"

FAKE_CASE(sizes_outside_limits_are_einval)
{
	static const struct {
		uint32_t wr, sge;
		int err;
	} rows[] = {
		{ 1, 0, 0 },
		{ 32, 4, 0 },
		{ 0, 1, EINVAL },
		{ 33, 1, EINVAL },
		{ 1, 5, EINVAL },
		{ UINT32_MAX, 1, EINVAL },
		{ 1, UINT32_MAX, EINVAL },
	};
	struct fake_world *w = *state;
	struct ibv_srq *srq;
	size_t i;

	for (i = 0; i < ARRAY_LEN(rows); i++) {
		struct ibv_srq_init_attr attr = {
			.srq_context = w,
			.attr = { .max_wr = rows[i].wr,
				  .max_sge = rows[i].sge },
		};

		errno = 0;
		srq = ibv_create_srq(w->pd, &attr);
		if (rows[i].err) {
			assert_null(srq);
			assert_int_equal(errno, rows[i].err);
			assert_int_equal(attr.attr.max_wr, rows[i].wr);
			continue;
		}
		assert_non_null(srq);
		assert_ptr_equal(srq->srq_context, w);
		/* the granted value, not the requested one */
		assert_int_equal(attr.attr.max_wr, rows[i].wr + 1);
		assert_int_equal(ibv_destroy_srq(srq), 0);
	}
}

FAKE_CASE(extended_form_takes_basic_only)
{
	struct fake_world *w = *state;
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 2, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_BASIC,
		.pd = w->pd,
		.srq_context = w,
	};
	struct ibv_srq *srq = usiw_create_srq_ex(w->context, &attr);

	assert_non_null(srq);
	assert_ptr_equal(srq->pd, w->pd);
	assert_ptr_equal(srq->context, w->context);
	assert_ptr_equal(srq->srq_context, w);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	attr.srq_type = IBV_SRQT_XRC;
	assert_null(ibv_create_srq_ex(w->context, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	attr.srq_type = IBV_SRQT_BASIC;
	attr.comp_mask |= IBV_SRQ_INIT_ATTR_CQ;
	assert_null(ibv_create_srq_ex(w->context, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
	assert_null(ibv_create_srq_ex(w->context, &attr));
	assert_int_equal(errno, EINVAL);
}

FAKE_CASE(limit_is_armed_and_asked)
{
	struct fake_world *w = *state;
	struct ibv_srq_attr attr = { .srq_limit = 2 };

	assert_int_equal(ibv_modify_srq(w->srq, &attr, IBV_SRQ_LIMIT), 0);
	memset(&attr, 0xff, sizeof(attr));
	assert_int_equal(ibv_query_srq(w->srq, &attr), 0);
	assert_int_equal(attr.srq_limit, 2);
	assert_int_equal(attr.max_wr, 4);
	assert_int_equal(attr.max_sge, 2);
	attr.srq_limit = 5;
	assert_int_equal(ibv_modify_srq(w->srq, &attr, IBV_SRQ_LIMIT), EINVAL);
	assert_int_equal(ibv_modify_srq(w->srq, &attr, 1 << 7), EINVAL);
	assert_int_equal(ibv_modify_srq(w->srq, &attr, 0), 0);
	attr.srq_limit = 1;
	fake.fail_name = "rnic_srq_set_limit";
	fake.fail_err = -EINVAL;
	assert_int_equal(ibv_modify_srq(w->srq, &attr, IBV_SRQ_LIMIT), EINVAL);
}

FAKE_CASE(resize_changes_both_or_nothing)
{
	static const struct {
		int mask;
		uint32_t max_wr, limit;
		int err;
	} rows[] = {
		{ IBV_SRQ_MAX_WR, 0, 0, EINVAL },
		{ IBV_SRQ_MAX_WR, 33, 0, EINVAL }, /* the RNIC's maximum: 32 */
		{ IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT, 8, 9, EINVAL },
		{ IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT, 8, 8, 0 },
		{ IBV_SRQ_MAX_WR, 7, 0, EINVAL }, /* armed at 8 */
		{ IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT, 2, 1, 0 },
		{ IBV_SRQ_MAX_WR, 32, 99, 0 },
	};
	struct fake_world *w = *state;
	struct ibv_srq_attr want, got;

	assert_int_equal(ibv_query_srq(w->srq, &want), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct ibv_srq_attr attr = { .max_wr = rows[i].max_wr,
					     .srq_limit = rows[i].limit };

		assert_int_equal(ibv_modify_srq(w->srq, &attr, rows[i].mask),
				 rows[i].err);
		if (!rows[i].err && (rows[i].mask & IBV_SRQ_MAX_WR))
			want.max_wr = rows[i].max_wr;
		if (!rows[i].err && (rows[i].mask & IBV_SRQ_LIMIT))
			want.srq_limit = rows[i].limit;
		assert_int_equal(ibv_query_srq(w->srq, &got), 0);
		assert_int_equal(got.max_wr, want.max_wr);
		assert_int_equal(got.srq_limit, want.srq_limit);
	}
	/* The RNIC refuses because too many are posted. The limit is not
	 * changed either. */
	fake.fail_name = "rnic_srq_resize";
	fake.fail_err = -EINVAL;
	got.max_wr = 3;
	got.srq_limit = 3;
	assert_int_equal(
		ibv_modify_srq(w->srq, &got, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT),
		EINVAL);
	assert_int_equal(ibv_query_srq(w->srq, &got), 0);
	assert_int_equal(got.srq_limit, want.srq_limit);
}

FAKE_CASE(posting_fills_the_ring)
{
	struct fake_world *w = *state;
	const struct usiw_ring *ring = usiw_srq(w->srq)->ring;
	struct ibv_sge sge[3] = { { 0x1000, 16, 1 }, { 0x2000, 32, 2 } };
	struct ibv_recv_wr wr[5] = { 0 }, *bad = NULL;
	const struct usiw_rqe *rqe;
	size_t i;

	for (i = 0; i < 5; i++) {
		wr[i].wr_id = 100 + i;
		wr[i].sg_list = sge;
		wr[i].num_sge = 2;
		wr[i].next = i < 4 ? &wr[i + 1] : NULL;
	}
	/* four fit, and the fifth is reported */
	assert_int_equal(ibv_post_srq_recv(w->srq, wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr[4]);
	assert_int_equal(usiw_ring_used(ring), 4);
	rqe = usiw_ring_peek(ring, 3);
	assert_int_equal(rqe->wr_id, 103);
	assert_int_equal(rqe->sge_cnt, 2);
	assert_memory_equal(rqe + 1, sge, 2 * sizeof(sge[0]));
	usiw_ring_consume(ring, 4);
	wr[0].num_sge = 3;
	bad = NULL;
	assert_int_equal(ibv_post_srq_recv(w->srq, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[0]);
	assert_int_equal(usiw_ring_used(ring), 0);
}

FAKE_CASE(tag_matching_is_refused)
{
	struct fake_world *w = *state;
	struct ibv_ops_wr wr = { 0 }, *bad = NULL;

	assert_int_equal(ibv_post_srq_ops(w->srq, &wr, &bad), EOPNOTSUPP);
	assert_ptr_equal(bad, &wr);
}

FAKE_CASE(busy_queue_stays)
{
	struct fake_world *w = *state;

	fake.fail_name = "rnic_srq_destroy";
	fake.fail_err = -EBUSY;
	assert_int_equal(ibv_destroy_srq(w->srq), EBUSY);
}
