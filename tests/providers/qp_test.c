/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Queue pairs: creation, each transition, each attribute, destruction. */
#include "test.h"

#include <pthread.h>

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "fake-rnic.h"

FAKE_CASE(new_qp_tells_what_it_got)
{
	struct fake_world *w = *state;
	struct ibv_qp_init_attr attr = fake_qp_attr(w);
	struct ibv_qp *qp = ibv_create_qp(w->pd, &attr);

	assert_non_null(qp);
	assert_int_equal(qp->qp_num, FAKE_QP_NUM);
	assert_int_equal(qp->state, IBV_QPS_RESET);
	assert_int_equal(qp->qp_type, IBV_QPT_RC);
	assert_ptr_equal(qp->context, w->context);
	assert_ptr_equal(qp->pd, w->pd);
	assert_ptr_equal(qp->send_cq, w->cq);
	assert_ptr_equal(qp->recv_cq, w->cq);
	assert_ptr_equal(qp->qp_context, &fake);
	assert_true(fake.handle == (uintptr_t)qp);
	assert_int_equal(attr.cap.max_send_wr, 4);
	assert_int_equal(attr.cap.max_inline_data, 48);
	assert_null(ibv_qp_to_qp_ex(qp));
	assert_int_equal(ibv_destroy_qp(qp), 0);
	attr = fake_qp_attr(w);
	attr.srq = w->srq;
	qp = ibv_create_qp(w->pd, &attr);
	assert_non_null(qp);
	assert_int_equal(attr.cap.max_recv_wr, 0);
	assert_int_equal(attr.cap.max_recv_sge, 0);
	assert_ptr_equal(qp->srq, w->srq);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

FAKE_CASE(other_types_are_refused)
{
	static const int types[] = { 0,
				     IBV_QPT_UD,
				     IBV_QPT_RAW_PACKET,
				     IBV_QPT_XRC_SEND,
				     IBV_QPT_XRC_RECV,
				     IBV_QPT_DRIVER };
	struct fake_world *w = *state;
	size_t i;

	for (i = 0; i < ARRAY_LEN(types); i++) {
		struct ibv_qp_init_attr attr = fake_qp_attr(w);

		attr.qp_type = (enum ibv_qp_type)types[i];
		errno = 0;
		assert_null(ibv_create_qp(w->pd, &attr));
		assert_int_equal(errno, EOPNOTSUPP);
	}
}

/* What ibv_post_send(3) says of UC, by both ways to post. */
FAKE_CASE(uc_has_no_reads_and_no_atomics)
{
	static const struct {
		enum ibv_wr_opcode opcode;
		uint64_t op;
		bool is_known;
	} rows[] = {
		{ IBV_WR_SEND, IBV_QP_EX_WITH_SEND, true },
		{ IBV_WR_SEND_WITH_IMM, IBV_QP_EX_WITH_SEND_WITH_IMM, true },
		{ IBV_WR_SEND_WITH_INV, IBV_QP_EX_WITH_SEND_WITH_INV, true },
		{ IBV_WR_RDMA_WRITE, IBV_QP_EX_WITH_RDMA_WRITE, true },
		{ IBV_WR_RDMA_WRITE_WITH_IMM,
		  IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, true },
		{ IBV_WR_LOCAL_INV, IBV_QP_EX_WITH_LOCAL_INV, true },
		{ IBV_WR_RDMA_READ, IBV_QP_EX_WITH_RDMA_READ, false },
		{ IBV_WR_ATOMIC_CMP_AND_SWP, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP,
		  false },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD,
		  IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, false },
	};
	struct fake_world *w = *state;
	struct ibv_qp_init_attr attr = fake_qp_attr(w);
	struct ibv_qp_init_attr is;
	struct ibv_qp_attr now;
	struct ibv_qp *qp;
	size_t i;

	attr.qp_type = IBV_QPT_UC;
	attr.cap.max_send_wr = ARRAY_LEN(rows);
	qp = ibv_create_qp(w->pd, &attr);
	assert_non_null(qp);
	assert_int_equal(fake.qp_type, RNIC_QPT_UC);
	assert_int_equal(ibv_query_qp(qp, &now, IBV_QP_STATE, &is), 0);
	assert_int_equal(is.qp_type, IBV_QPT_UC);
	fake.qp_state = RNIC_QPS_RTS;
	for (i = 0; i < ARRAY_LEN(rows); i++) {
		struct ibv_send_wr wr = { .opcode = rows[i].opcode }, *bad;
		struct ibv_qp_init_attr_ex ex = {
			.send_cq = w->cq,
			.recv_cq = w->cq,
			.cap = { 1, 1, 1, 1, 0 },
			.qp_type = IBV_QPT_UC,
			.pd = w->pd,
			.comp_mask = IBV_QP_INIT_ATTR_PD |
				     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
			.send_ops_flags = rows[i].op,
		};
		struct ibv_qp *other;

		assert_int_equal(ibv_post_send(qp, &wr, &bad),
				 rows[i].is_known ? 0 : EINVAL);
		other = ibv_create_qp_ex(w->context, &ex);
		assert_int_equal(other != NULL, rows[i].is_known);
		if (!other)
			assert_int_equal(errno, EOPNOTSUPP);
		else
			assert_int_equal(ibv_destroy_qp(other), 0);
	}
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

FAKE_CASE(bad_creation_is_einval)
{
	static const struct ibv_qp_cap caps[] = {
		{ 65, 1, 1, 1, 0 },	    { 1, 65, 1, 1, 0 },
		{ 1, 1, 9, 1, 0 },	    { 1, 1, 1, 9, 0 },
		{ 1, 1, 1, 1, 257 },	    { UINT32_MAX, 1, 1, 1, 0 },
		{ 1, 1, UINT32_MAX, 1, 0 },
	};
	struct fake_world *w = *state;
	struct ibv_qp_init_attr attr;
	size_t i;

	for (i = 0; i < ARRAY_LEN(caps); i++) {
		attr = fake_qp_attr(w);
		attr.cap = caps[i];
		errno = 0;
		assert_null(ibv_create_qp(w->pd, &attr));
		assert_int_equal(errno, EINVAL);
		assert_memory_equal(&attr.cap, &caps[i], sizeof(caps[i]));
	}
	attr = fake_qp_attr(w);
	attr.send_cq = NULL;
	assert_null(ibv_create_qp(w->pd, &attr));
	assert_int_equal(errno, EINVAL);
	attr = fake_qp_attr(w);
	attr.recv_cq = NULL;
	assert_null(ibv_create_qp(w->pd, &attr));
	assert_int_equal(errno, EINVAL);
	attr = fake_qp_attr(w);
	fake.fail_name = "rnic_qp_create";
	fake.fail_err = -ENOMEM;
	assert_null(ibv_create_qp(w->pd, &attr));
	assert_int_equal(errno, ENOMEM);
}

FAKE_CASE(objects_of_another_context_are_einval)
{
	struct fake_world *w = *state;
	struct ibv_context *other = fake_open();
	struct ibv_cq *cq = ibv_create_cq(other, 4, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = fake_qp_attr(w);

	attr.recv_cq = cq;
	assert_null(ibv_create_qp(w->pd, &attr));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	fake_close(other);
}

FAKE_CASE(extended_creation_takes_the_plain_form)
{
	struct fake_world *w = *state;
	struct ibv_qp_init_attr plain = fake_qp_attr(w);
	struct ibv_qp_init_attr_ex ex = {
		.send_cq = w->cq,
		.recv_cq = w->cq,
		.cap = plain.cap,
		.qp_type = IBV_QPT_RC,
		.pd = w->pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_CREATE_FLAGS,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(w->context, &ex);

	assert_non_null(qp);
	assert_int_equal(ex.cap.max_inline_data, 48);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	ex.create_flags = IBV_QP_CREATE_SCATTER_FCS;
	assert_null(ibv_create_qp_ex(w->context, &ex));
	assert_int_equal(errno, EOPNOTSUPP);
	ex.create_flags = 0;
	ex.comp_mask = IBV_QP_INIT_ATTR_CREATE_FLAGS;
	assert_null(ibv_create_qp_ex(w->context, &ex));
	assert_int_equal(errno, EINVAL);
}

FAKE_CASE(extended_creation_is_checked)
{
	static const struct {
		uint32_t mask;
		int type;
		int err;
	} rows[] = {
		{ IBV_QP_INIT_ATTR_CREATE_FLAGS, IBV_QPT_RC,
		  EINVAL }, /* no PD */
		{ 0, IBV_QPT_RC, EINVAL },
		{ IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD, IBV_QPT_RC,
		  EOPNOTSUPP },
		{ IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER,
		  IBV_QPT_RC, EOPNOTSUPP },
		{ IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE, IBV_QPT_RC,
		  EOPNOTSUPP },
		{ IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH, IBV_QPT_RC,
		  EOPNOTSUPP },
		{ IBV_QP_INIT_ATTR_PD | 1u << 7, IBV_QPT_RC, EOPNOTSUPP },
		{ IBV_QP_INIT_ATTR_PD | 1u << 31, IBV_QPT_RC, EOPNOTSUPP },
		{ IBV_QP_INIT_ATTR_XRCD, IBV_QPT_XRC_RECV, EOPNOTSUPP },
		{ IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		  IBV_QPT_UD, EOPNOTSUPP },
		{ IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		  IBV_QPT_RAW_PACKET, EOPNOTSUPP },
		{ IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		  IBV_QPT_XRC_SEND, EOPNOTSUPP },
		{ IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		  IBV_QPT_DRIVER, EOPNOTSUPP },
		{ IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, 0,
		  EOPNOTSUPP },
	};
	struct fake_world *w = *state;
	struct ibv_qp_init_attr plain = fake_qp_attr(w);
	struct ibv_context *other = fake_open();
	struct ibv_qp_init_attr_ex ex;
	uint32_t open_cnt = fake.open_cnt;
	size_t i;

	for (i = 0; i < ARRAY_LEN(rows); i++) {
		ex = (struct ibv_qp_init_attr_ex){
			.send_cq = w->cq,
			.recv_cq = w->cq,
			.cap = plain.cap,
			.qp_type = (enum ibv_qp_type)rows[i].type,
			.pd = w->pd,
			.comp_mask = rows[i].mask,
		};
		errno = 0;
		assert_null(ibv_create_qp_ex(w->context, &ex));
		assert_int_equal(errno, rows[i].err);
		assert_memory_equal(&ex.cap, &plain.cap, sizeof(plain.cap));
	}
	ex.qp_type = IBV_QPT_RC;
	assert_null(ibv_create_qp_ex(other, &ex)); /* a PD of another context */
	assert_int_equal(errno, EINVAL);
	ex.pd = NULL;
	assert_null(ibv_create_qp_ex(w->context, &ex));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(fake.open_cnt, open_cnt);
	fake_close(other);
}

/* Each transition from each state: its result, and the call of the RNIC. */
FAKE_CASE(each_transition)
{
	enum { NO = -EINVAL };
	static const struct {
		enum rnic_qp_state from;
		/* RESET INIT RTR RTS SQD SQE ERR UNKNOWN */
		int answer[8];
	} rows[] = {
		{ RNIC_QPS_IDLE, { 0, 0, 0, NO, 0, NO, 0, NO } },
		{ RNIC_QPS_RTS, { 0, NO, NO, 0, 0, NO, 0, NO } },
		{ RNIC_QPS_CLOSING, { 0, NO, NO, NO, 0, NO, 0, NO } },
		{ RNIC_QPS_TERMINATE, { 0, NO, NO, NO, 0, NO, 0, NO } },
		{ RNIC_QPS_ERROR, { 0, NO, NO, NO, 0, NO, 0, NO } },
	};
	struct fake_world *w = *state;
	struct ibv_qp_attr attr = { 0 };
	size_t i;
	int to;

	for (i = 0; i < ARRAY_LEN(rows); i++) {
		for (to = 0; to < 8; to++) {
			/* a previous RTR would allow RTS from IDLE */
			fake.qp_state = RNIC_QPS_IDLE;
			attr.qp_state = IBV_QPS_INIT;
			assert_int_equal(
				ibv_modify_qp(w->qp, &attr, IBV_QP_STATE), 0);
			fake.qp_state = rows[i].from;
			fake.move_cnt = 0;
			attr.qp_state = (enum ibv_qp_state)to;
			assert_int_equal(
				ibv_modify_qp(w->qp, &attr, IBV_QP_STATE),
				-rows[i].answer[to]);
			if (rows[i].answer[to] || to == IBV_QPS_INIT ||
			    to == IBV_QPS_RTR || to == IBV_QPS_RTS)
				assert_int_equal(fake.move_cnt, 0);
		}
	}
	attr.qp_state = (enum ibv_qp_state)99;
	assert_int_equal(ibv_modify_qp(w->qp, &attr, IBV_QP_STATE), EINVAL);
}

static void modify_to(struct fake_world *w, enum ibv_qp_state to, int err)
{
	struct ibv_qp_attr attr = { .qp_state = to };

	fake.move_cnt = 0;
	assert_int_equal(ibv_modify_qp(w->qp, &attr, IBV_QP_STATE), err);
}

FAKE_CASE(moves_reach_the_rnic)
{
	struct fake_world *w = *state;
	struct ibv_wc wc;

	fake.qp_state = RNIC_QPS_RTS;
	modify_to(w, IBV_QPS_SQD, 0); /* rdma_disconnect() */
	assert_int_equal(fake.move_cnt, 1);
	assert_int_equal(fake.moves[0], RNIC_QPS_CLOSING);
	modify_to(w, IBV_QPS_ERR, 0);
	assert_int_equal(fake.move_cnt, 1);
	assert_int_equal(fake.moves[0], RNIC_QPS_ERROR);
	fake_cq_push(usiw_cq(w->cq)->rnic,
		     &(struct usiw_cqe){ .qp_num = w->qp->qp_num });
	modify_to(w, IBV_QPS_RESET, 0);
	assert_int_equal(ibv_poll_cq(w->cq, 1, &wc), 0); /* forgotten */
	assert_int_equal(fake.move_cnt, 2);
	assert_int_equal(fake.moves[0], RNIC_QPS_ERROR);
	assert_int_equal(fake.moves[1], RNIC_QPS_IDLE);
	fake.fail_name = "rnic_qp_modify";
	fake.fail_err = -ENOMEM;
	modify_to(w, IBV_QPS_ERR, ENOMEM);
	modify_to(w, IBV_QPS_SQD, ENOMEM);
	fake.fail_err = -EINVAL;
	modify_to(w, IBV_QPS_SQD, EINVAL);
}

/* Programs pass any flags to a QP, and the kernel refuses none. */
FAKE_CASE(unknown_rights_are_ignored)
{
	struct fake_world *w = *state;
	struct ibv_qp_attr attr = { .qp_access_flags = ~0u };

	assert_int_equal(ibv_modify_qp(w->qp, &attr, IBV_QP_ACCESS_FLAGS), 0);
	assert_int_equal(fake.access, 0x1f);
	attr.qp_access_flags = 0x300 | IBV_ACCESS_REMOTE_READ;
	assert_int_equal(ibv_modify_qp(w->qp, &attr, IBV_QP_ACCESS_FLAGS), 0);
	assert_int_equal(fake.access, RNIC_ACCESS_REMOTE_READ);
}

/* INIT, RTR, and RTS without a mask, as INIT_QP_ATTR returns them. */
FAKE_CASE(passive_side_of_librdmacm_walks_through)
{
	struct fake_world *w = *state;
	struct ibv_qp_attr attr = {
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ,
	};

	fake.qp_state = RNIC_QPS_IDLE;
	attr.qp_state = IBV_QPS_INIT;
	assert_int_equal(
		ibv_modify_qp(w->qp, &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS),
		0);
	assert_int_equal(fake.access,
			 RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(
		ibv_modify_qp(w->qp, &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS),
		0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(w->qp, &attr, 0), 0);
	assert_int_equal(ibv_modify_qp(w->qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(fake.move_cnt, 0);
}

FAKE_CASE(attributes_are_checked)
{
	static const struct {
		int mask;
		struct ibv_qp_attr attr;
		int err;
	} rows[] = {
		{ IBV_QP_PORT, { .port_num = 1 }, 0 },
		{ IBV_QP_PORT, { .port_num = 0 }, EINVAL },
		{ IBV_QP_PORT, { .port_num = 2 }, EINVAL },
		{ IBV_QP_PKEY_INDEX, { .pkey_index = 0 }, 0 },
		{ IBV_QP_PKEY_INDEX, { .pkey_index = 1 }, EINVAL },
		/* IBV_ACCESS_FLUSH_GLOBAL, IBV_ACCESS_FLUSH_PERSISTENT */
		{ IBV_QP_ACCESS_FLAGS, { .qp_access_flags = 0x300 }, 0 },
		{ IBV_QP_ACCESS_FLAGS, { .qp_access_flags = 1u << 31 }, 0 },
		{ IBV_QP_ACCESS_FLAGS, { .qp_access_flags = 0x1f }, 0 },
		{ IBV_QP_ACCESS_FLAGS,
		  { .qp_access_flags = 0x1f | IBV_ACCESS_ON_DEMAND },
		  0 },
		{ IBV_QP_CUR_STATE, { .cur_qp_state = IBV_QPS_RTS }, 0 },
		{ IBV_QP_CUR_STATE, { .cur_qp_state = IBV_QPS_INIT }, EINVAL },
		{ IBV_QP_CUR_STATE, { .cur_qp_state = IBV_QPS_ERR }, EINVAL },
		{ IBV_QP_MAX_QP_RD_ATOMIC, { .max_rd_atomic = 32 }, 0 },
		{ IBV_QP_MAX_QP_RD_ATOMIC, { .max_rd_atomic = 33 }, EINVAL },
		{ IBV_QP_MAX_DEST_RD_ATOMIC, { .max_dest_rd_atomic = 16 }, 0 },
		{ IBV_QP_MAX_DEST_RD_ATOMIC,
		  { .max_dest_rd_atomic = 17 },
		  EINVAL },
		{ IBV_QP_PATH_MTU, { .path_mtu = IBV_MTU_4096 }, 0 },
		{ IBV_QP_PATH_MTU, { .path_mtu = 0 }, EINVAL },
		{ IBV_QP_PATH_MTU, { .path_mtu = IBV_MTU_4096 + 1 }, EINVAL },
		{ IBV_QP_TIMEOUT, { .timeout = 31 }, 0 },
		{ IBV_QP_TIMEOUT, { .timeout = 32 }, EINVAL },
		{ IBV_QP_RETRY_CNT, { .retry_cnt = 7 }, 0 },
		{ IBV_QP_RETRY_CNT, { .retry_cnt = 8 }, EINVAL },
		{ IBV_QP_RNR_RETRY, { .rnr_retry = 7 }, 0 },
		{ IBV_QP_RNR_RETRY, { .rnr_retry = 8 }, EINVAL },
		{ IBV_QP_MIN_RNR_TIMER, { .min_rnr_timer = 31 }, 0 },
		{ IBV_QP_MIN_RNR_TIMER, { .min_rnr_timer = 32 }, EINVAL },
		{ IBV_QP_CAP, { 0 }, EOPNOTSUPP },
		{ IBV_QP_ALT_PATH, { 0 }, EOPNOTSUPP },
		{ IBV_QP_PATH_MIG_STATE, { 0 }, EOPNOTSUPP },
		{ IBV_QP_RATE_LIMIT, { 0 }, EOPNOTSUPP },
		{ IBV_QP_EN_SQD_ASYNC_NOTIFY, { 0 }, EOPNOTSUPP },
		{ 1 << 22, { 0 }, EINVAL },
		{ 1 << 30, { 0 }, EINVAL },
	};
	struct fake_world *w = *state;
	struct ibv_qp_attr attr;
	size_t i;

	for (i = 0; i < ARRAY_LEN(rows); i++) {
		attr = rows[i].attr;
		assert_int_equal(ibv_modify_qp(w->qp, &attr, rows[i].mask),
				 rows[i].err);
	}
	assert_int_equal(fake.move_cnt, 0);
	assert_int_equal(fake.access, 0x1f);
}

/* ibv_modify_qp(3): if anything is invalid, nothing is modified. */
FAKE_CASE(failure_changes_nothing)
{
	struct fake_world *w = *state;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .qp_access_flags = IBV_ACCESS_REMOTE_READ };

	assert_int_equal(
		ibv_modify_qp(w->qp, &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS),
		EINVAL); /* RTS -> INIT */
	assert_int_equal(fake.access, 0);
	assert_int_equal(w->qp->state, IBV_QPS_RESET);
	attr.qp_state = IBV_QPS_ERR;
	fake.fail_name = "rnic_qp_set_access";
	fake.fail_err = -EINVAL;
	assert_int_equal(
		ibv_modify_qp(w->qp, &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS),
		EINVAL);
	assert_int_equal(fake.move_cnt, 0);
}

/* Attributes that an iWARP stream does not use are returned as they were set.
 * The RNIC returns the negotiated ones and the peer. */
FAKE_CASE(query_remembers_what_was_set)
{
	const int mask = IBV_QP_PATH_MTU | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			 IBV_QP_RNR_RETRY | IBV_QP_RQ_PSN | IBV_QP_SQ_PSN |
			 IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_QP_RD_ATOMIC |
			 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_DEST_QPN |
			 IBV_QP_AV;
	struct ibv_qp_attr set = { .path_mtu = IBV_MTU_2048,
				   .timeout = 14,
				   .retry_cnt = 6,
				   .rnr_retry = 5,
				   .rq_psn = 0x1123456,
				   .sq_psn = 0x789abc,
				   .min_rnr_timer = 12,
				   .max_rd_atomic = 3,
				   .max_dest_rd_atomic = 2,
				   .dest_qp_num = 0x321,
				   .ah_attr = { .dlid = 7, .port_num = 1 } };
	struct sockaddr_in *peer = (struct sockaddr_in *)&fake.peer;
	struct fake_world *w = *state;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	fake.qp_state = RNIC_QPS_IDLE;
	assert_int_equal(ibv_modify_qp(w->qp, &set, mask), 0);
	/* A change that is refused changes none of them. */
	set.timeout = 15;
	set.retry_cnt = 8;
	assert_int_equal(ibv_modify_qp(w->qp, &set, mask), EINVAL);
	assert_int_equal(ibv_query_qp(w->qp, &attr, mask, &init), 0);
	assert_int_equal(attr.path_mtu, IBV_MTU_2048);
	assert_int_equal(attr.retry_cnt, 6);
	assert_int_equal(attr.rnr_retry, 5);
	assert_int_equal(attr.rq_psn, 0x123456);
	assert_int_equal(attr.sq_psn, 0x789abc);
	assert_int_equal(attr.min_rnr_timer, 12);
	assert_int_equal(attr.max_rd_atomic, 3);
	assert_int_equal(attr.max_dest_rd_atomic, 2);
	assert_int_equal(attr.dest_qp_num, 0x321);
	assert_int_equal(attr.ah_attr.dlid, 7);

	fake.qp_state = RNIC_QPS_RTS;
	peer->sin_family = AF_INET;
	peer->sin_addr.s_addr = htonl(0x7f000001);
	fake.local = fake.peer;
	memset(fake.device.gid, 0, sizeof(fake.device.gid));
	fake.device.gid_cnt = 2;
	memcpy(fake.device.gid[1], "\0\0\0\0\0\0\0\0\0\0\377\377\177\0\0\1",
	       16);
	assert_int_equal(ibv_query_qp(w->qp, &attr, mask, &init), 0);
	assert_int_equal(attr.max_rd_atomic, 6);
	assert_int_equal(attr.max_dest_rd_atomic, 5);
	assert_int_equal(attr.ah_attr.is_global, 1);
	assert_int_equal(attr.ah_attr.port_num, 1);
	assert_int_equal(attr.ah_attr.grh.sgid_index, 1);
	assert_memory_equal(attr.ah_attr.grh.dgid.raw, fake.device.gid[1], 16);

	memset(&fake.peer, 0, sizeof(fake.peer));
	set = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RESET };
	assert_int_equal(ibv_modify_qp(w->qp, &set, IBV_QP_STATE), 0);
	assert_int_equal(ibv_query_qp(w->qp, &attr, mask, &init), 0);
	assert_int_equal(attr.retry_cnt, 0);
	assert_int_equal(attr.dest_qp_num, 0);
}

FAKE_CASE(query_tells_the_truth)
{
	static const struct {
		enum rnic_qp_state rnic;
		enum ibv_qp_state verbs;
	} rows[] = {
		{ RNIC_QPS_IDLE, IBV_QPS_INIT },
		{ RNIC_QPS_RTS, IBV_QPS_RTS },
		{ RNIC_QPS_CLOSING, IBV_QPS_SQD },
		{ RNIC_QPS_TERMINATE, IBV_QPS_ERR },
		{ RNIC_QPS_ERROR, IBV_QPS_ERR },
	};
	struct fake_world *w = *state;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	size_t i;

	fake.access = RNIC_ACCESS_REMOTE_READ;
	for (i = 0; i < ARRAY_LEN(rows); i++) {
		fake.qp_state = rows[i].rnic;
		assert_int_equal(
			ibv_query_qp(w->qp, &attr, IBV_QP_STATE, &init), 0);
		assert_int_equal(attr.qp_state, rows[i].verbs);
		assert_int_equal(attr.cur_qp_state, rows[i].verbs);
		assert_int_equal(w->qp->state, rows[i].verbs);
	}
	assert_int_equal(attr.qp_access_flags, IBV_ACCESS_REMOTE_READ);
	assert_int_equal(attr.max_rd_atomic, 0); /* nothing negotiated yet */
	assert_int_equal(attr.max_dest_rd_atomic, 0);
	assert_int_equal(attr.ah_attr.is_global, 0);
	assert_int_equal(attr.timeout, 21);
	assert_int_equal(attr.path_mtu, IBV_MTU_1024);
	assert_int_equal(attr.port_num, 1);
	assert_int_equal(attr.cap.max_send_wr, 4);
	assert_int_equal(attr.cap.max_inline_data, 48);
	assert_memory_equal(&attr.cap, &init.cap, sizeof(init.cap));
	assert_ptr_equal(init.send_cq, w->cq);
	assert_ptr_equal(init.recv_cq, w->cq);
	assert_ptr_equal(init.qp_context, &fake);
	assert_int_equal(init.qp_type, IBV_QPT_RC);
	assert_int_equal(init.sq_sig_all, 0);
	fake.fail_name = "rnic_device_query";
	fake.fail_err = -ENODEV;
	assert_int_equal(ibv_query_qp(w->qp, &attr, IBV_QP_STATE, &init),
			 ENODEV);
}

/* ---- persona ca ---- */

static enum ibv_qp_state state_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.cur_qp_state, attr.qp_state);
	return attr.qp_state;
}

/* A QP of a device with persona ca. For the RNIC it is IDLE. */
static struct ibv_context *ca_open(struct fake_world *w, struct ibv_qp **ret_qp)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = 4,
						  .max_send_sge = 1,
						  .max_recv_wr = 1,
						  .max_recv_sge = 1 } };
	struct ibv_context *context;

	(void)w;
	fake.device.persona = RNIC_PERSONA_CA;
	fake.qp_state = RNIC_QPS_IDLE;
	context = fake_open();
	assert_non_null(context);
	attr.send_cq = attr.recv_cq = ibv_create_cq(context, 8, NULL, NULL, 0);
	*ret_qp = ibv_create_qp(ibv_alloc_pd(context), &attr);
	assert_non_null(*ret_qp);
	return context;
}

static void ca_close(struct ibv_context *context, struct ibv_qp *qp)
{
	struct ibv_pd *pd = qp->pd;
	struct ibv_cq *cq = qp->send_cq;

	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	fake_close(context);
}

/* Moves a QP that is IDLE for the RNIC to a state; RTR without a peer. */
static void ca_walk(struct ibv_qp *qp, enum ibv_qp_state to)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	fake.move_cnt = 0;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	fake.move_cnt = 0;
	fake.qp_state = RNIC_QPS_IDLE;
	for (int s = IBV_QPS_INIT; s <= (int)to; s++) {
		attr.qp_state = (enum ibv_qp_state)s;
		assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	}
	assert_int_equal(state_of(qp), to);
}

FAKE_CASE(a_ca_has_the_states_of_infiniband)
{
	enum { NO = EINVAL, NS = EOPNOTSUPP };
	static const int answer[4][8] = {
		/* RESET INIT RTR RTS SQD SQE ERR UNKNOWN */
		[IBV_QPS_RESET] = { 0, 0, NO, NO, NS, NO, 0, NO },
		[IBV_QPS_INIT] = { 0, 0, 0, NO, NS, NO, 0, NO },
		[IBV_QPS_RTR] = { 0, NO, NO, 0, NS, NO, 0, NO },
		[IBV_QPS_RTS] = { 0, NO, NO, 0, NS, NO, 0, NO },
	};
	struct ibv_qp_attr attr = { 0 };
	struct ibv_context *context;
	struct ibv_qp *qp;
	int from, to;

	context = ca_open(*state, &qp);
	assert_int_equal(state_of(qp), IBV_QPS_RESET);
	for (from = 0; from < 4; from++) {
		for (to = 0; to < 8; to++) {
			ca_walk(qp, (enum ibv_qp_state)from);
			attr.qp_state = (enum ibv_qp_state)to;
			assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE),
					 answer[from][to]);
			if (to ==
			    IBV_QPS_ERR) /* the fake's state does not change */
				continue;
			assert_int_equal(state_of(qp),
					 answer[from][to] ? from : to);
			attr.cur_qp_state = (enum ibv_qp_state)(from ^ 1);
			attr.qp_state = IBV_QPS_RESET;
			if (answer[from][to])
				assert_int_equal(
					ibv_modify_qp(qp, &attr,
						      IBV_QP_STATE |
							      IBV_QP_CUR_STATE),
					EINVAL);
		}
	}
	ca_close(context, qp);
}

/* A RESET removes posted work, whatever the state of the QP. */
static void demand_reset_empties(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };

	fake.qp_state = RNIC_QPS_IDLE;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	fake.move_cnt = 0;
	attr.qp_state = IBV_QPS_RESET;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(fake.move_cnt, 2);
	assert_int_equal(fake.moves[0], RNIC_QPS_ERROR);
	assert_int_equal(fake.moves[1], RNIC_QPS_IDLE);
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(fake.move_cnt, 2); /* in state RESET already */
}

FAKE_CASE(a_reset_empties_the_queues)
{
	struct ibv_context *context;
	struct fake_world *w = *state;
	struct ibv_qp *qp;

	context = ca_open(w, &qp);
	demand_reset_empties(qp);
	ca_close(context, qp);
	demand_reset_empties(w->qp);
}

/*
 * RTR with everything that a connection out of band needs, except that the
 * number is rdma_cm's: the connection manager provides the stream. Work may be
 * posted from RTS on.
 */
FAKE_CASE(a_number_of_rdma_cm_starts_no_connection)
{
	const int rtr_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = IBV_MTU_1024,
				    .ah_attr = { .is_global = 1 } };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_context *context;
	struct ibv_qp *qp;
	uint32_t num;

	context = ca_open(*state, &qp);
	for (num = 0; num < 257; num += 32) {
		ca_walk(qp, IBV_QPS_INIT);
		fake.oob.cnt = 0;
		attr.qp_state = IBV_QPS_RTR;
		attr.dest_qp_num = num;
		assert_int_equal(ibv_modify_qp(qp, &attr, rtr_mask), 0);
		assert_int_equal(fake.oob.cnt, num < 256 ? 0 : 1);
		assert_int_equal(state_of(qp), IBV_QPS_RTR);
	}
	/* An incomplete peer does not count. */
	ca_walk(qp, IBV_QPS_INIT);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV),
			 EINVAL);
	ca_walk(qp, IBV_QPS_RTR);
	assert_int_equal(ibv_post_send(qp, &wr, &bad), EINVAL);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
	ca_close(context, qp);
}

/* The passive side's stream may be established before the application moves to
 * RTS. */
FAKE_CASE(a_stream_does_not_change_what_a_ca_was_told)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	struct ibv_context *context;
	struct ibv_qp *qp;

	context = ca_open(*state, &qp);
	ca_walk(qp, IBV_QPS_RTR);
	fake.qp_state = RNIC_QPS_RTS;
	assert_int_equal(state_of(qp), IBV_QPS_RTR);
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(state_of(qp), IBV_QPS_RTS);
	fake.qp_state = RNIC_QPS_ERROR;
	assert_int_equal(state_of(qp), IBV_QPS_ERR);
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), EINVAL);
	ca_close(context, qp);
}

static void *ack_one(void *arg)
{
	struct ibv_async_event event = { .element.qp = arg,
					 .event_type = IBV_EVENT_QP_FATAL };

	ibv_ack_async_event(&event);
	return NULL;
}

FAKE_CASE(destruction_waits_for_acks)
{
	struct fake_world *w = *state;
	struct ibv_qp_init_attr attr = fake_qp_attr(w);
	struct ibv_qp *qp = ibv_create_qp(w->pd, &attr);
	pthread_t thread;

	assert_non_null(qp);
	fake.fail_name = "rnic_qp_destroy";
	fake.fail_err = -EBUSY;
	assert_int_equal(ibv_destroy_qp(qp), EBUSY);
	fake.fail_name = NULL;
	fake.async_events = 1;
	assert_int_equal(pthread_create(&thread, NULL, ack_one, qp), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void push(struct ibv_cq *cq, uint32_t qp_num)
{
	struct usiw_cqe cqe = { .qp_num = qp_num };

	fake_cq_push(usiw_cq(cq)->rnic, &cqe);
}

/* libfabric polls once more after it has destroyed a queue pair, and would post
 * the receive that it finds again. */
FAKE_CASE(destruction_forgets_completions)
{
	struct fake_world *w = *state;
	struct ibv_qp_init_attr attr = fake_qp_attr(w);
	struct ibv_qp *qp;
	struct ibv_wc wc[4];

	attr.recv_cq = ibv_create_cq(w->context, 4, NULL, NULL, 0);
	assert_non_null(attr.recv_cq);
	qp = ibv_create_qp(w->pd, &attr);
	assert_non_null(qp);
	push(attr.send_cq, FAKE_QP_NUM);
	push(attr.send_cq, FAKE_QP_NUM + 1);
	push(attr.recv_cq, FAKE_QP_NUM);
	fake.completes_when_retired = true;
	assert_int_equal(ibv_destroy_qp(qp), 0);
	fake.completes_when_retired = false;
	assert_int_equal(ibv_poll_cq(attr.send_cq, 4, wc), 1);
	assert_int_equal(wc[0].qp_num, FAKE_QP_NUM + 1);
	assert_int_equal(ibv_poll_cq(attr.recv_cq, 4, wc), 0);
	assert_int_equal(ibv_destroy_cq(attr.recv_cq), 0);
}
