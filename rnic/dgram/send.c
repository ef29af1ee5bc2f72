/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The send queue of a UD QP. */
#include "send.h"

#include <errno.h>
#include <string.h>

#include "dev/device.h"
#include "engine/engine.h"
#include "host.h"
#include "os/stat.h"
#include "peer.h"
#include "qp/sq-done.h"
#include "qp/sq-op.h"
#include "qp/sq.h"
#include "qp/state.h"
#include "udp-send.h"

/* How often a full receiver is tried again. */
#define SEND_RETRY_NS (50 * NS_PER_US)
#define PSN_MASK 0xffffffu
#define NUM_MASK 0xffffffu

/* A WR that is to become a datagram. */
struct ud_wr {
	struct usiw_ud_sqe sqe;
	struct sib_hdr hdr;
	struct sib_path path;
	struct iovec iov[2 + RNIC_SGE_MAX]; /* head, payload, tail */
	int cnt;			    /* of the payload */
	uint32_t len;
};

static void wr_set_headers(const struct rnic_ud *ud, struct ud_wr *wr)
{
	const struct usiw_ud_sqe *sqe = &wr->sqe;
	bool has_imm = sqe->opcode == USIW_WR_SEND_IMM;

	wr->hdr = (struct sib_hdr){
		.opcode = has_imm ? SIB_OPCODE(SIB_UD, SIB_SEND_ONLY_IMM)
				  : SIB_OPCODE(SIB_UD, SIB_SEND_ONLY),
		.is_solicited = sqe->flags & USIW_SQE_SOLICITED,
		.pkey = SIB_PKEY_DEFAULT,
		.dest_qpn = sqe->dest & NUM_MASK,
		.psn = ud->psn,
		.qkey = sib_qkey_to_send(sqe->qkey, ud->qkey),
		.src_qpn = ud->qp->num,
		.imm_be = has_imm ? sqe->imm_be : 0,
	};
	memcpy(wr->path.src.raw, sqe->sgid, sizeof(sqe->sgid));
	memcpy(wr->path.dst.raw, sqe->dgid, sizeof(sqe->dgid));
	wr->path.src_port = SIB_UDP_PORT;
	wr->path.dst_port = SIB_UDP_PORT;
	wr->path.ip_id = 0;
	wr->path.tclass = (uint8_t)(sqe->dest >> 24);
	wr->path.hop_limit = (uint8_t)(sqe->label >> USIW_AV_HOP_SHIFT);
	wr->path.flow_label = 0;
}

/* Return: 0; -EAGAIN: the receiver is full; -EFAULT; other -errno: lost. */
static int wr_send_host(struct rnic_ud *ud, struct ud_wr *wr)
{
	struct rnic_host_head head = {
		.magic = RNIC_HOST_MAGIC,
		.dest_num = wr->hdr.dest_qpn,
		.src_num = wr->hdr.src_qpn,
		.qkey = wr->hdr.qkey,
		.imm_be = wr->hdr.imm_be,
		.flags = (wr->sqe.opcode == USIW_WR_SEND_IMM ? RNIC_HOST_IMM
							     : 0) |
			 (wr->hdr.is_solicited ? RNIC_HOST_SOLICITED : 0),
	};
	const struct sib_op *op = sib_op(wr->hdr.opcode);
	uint32_t pad = -wr->len & 3;

	if (sib_grh_encode(&wr->path,
			   op->hdr_size + wr->len + pad + SIB_ICRC_SIZE,
			   head.grh, sizeof(head.grh)) < 0)
		return -EINVAL;
	wr->iov[0] = (struct iovec){ &head, sizeof(head) };
	return rnic_peer_send(ud, head.dest_num, wr->iov, 1 + wr->cnt);
}

static int wr_send_udp(struct rnic_ud *ud, struct ud_wr *wr)
{
	uint8_t head[SIB_HDR_MAX];
	int len = sib_hdr_encode(&wr->hdr, wr->len, head, sizeof(head));

	if (len < 0)
		return len;
	wr->iov[0] = (struct iovec){ head, (size_t)len };
	return rnic_udp_send(&wr->path, ud->qp->ctx->dev->ifindex, wr->iov,
			     1 + wr->cnt);
}

static int wr_send(struct rnic_ud *ud, struct ud_wr *wr)
{
	if (wr->sqe.label & USIW_AV_OWN)
		return wr_send_host(ud, wr);
	return wr_send_udp(ud, wr);
}

/* ---- a receiver that is full --------------------------------------------- */

/* Return: whether the datagram waits; else it is lost. */
static bool ud_waits(struct rnic_ud *ud, uint32_t num)
{
	uint64_t now_ns = rnic_engine_now_ns(ud->engine);

	if (ud->full_num == num)
		return false;
	if (!ud->full_ns)
		ud->full_ns = now_ns + RNIC_UD_FULL_NS;
	if (now_ns >= ud->full_ns) {
		ud->full_num = num;
		return false;
	}
	rnic_engine_deadline(ud->engine, &ud->source.due,
			     now_ns + SEND_RETRY_NS);
	return true;
}

static void ud_taken(struct rnic_ud *ud, uint32_t num)
{
	ud->full_ns = 0;
	if (ud->full_num == num)
		ud->full_num = 0;
}

/* ---- work requests ------------------------------------------------------- */

/* Return: whether the next one may follow. */
static bool sq_send_one(struct rnic_ud *ud)
{
	struct rnic_qp *qp = ud->qp;
	struct rnic_sq *sq = &qp->sq;
	const struct usiw_sqe *slot = usiw_ring_slot(&sq->ring, sq->next_idx);
	const struct usiw_sqe sqe = *slot;
	const struct rnic_sq_op *op = rnic_sq_op_find(sqe.opcode);
	struct ud_wr wr;
	int rc;

	memcpy(&wr.sqe, &sqe, sizeof(wr.sqe));
	if (sqe.opcode != USIW_WR_SEND && sqe.opcode != USIW_WR_SEND_IMM) {
		rnic_qp_fail_at(qp, sq->next_idx, USIW_WC_LOC_QP_OP_ERR);
		return false;
	}
	wr.cnt = rnic_sq_payload(qp, &sqe, slot, op->access, wr.iov + 1,
				 &wr.len);
	if (wr.cnt < 0 || wr.len > ud->mtu) {
		rnic_qp_fail_at(qp, sq->next_idx,
				wr.cnt == -EFAULT ? USIW_WC_LOC_PROT_ERR
						  : USIW_WC_LOC_LEN_ERR);
		return false;
	}
	wr_set_headers(ud, &wr);
	rc = wr_send(ud, &wr);
	if (rc == -EAGAIN && ud_waits(ud, wr.hdr.dest_qpn))
		return false;
	if (rc == -EFAULT) {
		rnic_sq_unreadable(qp, sq->next_idx);
		return false;
	}
	if (rc == 0)
		ud_taken(ud, wr.hdr.dest_qpn);
	else
		rnic_stat_count(ud->engine->stat, RNIC_STAT_ud_lost, 1);
	ud->full_ns = 0;
	ud->psn = (ud->psn + 1) & PSN_MASK;
	rnic_sq_done(qp, rnic_sq_took(qp, &sqe, op, 0));
	return !rnic_qp_is_over(qp);
}

void rnic_ud_send(struct rnic_ud *ud)
{
	while (!rnic_qp_is_over(ud->qp) && rnic_sq_has_next(&ud->qp->sq) &&
	       sq_send_one(ud))
		;
}
