/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Work requests -> queue entries.  Never blocks on the engine, never
 * allocates.
 *
 * A list is encoded under the lock of its queue, published by one commit and
 * announced by one ring of the bell, outside the lock: ringing may make this
 * thread the leader, and others go on posting meanwhile.
 */
#include <string.h>

#include "door.h"
#include "objects.h"

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

#define SEND_FLAGS_KNOWN                                                       \
	(IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED |             \
	 IBV_SEND_INLINE)

/* IBV_WR_ATOMIC_WRITE, the last opcode of any verbs.h so far, is 15. */
#define WR_KIND_CNT 16

/* A row without opcode is a verb that is not offered: EOPNOTSUPP. */
static const struct usiw_wr_kind wr_kinds[WR_KIND_CNT] = {
	[IBV_WR_RDMA_WRITE] = { USIW_WR_WRITE, USIW_WR_REMOTE },
	[IBV_WR_RDMA_WRITE_WITH_IMM] = { USIW_WR_WRITE_IMM,
					 USIW_WR_REMOTE | USIW_WR_IMM },
	[IBV_WR_SEND] = { USIW_WR_SEND, 0 },
	[IBV_WR_SEND_WITH_IMM] = { USIW_WR_SEND_IMM, USIW_WR_IMM },
	[IBV_WR_SEND_WITH_INV] = { USIW_WR_SEND_INV, USIW_WR_INV },
	[IBV_WR_RDMA_READ] = { USIW_WR_READ, USIW_WR_REMOTE | USIW_WR_SINK },
};

/* Sum of the lengths; -EINVAL: more than a message may have. */
static int sge_list_len(const struct ibv_sge *sge, int sge_cnt, size_t max_len,
			size_t *ret_len)
{
	size_t len = 0;
	int i;

	for (i = 0; i < sge_cnt; i++)
		if (__builtin_add_overflow(len, sge[i].length, &len) ||
		    len > max_len)
			return -EINVAL;
	*ret_len = len;
	return 0;
}

static void sqe_copy_inline(struct usiw_sqe *slot, const struct ibv_sge *sge,
			    int sge_cnt)
{
	uint8_t *to = (uint8_t *)(slot + 1);
	int i;

	for (i = 0; i < sge_cnt; i++) {
		if (sge[i].length == 0)
			continue;
		memcpy(to, (const void *)(uintptr_t)sge[i].addr, sge[i].length);
		to += sge[i].length;
	}
}

static int sqe_encode_payload(const struct usiw_sq_limits *limits,
			      const struct usiw_wr_kind *kind,
			      const struct ibv_send_wr *wr,
			      struct usiw_sqe *slot)
{
	uint32_t max_sge = kind->traits & USIW_WR_SINK ? limits->max_sge_rd
						       : limits->max_sge;
	size_t len;
	int err;

	if (wr->num_sge < 0)
		return -EINVAL;
	if (wr->send_flags & IBV_SEND_INLINE) {
		/* Inline data is gathered here: any list that fits will do. */
		if (kind->traits & USIW_WR_SINK)
			return -EINVAL;
		err = sge_list_len(wr->sg_list, wr->num_sge, limits->max_inline,
				   &len);
		if (err)
			return err;
		slot->sge_cnt = 0;
		slot->inline_len = (uint32_t)len;
		sqe_copy_inline(slot, wr->sg_list, wr->num_sge);
		return 0;
	}
	if ((uint32_t)wr->num_sge > max_sge)
		return -EINVAL;
	err = sge_list_len(wr->sg_list, wr->num_sge, limits->max_msg_size,
			   &len);
	if (err)
		return err;
	slot->sge_cnt = (uint16_t)wr->num_sge;
	slot->inline_len = 0;
	if (wr->num_sge)
		memcpy(slot + 1, wr->sg_list,
		       (size_t)wr->num_sge * sizeof(struct usiw_sge));
	return 0;
}

static uint8_t sqe_flags(const struct usiw_sq_limits *limits,
			 unsigned int send_flags)
{
	uint8_t flags = 0;

	if (limits->is_sig_all || (send_flags & IBV_SEND_SIGNALED))
		flags |= USIW_SQE_SIGNALED;
	if (send_flags & IBV_SEND_SOLICITED)
		flags |= USIW_SQE_SOLICITED;
	if (send_flags & IBV_SEND_FENCE)
		flags |= USIW_SQE_FENCE;
	if (send_flags & IBV_SEND_INLINE)
		flags |= USIW_SQE_INLINE;
	return flags;
}

int usiw_sqe_encode(const struct usiw_sq_limits *limits,
		    const struct usiw_wr_kind *kind,
		    const struct ibv_send_wr *wr, struct usiw_sqe *slot)
{
	if (wr->send_flags & ~(unsigned int)SEND_FLAGS_KNOWN)
		return -EINVAL;
	*slot = (struct usiw_sqe){
		.wr_id = wr->wr_id,
		.opcode = kind->opcode,
		.flags = sqe_flags(limits, wr->send_flags),
	};
	if (kind->traits & USIW_WR_REMOTE) {
		slot->remote_addr = wr->wr.rdma.remote_addr;
		slot->rkey = wr->wr.rdma.rkey;
	}
	if (kind->traits & USIW_WR_ATOMIC) {
		slot->remote_addr = wr->wr.atomic.remote_addr;
		slot->rkey = wr->wr.atomic.rkey;
		slot->compare_add = wr->wr.atomic.compare_add;
		slot->swap = wr->wr.atomic.swap;
	}
	if (kind->traits & USIW_WR_IMM)
		slot->imm_be = wr->imm_data;
	if (kind->traits & USIW_WR_INV)
		slot->rkey = wr->invalidate_rkey;
	return sqe_encode_payload(limits, kind, wr, slot);
}

/* *ret_kind: the row for @opcode. */
static int wr_kind_find(enum ibv_wr_opcode opcode,
			const struct usiw_wr_kind **ret_kind)
{
	if ((unsigned int)opcode >= WR_KIND_CNT)
		return -EINVAL;
	if (!wr_kinds[opcode].opcode)
		return -EOPNOTSUPP;
	*ret_kind = &wr_kinds[opcode];
	return 0;
}

static int sq_post_locked(const struct usiw_qp *qp, uint32_t ahead,
			  const struct ibv_send_wr *wr)
{
	const struct usiw_wr_kind *kind;
	void *slot;
	int err;

	util_lock_assert_held(&qp->sq_lock);
	err = wr_kind_find(wr->opcode, &kind);
	if (err)
		return err;
	slot = usiw_ring_reserve(qp->sq, ahead);
	if (!slot)
		return -ENOMEM;
	return usiw_sqe_encode(&qp->sq_limits, kind, wr, slot);
}

int usiw_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		   struct ibv_send_wr **bad_wr)
{
	struct usiw_qp *qp = usiw_qp(ibqp);
	uint32_t cnt = 0;
	int err = 0;

	if (usiw_is_alien(qp->fork_gen)) {
		*bad_wr = wr;
		return usiw_door_int(-ENODEV);
	}
	/* After the stream has ended WRs are taken, and flushed. */
	if (rnic_qp_state(qp->rnic) == RNIC_QPS_IDLE) {
		*bad_wr = wr;
		return usiw_door_int(-EINVAL);
	}
	util_lock(&qp->sq_lock);
	for (; wr; wr = wr->next, cnt++) {
		err = sq_post_locked(qp, cnt, wr);
		if (err)
			break;
	}
	if (cnt)
		usiw_ring_commit(qp->sq, cnt);
	util_unlock(&qp->sq_lock);
	if (cnt)
		rnic_qp_ring_sq(qp->rnic);
	if (err)
		*bad_wr = wr;
	return usiw_door_int(err);
}

int usiw_rqe_encode(uint32_t max_sge, const struct ibv_recv_wr *wr,
		    struct usiw_rqe *slot)
{
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > max_sge)
		return -EINVAL;
	*slot = (struct usiw_rqe){
		.wr_id = wr->wr_id,
		.sge_cnt = (uint32_t)wr->num_sge,
	};
	if (wr->num_sge)
		memcpy(slot + 1, wr->sg_list,
		       (size_t)wr->num_sge * sizeof(struct usiw_sge));
	return 0;
}

/* Encode and publish the list; *ret_wr: the first that was not taken. */
static int rq_post_locked(const struct usiw_ring *ring, uint32_t max_sge,
			  struct ibv_recv_wr *wr, struct ibv_recv_wr **ret_wr,
			  uint32_t *ret_cnt)
{
	uint32_t cnt = 0;
	void *slot;
	int err = 0;

	for (; wr; wr = wr->next, cnt++) {
		slot = usiw_ring_reserve(ring, cnt);
		err = slot ? usiw_rqe_encode(max_sge, wr, slot) : -ENOMEM;
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

	if (usiw_is_alien(qp->fork_gen)) {
		*bad_wr = wr;
		return usiw_door_int(-ENODEV);
	}
	if (!qp->rq) {
		*bad_wr = wr;
		return usiw_door_int(-EINVAL);
	}
	util_lock(&qp->rq_lock);
	err = rq_post_locked(qp->rq, qp->cap.max_recv_sge, wr, &wr, &cnt);
	util_unlock(&qp->rq_lock);
	if (cnt)
		rnic_qp_ring_rq(qp->rnic);
	if (err)
		*bad_wr = wr;
	return usiw_door_int(err);
}

int usiw_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
		       struct ibv_recv_wr **bad_wr)
{
	struct usiw_srq *srq = usiw_srq(ibsrq);
	uint32_t cnt;
	int err;

	if (usiw_is_alien(srq->fork_gen)) {
		*bad_wr = wr;
		return usiw_door_int(-ENODEV);
	}
	util_lock(&srq->lock);
	err = rq_post_locked(srq->ring, srq->max_sge, wr, &wr, &cnt);
	util_unlock(&srq->lock);
	if (err)
		*bad_wr = wr;
	return usiw_door_int(err);
}

/* Tag matching is not offered; the list stays the caller's from its head. */
int usiw_post_srq_ops(struct ibv_srq *ibsrq, struct ibv_ops_wr *wr,
		      struct ibv_ops_wr **bad_wr)
{
	(void)ibsrq;
	*bad_wr = wr;
	return usiw_door_int(-EOPNOTSUPP);
}
