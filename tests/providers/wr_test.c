/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* ibv_wr_*: makes the same entries as ibv_post_send(), and posts a whole batch
 * or nothing. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "providers/usiw/sqe.h"
#include <sys/wait.h>
#include <unistd.h>

#include "fake-rnic.h"

#define ADDR 0x7fff00001234
#define RKEY 0xabcdef01

static char data[64] =
	"the quick brown fox jumps over the lazy dog, twice over";

static struct ibv_sge sges[4] = {
	{ 0x1000, 100, 11 },
	{ 0x2000, 200, 22 },
	{ 0x3000, 300, 33 },
	{ 0x4000, 400, 44 },
};

static const struct {
	uint64_t send_op;
	enum ibv_wr_opcode opcode;
} ops[] = {
	{ IBV_QP_EX_WITH_SEND, IBV_WR_SEND },
	{ IBV_QP_EX_WITH_SEND_WITH_IMM, IBV_WR_SEND_WITH_IMM },
	{ IBV_QP_EX_WITH_SEND_WITH_INV, IBV_WR_SEND_WITH_INV },
	{ IBV_QP_EX_WITH_RDMA_WRITE, IBV_WR_RDMA_WRITE },
	{ IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM },
	{ IBV_QP_EX_WITH_RDMA_READ, IBV_WR_RDMA_READ },
	{ IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_CMP_AND_SWP },
	{ IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_FETCH_AND_ADD },
	{ IBV_QP_EX_WITH_LOCAL_INV, IBV_WR_LOCAL_INV },
	{ IBV_QP_EX_WITH_BIND_MW, IBV_WR_BIND_MW },
};

/* All fields of a window and its region that the encoder reads. */
static struct ibv_mr bind_mr = { .lkey = 0x55 };
static struct ibv_mw bind_mw = { .rkey = RKEY, .type = IBV_MW_TYPE_2 };
static const struct ibv_mw_bind_info bind_info = { &bind_mr, ADDR, 7,
						   IBV_ACCESS_REMOTE_READ };

#define OP_CNT (ARRAY_LEN(ops))

static bool is_offered(enum ibv_wr_opcode opcode)
{
	return usiw_wr_kind_find(opcode) != NULL;
}

static struct ibv_qp_init_attr_ex ex_attr(const struct fake_world *w,
					  uint64_t send_ops)
{
	struct ibv_qp_init_attr plain = fake_qp_attr(w);

	return (struct ibv_qp_init_attr_ex){
		.qp_context = plain.qp_context,
		.send_cq = w->cq,
		.recv_cq = w->cq,
		.cap = plain.cap,
		.qp_type = IBV_QPT_RC,
		.pd = w->pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = send_ops,
	};
}

static struct ibv_qp_ex *qpx_new(const struct fake_world *w, uint64_t send_ops)
{
	struct ibv_qp_init_attr_ex attr = ex_attr(w, send_ops);
	struct ibv_qp *qp = ibv_create_qp_ex(w->context, &attr);

	assert_non_null(qp);
	assert_ptr_equal(ibv_qp_to_qp_ex(qp), qp);
	return ibv_qp_to_qp_ex(qp);
}

static uint64_t all_offered(void)
{
	uint64_t send_ops = 0;
	size_t i;

	for (i = 0; i < OP_CNT; i++)
		if (is_offered(ops[i].opcode))
			send_ops |= ops[i].send_op;
	return send_ops;
}

static void qpx_free(struct ibv_qp_ex *qpx)
{
	assert_int_equal(ibv_destroy_qp(&qpx->qp_base), 0);
}

static const struct usiw_ring *sq_of(struct ibv_qp_ex *qpx)
{
	return usiw_qp(&qpx->qp_base)->sq;
}

static void build(struct ibv_qp_ex *qpx, enum ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_SEND:
		return ibv_wr_send(qpx);
	case IBV_WR_SEND_WITH_IMM:
		return ibv_wr_send_imm(qpx, 0x01020304);
	case IBV_WR_SEND_WITH_INV:
		return ibv_wr_send_inv(qpx, RKEY);
	case IBV_WR_RDMA_WRITE:
		return ibv_wr_rdma_write(qpx, RKEY, ADDR);
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return ibv_wr_rdma_write_imm(qpx, RKEY, ADDR, 0x01020304);
	case IBV_WR_RDMA_READ:
		return ibv_wr_rdma_read(qpx, RKEY, ADDR);
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return ibv_wr_atomic_cmp_swp(qpx, RKEY, ADDR, 5, 6);
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return ibv_wr_atomic_fetch_add(qpx, RKEY, ADDR, 5);
	case IBV_WR_LOCAL_INV:
		return ibv_wr_local_inv(qpx, RKEY);
	case IBV_WR_BIND_MW:
		return ibv_wr_bind_mw(qpx, &bind_mw, RKEY, &bind_info);
	default:
		fail();
	}
}

/* The same request for ibv_post_send(). */
static struct ibv_send_wr plain_wr(enum ibv_wr_opcode opcode)
{
	struct ibv_send_wr wr = { .wr_id = 0x99, .opcode = opcode };

	switch (opcode) {
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		wr.wr.atomic.remote_addr = ADDR;
		wr.wr.atomic.rkey = RKEY;
		wr.wr.atomic.compare_add = 5;
		if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP)
			wr.wr.atomic.swap = 6;
		break;
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_LOCAL_INV:
		wr.invalidate_rkey = RKEY;
		break;
	case IBV_WR_SEND_WITH_IMM:
		wr.imm_data = 0x01020304;
		break;
	case IBV_WR_BIND_MW:
		wr.bind_mw.mw = &bind_mw;
		wr.bind_mw.rkey = RKEY;
		wr.bind_mw.bind_info = bind_info;
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		wr.imm_data = 0x01020304;
		/* fall through */
	default:
		wr.wr.rdma.remote_addr = ADDR;
		wr.wr.rdma.rkey = RKEY;
	}
	return wr;
}

static struct usiw_sqe *take_one(struct ibv_qp_ex *qpx)
{
	struct usiw_sqe *sqe;

	assert_int_equal(usiw_ring_used(sq_of(qpx)), 1);
	sqe = usiw_ring_peek(sq_of(qpx), 0);
	usiw_ring_consume(sq_of(qpx), 1);
	return sqe;
}

enum payload { NONE, ONE_SGE, SGE_LIST, INLINE, INLINE_LIST, PAYLOAD_CNT };

static void set_payload(struct ibv_qp_ex *qpx, enum payload payload, int cnt)
{
	const struct ibv_data_buf bufs[3] = { { data, 7 },
					      { NULL, 0 },
					      { data + 9, 11 } };

	switch (payload) {
	case ONE_SGE:
		return ibv_wr_set_sge(qpx, 11, 0x1000, 100);
	case SGE_LIST:
		return ibv_wr_set_sge_list(qpx, (size_t)cnt, sges);
	case INLINE:
		return ibv_wr_set_inline_data(qpx, data, 30);
	case INLINE_LIST:
		return ibv_wr_set_inline_data_list(qpx, 3, bufs);
	case NONE:
	case PAYLOAD_CNT:
		break;
	}
}

static void plain_payload(struct ibv_send_wr *wr, enum payload payload, int cnt)
{
	static struct ibv_sge one, list[3];

	one = (struct ibv_sge){ (uintptr_t)data, 30, 0 };
	list[0] = (struct ibv_sge){ (uintptr_t)data, 7, 0 };
	list[1] = (struct ibv_sge){ 0, 0, 0 };
	list[2] = (struct ibv_sge){ (uintptr_t)data + 9, 11, 0 };
	wr->sg_list = sges;
	wr->num_sge = payload == NONE ? 0 : payload == ONE_SGE ? 1 : cnt;
	if (payload != INLINE && payload != INLINE_LIST)
		return;
	wr->send_flags |= IBV_SEND_INLINE;
	wr->sg_list = payload == INLINE ? &one : list;
	wr->num_sge = payload == INLINE ? 1 : 3;
}

/* Compares with the encoder of ibv_post_send(). */
static void like_post_send(struct ibv_qp_ex *qpx, enum ibv_wr_opcode opcode,
			   enum payload payload, unsigned int flags)
{
	int cnt = usiw_wr_kinds[opcode].traits & USIW_WR_SINK ? 1 : 3;
	uint32_t stride = sq_of(qpx)->stride, rung = fake.ring_sq_cnt;
	struct ibv_send_wr wr = plain_wr(opcode), *bad;
	uint8_t *plain = calloc(1, stride);
	const struct usiw_sqe *sqe;
	size_t len;
	int err;

	assert_non_null(plain);
	bind_mr.context = qpx->qp_base.context;
	bind_mw.context = qpx->qp_base.context;
	wr.send_flags = flags;
	plain_payload(&wr, payload, cnt);
	err = ibv_post_send(&qpx->qp_base, &wr, &bad);
	if (!err)
		memcpy(plain, take_one(qpx), stride);
	rung = fake.ring_sq_cnt;
	ibv_wr_start(qpx);
	qpx->wr_id = 0x99;
	qpx->wr_flags = flags;
	build(qpx, opcode);
	set_payload(qpx, payload, cnt);
	assert_int_equal(usiw_ring_used(sq_of(qpx)), 0);
	assert_int_equal(ibv_wr_complete(qpx), err);
	assert_int_equal(fake.ring_sq_cnt, rung + !err);
	if (err) {
		assert_int_equal(usiw_ring_used(sq_of(qpx)), 0);
	} else {
		sqe = take_one(qpx);
		len = sizeof(*sqe) + sqe->inline_len +
		      sqe->sge_cnt * sizeof(struct usiw_sge);
		assert_memory_equal(sqe, plain, len);
	}
	free(plain);
}

FAKE_CASE(each_operation_equals_post_send)
{
	static const unsigned int flags[] = { 0, IBV_SEND_SIGNALED,
					      IBV_SEND_SOLICITED |
						      IBV_SEND_FENCE,
					      IBV_SEND_IP_CSUM, 1u << 31 };
	struct fake_world *w = *state;
	struct ibv_qp_ex *qpx = qpx_new(w, all_offered());
	size_t i, f;
	int payload;

	for (i = 0; i < OP_CNT; i++) {
		if (!is_offered(ops[i].opcode))
			continue;
		/* An opcode without data: only the setters report an error. */
		for (payload = NONE;
		     payload <
		     (usiw_wr_kinds[ops[i].opcode].traits & USIW_WR_NO_DATA
			      ? ONE_SGE
			      : PAYLOAD_CNT);
		     payload++)
			for (f = 0; f < ARRAY_LEN(flags); f++)
				like_post_send(qpx, ops[i].opcode,
					       (enum payload)payload, flags[f]);
	}
	qpx_free(qpx);
}

FAKE_CASE(inline_flag_means_nothing)
{
	struct fake_world *w = *state;
	struct ibv_qp_ex *qpx = qpx_new(w, IBV_QP_EX_WITH_SEND);
	struct usiw_sqe *sqe;

	qpx->wr_flags = IBV_SEND_INLINE;
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	ibv_wr_set_sge(qpx, 1, 2, 3);
	assert_int_equal(ibv_wr_complete(qpx), 0);
	sqe = take_one(qpx);
	assert_int_equal(sqe->flags, 0);
	assert_int_equal(sqe->sge_cnt, 1);
	qpx_free(qpx);
}

FAKE_CASE(sq_sig_all_signals_all)
{
	struct fake_world *w = *state;
	struct ibv_qp_init_attr_ex attr = ex_attr(w, IBV_QP_EX_WITH_SEND);
	struct ibv_qp_ex *qpx;

	attr.sq_sig_all = 1;
	qpx = ibv_qp_to_qp_ex(ibv_create_qp_ex(w->context, &attr));
	assert_non_null(qpx);
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	assert_int_equal(ibv_wr_complete(qpx), 0);
	assert_int_equal(take_one(qpx)->flags, USIW_SQE_SIGNALED);
	qpx_free(qpx);
}

FAKE_CASE(batch_is_published_at_once)
{
	struct fake_world *w = *state;
	struct ibv_qp_ex *qpx = qpx_new(w, all_offered());
	const struct usiw_sqe *sqe;
	uint32_t i;

	ibv_wr_start(qpx);
	for (i = 0; i < 4; i++) {
		qpx->wr_id = i;
		build(qpx, i & 1 ? IBV_WR_SEND : IBV_WR_RDMA_WRITE);
		if (i & 2)
			ibv_wr_set_sge(qpx, 1, 2, 3);
		assert_int_equal(usiw_ring_used(sq_of(qpx)), 0);
	}
	assert_int_equal(ibv_wr_complete(qpx), 0);
	assert_int_equal(usiw_ring_used(sq_of(qpx)), 4);
	assert_int_equal(fake.ring_sq_cnt, 1);
	for (i = 0; i < 4; i++) {
		sqe = usiw_ring_peek(sq_of(qpx), i);
		assert_int_equal(sqe->wr_id, i);
		assert_int_equal(sqe->sge_cnt, i >> 1);
	}
	usiw_ring_consume(sq_of(qpx), 4);
	/* an empty batch succeeds and rings no bell */
	ibv_wr_start(qpx);
	assert_int_equal(ibv_wr_complete(qpx), 0);
	assert_int_equal(fake.ring_sq_cnt, 1);
	qpx_free(qpx);
}

/* Each invalid request between two valid ones. */
static void no_builder(struct ibv_qp_ex *qpx)
{
	ibv_wr_abort(qpx);
	ibv_wr_start(qpx);
	ibv_wr_set_sge(qpx, 1, 2, 3);
}

static void second_setter(struct ibv_qp_ex *qpx)
{
	ibv_wr_set_sge(qpx, 1, 2, 3);
	ibv_wr_set_sge(qpx, 1, 2, 3);
}

static void many_sges(struct ibv_qp_ex *qpx)
{
	ibv_wr_set_sge_list(qpx, 4, sges);
}

static void many_sges_of_a_read(struct ibv_qp_ex *qpx)
{
	ibv_wr_rdma_read(qpx, RKEY, ADDR);
	ibv_wr_set_sge_list(qpx, 3, sges);
}

static void long_message(struct ibv_qp_ex *qpx)
{
	ibv_wr_set_sge(qpx, 1, 2, (1u << 30) + 1);
}

static void long_inline(struct ibv_qp_ex *qpx)
{
	ibv_wr_set_inline_data(qpx, data, 49);
}

static void wrapping_inline(struct ibv_qp_ex *qpx)
{
	struct ibv_data_buf bufs[] = { { data, 8 }, { data, SIZE_MAX - 4 } };

	ibv_wr_set_inline_data_list(qpx, 2, bufs);
}

static void inline_read(struct ibv_qp_ex *qpx)
{
	ibv_wr_rdma_read(qpx, RKEY, ADDR);
	ibv_wr_set_inline_data(qpx, data, 4);
}

static void not_asked_for(struct ibv_qp_ex *qpx)
{
	ibv_wr_send_inv(qpx, RKEY);
}

static void ip_checksum(struct ibv_qp_ex *qpx)
{
	qpx->wr_flags = IBV_SEND_IP_CSUM;
	ibv_wr_send(qpx);
	qpx->wr_flags = 0;
}

static void segmentation(struct ibv_qp_ex *qpx)
{
	ibv_wr_send_tso(qpx, data, 4, 4);
}

static void window(struct ibv_qp_ex *qpx)
{
	ibv_wr_bind_mw(qpx, NULL, RKEY, NULL);
}

static void datagram(struct ibv_qp_ex *qpx)
{
	ibv_wr_set_ud_addr(qpx, NULL, 1, 2);
}

static void xrc(struct ibv_qp_ex *qpx)
{
	ibv_wr_set_xrc_srqn(qpx, 1);
}

static void full_queue(struct ibv_qp_ex *qpx)
{
	int i;

	for (i = 0; i < 4; i++)
		ibv_wr_send(qpx); /* the fifth in total */
}

/* The first error is reported, whatever follows. */
static void two_errors(struct ibv_qp_ex *qpx)
{
	ibv_wr_set_ud_addr(qpx, NULL, 1, 2);
	ibv_wr_set_sge(qpx, 1, 2, 3);
	not_asked_for(qpx);
}

FAKE_CASE(error_drops_the_batch)
{
	static const struct {
		void (*wrong)(struct ibv_qp_ex *qpx);
		int err;
	} rows[] = {
		{ no_builder, EINVAL },	      { second_setter, EINVAL },
		{ many_sges, EINVAL },	      { many_sges_of_a_read, EINVAL },
		{ long_message, EINVAL },     { long_inline, EINVAL },
		{ wrapping_inline, EINVAL },  { inline_read, EINVAL },
		{ not_asked_for, EINVAL },    { ip_checksum, EINVAL },
		{ segmentation, EOPNOTSUPP }, { window, EINVAL },
		{ datagram, EOPNOTSUPP },     { xrc, EOPNOTSUPP },
		{ full_queue, ENOMEM },	      { two_errors, EOPNOTSUPP },
	};
	struct fake_world *w = *state;
	struct ibv_qp_ex *qpx =
		qpx_new(w, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_READ);
	size_t i;

	for (i = 0; i < ARRAY_LEN(rows); i++) {
		ibv_wr_start(qpx);
		ibv_wr_send(qpx);
		rows[i].wrong(qpx);
		ibv_wr_send(qpx); /* valid, but too late */
		ibv_wr_set_sge(qpx, 1, 2, 3);
		errno = 0;
		assert_int_equal(ibv_wr_complete(qpx), rows[i].err);
		assert_int_equal(errno, rows[i].err);
		assert_int_equal(usiw_ring_used(sq_of(qpx)), 0);
		assert_int_equal(fake.ring_sq_cnt, i);
		/* and does not affect later calls */
		qpx->wr_id = i;
		ibv_wr_start(qpx);
		ibv_wr_send(qpx);
		assert_int_equal(ibv_wr_complete(qpx), 0);
		assert_int_equal(take_one(qpx)->wr_id, i);
	}
	qpx_free(qpx);
}

FAKE_CASE(abort_drops_all)
{
	struct fake_world *w = *state;
	struct ibv_qp_ex *qpx = qpx_new(w, IBV_QP_EX_WITH_SEND);
	int i;

	for (i = 0; i < 20; i++) {
		ibv_wr_start(qpx);
		ibv_wr_send(qpx);
		ibv_wr_set_sge(qpx, 1, 2, 3);
		ibv_wr_send(qpx);
		ibv_wr_abort(qpx);
	}
	assert_int_equal(usiw_ring_used(sq_of(qpx)), 0);
	assert_int_equal(fake.ring_sq_cnt, 0);
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	assert_int_equal(ibv_wr_complete(qpx), 0);
	assert_int_equal(take_one(qpx)->sge_cnt, 0);
	qpx_free(qpx);
}

FAKE_CASE(state_decides)
{
	static const struct {
		enum rnic_qp_state state;
		int err;
	} rows[] = {
		{ RNIC_QPS_IDLE, EINVAL }, { RNIC_QPS_RTS, 0 },
		{ RNIC_QPS_CLOSING, 0 },   { RNIC_QPS_TERMINATE, 0 },
		{ RNIC_QPS_ERROR, 0 },
	};
	struct fake_world *w = *state;
	struct ibv_qp_ex *qpx = qpx_new(w, IBV_QP_EX_WITH_SEND);
	size_t i;

	for (i = 0; i < ARRAY_LEN(rows); i++) {
		fake.qp_state = rows[i].state;
		ibv_wr_start(qpx);
		ibv_wr_send(qpx);
		assert_int_equal(ibv_wr_complete(qpx), rows[i].err);
		if (!rows[i].err)
			(void)take_one(qpx);
	}
	qpx_free(qpx);
}

static bool lock_is_free(struct ibv_qp_ex *qpx)
{
	struct util_lock *lock = &usiw_qp(&qpx->qp_base)->sq_lock;

	if (!util_trylock(lock))
		return false;
	util_unlock(lock);
	return true;
}

FAKE_CASE(region_holds_the_lock)
{
	struct fake_world *w = *state;
	struct ibv_qp_ex *qpx = qpx_new(w, IBV_QP_EX_WITH_SEND);
	struct ibv_qp_ex *other = qpx_new(w, IBV_QP_EX_WITH_SEND);

	ibv_wr_start(qpx);
	assert_false(lock_is_free(qpx));
	/* regions of several queue pairs may overlap */
	ibv_wr_start(other);
	ibv_wr_send(qpx);
	assert_int_equal(ibv_wr_complete(qpx), 0);
	(void)take_one(qpx);
	assert_true(lock_is_free(qpx));
	assert_false(lock_is_free(other));
	ibv_wr_set_sge(other, 1, 2, 3);
	assert_int_equal(ibv_wr_complete(other), EINVAL);
	assert_true(lock_is_free(other));
	ibv_wr_start(qpx);
	ibv_wr_abort(qpx);
	assert_true(lock_is_free(qpx));
	qpx_free(other);
	qpx_free(qpx);
}

/* In a forked child: no ring is accessed, and no lock is waited for. */
FAKE_CASE(inherited_queue_pair_is_enodev)
{
	struct fake_world *w = *state;
	struct ibv_qp_ex *qpx = qpx_new(w, IBV_QP_EX_WITH_SEND);
	struct usiw_qp *qp = usiw_qp(&qpx->qp_base);

	assert_true(util_trylock(&qp->sq_lock)); /* held by a thread that does
						    not exist in the child */
	fake.fork_gen++;
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	ibv_wr_set_sge(qpx, 1, 2, 3);
	assert_int_equal(ibv_wr_complete(qpx), ENODEV);
	ibv_wr_start(qpx);
	ibv_wr_abort(qpx);
	assert_false(lock_is_free(qpx));
	fake.fork_gen--;
	assert_int_equal(usiw_ring_used(qp->sq), 0);
	util_unlock(&qp->sq_lock);
	qpx_free(qpx);
}

static int child_of(void (*work)(struct ibv_qp_ex *), struct ibv_qp_ex *qpx)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		fake.fork_gen++;
		work(qpx);
		ibv_wr_start(qpx);
		ibv_wr_send(qpx);
		if (ibv_wr_complete(qpx) != ENODEV)
			_exit(2);
		/* a list of the child itself */
		_exit(ibv_destroy_qp(&qpx->qp_base) ? 3 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* No slot may be written. The test can see it here; with a real RNIC the memory
 * is not mapped. */
static void build_on(struct ibv_qp_ex *qpx)
{
	struct usiw_qp *qp = usiw_qp(&qpx->qp_base);
	struct usiw_sqe was[2], *slot = usiw_ring_slot(qp->sq, 0);

	memcpy(&was[0], slot, sizeof(was[0]));
	memcpy(&was[1], usiw_ring_slot(qp->sq, 1), sizeof(was[1]));
	ibv_wr_set_sge(qpx, 1, 2, 3);
	ibv_wr_send(qpx);
	ibv_wr_set_sge(qpx, 4, 5, 6);
	if (memcmp(&was[0], slot, sizeof(was[0])) ||
	    memcmp(&was[1], usiw_ring_slot(qp->sq, 1), sizeof(was[1])))
		_exit(4);
	if (ibv_wr_complete(qpx) != ENODEV)
		_exit(5);
}

/* During a batch, and without one. Others were added and removed in between. */
FAKE_CASE(a_child_builds_nothing)
{
	struct fake_world *w = *state;
	struct ibv_qp_ex *qpx[3];
	int i;

	for (i = 0; i < 3; i++)
		qpx[i] = qpx_new(w, IBV_QP_EX_WITH_SEND);
	for (i = 0; i < 3; i++) {
		assert_int_equal(child_of(build_on, qpx[i]), 0);
		ibv_wr_start(qpx[i]);
		ibv_wr_send(qpx[i]);
		qpx[i]->wr_id = 5;
		assert_int_equal(child_of(build_on, qpx[i]), 0);
		ibv_wr_set_sge(qpx[i], 7, 8, 9);
		assert_int_equal(ibv_wr_complete(qpx[i]), 0);
		(void)take_one(qpx[i]);
	}
	/* from the middle, the end, the beginning */
	qpx_free(qpx[1]);
	assert_int_equal(child_of(build_on, qpx[0]), 0);
	assert_int_equal(child_of(build_on, qpx[2]), 0);
	qpx_free(qpx[0]);
	assert_int_equal(child_of(build_on, qpx[2]), 0);
	qpx_free(qpx[2]);
}

FAKE_CASE(operations_not_offered_are_refused)
{
	struct fake_world *w = *state;
	struct ibv_qp_init_attr_ex attr;
	bool may;
	int bit;

	for (bit = 0; bit < 64; bit++) {
		struct ibv_qp *qp;
		size_t i;

		may = false;
		for (i = 0; i < OP_CNT; i++)
			if (ops[i].send_op == 1ull << bit)
				may = is_offered(ops[i].opcode);
		attr = ex_attr(w, 1ull << bit);
		errno = 0;
		qp = ibv_create_qp_ex(w->context, &attr);
		assert_int_equal(qp != NULL, may);
		if (qp)
			assert_int_equal(ibv_destroy_qp(qp), 0);
		else
			assert_int_equal(errno, EOPNOTSUPP);
	}
	attr = ex_attr(w, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_TSO);
	assert_null(ibv_create_qp_ex(w->context, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	/* no flags: nothing can be built, but ibv_wr_* accepts the QP */
	qpx_free(qpx_new(w, 0));
}
