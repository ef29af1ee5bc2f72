/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The UDP sockets of the process. */
#define _GNU_SOURCE /* struct in6_pktinfo, struct mmsghdr */
#include "udp.h"

#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/log.h"
#include "engine/engine.h"
#include "engine/engines.h"
#include "engine/sockets.h"
#include "engine/thread.h"
#include "loop/loop.h"
#include "os/addr.h"
#include "os/fd.h"
#include "os/stat.h"
#include "os/tcp.h"
#include "full.h"
#include "route.h"
#include "share.h"
#include "udp-send.h"

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
/* Packets of one system call. */
#define UDP_BATCH 16

struct udp_packet {
	struct sockaddr_storage from;
	union {
		struct cmsghdr align;
		uint8_t room[256];
	} control;
	struct iovec iov;
	_Alignas(struct rnic_host_head)
		uint8_t buf[UDP_HEADROOM + UDP_PACKET_MAX];
};

struct udp_sock;

struct udp_batch {
	struct udp_sock *sock; /* it came from */
	int cnt, next;	       /* packets; the next one to be taken */
	int max;	       /* packets of the next system call */
	/* The packet before that waits for the process of its QP, and all
	 * others behind it.  NULL: none does. */
	struct rnic_host_head *waits;
	uint32_t waits_len, waits_ifindex;
	struct rnic_full full;
	struct mmsghdr mmsg[UDP_BATCH];
	struct udp_packet packet[UDP_BATCH];
};

/* The port's are common to the processes of the user, and the first ones of it:
 * all packets go there but those for groups.  The process's own ones send, and
 * join groups. */
enum {
	UDP_PORT,
	UDP_OWN = UDP_PORT + RNIC_SHARE_CNT,
	UDP_CNT = UDP_OWN + RNIC_SHARE_CNT
};

struct udp_sock {
	struct rnic_source source;  /* fd: -1: there is none */
	struct rnic_engine *engine; /* that has the source; under its lead */
	uint32_t watched;	    /* events that the loop waits for */
	uint32_t lost;		    /* that the socket has dropped */
	bool is_new;		    /* others have read it: @lost is void */
};

/* Guarded by the loop's lock; what reading needs, by @engine's lead, too. */
static struct {
	uint32_t user_cnt; /* 0: the rest is void */
	LIST_HEAD(, udp_server) servers;
	struct rnic_engine *engine; /* that reads; NULL: the loop */
	struct udp_sock sock[UDP_CNT];
	int host_fd;		 /* to hand packets on */
	struct udp_batch *batch; /* to read by */
} udp;

/* ---- receive ------------------------------------------------------------- */

/* What the kernel says beside the octets. */
struct udp_seen {
	struct sib_path path;
	uint32_t ifindex;
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
		seen->ifindex = (uint32_t)info.ipi_ifindex;
		seen->has_dst = true;
		return;
	}
	if (cmsg->cmsg_level == IPPROTO_IPV6 &&
	    cmsg->cmsg_type == IPV6_PKTINFO) {
		memcpy(&info6, data, sizeof(info6));
		memcpy(seen->path.dst.raw, &info6.ipi6_addr, 16);
		seen->ifindex = info6.ipi6_ifindex;
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

static void seen_from(struct udp_seen *seen,
		      const struct sockaddr_storage *from)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)from;
	const struct sockaddr_in *sin = (const struct sockaddr_in *)from;

	if (from->ss_family == AF_INET) {
		rnic_gid_from_ip(seen->path.src.raw, AF_INET, &sin->sin_addr);
		seen->path.src_port = ntohs(sin->sin_port);
	} else {
		memcpy(seen->path.src.raw, &sin6->sin6_addr, 16);
		seen->path.src_port = ntohs(sin6->sin6_port);
	}
	seen->path.dst_port = SIB_UDP_PORT;
}

static void udp_seen(struct msghdr *msg, struct udp_seen *ret_seen)
{
	struct cmsghdr *cmsg;

	memset(ret_seen, 0, sizeof(*ret_seen));
	for (cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg))
		seen_cmsg(ret_seen, cmsg);
	seen_from(ret_seen, msg->msg_name);
}

/* What the kernel has written to. */
static void packet_reset(struct udp_batch *batch, int i)
{
	struct msghdr *msg = &batch->mmsg[i].msg_hdr;

	msg->msg_namelen = sizeof(batch->packet[i].from);
	msg->msg_controllen = sizeof(batch->packet[i].control);
}

static struct udp_batch *batch_new(void)
{
	struct udp_batch *batch = calloc(1, sizeof(*batch));

	if (!batch)
		return NULL;
	batch->max = 1;
	for (int i = 0; i < UDP_BATCH; i++) {
		struct udp_packet *packet = &batch->packet[i];

		packet->iov = (struct iovec){ packet->buf + UDP_HEADROOM,
					      UDP_PACKET_MAX };
		batch->mmsg[i].msg_hdr = (struct msghdr){
			.msg_name = &packet->from,
			.msg_iov = &packet->iov,
			.msg_iovlen = 1,
			.msg_control = &packet->control,
		};
		packet_reset(batch, i);
	}
	return batch;
}

/* The kernel looks for one packet more than there is, so an answer is asked for
 * alone. */
static void udp_recv(struct udp_sock *sock, struct udp_batch *batch)
{
	int max = batch->max, cnt;

	for (int i = 0; i < batch->cnt; i++)
		packet_reset(batch, i);
	cnt = (int)syscall(SYS_recvmmsg, sock->source.fd, batch->mmsg, max,
			   MSG_DONTWAIT, NULL);
	batch->cnt = cnt > 0 ? cnt : 0;
	batch->next = 0;
	batch->sock = sock;
	if (batch->cnt == max)
		batch->max = 2 * max < UDP_BATCH ? 2 * max : UDP_BATCH;
	else
		batch->max = cnt > 1 ? cnt : 1;
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

/* The process of @num is full.  Return: whether its packet waits; else it is
 * lost.  The loop does not wait. */
static bool packet_waits(struct rnic_engine *engine, uint32_t num)
{
	struct udp_batch *batch = udp.batch;

	if (!engine ||
	    !rnic_full_waits(&batch->full, num, rnic_engine_now_ns(engine)))
		return false;
	rnic_engine_deadline(engine, &batch->sock->source.due,
			     rnic_engine_now_ns(engine) + RNIC_FULL_RETRY_NS);
	return true;
}

/* Return: false: it waits. */
static bool packet_route(struct rnic_engine *engine, uint32_t ifindex,
			 struct rnic_host_head *head, uint32_t len)
{
	struct udp_batch *batch = udp.batch;
	uint32_t num = head->dest_num;
	int rc = rnic_ud_route(engine, udp.host_fd, ifindex, head, len);

	if (rc == -EAGAIN && packet_waits(engine, num)) {
		batch->waits = head;
		batch->waits_len = len;
		batch->waits_ifindex = ifindex;
		return false;
	}
	batch->waits = NULL;
	if (rc == 0) {
		rnic_full_taken(&batch->full, num);
		return true;
	}
	rnic_full_end(&batch->full);
	rnic_stat_add(RNIC_STAT_ud_lost, 1);
	return true;
}

/* @buf: with UDP_HEADROOM before it.  @engine: NULL: the loop.  Return: false:
 * it waits. */
static bool udp_take(struct rnic_engine *engine, struct udp_seen *seen,
		     uint8_t *buf, size_t len)
{
	struct rnic_host_head head;
	struct sib_packet pkt;
	uint8_t *payload;

	if (udp_decode(seen, buf, len, &pkt) < 0 ||
	    sib_grh_encode(&seen->path, len, head.grh, sizeof(head.grh)) < 0) {
		rnic_stat_add(RNIC_STAT_ud_bad, 1);
		return true;
	}
	head.magic = RNIC_HOST_MAGIC;
	head.dest_num = pkt.hdr.dest_qpn;
	head.src_num = pkt.hdr.src_qpn;
	head.qkey = pkt.hdr.qkey;
	head.imm_be = pkt.hdr.imm_be;
	head.flags =
		(sib_op(pkt.hdr.opcode)->ext & SIB_IMMDT ? RNIC_HOST_IMM : 0) |
		(pkt.hdr.is_solicited ? RNIC_HOST_SOLICITED : 0) |
		pkt.hdr.psn << RNIC_HOST_PSN_SHIFT;
	payload = buf + (pkt.payload - buf);
	memcpy(payload - sizeof(head), &head, sizeof(head));
	return packet_route(engine, seen->ifindex,
			    (void *)(payload - sizeof(head)),
			    (uint32_t)pkt.payload_len);
}

static void udp_note_lost(struct udp_sock *sock, const struct udp_seen *seen)
{
	if (!seen->has_lost || seen->lost == sock->lost)
		return;
	if (!sock->is_new)
		rnic_stat_add(RNIC_STAT_ud_socket_full,
			      seen->lost - sock->lost);
	sock->is_new = false;
	sock->lost = seen->lost;
}

/* Return: false: a packet waits. */
static bool batch_take(struct udp_batch *batch, struct rnic_engine *engine)
{
	struct udp_seen seen;

	if (batch->waits && !packet_route(engine, batch->waits_ifindex,
					  batch->waits, batch->waits_len))
		return false;
	while (batch->next < batch->cnt) {
		int i = batch->next++;

		udp_seen(&batch->mmsg[i].msg_hdr, &seen);
		udp_note_lost(batch->sock, &seen);
		if (!udp_take(engine, &seen,
			      batch->packet[i].buf + UDP_HEADROOM,
			      batch->mmsg[i].msg_len))
			return false;
	}
	return true;
}

/* While a packet waits, the kernel keeps those behind it. */
static bool batch_pass(struct rnic_engine *engine)
{
	bool did_wait = udp.batch->waits;
	bool is_done = batch_take(udp.batch, engine);

	for (int i = 0; i < UDP_CNT && is_done == did_wait; i++)
		if (udp.sock[i].engine)
			rnic_engine_set_events(engine, &udp.sock[i].source,
					       is_done ? EPOLLIN : 0);
	return is_done;
}

/* The engine ends, or another one reads from now on. */
static void batch_drop(struct udp_batch *batch)
{
	int cnt = batch->cnt - batch->next + (batch->waits ? 1 : 0);

	rnic_stat_add(RNIC_STAT_ud_lost, (uint64_t)cnt);
	batch->next = batch->cnt;
	batch->waits = NULL;
	rnic_full_end(&batch->full);
}

static void sock_read(struct udp_sock *sock, struct rnic_engine *engine)
{
	struct udp_batch *batch = udp.batch;

	/* An error that a router has reported looks like an empty socket, and
	 * the next call finds what is behind it. */
	for (int left = UDP_PASS_MAX; left > 0; left -= batch->cnt) {
		if (!batch_pass(engine))
			return;
		udp_recv(sock, batch);
		if (batch->cnt && engine)
			rnic_engine_note_octets(engine, &sock->source);
		if (!batch_pass(engine) || batch->cnt < UDP_BATCH)
			return;
	}
}

static struct udp_sock *sock_of(struct rnic_source *source)
{
	return RNIC_CONTAINER_OF(source, struct udp_sock, source);
}

static void udp_pass(struct rnic_source *source, uint32_t events)
{
	struct udp_sock *sock = sock_of(source);

	(void)events;
	sock_read(sock, sock->engine);
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

/* The descriptor stays: it belongs to the process. */
static void udp_abort(struct rnic_source *source)
{
	struct udp_sock *sock = sock_of(source);

	rnic_engine_remove(sock->engine, source);
	sock->engine = NULL;
	batch_drop(udp.batch);
}

/* A process was full. */
static void udp_due(struct rnic_due *due, uint64_t now_ns)
{
	struct rnic_source *source =
		RNIC_CONTAINER_OF(due, struct rnic_source, due);

	(void)now_ns;
	udp_pass(source, 0);
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

static int sock_bind(int fd, int family, uint16_t port)
{
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6,
				     .sin6_port = htons(port) };
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(port) };
	int rc = family == AF_INET
			 ? rnic_tcp()->bind(fd, (struct sockaddr *)&sin,
					    sizeof(sin))
			 : rnic_tcp()->bind(fd, (struct sockaddr *)&sin6,
					    sizeof(sin6));

	return rc < 0 ? -errno : 0;
}

static const int families[RNIC_SHARE_CNT] = { AF_INET, AF_INET6 };

/* @port: 0: any.  Return: in the fd table; -errno. */
static int sock_open(int family, uint16_t port)
{
	int fd = rnic_sock_open(family, SOCK_DGRAM);
	int rc;

	if (fd < 0)
		return fd;
	sock_set_options(fd, family);
	rc = sock_bind(fd, family, port);
	if (rc < 0) {
		rnic_fd_close(fd);
		return rc;
	}
	if (port)
		sock_take_first(fd);
	return fd;
}

/* A kernel may be without one of the two families. */
static int sock_open_own(int family)
{
	int fd = sock_open(family, SIB_UDP_PORT);

	if (fd != -EADDRINUSE && fd != -EACCES)
		return fd;
	util_warn(
		"rnic",
		"UDP port %u, %s: %s: no datagrams come from other hosts; "
		"another user's process or the kernel's rdma_rxe has the port",
		SIB_UDP_PORT, family == AF_INET ? "IPv4" : "IPv6",
		strerror(-fd));
	/* Packets leave from any port; the ICRC covers which. */
	return sock_open(family, 0);
}

static struct udp_sock sock_of_fd(int fd)
{
	return (struct udp_sock){
		.source = { .ops = &udp_source_ops,
			    .due = { .serve = udp_due },
			    .fd = fd },
	};
}

static void port_set(const int fds[RNIC_SHARE_CNT], bool is_new)
{
	if (udp.engine)
		rnic_engine_lead(udp.engine);
	for (int i = 0; i < RNIC_SHARE_CNT; i++) {
		struct udp_sock *sock = &udp.sock[UDP_PORT + i];

		*sock = sock_of_fd(fds[i]);
		sock->source.is_shared = true;
		sock->is_new = is_new;
	}
	if (udp.engine)
		rnic_engine_unlead(udp.engine);
}

/* The sockets that the processes of the user share, if there are any yet. */
static void port_open(void)
{
	int fds[RNIC_SHARE_CNT] = { -1, -1 };

	if (rnic_share_begin() == RNIC_SHARE_FIRST) {
		for (int i = 0; i < RNIC_SHARE_CNT; i++)
			fds[i] = sock_open(families[i], SIB_UDP_PORT);
		rnic_share_set(fds);
		if (fds[0] < 0 && fds[1] < 0)
			rnic_share_end();
	}
	port_set(fds, false);
}

static void socks_close(void)
{
	rnic_share_end();
	for (int i = 0; i < UDP_CNT; i++) {
		rnic_fd_close(udp.sock[i].source.fd);
		udp.sock[i].source.fd = -1;
	}
	rnic_udp_send_by(-1, -1);
	rnic_fd_close(udp.host_fd);
	udp.host_fd = -1;
	free(udp.batch);
	udp.batch = NULL;
}

static int socks_open(void)
{
	int rc = 0;

	udp.batch = batch_new();
	udp.host_fd = rnic_host_open_sender();
	port_open();
	for (int i = 0; i < RNIC_SHARE_CNT; i++)
		udp.sock[UDP_OWN + i] = sock_of_fd(sock_open_own(families[i]));
	rnic_udp_send_by(udp.sock[UDP_OWN].source.fd,
			 udp.sock[UDP_OWN + 1].source.fd);
	if (!udp.batch)
		rc = -ENOMEM;
	else if (udp.host_fd < 0)
		rc = udp.host_fd;
	if (rc < 0)
		socks_close();
	return rc;
}

/* ---- who reads them ------------------------------------------------------ */

/* An engine with UD QPs. */
struct udp_server {
	LIST_ENTRY(udp_server) link;
	struct rnic_engine *engine;
	uint32_t qp_cnt;
};

static struct udp_server *server_find(const struct rnic_engine *engine)
{
	struct udp_server *server;

	LIST_FOREACH(server, &udp.servers, link)
	{
		if (server->engine == engine)
			break;
	}
	return server;
}

/* Nobody reads from here on. */
static void serve_end(void)
{
	struct rnic_engine *engine = udp.engine;

	for (int i = 0; i < UDP_CNT; i++)
		if (udp.sock[i].watched)
			(void)rnic_loop_watch(udp.sock[i].source.fd,
					      RNIC_LOOP_UDP, (uint64_t)i, 0,
					      &udp.sock[i].watched);
	udp.engine = NULL;
	if (!engine)
		return;
	rnic_engine_lead(engine);
	for (int i = 0; i < UDP_CNT; i++)
		if (udp.sock[i].engine)
			udp_abort(&udp.sock[i].source);
	rnic_engine_unlead(engine);
}

/* Under its lead. */
static int serve_add(struct rnic_engine *engine)
{
	int rc = rnic_engine_thread_start(engine);

	for (int i = 0; i < UDP_CNT && rc == 0; i++) {
		struct udp_sock *sock = &udp.sock[i];

		if (sock->source.fd < 0 || sock->engine)
			continue;
		rc = rnic_engine_add(engine, &sock->source);
		if (rc == 0)
			sock->engine = engine;
	}
	return rc;
}

static int serve_by_engine(struct rnic_engine *engine)
{
	int rc;

	udp.engine = engine;
	rnic_engine_lead(engine);
	rc = serve_add(engine);
	rnic_engine_unlead(engine);
	if (rc < 0)
		serve_end();
	return rc;
}

static int serve_by_loop(void)
{
	int rc = rnic_loop_start();

	for (int i = 0; i < UDP_CNT && rc == 0; i++)
		if (udp.sock[i].source.fd >= 0)
			rc = rnic_loop_watch(udp.sock[i].source.fd,
					     RNIC_LOOP_UDP, (uint64_t)i,
					     EPOLLIN, &udp.sock[i].watched);
	return rc;
}

/* The first engine that can, or else the loop. */
static int serve(void)
{
	struct udp_server *server = LIST_FIRST(&udp.servers);

	if (!udp.user_cnt || (server && server->engine == udp.engine))
		return 0;
	serve_end();
	return server ? serve_by_engine(server->engine) : serve_by_loop();
}

/* Others that have the port give it, or have all ended. */
static void port_ready(void)
{
	int fds[RNIC_SHARE_CNT];
	int rc = rnic_share_take(fds);

	if (rc == -EAGAIN)
		return;
	if (rc == 0)
		port_set(fds, true);
	else
		port_open();
	/* Who reads the own ones reads these.  Without memory, nothing is heard
	 * of other hosts. */
	(void)(udp.engine ? serve_by_engine(udp.engine) : serve_by_loop());
}

void rnic_udp_ready(unsigned int which)
{
	util_lock_assert_held(&rnic_loop.lock);
	if (!udp.user_cnt)
		return;
	if (which == RNIC_SHARE_LISTENER)
		rnic_share_give();
	else if (which == RNIC_SHARE_ASKER)
		port_ready();
	else if (which < UDP_CNT && !udp.engine)
		sock_read(&udp.sock[which], NULL);
}

/* ---- users --------------------------------------------------------------- */

static void user_remove(void)
{
	if (--udp.user_cnt)
		return;
	serve_end();
	socks_close();
}

static int user_add(void)
{
	int rc = udp.user_cnt ? 0 : socks_open();

	if (rc == 0)
		udp.user_cnt++;
	return rc;
}

int rnic_udp_open(void)
{
	int rc = user_add();

	if (rc < 0)
		return rc;
	rc = serve();
	if (rc < 0)
		user_remove();
	return rc;
}

void rnic_udp_close(void)
{
	user_remove();
}

static void server_leave(struct udp_server *server)
{
	if (--server->qp_cnt)
		return;
	LIST_REMOVE(server, link);
	free(server);
}

static int server_join(struct rnic_engine *engine)
{
	struct udp_server *server = server_find(engine);

	if (!server) {
		server = calloc(1, sizeof(*server));
		if (!server)
			return -ENOMEM;
		server->engine = engine;
		LIST_INSERT_HEAD(&udp.servers, server, link);
	}
	server->qp_cnt++;
	return 0;
}

int rnic_udp_get(struct rnic_engine *engine)
{
	int rc;

	util_lock(&rnic_loop.lock);
	rc = user_add();
	if (rc == 0) {
		rc = server_join(engine);
		if (rc == 0) {
			rc = serve();
			if (rc < 0)
				server_leave(server_find(engine));
		}
		if (rc < 0)
			user_remove();
	}
	util_unlock(&rnic_loop.lock);
	return rc;
}

void rnic_udp_put(struct rnic_engine *engine)
{
	util_lock(&rnic_loop.lock);
	server_leave(server_find(engine));
	user_remove();
	(void)serve(); /* without memory, nothing is heard of other hosts */
	util_unlock(&rnic_loop.lock);
}

/* Its sources are gone, and nobody leads it. */
static void engine_forget(struct rnic_engine *engine)
{
	struct udp_server *server = server_find(engine);

	if (!server)
		return;
	if (udp.engine == engine)
		udp.engine = NULL;
	for (uint32_t left = server->qp_cnt; left; left--) {
		server_leave(server);
		user_remove();
	}
}

void rnic_udp_forget(struct rnic_engines *engines)
{
	util_lock(&rnic_loop.lock);
	for (uint32_t i = 0; i < rnic_engines_cnt(engines); i++)
		engine_forget(rnic_engines_at(engines, i));
	(void)serve();
	util_unlock(&rnic_loop.lock);
}

void rnic_udp_fork_child(void)
{
	memset(&udp, 0, sizeof(udp));
	rnic_share_fork_child();
	rnic_udp_send_by(-1, -1);
}
