/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * ibv_wr_*: work requests that are built by several calls.
 *
 * A builder writes to the next free slot of the send queue, a setter adds to
 * the entry of the last builder, and ibv_wr_complete() publishes all entries by
 * one commit.  Builders and setters return nothing, so the first error is
 * stored. After it nothing more is written, and nothing is published.  The
 * application holds the lock of the queue from ibv_wr_start() to the end.
 */
#include <string.h>

#include "call.h"
#include "posted.h"
#include "print.h"
#include "reason.h"
#include "result.h"
#include "sqe.h"

/* IBV_SEND_INLINE has no effect here, because a setter is used for inline data.
 * Programs with flags from a struct ibv_send_wr still pass it. */
#define WR_FLAGS_KNOWN                                                         \
	(IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED |             \
	 IBV_SEND_INLINE)

/* The call that returns the error of those before it. */
#define COMPLETE "ibv_wr_complete"

static struct usiw_qp *qp_of(struct ibv_qp_ex *qpx)
{
	return usiw_qp(&qpx->qp_base);
}

static void wr_fail(struct usiw_qp *qp, int err)
{
	if (!qp->wr.err)
		qp->wr.err = err;
	qp->wr.sqe = NULL;
}

/* ---- fork --------------------------------------------------------------- */

/*
 * A child of a fork between ibv_wr_start() and ibv_wr_complete(), or a child
 * that builds without a start, must not access the ring, which is not mapped
 * there. Builders and setters check for a stored error anyway, so the fork
 * handler stores one in the child.
 */
static struct util_lock list_lock = UTIL_LOCK_INIT(UTIL_RANK_LEAF);
static _Atomic(struct usiw_qp *) list; /* written under list_lock */

/* The list is consistent after each step that a thread may have made. */
static void fork_child(void)
{
	/* relaxed: the child has one thread */
	struct usiw_qp *qp = atomic_load_explicit(&list, memory_order_relaxed);

	for (; qp;
	     qp = atomic_load_explicit(&qp->wr_next, memory_order_relaxed)) {
		qp->wr.err = -ENODEV;
		qp->wr.sqe = NULL;
	}
	/* They keep the error, and end without usiw_wr_fini(). */
	atomic_store_explicit(&list, NULL, memory_order_relaxed);
	util_lock_init(&list_lock, UTIL_RANK_LEAF);
}

static int fork_watch_err;

static void fork_watch(void)
{
	fork_watch_err = -pthread_atfork(NULL, NULL, fork_child);
}

static int list_add(struct usiw_qp *qp)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct usiw_qp *first;

	pthread_once(&once, fork_watch);
	if (fork_watch_err)
		return fork_watch_err;
	util_lock(&list_lock);
	first = atomic_load_explicit(&list, memory_order_relaxed);
	atomic_store_explicit(&qp->wr_next, first, memory_order_relaxed);
	if (first)
		first->wr_prev = qp;
	/* release: the QP is complete before it is in the list */
	atomic_store_explicit(&list, qp, memory_order_release);
	util_unlock(&list_lock);
	return 0;
}

void usiw_wr_fini(struct usiw_qp *qp)
{
	struct usiw_qp *next;

	if (!usiw_library_is_qp_ex(&qp->vqp))
		return;
	util_lock(&list_lock);
	next = atomic_load_explicit(&qp->wr_next, memory_order_relaxed);
	atomic_store_explicit(qp->wr_prev ? &qp->wr_prev->wr_next : &list, next,
			      memory_order_release);
	if (next)
		next->wr_prev = qp->wr_prev;
	util_unlock(&list_lock);
}

/* ---- builders ----------------------------------------------------------- */

/* Gets the entry for a builder; NULL: there is an error, now or before. */
static struct usiw_sqe *wr_begin(struct ibv_qp_ex *qpx,
				 enum ibv_wr_opcode opcode)
{
	const struct usiw_wr_kind *kind = &usiw_wr_kinds[opcode];
	struct usiw_qp *qp = qp_of(qpx);
	struct usiw_sqe *slot;

	qp->wr.sqe = NULL;
	if (qp->wr.err)
		return NULL;
	if (!(qp->wr.opcodes & 1u << opcode) ||
	    (qpx->wr_flags & ~(unsigned int)WR_FLAGS_KNOWN)) {
		wr_fail(qp, usiw_refuse(EINVAL, COMPLETE,
					"send_ops_flags of the QP did not ask "
					"for opcode %d, or wr_flags is 0x%x",
					(int)opcode, qpx->wr_flags));
		return NULL;
	}
	slot = usiw_ring_reserve(qp->sq, qp->wr.cnt);
	if (!slot) {
		wr_fail(qp, usiw_sq_refuse_full(qp, COMPLETE));
		return NULL;
	}
	*slot = (struct usiw_sqe){
		.wr_id = qpx->wr_id,
		.opcode = kind->opcode,
		.flags = usiw_sqe_flags(&qp->sq_limits,
					qpx->wr_flags &
						~(unsigned int)IBV_SEND_INLINE),
	};
	qp->wr.cnt++;
	qp->wr.sqe = slot;
	qp->wr.traits = kind->traits;
	return slot;
}

static void wr_send(struct ibv_qp_ex *qpx)
{
	(void)wr_begin(qpx, IBV_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *qpx, __be32 imm_data)
{
	struct usiw_sqe *sqe = wr_begin(qpx, IBV_WR_SEND_WITH_IMM);

	if (sqe)
		sqe->imm_be = imm_data;
}

static void wr_send_inv(struct ibv_qp_ex *qpx, uint32_t invalidate_rkey)
{
	struct usiw_sqe *sqe = wr_begin(qpx, IBV_WR_SEND_WITH_INV);

	if (sqe)
		sqe->rkey = invalidate_rkey;
}

static struct usiw_sqe *wr_begin_remote(struct ibv_qp_ex *qpx,
					enum ibv_wr_opcode opcode,
					uint32_t rkey, uint64_t remote_addr)
{
	struct usiw_sqe *sqe = wr_begin(qpx, opcode);

	if (sqe) {
		sqe->rkey = rkey;
		sqe->remote_addr = remote_addr;
	}
	return sqe;
}

static void wr_rdma_write(struct ibv_qp_ex *qpx, uint32_t rkey,
			  uint64_t remote_addr)
{
	(void)wr_begin_remote(qpx, IBV_WR_RDMA_WRITE, rkey, remote_addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qpx, uint32_t rkey,
			      uint64_t remote_addr, __be32 imm_data)
{
	struct usiw_sqe *sqe = wr_begin_remote(qpx, IBV_WR_RDMA_WRITE_WITH_IMM,
					       rkey, remote_addr);

	if (sqe)
		sqe->imm_be = imm_data;
}

static void wr_rdma_read(struct ibv_qp_ex *qpx, uint32_t rkey,
			 uint64_t remote_addr)
{
	(void)wr_begin_remote(qpx, IBV_WR_RDMA_READ, rkey, remote_addr);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *qpx, uint32_t rkey,
			      uint64_t remote_addr, uint64_t compare,
			      uint64_t swap)
{
	struct usiw_sqe *sqe = wr_begin_remote(qpx, IBV_WR_ATOMIC_CMP_AND_SWP,
					       rkey, remote_addr);

	if (sqe) {
		sqe->compare_add = compare;
		sqe->swap = swap;
	}
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *qpx, uint32_t rkey,
				uint64_t remote_addr, uint64_t add)
{
	struct usiw_sqe *sqe = wr_begin_remote(qpx, IBV_WR_ATOMIC_FETCH_AND_ADD,
					       rkey, remote_addr);

	if (sqe)
		sqe->compare_add = add;
}

static void wr_local_inv(struct ibv_qp_ex *qpx, uint32_t invalidate_rkey)
{
	struct usiw_sqe *sqe = wr_begin(qpx, IBV_WR_LOCAL_INV);

	if (sqe)
		sqe->rkey = invalidate_rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *qpx, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *bind_info)
{
	struct usiw_sqe *sqe = wr_begin(qpx, IBV_WR_BIND_MW);
	int err;

	if (!sqe)
		return;
	err = mw && mw->type != IBV_MW_TYPE_2
		      ? usiw_refuse(EINVAL, COMPLETE,
				    "ibv_wr_bind_mw: mw is not of type 2")
		      : usiw_sqe_set_bind(&qpx->qp_base, mw, rkey, bind_info,
					  sqe);
	if (err)
		wr_fail(qp_of(qpx), err);
}

/* No queue pair can be made with these.  A program that calls them gets an
 * error, instead of a jump to NULL. */

static void wr_fail_opnotsupp(struct ibv_qp_ex *qpx, const char *call)
{
	struct usiw_qp *qp = qp_of(qpx);

	if (!qp->wr.err)
		wr_fail(qp, usiw_refuse(EOPNOTSUPP, COMPLETE,
					"%s: usiw does not have it", call));
}

static void wr_send_tso(struct ibv_qp_ex *qpx, void *hdr, uint16_t hdr_sz,
			uint16_t mss)
{
	(void)hdr;
	(void)hdr_sz;
	(void)mss;
	wr_fail_opnotsupp(qpx, "ibv_wr_send_tso");
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *qpx, uint32_t remote_srqn)
{
	(void)remote_srqn;
	wr_fail_opnotsupp(qpx, "ibv_wr_set_xrc_srqn");
}

/* ---- setters ------------------------------------------------------------ */

/*
 * Takes the entry that expects data out of the QP, so that it gets data only
 * once.  NULL: there is none.
 */
static struct usiw_sqe *wr_take(struct usiw_qp *qp, unsigned int forbidden)
{
	struct usiw_sqe *sqe = qp->wr.sqe;

	if (sqe && !(qp->wr.traits & forbidden)) {
		qp->wr.sqe = NULL;
		return sqe;
	}
	if (!qp->wr.err)
		wr_fail(qp, usiw_refuse(EINVAL, COMPLETE,
					"data was set where there is no work "
					"request, twice, or for one that "
					"takes none of that kind"));
	return NULL;
}

static void wr_set_sge_list(struct ibv_qp_ex *qpx, size_t num_sge,
			    const struct ibv_sge *sg_list)
{
	struct usiw_qp *qp = qp_of(qpx);
	struct usiw_sqe *sqe = wr_take(qp, USIW_WR_NO_DATA);
	int err;

	if (!sqe)
		return;
	err = usiw_sqe_set_sges(&qp->sq_limits, qp->wr.traits, sg_list, num_sge,
				sqe);
	if (err)
		wr_fail(qp, err);
}

static void wr_set_sge(struct ibv_qp_ex *qpx, uint32_t lkey, uint64_t addr,
		       uint32_t length)
{
	const struct ibv_sge sge = { addr, length, lkey };

	wr_set_sge_list(qpx, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *qpx, size_t num_buf,
				    const struct ibv_data_buf *buf_list)
{
	struct usiw_qp *qp = qp_of(qpx);
	struct usiw_sqe *sqe = wr_take(qp, USIW_WR_NO_DATA | USIW_WR_SINK);
	size_t room = qp->sq_limits.max_inline, i;
	uint8_t *to;

	if (!sqe)
		return;
	to = (uint8_t *)(sqe + 1);
	for (i = 0; i < num_buf; i++) {
		if (buf_list[i].length > room) {
			wr_fail(qp, usiw_refuse(EINVAL, COMPLETE,
						"a message of more than %u "
						"octets inline",
						qp->sq_limits.max_inline));
			return;
		}
		if (buf_list[i].length == 0)
			continue;
		memcpy(to, buf_list[i].addr, buf_list[i].length);
		to += buf_list[i].length;
		room -= buf_list[i].length;
	}
	sqe->flags |= USIW_SQE_INLINE;
	sqe->inline_len = qp->sq_limits.max_inline - (uint32_t)room;
}

static void wr_set_inline_data(struct ibv_qp_ex *qpx, void *addr, size_t length)
{
	const struct ibv_data_buf buf = { addr, length };

	wr_set_inline_data_list(qpx, 1, &buf);
}

/* It comes before or after the data. */
static void wr_set_ud_addr(struct ibv_qp_ex *qpx, struct ibv_ah *ah,
			   uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct usiw_qp *qp = qp_of(qpx);
	int err;

	if (qp->wr.err)
		return;
	if (!qp->is_ud)
		err = usiw_refuse(EOPNOTSUPP, COMPLETE,
				  "ibv_wr_set_ud_addr: QP 0x%06x is not of "
				  "type UD",
				  qpx->qp_base.qp_num);
	else if (!qp->wr.cnt)
		err = usiw_refuse(EINVAL, COMPLETE,
				  "ibv_wr_set_ud_addr: there is no work "
				  "request yet");
	else
		err = usiw_sqe_set_ud(
			&qp->vqp.qp, ah, remote_qpn, remote_qkey,
			usiw_ring_reserve(qp->sq, qp->wr.cnt - 1));
	if (err)
		wr_fail(qp, err);
}

/* ---- start, complete, abort ---------------------------------------------- */

static void wr_start(struct ibv_qp_ex *qpx)
{
	struct usiw_qp *qp = qp_of(qpx);

	/* In a forked child the holder of the lock may not exist. */
	if (usiw_is_forked(qp->fork_gen)) {
		qp->wr.err = -ENODEV; /* wr_complete() says why */
		return;
	}
	usiw_sq_lock(qp);
	qp->wr.cnt = 0;
	qp->wr.sqe = NULL;
	/* As with ibv_post_send(), WRs are accepted and flushed after the
	 * end. */
	qp->wr.err = usiw_qp_is_unsendable(qp)
			     ? usiw_sq_refuse_state(qp, COMPLETE)
			     : 0;
}

static void batch_abort(struct ibv_qp_ex *qpx)
{
	struct usiw_qp *qp = qp_of(qpx);

	if (!usiw_is_forked(qp->fork_gen))
		usiw_sq_unlock(qp);
}

static void wr_abort(struct ibv_qp_ex *qpx)
{
	struct usiw_call call;

	if (!usiw_calls_are_observed()) {
		batch_abort(qpx);
		return;
	}
	usiw_call_begin(&call, "ibv_wr_abort");
	usiw_print_name(&call, "qp");
	usiw_print_qp(&call, &qpx->qp_base);
	usiw_call_args_end(&call);
	batch_abort(qpx);
	usiw_call_return(&call);
	usiw_call_end(&call, 0);
}

static int batch_complete(struct ibv_qp_ex *qpx)
{
	struct usiw_qp *qp = qp_of(qpx);
	uint32_t cnt;
	int err;

	if (usiw_is_forked(qp->fork_gen))
		return usiw_result_int(usiw_refuse_forked(COMPLETE));
	cnt = qp->wr.cnt;
	err = qp->wr.err;
	if (!err && cnt)
		usiw_sq_commit(qp, cnt);
	usiw_sq_unlock(qp);
	if (!err && cnt)
		rnic_qp_ring_sq(qp->rnic);
	return usiw_result_int(err);
}

/* See call.h.  Not inlined, because it needs much stack. */
static __attribute__((noinline)) int complete_observed(struct ibv_qp_ex *qpx)
{
	struct usiw_qp *qp = qp_of(qpx);
	struct usiw_call call;
	int err;

	usiw_call_begin(&call, COMPLETE);
	usiw_print_name(&call, "qp");
	usiw_print_qp(&call, &qpx->qp_base);
	if (!usiw_is_forked(qp->fork_gen)) {
		usiw_print_entries(&call, qp, qp->wr.cnt);
		if (!qp->wr.err && usiw_call_fails(&call, &qpx->qp_base))
			qp->wr.err = call.err;
	}
	usiw_call_args_end(&call);
	err = batch_complete(qpx);
	usiw_call_return(&call);
	usiw_call_end(&call, -err);
	return err;
}

static int wr_complete(struct ibv_qp_ex *qpx)
{
	return usiw_calls_are_observed() ? complete_observed(qpx)
					 : batch_complete(qpx);
}

/* ---- set-up of a queue pair ---------------------------------------------- */

int usiw_wr_opcodes_find(uint64_t send_ops, uint32_t *ret_opcodes)
{
	static const struct {
		uint64_t send_op;
		enum ibv_wr_opcode opcode;
	} rows[] = {
		{ IBV_QP_EX_WITH_RDMA_WRITE, IBV_WR_RDMA_WRITE },
		{ IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
		  IBV_WR_RDMA_WRITE_WITH_IMM },
		{ IBV_QP_EX_WITH_SEND, IBV_WR_SEND },
		{ IBV_QP_EX_WITH_SEND_WITH_IMM, IBV_WR_SEND_WITH_IMM },
		{ IBV_QP_EX_WITH_RDMA_READ, IBV_WR_RDMA_READ },
		{ IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP,
		  IBV_WR_ATOMIC_CMP_AND_SWP },
		{ IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
		  IBV_WR_ATOMIC_FETCH_AND_ADD },
		{ IBV_QP_EX_WITH_LOCAL_INV, IBV_WR_LOCAL_INV },
		{ IBV_QP_EX_WITH_BIND_MW, IBV_WR_BIND_MW },
		{ IBV_QP_EX_WITH_SEND_WITH_INV, IBV_WR_SEND_WITH_INV },
	};
	uint32_t opcodes = 0;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!(send_ops & rows[i].send_op))
			continue;
		if (!usiw_wr_kind_find(rows[i].opcode))
			return usiw_refuse(EOPNOTSUPP, "ibv_create_qp_ex",
					   "send_ops_flags has 0x%llx, which "
					   "usiw does not have",
					   (unsigned long long)rows[i].send_op);
		opcodes |= 1u << rows[i].opcode;
		send_ops &= ~rows[i].send_op;
	}
	if (send_ops)
		return usiw_refuse(EOPNOTSUPP, "ibv_create_qp_ex",
				   "send_ops_flags has 0x%llx, which usiw does "
				   "not have",
				   (unsigned long long)send_ops);
	*ret_opcodes = opcodes;
	return 0;
}

int usiw_wr_init(struct usiw_qp *qp, uint32_t opcodes)
{
	struct ibv_qp_ex *qpx = &qp->vqp.qp_ex;
	int err = list_add(qp);

	if (err)
		return usiw_refuse_memory("ibv_create_qp_ex");
	qp->wr.opcodes = opcodes;
	usiw_library_set_qp_ex(&qp->vqp);
	qpx->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	qpx->wr_atomic_fetch_add = wr_atomic_fetch_add;
	qpx->wr_bind_mw = wr_bind_mw;
	qpx->wr_local_inv = wr_local_inv;
	qpx->wr_rdma_read = wr_rdma_read;
	qpx->wr_rdma_write = wr_rdma_write;
	qpx->wr_rdma_write_imm = wr_rdma_write_imm;
	qpx->wr_send = wr_send;
	qpx->wr_send_imm = wr_send_imm;
	qpx->wr_send_inv = wr_send_inv;
	qpx->wr_send_tso = wr_send_tso;
	qpx->wr_set_ud_addr = wr_set_ud_addr;
	qpx->wr_set_xrc_srqn = wr_set_xrc_srqn;
	qpx->wr_set_inline_data = wr_set_inline_data;
	qpx->wr_set_inline_data_list = wr_set_inline_data_list;
	qpx->wr_set_sge = wr_set_sge;
	qpx->wr_set_sge_list = wr_set_sge_list;
	qpx->wr_start = wr_start;
	qpx->wr_complete = wr_complete;
	qpx->wr_abort = wr_abort;
	return 0;
}
