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

#include "posted.h"
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

#define SEND "ibv_post_send"
#define RECV "ibv_post_recv"
#define SRQ_RECV "ibv_post_srq_recv"
#define BIND "ibv_bind_mw"

int usiw_sq_refuse_state(const struct usiw_qp *qp, const char *call)
{
	return usiw_refuse(EINVAL, call, "QP 0x%06x was not moved to RTS",
			   qp->vqp.qp.qp_num);
}

int usiw_sq_refuse_full(const struct usiw_qp *qp, const char *call)
{
	return usiw_refuse(ENOMEM, call,
			   "QP 0x%06x has %u sends that are not polled",
			   qp->vqp.qp.qp_num, qp->cap.max_send_wr);
}

static int opcode_refuse(enum ibv_wr_opcode opcode)
{
	if ((unsigned int)opcode < USIW_WR_KIND_CNT)
		return usiw_refuse(EOPNOTSUPP, SEND,
				   "opcode is %d, which usiw does not have",
				   (int)opcode);
	return usiw_refuse(EINVAL, SEND,
			   "opcode is %d, none of enum ibv_wr_opcode",
			   (int)opcode);
}

static int sq_post_locked(const struct usiw_qp *qp, uint32_t ahead,
			  const struct ibv_send_wr *wr)
{
	const struct usiw_wr_kind *kind = usiw_wr_kind_find(wr->opcode);
	void *slot;
	int err;

	if (!kind)
		return opcode_refuse(wr->opcode);
	slot = usiw_ring_reserve(qp->sq, ahead);
	if (!slot)
		return usiw_sq_refuse_full(qp, SEND);
	err = usiw_sqe_encode(&qp->sq_limits, kind, wr, slot);
	if (!err && qp->is_ud)
		return usiw_sqe_set_ud(&qp->vqp.qp, wr->wr.ud.ah,
				       wr->wr.ud.remote_qpn,
				       wr->wr.ud.remote_qkey, slot);
	if (err || !(kind->traits & USIW_WR_BIND))
		return err;
	if (!wr->bind_mw.mw || wr->bind_mw.mw->type != IBV_MW_TYPE_2)
		return usiw_refuse(EINVAL, SEND,
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
		return usiw_result_int(usiw_refuse_forked(SEND));
	}
	/* After the stream has ended WRs are accepted and flushed. */
	if (usiw_qp_is_unsendable(qp)) {
		*bad_wr = wr;
		return usiw_result_int(usiw_sq_refuse_state(qp, SEND));
	}
	usiw_sq_lock(qp);
	for (; wr; wr = wr->next, cnt++) {
		err = sq_post_locked(qp, cnt, wr);
		if (err)
			break;
	}
	if (cnt)
		usiw_sq_commit(qp, cnt);
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
		return usiw_sq_refuse_full(qp, BIND);
	err = usiw_sqe_encode(&qp->sq_limits, &usiw_wr_kinds[IBV_WR_BIND_MW],
			      &wr, slot);
	if (!err)
		err = usiw_sqe_set_bind(&qp->vqp.qp, mw, rkey, &bind->bind_info,
					slot);
	if (!err)
		usiw_sq_commit(qp, 1);
	return err;
}

int usiw_post_bind(struct usiw_qp *qp, struct ibv_mw *mw, uint32_t rkey,
		   const struct ibv_mw_bind *bind)
{
	int err;

	if (usiw_qp_is_unsendable(qp))
		return usiw_sq_refuse_state(qp, BIND);
	usiw_sq_lock(qp);
	err = sq_post_bind_locked(qp, mw, rkey, bind);
	usiw_sq_unlock(qp);
	if (!err)
		rnic_qp_ring_sq(qp->rnic);
	return err;
}

bool usiw_rqe_encode(uint32_t max_sge, const struct ibv_recv_wr *wr,
		     struct usiw_rqe *slot)
{
	/* As unsigned, a negative count exceeds every limit. */
	if ((uint32_t)wr->num_sge > max_sge)
		return false;
	*slot = (struct usiw_rqe){
		.wr_id = wr->wr_id,
		.sge_cnt = (uint32_t)wr->num_sge,
	};
	if (wr->num_sge)
		memcpy(slot + 1, wr->sg_list,
		       (size_t)wr->num_sge * sizeof(struct usiw_sge));
	return true;
}

/* Encodes and publishes the list.  Return: the first that is not accepted;
 * NULL: all are. */
static struct ibv_recv_wr *rq_post_locked(const struct usiw_ring *ring,
					  uint32_t qp_num, uint32_t max_sge,
					  struct ibv_recv_wr *wr,
					  uint32_t *ret_cnt)
{
	uint32_t cnt = 0;
	void *slot;

	for (; wr; wr = wr->next, cnt++) {
		slot = usiw_ring_reserve(ring, cnt);
		if (!slot || !usiw_rqe_encode(max_sge, wr, slot))
			break;
	}
	if (cnt)
		usiw_rq_commit(ring, qp_num, cnt);
	*ret_cnt = cnt;
	return wr;
}

static int rq_refuse(const char *call, const struct ibv_recv_wr *wr,
		     uint32_t max_sge)
{
	if ((uint32_t)wr->num_sge > max_sge)
		return usiw_refuse(EINVAL, call, "num_sge is %d, not 0 to %u",
				   wr->num_sge, max_sge);
	return usiw_refuse(ENOMEM, call,
			   "as many receives as the queue has room for are not "
			   "complete");
}

int usiw_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		   struct ibv_recv_wr **bad_wr)
{
	struct usiw_qp *qp = usiw_qp(ibqp);
	uint32_t cnt;

	if (usiw_is_forked(qp->fork_gen)) {
		*bad_wr = wr;
		return usiw_result_int(usiw_refuse_forked(RECV));
	}
	if (usiw_qp_is_unreceivable(qp)) {
		*bad_wr = wr;
		return usiw_result_int(usiw_refuse(
			EINVAL, RECV, "QP 0x%06x %s", ibqp->qp_num,
			qp->rq ? "is in RESET"
			       : "has an SRQ: ibv_post_srq_recv() is its"));
	}
	usiw_rq_lock(qp);
	wr = rq_post_locked(qp->rq, ibqp->qp_num, qp->cap.max_recv_sge, wr,
			    &cnt);
	usiw_rq_unlock(qp);
	if (cnt)
		rnic_qp_ring_rq(qp->rnic);
	if (!wr)
		return 0;
	*bad_wr = wr;
	return usiw_result_int(rq_refuse(RECV, wr, qp->cap.max_recv_sge));
}

int usiw_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
		       struct ibv_recv_wr **bad_wr)
{
	struct usiw_srq *srq = usiw_srq(ibsrq);
	uint32_t cnt;

	if (usiw_is_forked(srq->fork_gen)) {
		*bad_wr = wr;
		return usiw_result_int(usiw_refuse_forked(SRQ_RECV));
	}
	usiw_srq_lock(srq);
	wr = rq_post_locked(srq->ring, 0, srq->max_sge, wr, &cnt);
	usiw_srq_unlock(srq);
	if (cnt)
		rnic_srq_ring_rq(srq->rnic);
	if (!wr)
		return 0;
	*bad_wr = wr;
	return usiw_result_int(rq_refuse(SRQ_RECV, wr, srq->max_sge));
}

/* Tag matching is not supported; no entry of the list is accepted. */
int usiw_post_srq_ops(struct ibv_srq *ibsrq, struct ibv_ops_wr *wr,
		      struct ibv_ops_wr **bad_wr)
{
	(void)ibsrq;
	*bad_wr = wr;
	return usiw_result_int(usiw_refuse(EOPNOTSUPP, "ibv_post_srq_ops",
					   "usiw has no tag matching"));
}
