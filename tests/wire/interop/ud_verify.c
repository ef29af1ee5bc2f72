/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Verifies datagrams in both directions: two UD queue pairs send patterns of
 * each size between two stacks, and compare what arrived, with GRH, completion
 * and guards.
 *
 *   ud-verify -s [options]              serve one peer
 *   ud-verify -c ADDRESS [options]      connect
 *
 *   -p PORT  -S SIZE,SIZE,...  -b COUNT   datagrams of a burst (0: none)
 *   -q   this side sends its QP's Q_Key where a work request has one with bit
 *        31; rdma_rxe sends that of the work request
 *   -d   this side drops a datagram that is longer than its receive; the QP of
 *        rdma_rxe fails
 *
 * A TCP connection keeps the two in step. Its addresses are the GIDs of both,
 * so they choose IPv4 or IPv6, and the device.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#define GRH 40
#define GUARD 64
#define GUARD_OCTET 0xa5
#define SIZE_MAX_CNT 64
#define PAYLOAD_MAX 4096
#define SLOT (GRH + PAYLOAD_MAX + GUARD)
#define SLOT_CNT 64
#define INLINE_MAX 64
#define LIMIT_MS 30000 /* the other side may be a slow guest */
#define QKEY 0x11223344u
#define QKEY_CONTROLLED 0x80000001u
#define TCLASS 0x20
#define PORT_NUM 1

static struct {
	const char *address, *port;
	uint32_t size[SIZE_MAX_CNT];
	int size_cnt, burst;
	bool drops_long, sends_own_qkey;
} opt = { .port = "7174", .burst = 32 };

static struct {
	int tcp;
	bool is_client, is_ipv4, peer_drops_long, peer_sends_own_qkey;
	union ibv_gid gid, peer_gid;
	uint8_t gid_idx;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *chan;
	struct ibv_cq *scq, *rcq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	uint32_t mtu, peer_num;
	/* SLOT_CNT receives, then the same number of sends. */
	uint8_t *mem;
} me;

/* What a datagram is like beside its size. */
enum {
	KIND_IMM = 1,
	KIND_SOLICITED = 2,
	KIND_INLINE = 4,
	KIND_CNT = 8,
};

static void die(const char *what, int err)
{
	fprintf(stderr, "ud-verify: %s: %s\n", what,
		err ? strerror(err) : "bad");
	exit(1);
}

static void expect(uint64_t is, uint64_t wanted, const char *what)
{
	if (is == wanted)
		return;
	fprintf(stderr, "ud-verify: %s: %#llx, not %#llx\n", what,
		(unsigned long long)is, (unsigned long long)wanted);
	exit(1);
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* ---- the TCP connection ---- */

static void tell(uint32_t word)
{
	word = htonl(word);
	if (write(me.tcp, &word, sizeof(word)) != sizeof(word))
		die("write", errno);
}

static uint32_t hear(void)
{
	struct pollfd pfd = { .fd = me.tcp, .events = POLLIN };
	uint32_t word;

	if (poll(&pfd, 1, 2 * LIMIT_MS) != 1)
		die("the peer says nothing", ETIMEDOUT);
	if (recv(me.tcp, &word, sizeof(word), MSG_WAITALL) != sizeof(word))
		die("the peer has ended", 0);
	return ntohl(word);
}

/* Both have done what came before. */
static void meet(uint32_t word)
{
	tell(word);
	expect(hear(), word, "the peer is at another step");
}

static void tcp_open(void)
{
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6,
				     .sin6_port =
					     htons((uint16_t)atoi(opt.port)) };
	int fd = socket(AF_INET6, SOCK_STREAM, 0), one = 1;
	char mapped[INET6_ADDRSTRLEN + 8];
	socklen_t len = sizeof(sin6);

	me.is_client = opt.address;
	me.tcp = fd;
	if (me.is_client) {
		snprintf(
			mapped, sizeof(mapped), "%s%s",
			strchr(opt.address, ':') ? "" : "::ffff:", opt.address);
		if (inet_pton(AF_INET6, mapped, &sin6.sin6_addr) != 1)
			die(opt.address, EINVAL);
		if (connect(fd, (struct sockaddr *)&sin6, len))
			die("connect", errno);
	} else {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (bind(fd, (struct sockaddr *)&sin6, len) || listen(fd, 1))
			die("bind, listen", errno);
		me.tcp = accept(fd, NULL, NULL);
		if (me.tcp < 0)
			die("accept", errno);
		close(fd);
	}
	setsockopt(me.tcp, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (getsockname(me.tcp, (struct sockaddr *)&sin6, &len))
		die("getsockname", errno);
	memcpy(&me.gid, &sin6.sin6_addr, 16);
	me.is_ipv4 = IN6_IS_ADDR_V4MAPPED(&sin6.sin6_addr);
	if (getpeername(me.tcp, (struct sockaddr *)&sin6, &len))
		die("getpeername", errno);
	memcpy(&me.peer_gid, &sin6.sin6_addr, 16);
}

/* ---- verbs ---- */

/* The device that has the GID. */
static bool device_open(struct ibv_device *dev)
{
	struct ibv_context *ctx = ibv_open_device(dev);
	struct ibv_port_attr port;
	union ibv_gid gid;

	if (!ctx)
		return false;
	if (ibv_query_port(ctx, PORT_NUM, &port))
		die("ibv_query_port", errno);
	for (int i = 0; i < port.gid_tbl_len; i++) {
		if (ibv_query_gid(ctx, PORT_NUM, i, &gid) ||
		    memcmp(&gid, &me.gid, sizeof(gid)) != 0)
			continue;
		me.ctx = ctx;
		me.gid_idx = (uint8_t)i;
		me.mtu = 128u << port.active_mtu;
		return true;
	}
	ibv_close_device(ctx);
	return false;
}

static void find_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (!list)
		die("ibv_get_device_list", errno);
	for (int i = 0; list[i] && !me.ctx; i++)
		device_open(list[i]);
	if (!me.ctx)
		die("no device has this address", 0);
	printf("device %s, GID %u, MTU %u\n",
	       ibv_get_device_name(me.ctx->device), me.gid_idx, me.mtu);
	ibv_free_device_list(list);
}

static void make_qp(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD,
		.cap = { SLOT_CNT, SLOT_CNT, 2, 2, INLINE_MAX },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = PORT_NUM,
				    .qkey = QKEY };
	int err;

	me.pd = ibv_alloc_pd(me.ctx);
	me.chan = ibv_create_comp_channel(me.ctx);
	me.scq = ibv_create_cq(me.ctx, SLOT_CNT, NULL, NULL, 0);
	me.rcq = ibv_create_cq(me.ctx, SLOT_CNT, NULL, me.chan, 0);
	me.mem = aligned_alloc(4096, (size_t)2 * SLOT_CNT * 8192);
	if (!me.pd || !me.chan || !me.scq || !me.rcq || !me.mem)
		die("PD, CQ or memory", errno);
	me.mr = ibv_reg_mr(me.pd, me.mem, (size_t)2 * SLOT_CNT * 8192,
			   IBV_ACCESS_LOCAL_WRITE);
	init.send_cq = me.scq;
	init.recv_cq = me.rcq;
	me.qp = ibv_create_qp(me.pd, &init);
	if (!me.mr || !me.qp)
		die("MR or QP", errno);
	err = ibv_modify_qp(me.qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				    IBV_QP_QKEY);
	attr.qp_state = IBV_QPS_RTR;
	err = err ? err : ibv_modify_qp(me.qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = 0xfffff0; /* it begins again at 0 on the way */
	err = err ? err
		  : ibv_modify_qp(me.qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	if (err)
		die("ibv_modify_qp", err);
}

static void make_ah(void)
{
	struct ibv_ah_attr attr = { .is_global = 1,
				    .port_num = PORT_NUM,
				    .grh = { .dgid = me.peer_gid,
					     .sgid_index = me.gid_idx,
					     .hop_limit = 64,
					     .traffic_class = TCLASS } };

	for (int i = 0; i < 5 && !me.ah; i++) /* rxe asks for the neighbour */
		me.ah = ibv_create_ah(me.pd, &attr);
	if (!me.ah)
		die("ibv_create_ah", errno);
	tell(me.qp->qp_num);
	me.peer_num = hear();
}

static uint8_t *recv_slot(int i)
{
	return me.mem + (size_t)i * 8192;
}

static uint8_t *send_slot(int i)
{
	return me.mem + (size_t)(SLOT_CNT + i) * 8192;
}

/* Room for @len octets beside the GRH. Two pieces if the length is odd. */
static void post_recv(int slot, uint32_t len)
{
	uint8_t *p = recv_slot(slot);
	struct ibv_sge sge[2] = {
		{ (uintptr_t)p, len % 2 ? GRH + len / 2 : GRH + len,
		  me.mr->lkey },
		{ (uintptr_t)p + GRH + len / 2, len - len / 2, me.mr->lkey },
	};
	struct ibv_recv_wr wr = { .wr_id = (uint64_t)slot,
				  .sg_list = sge,
				  .num_sge = len % 2 ? 2 : 1 };
	struct ibv_recv_wr *bad;
	int err;

	memset(p, GUARD_OCTET, SLOT);
	err = ibv_post_recv(me.qp, &wr, &bad);
	if (err)
		die("ibv_post_recv", err);
}

static uint8_t pattern_at(uint32_t seed, uint32_t pos)
{
	uint32_t x = pos * 2654435761u ^ seed * 40503u;

	return (uint8_t)(x >> 24 ^ x >> 11 ^ pos % 251);
}

static uint32_t imm_of(uint32_t seed)
{
	return seed * 2654435761u;
}

static uint32_t seed_of(uint32_t imm)
{
	return imm * 244002641u;
}

struct target {
	struct ibv_ah *ah;
	uint32_t num, qkey;
};

static struct target to_peer(void)
{
	return (struct target){ me.ah, me.peer_num, QKEY };
}

/* One or two pieces of the pattern; the first has an odd length. */
static void post_send(int slot, uint32_t len, int kind, uint32_t seed,
		      struct target to)
{
	uint8_t *p = send_slot(slot);
	uint32_t first = len / 3 | 1;
	struct ibv_sge sge[2] = {
		{ (uintptr_t)p, first < len ? first : len, me.mr->lkey },
		{ (uintptr_t)p + first, len - first, me.mr->lkey },
	};
	struct ibv_send_wr wr = {
		.wr_id = (uint64_t)slot,
		.sg_list = sge,
		.num_sge = !len		 ? 0
			   : first < len ? 2
					 : 1,
		.opcode = kind & KIND_IMM ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htonl(imm_of(seed)),
		.wr.ud = { to.ah, to.num, to.qkey },
	};
	struct ibv_send_wr *bad;
	int err;

	if (kind & KIND_SOLICITED)
		wr.send_flags |= IBV_SEND_SOLICITED;
	if (kind & KIND_INLINE && len <= INLINE_MAX)
		wr.send_flags |= IBV_SEND_INLINE;
	for (uint32_t i = 0; i < len; i++)
		p[i] = pattern_at(seed, i);
	err = ibv_post_send(me.qp, &wr, &bad);
	if (err)
		die("ibv_post_send", err);
}

static struct ibv_wc wait_wc(struct ibv_cq *cq, const char *what)
{
	int64_t limit = now_ms() + LIMIT_MS;
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(cq, 1, &wc)) == 0)
		if (now_ms() > limit)
			die(what, ETIMEDOUT);
	if (n < 0)
		die("ibv_poll_cq", 0);
	if (wc.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "ud-verify: %s: %s\n", what,
			ibv_wc_status_str(wc.status));
		exit(1);
	}
	return wc;
}

static void send_done(int slot)
{
	expect(wait_wc(me.scq, "a send").wr_id, (uint64_t)slot, "wr_id");
}

/* ---- what has come ---- */

/* The IP header that a receive has before the payload. */
static void check_grh(const uint8_t *grh, uint32_t len, int kind, bool has_tos)
{
	uint32_t udp =
		8 + 12 + 8 + (kind & KIND_IMM ? 4 : 0) + len + (-len & 3) + 4;

	if (me.is_ipv4) {
		expect(grh[20], 0x45, "IP version and header length");
		expect((uint64_t)grh[22] << 8 | grh[23], 20 + udp,
		       "IPv4's total length");
		expect(grh[29], IPPROTO_UDP, "IPv4's protocol");
		if (has_tos)
			expect(grh[21], TCLASS, "TOS");
		expect(!memcmp(grh + 32, me.peer_gid.raw + 12, 4) &&
			       !memcmp(grh + 36, me.gid.raw + 12, 4),
		       1, "IPv4's addresses");
		return;
	}
	expect(grh[0] >> 4, 6, "IP version");
	expect((uint64_t)grh[4] << 8 | grh[5], udp, "IPv6's payload length");
	expect(grh[6], IPPROTO_UDP, "IPv6's next header");
	if (has_tos)
		expect((grh[0] & 15) << 4 | grh[1] >> 4, TCLASS,
		       "IPv6's traffic class");
	expect(!memcmp(grh + 8, me.peer_gid.raw, 16) &&
		       !memcmp(grh + 24, me.gid.raw, 16),
	       1, "IPv6's addresses");
}

/* The completion is of that datagram. @room: of its receive. */
static void check_wc(struct ibv_wc wc, int slot, uint32_t len, int kind,
		     uint32_t seed, uint32_t room, bool has_tos)
{
	const uint8_t *p = recv_slot(slot);

	expect(wc.wr_id, (uint64_t)slot, "wr_id");
	expect(wc.opcode, IBV_WC_RECV, "opcode");
	expect(wc.byte_len, GRH + len, "byte_len");
	expect(wc.src_qp, me.peer_num, "src_qp");
	expect(wc.qp_num, me.qp->qp_num, "qp_num");
	expect(wc.wc_flags & (IBV_WC_GRH | IBV_WC_WITH_IMM),
	       IBV_WC_GRH | (kind & KIND_IMM ? IBV_WC_WITH_IMM : 0),
	       "wc_flags");
	if (kind & KIND_IMM)
		expect(ntohl(wc.imm_data), imm_of(seed), "immediate data");
	check_grh(p, len, kind, has_tos);
	for (uint32_t i = 0; i < len; i++)
		expect(p[GRH + i], pattern_at(seed, i), "an octet");
	for (uint32_t i = 0; i < GUARD; i++)
		expect(p[GRH + room + i], GUARD_OCTET, "beside the receive");
}

static struct ibv_wc check_recv(int slot, uint32_t len, int kind, uint32_t seed,
				uint32_t room, bool has_tos)
{
	struct ibv_wc wc = wait_wc(me.rcq, "a datagram");

	check_wc(wc, slot, len, kind, seed, room, has_tos);
	return wc;
}

static void check_empty(void)
{
	struct ibv_wc wc;

	expect((uint64_t)ibv_poll_cq(me.rcq, 1, &wc), 0,
	       "completions of what must not arrive");
}

static void wait_event(void)
{
	struct pollfd pfd = { .fd = me.chan->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	if (poll(&pfd, 1, LIMIT_MS) != 1)
		die("no event for a solicited datagram", ETIMEDOUT);
	if (ibv_get_cq_event(me.chan, &cq, &context))
		die("ibv_get_cq_event", errno);
	ibv_ack_cq_events(cq, 1);
}

/* ---- the script: one side moves, the other compares ---- */

static void one(bool is_mover, uint32_t len, int kind, uint32_t seed)
{
	if (!is_mover) {
		post_recv(0, len);
		if (kind & KIND_SOLICITED && ibv_req_notify_cq(me.rcq, 1))
			die("ibv_req_notify_cq", errno);
	}
	meet(seed);
	if (is_mover) {
		post_send(0, len, kind, seed, to_peer());
		send_done(0);
	} else {
		if (kind & KIND_SOLICITED)
			wait_event();
		check_recv(0, len, kind, seed, len, true);
	}
}

static void each_size(bool is_mover)
{
	for (int i = 0; i < opt.size_cnt; i++)
		for (int kind = 0; kind < KIND_CNT; kind++)
			if (opt.size[i] <= me.mtu)
				one(is_mover, opt.size[i], kind,
				    opt.size[i] * KIND_CNT + (uint32_t)kind);
}

/* The peer answers to the address that a completion has. */
static void answer(bool is_mover, uint32_t seed)
{
	struct target to = { .qkey = QKEY };
	struct ibv_wc wc;

	post_recv(0, 100);
	meet(seed);
	if (is_mover) {
		post_send(0, 100, KIND_IMM, seed, to_peer());
		send_done(0);
		check_recv(0, 100, 0, seed + 1, 100, false);
		return;
	}
	wc = check_recv(0, 100, KIND_IMM, seed, 100, true);
	to.ah = ibv_create_ah_from_wc(me.pd, &wc,
				      (struct ibv_grh *)recv_slot(0), PORT_NUM);
	if (!to.ah)
		die("ibv_create_ah_from_wc", errno);
	to.num = wc.src_qp;
	post_send(0, 100, 0, seed + 1, to);
	send_done(0);
	ibv_destroy_ah(to.ah);
}

/* Which of a burst it is. They may overtake each other, where processes share
 * the port. */
static uint32_t burst_idx(const struct ibv_wc *wc, uint32_t seed)
{
	static bool has_come[SLOT_CNT];
	uint32_t idx = seed_of(ntohl(wc->imm_data)) - seed;

	expect(idx < (uint32_t)opt.burst && !has_come[idx], true,
	       "immediate data of the burst, once");
	has_come[idx] = true;
	return idx;
}

static void burst_recv(int slot, uint32_t len, uint32_t seed)
{
	struct ibv_wc wc = wait_wc(me.rcq, "a datagram");

	check_wc(wc, slot, len, KIND_IMM, seed + burst_idx(&wc, seed), len,
		 true);
}

/* Once. */
static void burst(bool is_mover, uint32_t len, uint32_t seed)
{
	for (int i = 0; i < opt.burst && !is_mover; i++)
		post_recv(i, len);
	meet(seed);
	for (int i = 0; i < opt.burst && is_mover; i++)
		post_send(i, len, KIND_IMM, seed + (uint32_t)i, to_peer());
	for (int i = 0; i < opt.burst; i++) {
		if (is_mover)
			send_done(i);
		else
			burst_recv(i, len, seed);
	}
}

/* Of two datagrams the first must not arrive. @room: of the receive. */
static void lost(bool is_mover, uint32_t seed, uint32_t qkey, uint32_t len,
		 uint32_t room)
{
	struct target bad = to_peer();

	bad.qkey = qkey;
	if (!is_mover)
		post_recv(0, room);
	meet(seed);
	if (is_mover) {
		post_send(0, len, 0, seed, bad);
		send_done(0);
		post_send(0, 8, 0, seed + 1, to_peer());
		send_done(0);
	} else {
		check_recv(0, 8, 0, seed + 1, room, true);
	}
	meet(seed + 1);
	if (!is_mover)
		check_empty();
}

/* A Q_Key that only the kernel may give: the QP's stands for it. */
static void controlled(bool is_mover, uint32_t seed)
{
	struct target to = to_peer();

	to.qkey = QKEY_CONTROLLED;
	if (!(is_mover ? opt.sends_own_qkey : me.peer_sends_own_qkey)) {
		lost(is_mover, seed, QKEY_CONTROLLED, 8, 8);
		return;
	}
	if (!is_mover)
		post_recv(0, 8);
	meet(seed);
	if (is_mover) {
		post_send(0, 8, 0, seed, to);
		send_done(0);
	} else {
		check_recv(0, 8, 0, seed, 8, true);
	}
}

/* One that comes before the receive is posted is lost. */
static void early(bool is_mover, uint32_t seed)
{
	meet(seed);
	if (is_mover) {
		post_send(0, 8, 0, seed, to_peer());
		send_done(0);
	}
	meet(seed + 1);
	usleep(is_mover ? 0 : 300000); /* the network is no part of meet() */
	one(is_mover, 8, 0, seed + 2);
}

static void script(bool is_mover)
{
	each_size(is_mover);
	answer(is_mover, 700001);
	if (opt.burst)
		burst(is_mover, me.mtu, 710000);
	lost(is_mover, 720000, QKEY + 1, 8, 8);
	if (is_mover ? me.peer_drops_long : opt.drops_long)
		lost(is_mover, 730000, QKEY, 200, 100);
	controlled(is_mover, 735000);
	early(is_mover, 740000);
	check_empty();
}

static void options_parse(int argc, char **argv)
{
	char *word;
	int o;

	while ((o = getopt(argc, argv, "sc:p:S:b:dq")) != -1) {
		switch (o) {
		case 's':
			break;
		case 'c':
			opt.address = optarg;
			break;
		case 'p':
			opt.port = optarg;
			break;
		case 'S':
			for (word = strtok(optarg, ",");
			     word && opt.size_cnt < SIZE_MAX_CNT;
			     word = strtok(NULL, ","))
				opt.size[opt.size_cnt++] =
					(uint32_t)strtoul(word, NULL, 0);
			break;
		case 'b':
			opt.burst = atoi(optarg);
			break;
		case 'd':
			opt.drops_long = true;
			break;
		case 'q':
			opt.sends_own_qkey = true;
			break;
		default:
			exit(2);
		}
	}
	for (int i = 0; i < opt.size_cnt; i++)
		if (opt.size[i] > PAYLOAD_MAX)
			exit(2);
	if (opt.burst < 0 || opt.burst > SLOT_CNT)
		exit(2);
}

int main(int argc, char **argv)
{
	options_parse(argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	tcp_open();
	find_device();
	make_qp();
	make_ah();
	tell(me.mtu);
	expect(hear(), me.mtu, "the peer's MTU");
	tell(opt.drops_long);
	me.peer_drops_long = hear();
	tell(opt.sends_own_qkey);
	me.peer_sends_own_qkey = hear();
	script(me.is_client);
	script(!me.is_client);
	meet(999);
	ibv_destroy_ah(me.ah);
	ibv_destroy_qp(me.qp);
	ibv_dereg_mr(me.mr);
	ibv_destroy_cq(me.rcq);
	ibv_destroy_cq(me.scq);
	ibv_destroy_comp_channel(me.chan);
	ibv_dealloc_pd(me.pd);
	ibv_close_device(me.ctx);
	free(me.mem);
	printf("verified: %d sizes\n", opt.size_cnt);
	return 0;
}
