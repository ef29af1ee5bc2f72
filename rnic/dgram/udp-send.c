/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Packets out, by the UDP sockets. */
#define _GNU_SOURCE /* struct in6_pktinfo */
#include "udp-send.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "host.h"
#include "os/tcp.h"
#include "udp.h"

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

static socklen_t udp_name(struct sockaddr_storage *name,
			  const struct sib_gid *gid, uint32_t ifindex)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)name;
	struct sockaddr_in *sin = (struct sockaddr_in *)name;

	memset(name, 0, sizeof(*name));
	if (sib_gid_is_ipv4(gid)) {
		sin->sin_family = AF_INET;
		sin->sin_port = htons(SIB_UDP_PORT);
		memcpy(&sin->sin_addr, gid->raw + 12, 4);
		return sizeof(*sin);
	}
	sin6->sin6_family = AF_INET6;
	sin6->sin6_port = htons(SIB_UDP_PORT);
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

int rnic_udp_send(const struct sib_path *path, uint32_t dev_ifindex,
		  struct iovec *iov, int cnt)
{
	bool is_ipv4 = sib_gid_is_ipv4(&path->dst);
	uint32_t ifindex = udp_ifindex(&path->dst, dev_ifindex);
	uint8_t tail[SIB_TAIL_MAX];
	struct sockaddr_storage name;
	union udp_control control = { .room = { 0 } };
	struct msghdr msg = {
		.msg_name = &name,
		.msg_namelen = udp_name(&name, &path->dst, ifindex),
		.msg_iov = iov,
		.msg_iovlen = (size_t)cnt + 1,
		.msg_control = &control,
	};
	int len = sib_tail_encode(path, iov, (size_t)cnt, tail, sizeof(tail));

	if (len < 0)
		return len;
	iov[cnt] = (struct iovec){ tail, (size_t)len };
	if (is_ipv4)
		control_ipv4(&msg, path, ifindex);
	else
		control_ipv6(&msg, path, ifindex);
	if (rnic_tcp()->sendmsg(rnic_udp_fd(is_ipv4), &msg,
				MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 0;
	return errno == EINTR || errno == ENOBUFS ? -EAGAIN : -errno;
}

int rnic_udp_send_mad(const struct sib_path *path, uint32_t dev_ifindex,
		      void *mad)
{
	const struct sib_hdr hdr = {
		.opcode = SIB_OPCODE(SIB_UD, SIB_SEND_ONLY),
		.pkey = SIB_PKEY_DEFAULT,
		.dest_qpn = SIB_QPN_GSI,
		.qkey = SIB_QKEY_GSI,
		.src_qpn = SIB_QPN_GSI,
	};
	uint8_t head[SIB_HDR_MAX];
	int len = sib_hdr_encode(&hdr, SIB_MAD_SIZE, head, sizeof(head));
	struct iovec iov[3] = { { head, 0 }, { mad, SIB_MAD_SIZE } };

	if (len < 0)
		return len;
	iov[0].iov_len = (size_t)len;
	return rnic_udp_send(path, dev_ifindex, iov, 2);
}
