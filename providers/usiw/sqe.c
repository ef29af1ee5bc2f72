/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The send encoder: the table of opcodes, and the encoding of work requests as
 * queue entries.
 */
#include "sqe.h"

#include <string.h>

#include "reason.h"

#define POST "ibv_post_send"
#define BIND "ibv_bind_mw"

#define SEND_FLAGS_KNOWN                                                       \
	(IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED |             \
	 IBV_SEND_INLINE)

/* Rights that have no effect on a window.  Local access depends on the region,
 * and programs ask for both together. */
#define BIND_ACCESS_VOID                                                       \
	((unsigned int)IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_OPTIONAL_RANGE)

const struct usiw_wr_kind usiw_wr_kinds[USIW_WR_KIND_CNT] = {
	[IBV_WR_RDMA_WRITE] = { USIW_WR_WRITE, USIW_WR_REMOTE },
	[IBV_WR_RDMA_WRITE_WITH_IMM] = { USIW_WR_WRITE_IMM,
					 USIW_WR_REMOTE | USIW_WR_IMM },
	[IBV_WR_SEND] = { USIW_WR_SEND, 0 },
	[IBV_WR_SEND_WITH_IMM] = { USIW_WR_SEND_IMM, USIW_WR_IMM },
	[IBV_WR_SEND_WITH_INV] = { USIW_WR_SEND_INV, USIW_WR_INV },
	[IBV_WR_RDMA_READ] = { USIW_WR_READ, USIW_WR_REMOTE | USIW_WR_SINK },
	[IBV_WR_ATOMIC_CMP_AND_SWP] = { USIW_WR_CMP_SWP,
					USIW_WR_ATOMIC | USIW_WR_SINK },
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = { USIW_WR_FETCH_ADD,
					  USIW_WR_ATOMIC | USIW_WR_SINK },
	[IBV_WR_LOCAL_INV] = { USIW_WR_LOCAL_INV,
			       USIW_WR_INV | USIW_WR_NO_DATA },
	[IBV_WR_BIND_MW] = { USIW_WR_BIND_MW, USIW_WR_BIND | USIW_WR_NO_DATA },
};

/* Sum of the lengths; -EINVAL: more than @max_len. */
static int sge_list_len(const struct ibv_sge *sge, size_t sge_cnt,
			size_t max_len, size_t *ret_len)
{
	size_t len = 0, i;

	for (i = 0; i < sge_cnt; i++) {
		len += sge[i].length;
		if (len > max_len)
			return usiw_refuse(EINVAL, POST,
					   "a message of more than %zu octets "
					   "inline",
					   max_len);
	}
	*ret_len = len;
	return 0;
}

/* Gathers inline data; the list may have any number of elements. */
static int sqe_set_inline(const struct usiw_sq_limits *limits,
			  const struct usiw_wr_kind *kind,
			  const struct ibv_sge *sge, int sge_cnt,
			  struct usiw_sqe *slot)
{
	uint8_t *to = (uint8_t *)(slot + 1);
	size_t len;
	int err, i;

	if ((kind->traits & USIW_WR_SINK) || sge_cnt < 0)
		return usiw_refuse(EINVAL, POST,
				   "IBV_SEND_INLINE with a READ or an atomic, "
				   "or num_sge is %d",
				   sge_cnt);
	err = sge_list_len(sge, (size_t)sge_cnt, limits->max_inline, &len);
	if (err)
		return err;
	slot->inline_len = (uint32_t)len;
	for (i = 0; i < sge_cnt; i++) {
		if (sge[i].length == 0)
			continue;
		memcpy(to, (const void *)(uintptr_t)sge[i].addr, sge[i].length);
		to += sge[i].length;
	}
	return 0;
}

int usiw_sqe_set_sges(const struct usiw_sq_limits *limits, unsigned int traits,
		      const struct ibv_sge *sge, size_t sge_cnt,
		      struct usiw_sqe *slot)
{
	struct usiw_sge *to = (struct usiw_sge *)(slot + 1);
	size_t max_sge = traits & USIW_WR_SINK ? limits->max_sge_rd
					       : limits->max_sge;
	size_t len = 0, i; /* cannot wrap: few elements of 32 bits each */

	if (sge_cnt > max_sge)
		return usiw_refuse(EINVAL, POST, "num_sge is %d, not 0 to %zu",
				   (int)sge_cnt, max_sge);
	for (i = 0; i < sge_cnt; i++) {
		to[i] = (struct usiw_sge){
			.addr = sge[i].addr,
			.len = sge[i].length,
			.lkey = sge[i].lkey,
		};
		len += sge[i].length;
	}
	if (len > limits->max_msg_size)
		return usiw_check_range(POST, "the length of the message", len,
					0, limits->max_msg_size);
	slot->sge_cnt = (uint16_t)sge_cnt;
	return 0;
}

/* One test skips these for the usual opcodes. */
#define TRAITS_RARE                                                            \
	(USIW_WR_ATOMIC | USIW_WR_IMM | USIW_WR_INV | USIW_WR_NO_DATA)

static void sqe_set_rare(const struct usiw_wr_kind *kind,
			 const struct ibv_send_wr *wr, struct usiw_sqe *slot)
{
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
	/* A list is ignored, as with other devices. */
	if (kind->traits & USIW_WR_NO_DATA)
		slot->flags &= (uint8_t)~USIW_SQE_INLINE;
}

int usiw_sqe_encode(const struct usiw_sq_limits *limits,
		    const struct usiw_wr_kind *kind,
		    const struct ibv_send_wr *wr, struct usiw_sqe *slot)
{
	if (wr->send_flags & ~(unsigned int)SEND_FLAGS_KNOWN ||
	    !(limits->opcodes & 1u << wr->opcode))
		return usiw_refuse(EINVAL, POST,
				   "this type of QP does not have opcode %d "
				   "with send_flags 0x%x",
				   (int)wr->opcode, wr->send_flags);
	*slot = (struct usiw_sqe){
		.wr_id = wr->wr_id,
		.opcode = kind->opcode,
		.flags = usiw_sqe_flags(limits, wr->send_flags),
	};
	if (kind->traits & USIW_WR_REMOTE) {
		slot->remote_addr = wr->wr.rdma.remote_addr;
		slot->rkey = wr->wr.rdma.rkey;
	}
	if (kind->traits & TRAITS_RARE) {
		sqe_set_rare(kind, wr, slot);
		if (kind->traits & USIW_WR_NO_DATA)
			return 0;
	}
	if (wr->send_flags & IBV_SEND_INLINE)
		return sqe_set_inline(limits, kind, wr->sg_list, wr->num_sge,
				      slot);
	/* As unsigned, a negative count exceeds every limit. */
	return usiw_sqe_set_sges(limits, kind->traits, wr->sg_list,
				 (uint32_t)wr->num_sge, slot);
}

int usiw_sqe_set_bind(const struct ibv_qp *qp, const struct ibv_mw *mw,
		      uint32_t rkey, const struct ibv_mw_bind_info *info,
		      struct usiw_sqe *slot)
{
	const struct ibv_mr *mr = info->mr;

	/* The application may change the key, not the index. */
	if (!mw || mw->context != qp->context || (rkey ^ mw->rkey) >> 8)
		return usiw_refuse(EINVAL, BIND,
				   "mw is none of this context, or rkey 0x%x "
				   "differs from it above the last 8 bits",
				   rkey);
	if (mr ? mr->context != qp->context : info->addr || info->length)
		return usiw_refuse(EINVAL, BIND,
				   "mr is none of this context, or NULL with a "
				   "length");
	slot->rkey = rkey;
	slot->imm_be = mr ? mr->lkey : 0;
	slot->remote_addr = info->addr;
	slot->compare_add = info->length;
	slot->swap = info->mw_access_flags & ~BIND_ACCESS_VOID;
	return 0;
}
