/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The UDP sockets of a context. */
#define _GNU_SOURCE /* struct in6_pktinfo, struct mmsghdr */
#include "udp.h"

#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "util/log.h"
#include "dev/device.h"
#include "engine/engine.h"
#include "engine/thread.h"
#include "mem/context.h"
#include "os/addr.h"
#include "os/fd.h"
#include "os/stat.h"
#include "os/tcp.h"
#include "qp/qp-table.h"
#include "route.h"

#ifndef UDP_NO_CHECK6_RX
#define UDP_NO_CHECK6_RX 102
#endif

/* Packets that one pass takes. */
#define UDP_PASS_MAX 64
/* Octets that the kernel keeps for a process that does not run. */
#define UDP_RCVBUF (4 * 1024 * 1024)

/* A packet, and one octet more that shows a longer one.  Its payload gets
 * another head where it is. */
#define UDP_PACKET_MAX (SIB_HDR_MAX + SIB_PAYLOAD_MAX + SIB_TAIL_MAX + 1)
#define UDP_HEADROOM sizeof(struct rnic_host_head)

/* ---- send ---------------------------------------------------------------- */

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
static uint32_t udp_ifindex(const struct rnic_udp *udp,
			    const struct sib_gid *dst)
{
	static const uint8_t link_local[2] = { 0xfe, 0x80 };
	bool is_linked = sib_gid_is_multicast(dst) ||
			 memcmp(dst->raw, link_local, 2) == 0;

	return is_linked ? udp->ctx->dev->ifindex : 0;
}

int rnic_udp_send(struct rnic_udp *udp, const struct sib_path *path,
		  struct iovec *iov, int cnt)
{
	bool is_ipv4 = sib_gid_is_ipv4(&path->dst);
	int fd = udp->sock[is_ipv4 ? RNIC_UDP_IPV4 : RNIC_UDP_IPV6].source.fd;
	uint32_t ifindex = udp_ifindex(udp, &path->dst);
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
	if (rnic_tcp()->sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 0;
	return errno == EINTR || errno == ENOBUFS ? -EAGAIN : -errno;
}

/* ---- receive ------------------------------------------------------------- */

/* What the kernel says beside the octets. */
struct udp_seen {
	struct sockaddr_storage from;
	struct sib_path path;
	bool has_dst;
	uint32_t lost;
	bool has_lost;
};

static void seen_cmsg(struct udp_seen *seen, const struct cmsghdr *cmsg)
{
	const void *data = CMSG_DATA(cmsg);
	struct in6_pktinfo info6;
	struct in_pktinfo info;
	int value;

	if (cmsg->cmsg_level == IPPROTO_IP && cmsg->cmsg_type == IP_PKTINFO) {
		memcpy(&info, data, sizeof(info));
		rnic_gid_from_ip(seen->path.dst.raw, AF_INET, &info.ipi_addr);
		seen->has_dst = true;
		return;
	}
	if (cmsg->cmsg_level == IPPROTO_IPV6 &&
	    cmsg->cmsg_type == IPV6_PKTINFO) {
		memcpy(&info6, data, sizeof(info6));
		memcpy(seen->path.dst.raw, &info6.ipi6_addr, 16);
		seen->has_dst = true;
		return;
	}
	if (cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SO_RXQ_OVFL) {
		memcpy(&seen->lost, data, sizeof(seen->lost));
		seen->has_lost = true;
		return;
	}
	if (cmsg->cmsg_level == IPPROTO_IP && cmsg->cmsg_type == IP_TOS) {
		seen->path.tclass = *(const uint8_t *)data;
		return;
	}
	memcpy(&value, data, sizeof(value));
	if ((cmsg->cmsg_level == IPPROTO_IP && cmsg->cmsg_type == IP_TTL) ||
	    (cmsg->cmsg_level == IPPROTO_IPV6 &&
	     cmsg->cmsg_type == IPV6_HOPLIMIT))
		seen->path.hop_limit = (uint8_t)value;
	else if (cmsg->cmsg_level == IPPROTO_IPV6 &&
		 cmsg->cmsg_type == IPV6_TCLASS)
		seen->path.tclass = (uint8_t)value;
}

static void seen_from(struct udp_seen *seen)
{
	const struct sockaddr_in6 *sin6 =
		(const struct sockaddr_in6 *)&seen->from;
	const struct sockaddr_in *sin = (const struct sockaddr_in *)&seen->from;

	if (seen->from.ss_family == AF_INET) {
		rnic_gid_from_ip(seen->path.src.raw, AF_INET, &sin->sin_addr);
		seen->path.src_port = ntohs(sin->sin_port);
	} else {
		memcpy(seen->path.src.raw, &sin6->sin6_addr, 16);
		seen->path.src_port = ntohs(sin6->sin6_port);
	}
	seen->path.dst_port = SIB_UDP_PORT;
}

/* Return: octets; -errno. */
static ssize_t udp_recv(int fd, uint8_t *buf, struct udp_seen *ret_seen)
{
	union {
		struct cmsghdr align;
		uint8_t room[256];
	} control;
	struct iovec iov = { buf, UDP_PACKET_MAX };
	struct msghdr msg = {
		.msg_name = &ret_seen->from,
		.msg_namelen = sizeof(ret_seen->from),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t len = rnic_tcp()->recvmsg(fd, &msg, MSG_DONTWAIT);

	memset(&ret_seen->path, 0, sizeof(ret_seen->path));
	ret_seen->has_dst = false;
	ret_seen->has_lost = false;
	if (len < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg); cmsg;
	     cmsg = CMSG_NXTHDR(&msg, cmsg))
		seen_cmsg(ret_seen, cmsg);
	seen_from(ret_seen);
	return len;
}

/* Is it a datagram for a QP, and whole?  Return: 0; -EBADMSG. */
static int udp_decode(struct udp_seen *seen, const uint8_t *buf, size_t len,
		      struct sib_packet *ret_pkt)
{
	const struct sib_op *op;

	if (sib_packet_decode(buf, len, ret_pkt) != SIB_OK)
		return -EBADMSG;
	op = sib_op(ret_pkt->hdr.opcode);
	if (op->service != SIB_UD || !seen->has_dst ||
	    ret_pkt->payload_len > SIB_PAYLOAD_MAX ||
	    !sib_pkey_match(ret_pkt->hdr.pkey, SIB_PKEY_DEFAULT) ||
	    sib_icrc_check(&seen->path, buf, len, &seen->path.ip_id) != SIB_OK)
		return -EBADMSG;
	return 0;
}

/* @buf: with UDP_HEADROOM before it. */
static void udp_take(struct rnic_udp *udp, struct udp_seen *seen, uint8_t *buf,
		     size_t len)
{
	struct rnic_host_head head;
	struct sib_packet pkt;
	uint8_t *payload;

	if (udp_decode(seen, buf, len, &pkt) < 0 ||
	    sib_grh_encode(&seen->path, len, head.grh, sizeof(head.grh)) < 0) {
		rnic_stat_count(udp->engine->stat, RNIC_STAT_ud_bad, 1);
		return;
	}
	head.magic = RNIC_HOST_MAGIC;
	head.dest_num = pkt.hdr.dest_qpn;
	head.src_num = pkt.hdr.src_qpn;
	head.qkey = pkt.hdr.qkey;
	head.imm_be = pkt.hdr.imm_be;
	head.flags =
		(sib_op(pkt.hdr.opcode)->ext & SIB_IMMDT ? RNIC_HOST_IMM : 0) |
		(pkt.hdr.is_solicited ? RNIC_HOST_SOLICITED : 0);
	payload = buf + (pkt.payload - buf);
	memcpy(payload - sizeof(head), &head, sizeof(head));
	rnic_ud_route(udp->engine, udp->host_fd,
		      (void *)(payload - sizeof(head)),
		      (uint32_t)pkt.payload_len);
}

static void udp_note_lost(struct rnic_udp_sock *sock,
			  const struct udp_seen *seen)
{
	if (!seen->has_lost || seen->lost == sock->lost)
		return;
	rnic_stat_count(sock->udp->engine->stat, RNIC_STAT_ud_socket_full,
			seen->lost - sock->lost);
	sock->lost = seen->lost;
}

static struct rnic_udp_sock *sock_of(struct rnic_source *source)
{
	return RNIC_CONTAINER_OF(source, struct rnic_udp_sock, source);
}

static void udp_pass(struct rnic_source *source, uint32_t events)
{
	struct rnic_udp_sock *sock = sock_of(source);
	uint8_t *buf = sock->udp->buf + UDP_HEADROOM;
	struct udp_seen seen;

	(void)events;
	for (int i = 0; i < UDP_PASS_MAX; i++) {
		ssize_t len = udp_recv(source->fd, buf, &seen);

		if (len == -EAGAIN)
			return;
		source->quiet_cnt = 0;
		if (len < 0)
			continue; /* an error that a router has reported */
		udp_note_lost(sock, &seen);
		udp_take(sock->udp, &seen, buf, (size_t)len);
	}
}

static void udp_mr_gone(struct rnic_source *source, uint32_t stag,
			const void *addr, size_t len)
{
	(void)source;
	(void)stag;
	(void)addr;
	(void)len;
}

static void udp_addr_gone(struct rnic_source *source)
{
	(void)source;
}

/* The descriptor stays: QPs of other engines may send by it. */
static void udp_abort(struct rnic_source *source)
{
	struct rnic_udp_sock *sock = sock_of(source);

	rnic_engine_remove(sock->udp->engine, source);
	sock->is_added = false;
}

static const struct rnic_source_ops udp_source_ops = {
	.pass = udp_pass,
	.mr_gone = udp_mr_gone,
	.addr_gone = udp_addr_gone,
	.drain = udp_abort,
	.abort = udp_abort,
};

/* ---- sockets ------------------------------------------------------------- */

/* All packets go to the first socket of the group. */
static void sock_take_first(int fd)
{
	struct sock_filter first[] = { BPF_STMT(BPF_RET | BPF_K, 0) };
	const struct sock_fprog prog = { 1, first };

	(void)rnic_tcp()->setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF,
				     &prog, sizeof(prog));
}

static void sock_set_options(int fd, int family)
{
	bool is_ipv4 = family == AF_INET;
	int level = is_ipv4 ? IPPROTO_IP : IPPROTO_IPV6;

	rnic_sock_set_flag(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	rnic_sock_set_flag(fd, SOL_SOCKET, SO_RXQ_OVFL, 1);
	rnic_sock_set_flag(fd, SOL_SOCKET, SO_RCVBUF, UDP_RCVBUF);
	if (is_ipv4) {
		/* Identification 0, which the ICRC covers (A17). */
		rnic_sock_set_flag(fd, level, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
		rnic_sock_set_flag(fd, level, IP_PKTINFO, 1);
		rnic_sock_set_flag(fd, level, IP_RECVTTL, 1);
		rnic_sock_set_flag(fd, level, IP_RECVTOS, 1);
		rnic_sock_set_flag(fd, level, IP_MULTICAST_ALL, 0);
		return;
	}
	rnic_sock_set_flag(fd, level, IPV6_V6ONLY, 1);
	rnic_sock_set_flag(fd, level, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
	rnic_sock_set_flag(fd, level, IPV6_RECVPKTINFO, 1);
	rnic_sock_set_flag(fd, level, IPV6_RECVHOPLIMIT, 1);
	rnic_sock_set_flag(fd, level, IPV6_RECVTCLASS, 1);
	rnic_sock_set_flag(fd, level, IPV6_MULTICAST_ALL, 0);
	/* rdma_rxe sends checksum 0. */
	rnic_sock_set_flag(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
}

static int sock_bind(int fd, int family)
{
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6,
				     .sin6_port = htons(SIB_UDP_PORT) };
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(SIB_UDP_PORT) };
	int rc = family == AF_INET
			 ? rnic_tcp()->bind(fd, (struct sockaddr *)&sin,
					    sizeof(sin))
			 : rnic_tcp()->bind(fd, (struct sockaddr *)&sin6,
					    sizeof(sin6));

	return rc < 0 ? -errno : 0;
}

/* Return: in the fd table; -errno. */
static int sock_open(int family)
{
	int fd = rnic_sock_open(family, SOCK_DGRAM);
	int rc;

	if (fd < 0)
		return fd;
	sock_set_options(fd, family);
	rc = sock_bind(fd, family);
	if (rc == 0)
		sock_take_first(fd);
	else
		util_warn("rnic",
			  "UDP port %u, %s: %s: no datagrams come from other "
			  "hosts; another user's process or the kernel's "
			  "rdma_rxe has the port",
			  SIB_UDP_PORT, family == AF_INET ? "IPv4" : "IPv6",
			  strerror(-rc));
	return fd;
}

static void udp_free(struct rnic_udp *udp)
{
	for (int i = 0; i < RNIC_UDP_CNT; i++) {
		rnic_fd_close(udp->sock[i].source.fd);
		udp->sock[i].source.fd = -1;
	}
	rnic_fd_close(udp->host_fd);
	udp->host_fd = -1;
	free(udp->buf);
	udp->buf = NULL;
}

static void udp_close(struct rnic_udp *udp)
{
	rnic_engine_lead(udp->engine);
	for (int i = 0; i < RNIC_UDP_CNT; i++)
		if (udp->sock[i].is_added)
			udp_abort(&udp->sock[i].source);
	rnic_engine_unlead(udp->engine);
	udp_free(udp);
}

static int udp_add(struct rnic_udp *udp)
{
	int rc = rnic_engine_thread_start(udp->engine);

	for (int i = 0; i < RNIC_UDP_CNT && rc == 0; i++) {
		struct rnic_udp_sock *sock = &udp->sock[i];

		if (sock->source.fd < 0)
			continue;
		rc = rnic_engine_add(udp->engine, &sock->source);
		sock->is_added = rc == 0;
	}
	return rc;
}

static int udp_open(struct rnic_udp *udp, struct rnic_engine *engine)
{
	static const int families[] = { AF_INET, AF_INET6 };
	int rc = 0;

	udp->engine = engine;
	udp->buf = malloc(UDP_HEADROOM + UDP_PACKET_MAX);
	udp->host_fd = rnic_host_open_sender();
	/* A kernel may be without one of the two. */
	for (int i = 0; i < RNIC_UDP_CNT; i++) {
		udp->sock[i].udp = udp;
		udp->sock[i].source.ops = &udp_source_ops;
		udp->sock[i].lost = 0;
		udp->sock[i].source.fd = sock_open(families[i]);
	}
	if (!udp->buf)
		rc = -ENOMEM;
	else if (udp->host_fd < 0)
		rc = udp->host_fd;
	rnic_engine_lead(engine);
	if (rc == 0)
		rc = udp_add(udp);
	rnic_engine_unlead(engine);
	if (rc < 0)
		udp_close(udp);
	return rc;
}

void rnic_udp_init(struct rnic_udp *udp, struct rnic_context *ctx)
{
	memset(udp, 0, sizeof(*udp));
	udp->ctx = ctx;
	util_lock_init(&udp->lock, UTIL_RANK_DEVICE);
}

int rnic_udp_get(struct rnic_udp *udp, struct rnic_engine *engine)
{
	int rc = 0;

	util_lock(&udp->lock);
	if (!udp->user_cnt)
		rc = udp_open(udp, engine);
	if (rc == 0)
		udp->user_cnt++;
	util_unlock(&udp->lock);
	return rc;
}

void rnic_udp_put(struct rnic_udp *udp)
{
	util_lock(&udp->lock);
	if (--udp->user_cnt == 0)
		udp_close(udp);
	util_unlock(&udp->lock);
}

void rnic_udp_fini(struct rnic_udp *udp)
{
	if (udp->user_cnt)
		udp_free(udp);
	udp->user_cnt = 0;
}
