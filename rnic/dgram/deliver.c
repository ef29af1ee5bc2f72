/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A datagram goes into a receive of its QP. */
#include "deliver.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "dev/device.h"
#include "mem/context.h"
#include "mem/sge.h"
#include "os/guard.h"
#include "os/observer.h"
#include "os/probe.h"
#include "os/stat.h"
#include "qp/rq.h"
#include "qp/show.h"
#include "qp/state.h"
#include "tap.h"
#include "util/log.h"

/* The GRH, then the payload. */
struct deliver_copy {
	const uint8_t *from[2];
	size_t len[2];
	struct iovec iov[RNIC_SGE_MAX];
	int cnt;
};

/* Guarded: the receive's memory may be unmapped. */
static void deliver_copy(void *arg)
{
	const struct deliver_copy *copy = arg;
	int from = 0;
	size_t done = 0;

	for (int i = 0; i < copy->cnt; i++) {
		uint8_t *to = copy->iov[i].iov_base;
		size_t left = copy->iov[i].iov_len;

		while (left) {
			size_t piece = copy->len[from] - done;

			if (piece > left)
				piece = left;
			memcpy(to, copy->from[from] + done, piece);
			to += piece;
			left -= piece;
			done += piece;
			if (done == copy->len[from] && from == 0) {
				from = 1;
				done = 0;
			}
		}
	}
}

/* Into the current receive.  Return: 0; -EFAULT. */
static int deliver_place(struct rnic_qp *qp, const struct rnic_host_head *head,
			 const void *payload, uint32_t len)
{
	const struct rnic_recv *recv = &qp->rq.current;
	struct deliver_copy copy = { .from = { head->grh, payload },
				     .len = { SIB_GRH_SIZE, len } };

	copy.cnt = rnic_sge_resolve(rnic_rq_pd(qp), recv->sge, recv->sge_cnt, 0,
				    SIB_GRH_SIZE + len, RNIC_ACCESS_LOCAL_WRITE,
				    copy.iov);
	if (copy.cnt < 0)
		return copy.cnt;
	if (rnic_guard(deliver_copy, &copy) == 0)
		return 0;
	util_warn("rnic", "%s: registered memory cannot be written",
		  RNIC_QP_NAME(qp));
	rnic_stat_add(RNIC_STAT_mem_faults, 1);
	return -EFAULT;
}

/*
 * Is the destination an address of the QP's device?  What comes from other
 * hosts never has one of the loopback device, unless that has others than
 * loopback addresses; apart from these, a host is one as for its sockets.
 */
static bool deliver_is_here(const struct rnic_ud *ud, const uint8_t *grh)
{
	const struct rnic_device *dev = ud->qp->ctx->dev;
	const bool is_ipv4 = grh[0] >> 4 != 6;
	const uint8_t *ipv4 = grh + SIB_GRH_SIZE - 4;
	struct sib_gid dst;
	bool is_loopback;

	if (is_ipv4)
		(void)sib_gid_from_ip(ipv4, 4, &dst);
	else
		memcpy(dst.raw, grh + SIB_GRH_SIZE - 16, 16);
	is_loopback = is_ipv4 ? ipv4[0] == 127
			      : IN6_IS_ADDR_LOOPBACK(
					(const struct in6_addr *)dst.raw);
	if (!dev->is_loopback || is_loopback || sib_gid_is_multicast(&dst))
		return dev->is_loopback || !is_loopback;
	return rnic_gid_is_there(dev->gids, dst.raw);
}

static void deliver_tap(const struct rnic_ud *ud, enum usiw_carrier carrier,
			const struct rnic_host_head *head, const void *payload,
			uint32_t len)
{
	const struct iovec iov = { (void *)(uintptr_t)payload, len };

	rnic_dgram_tap(ud->qp->num, false, carrier, head, &iov, 1);
}

void rnic_ud_deliver(struct rnic_ud *ud, enum usiw_carrier carrier,
		     const struct rnic_host_head *head, const void *payload,
		     uint32_t len)
{
	struct rnic_qp *qp = ud->qp;
	struct rnic_stat_part part = qp->engine->stat;
	uint32_t whole = SIB_GRH_SIZE + len;
	struct usiw_res_device_count *port;
	struct usiw_cqe cqe = {
		.opcode = USIW_WC_RECV,
		.byte_len = whole,
		.wc_flags = USIW_WC_FLAG_GRH,
		.src_qp = head->src_num,
	};

	if (!deliver_is_here(ud, head->grh)) {
		rnic_stat_count(part, RNIC_STAT_ud_lost, 1);
		return;
	}
	if (rnic_observed(USIW_OBSERVE_PACKETS))
		deliver_tap(ud, carrier, head, payload, len);
	if (head->qkey != ud->qkey) {
		rnic_stat_count(part, RNIC_STAT_ud_bad_qkey, 1);
		return;
	}
	if (rnic_rq_next_len(qp) < whole) {
		rnic_stat_count(part, RNIC_STAT_ud_no_recv, 1);
		return;
	}
	(void)rnic_rq_claim(qp); /* it is there: this thread leads */
	if (head->flags & RNIC_HOST_IMM) {
		cqe.wc_flags |= USIW_WC_FLAG_IMM;
		cqe.imm_be = head->imm_be;
	}
	if (head->grh[0] >> 4 != 6)
		cqe.wc_flags |= USIW_WC_FLAG_IPV4;
	if (head->flags & RNIC_HOST_SOLICITED)
		cqe.wc_flags |= USIW_WC_FLAG_SOLICITED;
	if (deliver_place(qp, head, payload, len) < 0) {
		cqe.status = USIW_WC_LOC_PROT_ERR;
		rnic_rq_complete(qp, &cqe);
		rnic_qp_fail(qp, RNIC_QPS_ERROR, USIW_WC_WR_FLUSH_ERR,
			     RNIC_QP_EV_CNT);
		return;
	}
	port = rnic_ud_port(ud);
	rnic_ud_count(ud, RNIC_STAT_rx_fpdu, &port->rx_fpdu, 1);
	rnic_ud_count(ud, RNIC_STAT_rx_staged, &port->rx_staged, len);
	rnic_stat_count(part, RNIC_STAT_ud_received, 1);
	rnic_qp_show_message(&qp->res->rx, USIW_RES_OP_SEND, len);
	if (UTIL_PROBE_IS_ON(octets_in))
		rnic_probe_octets_in(qp->num, RNIC_PROBE_DATAGRAM, len);
	rnic_rq_complete(qp, &cqe);
}
