/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The send queue of a UD QP. */
#include "send.h"

#include <errno.h>
#include <string.h>

#include "dev/device.h"
#include "engine/engine.h"
#include "host.h"
#include "os/observer.h"
#include "os/probe.h"
#include "os/stat.h"
#include "peer.h"
#include "qp/fault.h"
#include "qp/show.h"
#include "qp/sq-done.h"
#include "qp/sq-op.h"
#include "qp/sq.h"
#include "qp/state.h"
#include "tap.h"
#include "udp-send.h"

#define PSN_MASK 0xffffffu
#define NUM_MASK 0xffffffu

/* A WR that is to become a datagram. */
struct ud_wr {
	struct usiw_sqe sqe;
	struct usiw_ud_sqe to; /* the same octets */
	const struct rnic_sq_op *op;
	struct rnic_udp_datagram datagram;
	struct iovec iov[1 + RNIC_SGE_MAX]; /* a place for a head, payload */
};

static void wr_set_headers(const struct rnic_ud *ud, struct ud_wr *wr,
			   uint32_t psn)
{
	const struct usiw_ud_sqe *to = &wr->to;
	bool has_imm = to->opcode == USIW_WR_SEND_IMM;
	struct sib_path *path = &wr->datagram.path;

	wr->datagram.hdr = (struct sib_hdr){
		.opcode = has_imm ? SIB_OPCODE(SIB_UD, SIB_SEND_ONLY_IMM)
				  : SIB_OPCODE(SIB_UD, SIB_SEND_ONLY),
		.is_solicited = to->flags & USIW_SQE_SOLICITED,
		.pkey = SIB_PKEY_DEFAULT,
		.dest_qpn = to->dest & NUM_MASK,
		.psn = psn & PSN_MASK,
		.qkey = sib_qkey_to_send(to->qkey, ud->qkey),
		.src_qpn = ud->qp->num,
		.imm_be = has_imm ? to->imm_be : 0,
	};
	*path = (struct sib_path){
		.src_port = SIB_UDP_PORT,
		.dst_port = SIB_UDP_PORT,
		.tclass = (uint8_t)(to->dest >> 24),
		.hop_limit = (uint8_t)(to->label >> USIW_AV_HOP_SHIFT),
	};
	memcpy(path->src.raw, to->sgid, sizeof(to->sgid));
	memcpy(path->dst.raw, to->dgid, sizeof(to->dgid));
}

/* The WR at @idx.  Return: USIW_WC_SUCCESS; or what it completes with. */
static enum usiw_wc_status wr_begin(struct rnic_ud *ud, uint32_t idx,
				    uint32_t psn, struct ud_wr *wr)
{
	struct rnic_sq *sq = &ud->qp->sq;
	const struct usiw_sqe *slot = usiw_ring_slot(&sq->ring, idx);
	struct rnic_udp_datagram *datagram = &wr->datagram;

	wr->sqe = *slot;
	memcpy(&wr->to, &wr->sqe, sizeof(wr->to));
	wr->op = rnic_sq_op_find(wr->sqe.opcode);
	if (wr->sqe.opcode != USIW_WR_SEND &&
	    wr->sqe.opcode != USIW_WR_SEND_IMM)
		return USIW_WC_LOC_QP_OP_ERR;
	datagram->iov = wr->iov + 1;
	datagram->dev_ifindex = ud->qp->ctx->dev->ifindex;
	datagram->cnt = rnic_sq_payload(ud->qp, slot, wr->op->access,
					wr->iov + 1, &datagram->len);
	if (datagram->cnt == -EFAULT)
		return USIW_WC_LOC_PROT_ERR;
	if (datagram->cnt < 0 || datagram->len > ud->mtu)
		return USIW_WC_LOC_LEN_ERR;
	wr_set_headers(ud, wr, psn);
	return USIW_WC_SUCCESS;
}

/* The WR, at next_idx, is sent or lost: it is done. */
static void wr_done(struct rnic_ud *ud, const struct usiw_sqe *sqe)
{
	ud->psn++;
	rnic_sq_done(ud->qp, rnic_sq_took(ud->qp, sqe,
					  rnic_sq_op_find(sqe->opcode), 0));
}

/* The WR, at next_idx, is sent. */
static void wr_sent(struct rnic_ud *ud, const struct usiw_sqe *sqe,
		    uint32_t len)
{
	struct usiw_res_device_count *port = rnic_ud_port(ud);

	rnic_ud_count(ud, RNIC_STAT_tx_fpdu, &port->tx_fpdu, 1);
	rnic_ud_count(ud, RNIC_STAT_tx_copied, &port->tx_copied, len);
	rnic_stat_count(ud->engine->stat, RNIC_STAT_tx_payload, len);
	rnic_qp_show_message(&ud->qp->res->tx, USIW_RES_OP_SEND, len);
	if (UTIL_PROBE_IS_ON(octets_out))
		rnic_probe_octets_out(ud->qp->num, RNIC_PROBE_DATAGRAM, len);
	wr_done(ud, sqe);
}

/* ---- a receiver that is full --------------------------------------------- */

/* Return: whether the datagram waits; else it is lost. */
static bool ud_waits(struct rnic_ud *ud, uint32_t num)
{
	uint64_t now_ns = rnic_engine_now_ns(ud->engine);

	if (!rnic_full_waits(&ud->full, num, now_ns))
		return false;
	rnic_engine_deadline(ud->engine, &ud->source.due,
			     now_ns + RNIC_FULL_RETRY_NS);
	return true;
}

/* The WR at next_idx is done, as far as the program can see.  Return: true. */
static bool wr_lose(struct rnic_ud *ud, const struct usiw_sqe *sqe)
{
	rnic_full_end(&ud->full);
	rnic_stat_count(ud->engine->stat, RNIC_STAT_ud_lost, 1);
	wr_done(ud, sqe);
	return true;
}

/* The WR at next_idx was not sent.  Return: whether the next one may follow. */
static bool wr_failed(struct rnic_ud *ud, const struct usiw_sqe *sqe,
		      uint32_t num, int err)
{
	if (err == -EAGAIN && ud_waits(ud, num))
		return false;
	if (err == -EFAULT) {
		rnic_sq_unreadable(ud->qp, ud->qp->sq.next_idx);
		return false;
	}
	return wr_lose(ud, sqe);
}

/* ---- to this host -------------------------------------------------------- */

/* Return: 0; -EAGAIN: the receiver is full; -EFAULT; other -errno: lost. */
static int host_send(struct rnic_ud *ud, struct ud_wr *wr)
{
	const struct rnic_udp_datagram *datagram = &wr->datagram;
	const struct sib_hdr *hdr = &datagram->hdr;
	struct rnic_host_head head = {
		.magic = RNIC_HOST_MAGIC,
		.dest_num = hdr->dest_qpn,
		.src_num = hdr->src_qpn,
		.qkey = hdr->qkey,
		.imm_be = hdr->imm_be,
		.flags = (wr->to.opcode == USIW_WR_SEND_IMM ? RNIC_HOST_IMM
							    : 0) |
			 (hdr->is_solicited ? RNIC_HOST_SOLICITED : 0) |
			 hdr->psn << RNIC_HOST_PSN_SHIFT,
	};
	uint32_t pad = -datagram->len & 3;
	int rc;

	if (sib_grh_encode(&datagram->path,
			   sib_op(hdr->opcode)->hdr_size + datagram->len + pad +
				   SIB_ICRC_SIZE,
			   head.grh, sizeof(head.grh)) < 0)
		return -EINVAL;
	wr->iov[0] = (struct iovec){ &head, sizeof(head) };
	rc = rnic_peer_send(ud, head.dest_num, wr->iov, 1 + datagram->cnt);
	if (rc == 0 && rnic_observed(USIW_OBSERVE_PACKETS))
		rnic_dgram_tap(ud->qp->num, true,
			       rnic_peer_has_inbox(ud, head.dest_num)
				       ? USIW_CARRIER_INBOX
				       : USIW_CARRIER_UNIX,
			       &head, datagram->iov, datagram->cnt);
	return rc;
}

/* Return: whether the next one may follow. */
static bool sq_send_host(struct rnic_ud *ud, struct ud_wr *wr)
{
	uint32_t num = wr->datagram.hdr.dest_qpn;
	int rc = host_send(ud, wr);

	if (rc < 0)
		return wr_failed(ud, &wr->sqe, num, rc);
	rnic_full_taken(&ud->full, num);
	wr_sent(ud, &wr->sqe, wr->datagram.len);
	return true;
}

/* ---- to other hosts ------------------------------------------------------ */

static bool slot_is_own(const struct usiw_sqe *slot)
{
	return ((const struct usiw_ud_sqe *)slot)->label & USIW_AV_OWN;
}

/* A WR of the batch. */
struct batch_wr {
	struct usiw_sqe sqe;
	uint32_t len;
};

/* Adds what follows the first one.  Return: how many there are. */
static uint32_t batch_fill(struct rnic_ud *ud, struct ud_wr *wr,
			   struct batch_wr *sent)
{
	const struct rnic_sq *sq = &ud->qp->sq;
	uint32_t cnt = 1;

	if (rnic_fault_is_on(RNIC_FAULT_AT_DATAGRAM))
		return cnt; /* each of them passes there */
	for (; cnt < RNIC_UDP_BATCH; cnt++) {
		uint32_t idx = sq->next_idx + cnt;

		if (!usiw_ring_slot_pending(&sq->ring, idx) ||
		    slot_is_own(usiw_ring_slot(&sq->ring, idx)) ||
		    wr_begin(ud, idx, ud->psn + cnt, wr) != USIW_WC_SUCCESS ||
		    rnic_udp_batch_add(ud->batch, &wr->datagram) < 0)
			break;
		sent[cnt] = (struct batch_wr){ wr->sqe, wr->datagram.len };
	}
	return cnt;
}

/* As many as one system call takes.  Return: whether the next one may
 * follow. */
static bool sq_send_udp(struct rnic_ud *ud, struct ud_wr *wr)
{
	uint32_t num = wr->datagram.hdr.dest_qpn, cnt, sent;
	struct batch_wr batch[RNIC_UDP_BATCH];
	int err;

	if (!ud->batch)
		ud->batch = rnic_udp_batch_new();
	err = ud->batch ? rnic_udp_batch_add(ud->batch, &wr->datagram)
			: -ENOMEM;
	if (err < 0)
		return wr_failed(ud, &wr->sqe, num, err);
	batch[0] = (struct batch_wr){ wr->sqe, wr->datagram.len };
	cnt = batch_fill(ud, wr, batch);
	sent = rnic_udp_batch_send(ud->batch, &err);
	for (uint32_t i = 0; i < sent && !rnic_qp_is_over(ud->qp); i++)
		wr_sent(ud, &batch[i].sqe, batch[i].len);
	if (sent)
		rnic_full_end(&ud->full);
	if (sent == cnt || rnic_qp_is_over(ud->qp))
		return true;
	num = ((const struct usiw_ud_sqe *)&batch[sent].sqe)->dest & NUM_MASK;
	return wr_failed(ud, &batch[sent].sqe, num, err);
}

/* ---- both ---------------------------------------------------------------- */

/* Is the datagram to be lost (USIW_FAULT)?  One that has waited was counted. */
static bool wr_is_faulted(struct rnic_ud *ud, const struct ud_wr *wr)
{
	struct rnic_qp *qp = ud->qp;
	struct sockaddr_storage peer;
	struct rnic_fault_event event;
	struct rnic_fault_hits hits;

	if (ud->full.end_ns)
		return rnic_fault_port_down_ns();
	rnic_qp_fault_event(qp, &event);
	rnic_udp_addr(&wr->datagram.path.dst, SIB_UDP_PORT, 0, &peer);
	event.peer = &peer;
	event.faults = RNIC_FAULT_BIT(DATAGRAM_LOST);
	qp->fault.out_octets += wr->datagram.len;
	event.octets = qp->fault.out_octets;
	if (rnic_fault_match(&event, &hits))
		rnic_fault_tell(&event, &hits);
	return hits.rules || rnic_fault_port_down_ns();
}

/* Return: whether the next one may follow. */
static bool sq_send(struct rnic_ud *ud)
{
	uint32_t idx = ud->qp->sq.next_idx;
	struct ud_wr wr;
	enum usiw_wc_status status = wr_begin(ud, idx, ud->psn, &wr);

	if (status != USIW_WC_SUCCESS) {
		rnic_qp_fail_at(ud->qp, idx, status);
		return false;
	}
	if (rnic_fault_is_on(RNIC_FAULT_AT_DATAGRAM) && wr_is_faulted(ud, &wr))
		return wr_lose(ud, &wr.sqe);
	return wr.to.label & USIW_AV_OWN ? sq_send_host(ud, &wr)
					 : sq_send_udp(ud, &wr);
}

void rnic_ud_send(struct rnic_ud *ud)
{
	while (!rnic_qp_is_over(ud->qp) && rnic_sq_has_next(&ud->qp->sq) &&
	       sq_send(ud))
		;
}
