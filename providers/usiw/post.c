/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * ibv_post_send(), ibv_post_recv() and similar verbs.  They never wait for the
 * engine and never allocate.
 *
 * A list is encoded under the lock of its queue, and published by one commit.
 * The doorbell is rung once, outside the lock, because this thread may become
 * the leader while others continue to post.
 */
#include <string.h>

#include "reason.h"
#include "result.h"
#include "sqe.h"

_Static_assert(sizeof(struct usiw_sge) == sizeof(struct ibv_sge), "sge");
_Static_assert(offsetof(struct usiw_sge, addr) ==
		       offsetof(struct ibv_sge, addr),
	       "sge");
_Static_assert(offsetof(struct usiw_sge, len) ==
		       offsetof(struct ibv_sge, length),
	       "sge");
_Static_assert(offsetof(struct usiw_sge, lkey) ==
		       offsetof(struct ibv_sge, lkey),
	       "sge");

static int qp_refuse(const struct usiw_qp *qp)
{
	return usiw_refuse(EINVAL, "ibv_post_send",
			   "QP 0x%06x was not moved to RTS", qp->vqp.qp.qp_num);
}

int usiw_sq_refuse_full(const struct usiw_qp *qp)
{
	return usiw_refuse(ENOMEM, "ibv_post_send",
			   "QP 0x%06x has %u sends that are not polled",
			   qp->vqp.qp.qp_num, qp->cap.max_send_wr);
}

static int sq_post_locked(const struct usiw_qp *qp, uint32_t ahead,
			  const struct ibv_send_wr *wr)
{
	const struct usiw_wr_kind *kind;
	void *slot;
	int err;

	err = usiw_wr_kind_find(wr->opcode, &kind);
	if (err)
		return err;
	slot = usiw_ring_reserve(qp->sq, ahead);
	if (!slot)
		return usiw_sq_refuse_full(qp);
	err = usiw_sqe_encode(&qp->sq_limits, kind, wr, slot);
	if (!err && qp->is_ud)
		return usiw_sqe_set_ud(&qp->vqp.qp, wr->wr.ud.ah,
				       wr->wr.ud.remote_qpn,
				       wr->wr.ud.remote_qkey, slot);
	if (err || !(kind->traits & USIW_WR_BIND))
		return err;
	if (!wr->bind_mw.mw || wr->bind_mw.mw->type != IBV_MW_TYPE_2)
		return usiw_refuse(EINVAL, "ibv_post_send",
				   "IBV_WR_BIND_MW needs a window of type 2");
	return usiw_sqe_set_bind(&qp->vqp.qp, wr->bind_mw.mw, wr->bind_mw.rkey,
				 &wr->bind_mw.bind_info, slot);
}

int usiw_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		   struct ibv_send_wr **bad_wr)
{
	struct usiw_qp *qp = usiw_qp(ibqp);
	uint32_t cnt = 0;
	int err = 0;

	if (usiw_is_forked(qp->fork_gen)) {
		*bad_wr = wr;
		return usiw_result_int(-ENODEV);
	}
	/* After the stream has ended WRs are accepted and flushed. */
	if (usiw_qp_is_unsendable(qp)) {
		*bad_wr = wr;
		return usiw_result_int(qp_refuse(qp));
	}
	usiw_sq_lock(qp);
	for (; wr; wr = wr->next, cnt++) {
		err = sq_post_locked(qp, cnt, wr);
		if (err)
			break;
	}
	if (cnt)
		usiw_ring_commit(qp->sq, cnt);
	usiw_sq_unlock(qp);
	if (cnt)
		rnic_qp_ring_sq(qp->rnic);
	if (err)
		*bad_wr = wr;
	return usiw_result_int(err);
}

/* Posts a binding of type 1, for which the application has no work request. */
static int sq_post_bind_locked(struct usiw_qp *qp, const struct ibv_mw *mw,
			       uint32_t rkey, const struct ibv_mw_bind *bind)
{
	const struct ibv_send_wr wr = {
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind->send_flags,
	};
	struct usiw_sqe *slot = usiw_ring_reserve(qp->sq, 0);
	int err;

	if (!slot)
		return usiw_sq_refuse_full(qp);
	err = usiw_sqe_encode(&qp->sq_limits, &usiw_wr_kinds[IBV_WR_BIND_MW],
			      &wr, slot);
	if (!err)
		err = usiw_sqe_set_bind(&qp->vqp.qp, mw, rkey, &bind->bind_info,
					slot);
	if (!err)
		usiw_ring_commit(qp->sq, 1);
	return err;
}

int usiw_post_bind(struct usiw_qp *qp, struct ibv_mw *mw, uint32_t rkey,
		   const struct ibv_mw_bind *bind)
{
	int err;

	if (usiw_qp_is_unsendable(qp))
		return qp_refuse(qp);
	usiw_sq_lock(qp);
	err = sq_post_bind_locked(qp, mw, rkey, bind);
	usiw_sq_unlock(qp);
	if (!err)
		rnic_qp_ring_sq(qp->rnic);
	return err;
}

int usiw_rqe_encode(uint32_t max_sge, const struct ibv_recv_wr *wr,
		    struct usiw_rqe *slot)
{
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > max_sge)
		return usiw_refuse(EINVAL, "ibv_post_recv",
				   "num_sge is %d, not 0 to %u", wr->num_sge,
				   max_sge);
	*slot = (struct usiw_rqe){
		.wr_id = wr->wr_id,
		.sge_cnt = (uint32_t)wr->num_sge,
	};
	if (wr->num_sge)
		memcpy(slot + 1, wr->sg_list,
		       (size_t)wr->num_sge * sizeof(struct usiw_sge));
	return 0;
}

/* Encodes and publishes the list; *ret_wr: the first that was not accepted. */
static int rq_post_locked(const struct usiw_ring *ring, uint32_t max_sge,
			  struct ibv_recv_wr *wr, struct ibv_recv_wr **ret_wr,
			  uint32_t *ret_cnt)
{
	uint32_t cnt = 0;
	void *slot;
	int err = 0;

	for (; wr; wr = wr->next, cnt++) {
		slot = usiw_ring_reserve(ring, cnt);
		err = slot ? usiw_rqe_encode(max_sge, wr, slot)
			   : usiw_refuse(ENOMEM, "ibv_post_recv",
					 "as many receives as the queue has "
					 "room for are not complete");
		if (err)
			break;
	}
	if (cnt)
		usiw_ring_commit(ring, cnt);
	*ret_wr = wr;
	*ret_cnt = cnt;
	return err;
}

int usiw_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		   struct ibv_recv_wr **bad_wr)
{
	struct usiw_qp *qp = usiw_qp(ibqp);
	uint32_t cnt;
	int err;

	if (usiw_is_forked(qp->fork_gen)) {
		*bad_wr = wr;
		return usiw_result_int(-ENODEV);
	}
	if (usiw_qp_is_unreceivable(qp)) {
		*bad_wr = wr;
		return usiw_result_int(-EINVAL);
	}
	usiw_rq_lock(qp);
	err = rq_post_locked(qp->rq, qp->cap.max_recv_sge, wr, &wr, &cnt);
	usiw_rq_unlock(qp);
	if (cnt)
		rnic_qp_ring_rq(qp->rnic);
	if (err)
		*bad_wr = wr;
	return usiw_result_int(err);
}

int usiw_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
		       struct ibv_recv_wr **bad_wr)
{
	struct usiw_srq *srq = usiw_srq(ibsrq);
	uint32_t cnt;
	int err;

	if (usiw_is_forked(srq->fork_gen)) {
		*bad_wr = wr;
		return usiw_result_int(-ENODEV);
	}
	usiw_srq_lock(srq);
	err = rq_post_locked(srq->ring, srq->max_sge, wr, &wr, &cnt);
	usiw_srq_unlock(srq);
	if (cnt)
		rnic_srq_ring_rq(srq->rnic);
	if (err)
		*bad_wr = wr;
	return usiw_result_int(err);
}

/* Tag matching is not supported; no entry of the list is accepted. */
int usiw_post_srq_ops(struct ibv_srq *ibsrq, struct ibv_ops_wr *wr,
		      struct ibv_ops_wr **bad_wr)
{
	(void)ibsrq;
	*bad_wr = wr;
	return usiw_result_int(-EOPNOTSUPP);
}
