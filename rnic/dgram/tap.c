/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Datagrams for a command that captures them. */
#include "tap.h"

#include <string.h>

#include "os/guard.h"
#include "os/packet.h"
#include "qp/object.h"
#include "util/iov.h"

/* Hop limit of packets for which the kernel chooses it. */
#define KERNEL_HOP_LIMIT 64

static void tap_record(uint32_t qp_num, bool is_sent, enum usiw_carrier carrier,
		       const struct sib_path *path, const struct iovec *iov,
		       int cnt)
{
	const struct sib_gid *own = is_sent ? &path->src : &path->dst;
	const struct sib_gid *peer = is_sent ? &path->dst : &path->src;
	uint32_t snap_len = rnic_observer_snap_len(USIW_OBSERVE_PACKETS);
	const struct rnic_cursor cursor = { iov, cnt, 0 };
	struct usiw_packet packet = {
		.stream = qp_num,
		.len = (uint32_t)util_iov_len(iov, cnt),
		.qp_num = qp_num,
		.own_port = is_sent ? path->src_port : path->dst_port,
		.peer_port = is_sent ? path->dst_port : path->src_port,
		.carrier = (uint8_t)carrier,
		.tclass = path->tclass,
		.hop_limit = path->hop_limit ? path->hop_limit
					     : KERNEL_HOP_LIMIT,
		.ip_id = path->ip_id,
		.flow_label = path->flow_label,
	};

	memcpy(packet.own, own->raw, sizeof(packet.own));
	memcpy(packet.peer, peer->raw, sizeof(packet.peer));
	rnic_packet_record(USIW_PACKET_DATAGRAM,
			   rnic_packet_flags() |
				   (is_sent ? USIW_PACKET_SENT : 0),
			   &packet, NULL, 0, &cursor,
			   packet.len < snap_len ? packet.len : snap_len);
}

void rnic_dgram_tap_packet(uint32_t qp_num, const struct sib_path *path,
			   const struct iovec *iov, int cnt)
{
	tap_record(qp_num, true, USIW_CARRIER_UDP, path, iov, cnt);
}

/* ---- packets that are made ----------------------------------------------- */

/* BTH and the extended headers; payload; pad and ICRC. */
#define TAP_IOV_MAX (RNIC_SGE_MAX + 2)

struct tap_packet {
	struct sib_path path;
	uint8_t head[SIB_HDR_MAX], tail[SIB_TAIL_MAX];
	struct iovec iov[TAP_IOV_MAX];
	int cnt;
	int tail_len;
};

/* Guarded: the ICRC covers the payload. */
static void packet_end(void *arg)
{
	struct tap_packet *packet = arg;

	packet->tail_len = sib_tail_encode(&packet->path, packet->iov,
					   (size_t)packet->cnt, packet->tail,
					   sizeof(packet->tail));
}

static bool packet_make(struct tap_packet *packet,
			const struct rnic_host_head *head,
			const struct iovec *iov, int cnt)
{
	bool has_imm = head->flags & RNIC_HOST_IMM;
	struct sib_hdr hdr = {
		.opcode = has_imm ? SIB_OPCODE(SIB_UD, SIB_SEND_ONLY_IMM)
				  : SIB_OPCODE(SIB_UD, SIB_SEND_ONLY),
		.is_solicited = head->flags & RNIC_HOST_SOLICITED,
		.pkey = SIB_PKEY_DEFAULT,
		.dest_qpn = head->dest_num,
		.psn = head->flags >> RNIC_HOST_PSN_SHIFT,
		.qkey = head->qkey,
		.src_qpn = head->src_num,
		.imm_be = head->imm_be,
	};
	int head_len;

	if (!sib_grh_decode(head->grh, &packet->path) || cnt > RNIC_SGE_MAX)
		return false;
	packet->path.src_port = SIB_UDP_PORT;
	packet->path.dst_port = SIB_UDP_PORT;
	/* What has come has the number of one member. */
	if (sib_gid_is_multicast(&packet->path.dst))
		hdr.dest_qpn = SIB_QPN_MULTICAST;
	head_len = sib_hdr_encode(&hdr, util_iov_len(iov, cnt), packet->head,
				  sizeof(packet->head));
	if (head_len < 0)
		return false;
	packet->iov[0] = (struct iovec){ packet->head, (size_t)head_len };
	memcpy(packet->iov + 1, iov, (size_t)cnt * sizeof(*iov));
	packet->cnt = 1 + cnt;
	if (rnic_guard(packet_end, packet) < 0 || packet->tail_len < 0)
		return false;
	packet->iov[packet->cnt++] =
		(struct iovec){ packet->tail, (size_t)packet->tail_len };
	return true;
}

void rnic_dgram_tap(uint32_t qp_num, bool is_sent, enum usiw_carrier carrier,
		    const struct rnic_host_head *head, const struct iovec *iov,
		    int cnt)
{
	struct tap_packet packet;

	if (packet_make(&packet, head, iov, cnt))
		tap_record(qp_num, is_sent, carrier, &packet.path, packet.iov,
			   packet.cnt);
}
