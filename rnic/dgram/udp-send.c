/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Packets out, by the UDP sockets. */
#define _GNU_SOURCE /* struct in6_pktinfo, struct mmsghdr */
#include "udp-send.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/addr.h"
#include "os/guard.h"
#include "os/observer.h"
#include "os/tcp.h"
#include "tap.h"

/* Who sends keeps them open. */
static struct udp_from {
	int fd;
	uint16_t port; /* another than SIB_UDP_PORT if that was taken */
} udp_ipv4 = { .fd = -1 }, udp_ipv6 = { .fd = -1 };

static struct udp_from from_of(int fd)
{
	struct sockaddr_storage addr = { 0 };
	socklen_t len = sizeof(addr);

	if (fd >= 0)
		(void)rnic_tcp()->getsockname(fd, (struct sockaddr *)&addr,
					      &len);
	return (struct udp_from){ fd, ntohs(rnic_addr_port_be(
					      (struct sockaddr *)&addr)) };
}

void rnic_udp_send_by(int ipv4_fd, int ipv6_fd)
{
	udp_ipv4 = from_of(ipv4_fd);
	udp_ipv6 = from_of(ipv6_fd);
}

int rnic_udp_send_fd(bool is_ipv4)
{
	return is_ipv4 ? udp_ipv4.fd : udp_ipv6.fd;
}

union udp_control {
	struct cmsghdr align;
	uint8_t room[CMSG_SPACE(sizeof(struct in6_pktinfo)) +
		     2 * CMSG_SPACE(sizeof(int))];
};

static struct cmsghdr *control_add(struct msghdr *msg, int level, int type,
				   const void *val, size_t len)
{
	struct cmsghdr *cmsg =
		(struct cmsghdr *)(void *)((uint8_t *)msg->msg_control +
					   msg->msg_controllen);

	cmsg->cmsg_level = level;
	cmsg->cmsg_type = type;
	cmsg->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(cmsg), val, len);
	msg->msg_controllen += CMSG_SPACE(len);
	return cmsg;
}

static void control_ipv4(struct msghdr *msg, const struct sib_path *path,
			 uint32_t ifindex)
{
	struct in_pktinfo info = { .ipi_ifindex = (int)ifindex };
	int tos = path->tclass, ttl = path->hop_limit;

	memcpy(&info.ipi_spec_dst, path->src.raw + 12, 4);
	control_add(msg, IPPROTO_IP, IP_PKTINFO, &info, sizeof(info));
	if (tos)
		control_add(msg, IPPROTO_IP, IP_TOS, &tos, sizeof(tos));
	if (ttl)
		control_add(msg, IPPROTO_IP, IP_TTL, &ttl, sizeof(ttl));
}

static void control_ipv6(struct msghdr *msg, const struct sib_path *path,
			 uint32_t ifindex)
{
	struct in6_pktinfo info = { .ipi6_ifindex = ifindex };
	int tclass = path->tclass, hops = path->hop_limit;

	memcpy(&info.ipi6_addr, path->src.raw, 16);
	control_add(msg, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof(info));
	if (tclass)
		control_add(msg, IPPROTO_IPV6, IPV6_TCLASS, &tclass,
			    sizeof(tclass));
	if (hops)
		control_add(msg, IPPROTO_IPV6, IPV6_HOPLIMIT, &hops,
			    sizeof(hops));
}

socklen_t rnic_udp_addr(const struct sib_gid *gid, uint16_t port,
			uint32_t ifindex, struct sockaddr_storage *ret_addr)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ret_addr;
	struct sockaddr_in *sin = (struct sockaddr_in *)ret_addr;

	memset(ret_addr, 0, sizeof(*ret_addr));
	if (sib_gid_is_ipv4(gid)) {
		sin->sin_family = AF_INET;
		sin->sin_port = htons(port);
		memcpy(&sin->sin_addr, gid->raw + 12, 4);
		return sizeof(*sin);
	}
	sin6->sin6_family = AF_INET6;
	sin6->sin6_port = htons(port);
	memcpy(&sin6->sin6_addr, gid->raw, 16);
	if (IN6_IS_ADDR_LINKLOCAL(&sin6->sin6_addr) ||
	    IN6_IS_ADDR_MULTICAST(&sin6->sin6_addr))
		sin6->sin6_scope_id = ifindex;
	return sizeof(*sin6);
}

/*
 * A unicast packet leaves where the route says, as from a socket; one to a
 * group or a link-local address has no other way than the device's.
 */
static uint32_t udp_ifindex(const struct sib_gid *dst, uint32_t ifindex)
{
	bool is_link_local = dst->raw[0] == 0xfe &&
			     (dst->raw[1] & 0xc0) == 0x80;

	return sib_gid_is_multicast(dst) || is_link_local ? ifindex : 0;
}

/* ---- packets ------------------------------------------------------------- */

/* One packet, with all that the kernel is told. */
struct udp_packet {
	struct msghdr msg;
	struct sockaddr_storage name;
	union udp_control control;
	uint8_t head[SIB_HDR_MAX], tail[SIB_TAIL_MAX];
	struct iovec iov[RNIC_UDP_PIECES + 2]; /* head, payload, tail */
	/* For a capture; 0: none. */
	uint32_t tap_qp_num;
	struct sib_path tap_path;
};

/* It has left. */
static void packet_tap(const struct udp_packet *packet)
{
	if (packet->tap_qp_num)
		rnic_dgram_tap_packet(packet->tap_qp_num, &packet->tap_path,
				      packet->iov, (int)packet->msg.msg_iovlen);
}

struct udp_icrc {
	const struct sib_path *path;
	struct udp_packet *packet;
	int cnt, ret;
};

/* Guarded: it reads the payload. */
static void udp_icrc(void *arg)
{
	struct udp_icrc *icrc = arg;

	icrc->ret = sib_tail_encode(icrc->path, icrc->packet->iov,
				    (size_t)icrc->cnt, icrc->packet->tail,
				    sizeof(icrc->packet->tail));
}

/* Return: 0; -EFAULT: the payload cannot be read; -EINVAL. */
static int packet_fill(struct udp_packet *packet,
		       const struct rnic_udp_datagram *datagram)
{
	struct sib_path path = datagram->path;
	uint32_t ifindex = udp_ifindex(&path.dst, datagram->dev_ifindex);
	bool is_ipv4 = sib_gid_is_ipv4(&path.dst);
	struct udp_icrc icrc = { &path, packet, 1 + datagram->cnt, 0 };
	int len = sib_hdr_encode(&datagram->hdr, datagram->len, packet->head,
				 sizeof(packet->head));

	if (len < 0)
		return len;
	path.src_port = is_ipv4 ? udp_ipv4.port : udp_ipv6.port;
	packet->iov[0] = (struct iovec){ packet->head, (size_t)len };
	memcpy(packet->iov + 1, datagram->iov,
	       (size_t)datagram->cnt * sizeof(packet->iov[0]));
	if (rnic_guard(udp_icrc, &icrc) < 0)
		return -EFAULT;
	if (icrc.ret < 0)
		return icrc.ret;
	packet->iov[icrc.cnt] =
		(struct iovec){ packet->tail, (size_t)icrc.ret };
	packet->msg = (struct msghdr){
		.msg_name = &packet->name,
		.msg_namelen = rnic_udp_addr(&path.dst, SIB_UDP_PORT, ifindex,
					     &packet->name),
		.msg_iov = packet->iov,
		.msg_iovlen = (size_t)icrc.cnt + 1,
		.msg_control = &packet->control,
	};
	packet->tap_qp_num = 0;
	if (rnic_observed(USIW_OBSERVE_PACKETS)) {
		packet->tap_qp_num = datagram->hdr.src_qpn;
		packet->tap_path = path;
	}
	if (is_ipv4)
		control_ipv4(&packet->msg, &path, ifindex);
	else
		control_ipv6(&packet->msg, &path, ifindex);
	return 0;
}

static int send_error(void)
{
	return errno == EINTR || errno == ENOBUFS ? -EAGAIN : -errno;
}

/* ---- batches ------------------------------------------------------------- */

struct rnic_udp_batch {
	bool is_ipv4;
	uint32_t cnt;
	struct udp_packet packet[RNIC_UDP_BATCH];
	struct mmsghdr mmsg[RNIC_UDP_BATCH];
};

struct rnic_udp_batch *rnic_udp_batch_new(void)
{
	return calloc(1, sizeof(struct rnic_udp_batch));
}

int rnic_udp_batch_add(struct rnic_udp_batch *batch,
		       const struct rnic_udp_datagram *datagram)
{
	bool is_ipv4 = sib_gid_is_ipv4(&datagram->path.dst);
	int rc;

	if (batch->cnt == RNIC_UDP_BATCH ||
	    (batch->cnt && batch->is_ipv4 != is_ipv4))
		return -ENOSPC;
	rc = packet_fill(&batch->packet[batch->cnt], datagram);
	if (rc < 0)
		return rc;
	batch->is_ipv4 = is_ipv4;
	batch->mmsg[batch->cnt].msg_hdr = batch->packet[batch->cnt].msg;
	batch->cnt++;
	return 0;
}

uint32_t rnic_udp_batch_send(struct rnic_udp_batch *batch, int *ret_err)
{
	uint32_t sent = 0;
	long cnt;

	*ret_err = 0;
	while (sent < batch->cnt) {
		cnt = syscall(SYS_sendmmsg, rnic_udp_send_fd(batch->is_ipv4),
			      batch->mmsg + sent, batch->cnt - sent,
			      MSG_DONTWAIT | MSG_NOSIGNAL);
		if (cnt <= 0) {
			*ret_err = send_error();
			break;
		}
		for (long i = 0; i < cnt; i++)
			packet_tap(&batch->packet[sent + (uint32_t)i]);
		sent += (uint32_t)cnt;
	}
	batch->cnt = 0;
	return sent;
}

/* ---- management datagrams ------------------------------------------------ */

int rnic_udp_send_mad(const struct sib_path *path, uint32_t dev_ifindex,
		      void *mad)
{
	struct iovec iov = { mad, SIB_MAD_SIZE };
	const struct rnic_udp_datagram datagram = {
		.hdr = { .opcode = SIB_OPCODE(SIB_UD, SIB_SEND_ONLY),
			 .pkey = SIB_PKEY_DEFAULT,
			 .dest_qpn = SIB_QPN_GSI,
			 .qkey = SIB_QKEY_GSI,
			 .src_qpn = SIB_QPN_GSI },
		.path = *path,
		.dev_ifindex = dev_ifindex,
		.iov = &iov,
		.cnt = 1,
		.len = SIB_MAD_SIZE,
	};
	struct udp_packet packet;
	int rc = packet_fill(&packet, &datagram);

	if (rc < 0)
		return rc;
	if (rnic_tcp()->sendmsg(rnic_udp_send_fd(sib_gid_is_ipv4(&path->dst)),
				&packet.msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return send_error();
	packet_tap(&packet);
	return 0;
}
