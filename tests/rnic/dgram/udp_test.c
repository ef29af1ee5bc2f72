/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* UDP sockets: packets of other kinds, and a port that another one has. */
#define _GNU_SOURCE
#include "ud-fixture.h"

#include <arpa/inet.h>

#include "dgram/udp-send.h"
#include "dgram/udp.h"
#include "engine/engine.h"
#include "loop/object.h"
#include "os/fd.h"
#include "os/tcp.h"

static struct rnic_stranger sender;

/* A socket of another program. */
static int raw_open(uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const int mode = IP_PMTUDISC_DO;

	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &mode,
				    sizeof(mode)),
			 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	return fd;
}

#define RAW_PORT 5555

/* A packet that is right but for what @spoil does to it. */
static size_t packet(const struct rnic_qp *qp, uint8_t *out,
		     void (*spoil)(struct sib_hdr *hdr))
{
	static const uint8_t lo[4] = { 127, 0, 0, 1 };
	struct sib_hdr hdr = {
		.opcode = SIB_OPCODE(SIB_UD, SIB_SEND_ONLY),
		.pkey = SIB_PKEY_DEFAULT,
		.dest_qpn = rnic_qp_num(qp),
		.qkey = UD_QKEY,
		.src_qpn = 0x333,
	};
	struct sib_path path = { .src_port = RAW_PORT,
				 .dst_port = SIB_UDP_PORT };
	struct iovec iov[2];
	int len, tail;

	must(!sib_gid_from_ip(lo, 4, &path.src));
	must(!sib_gid_from_ip(lo, 4, &path.dst));
	if (spoil)
		spoil(&hdr);
	len = sib_hdr_encode(&hdr, 4, out, SIB_HDR_MAX);
	must(len > 0);
	memcpy(out + len, "data", 4);
	iov[0] = (struct iovec){ out, (size_t)len };
	iov[1] = (struct iovec){ out + len, 4 };
	tail = sib_tail_encode(&path, iov, 2, out + len + 4, SIB_TAIL_MAX);
	must(tail > 0);
	return (size_t)(len + 4 + tail);
}

static void raw_send(int fd, const void *octets, size_t len)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_port = htons(SIB_UDP_PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	assert_int_equal(sendto(fd, octets, len, 0, (struct sockaddr *)&sin,
				sizeof(sin)),
			 len);
}

static void spoil_pkey(struct sib_hdr *hdr)
{
	hdr->pkey = 0x8001;
}

static void spoil_service(struct sib_hdr *hdr)
{
	hdr->opcode = SIB_OPCODE(SIB_RC, SIB_SEND_ONLY);
}

static void spoil_num(struct sib_hdr *hdr)
{
	hdr->dest_qpn ^= 0x800000;
}

static void spoil_qkey(struct sib_hdr *hdr)
{
	hdr->qkey++;
}

static const struct {
	const char *name;
	void (*spoil)(struct sib_hdr *hdr);
	int flip; /* octet; < 0: none */
	size_t cut;
	enum rnic_stat stat;
} rows[] = {
	{ "right", NULL, -1, 0, RNIC_STAT_ud_received },
	{ "pkey", spoil_pkey, -1, 0, RNIC_STAT_ud_bad },
	{ "service", spoil_service, -1, 0, RNIC_STAT_ud_bad },
	{ "nobody", spoil_num, -1, 0, RNIC_STAT_ud_lost },
	{ "qkey", spoil_qkey, -1, 0, RNIC_STAT_ud_bad_qkey },
	{ "payload", NULL, 21, 0, RNIC_STAT_ud_bad },
	{ "icrc", NULL, 24, 0, RNIC_STAT_ud_bad },
	{ "short", NULL, -1, 20, RNIC_STAT_ud_bad },
	{ "empty", NULL, -1, SIZE_MAX, RNIC_STAT_ud_bad },
};

CASE(each_packet_is_checked)
{
	int fd = raw_open(RAW_PORT);
	struct rnicpair p;

	ud_open(&p, &defaults);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint8_t octets[SIB_HDR_MAX + 16];
		size_t len = packet(p.side[1].qp, octets, rows[i].spoil);
		uint64_t before = test_stat(rows[i].stat);

		if (rows[i].flip >= 0)
			octets[rows[i].flip] ^= 1;
		len = rows[i].cut > len ? 0 : len - rows[i].cut;
		ud_recv(&p.side[1], i, 0, 100);
		raw_send(fd, octets, len);
		wait_until(test_stat(rows[i].stat) == before + 1);
	}
	assert_int_equal(rnicpair_take(&p.side[1], p.side[1].rcq).src_qp,
			 0x333);
	assert_memory_equal(p.side[1].buf + SIB_GRH_SIZE, "data", 4);
	assert_true(rnicpair_is_quiet(&p, p.side[1].rcq));
	rnicpair_close(&p);
	close(fd);
}

/* How many packets one system call takes depends on how many there were. */
CASE(bursts_of_any_size_are_read)
{
	static const uint32_t bursts[] = { 1, 31, 12, 40, 3, 100, 16, 7, 15 };
	int fd = raw_open(RAW_PORT);
	struct rnicpair p;

	ud_open(&p, &defaults);
	for (size_t i = 0; i < ARRAY_LEN(bursts); i++) {
		struct rnic_engine *engine = p.side[1].qp->engine;
		uint64_t before = test_stat(RNIC_STAT_ud_bad);

		rnic_engine_lead(engine);
		for (uint32_t k = 0; k < bursts[i]; k++)
			raw_send(fd, "bad", 3);
		rnic_engine_unlead(engine);
		wait_until(test_stat(RNIC_STAT_ud_bad) == before + bursts[i]);
	}
	rnicpair_close(&p);
	close(fd);
}

/* As with rdma_rxe: what needs no port goes on. */
CASE(without_the_port_this_host_is_reached)
{
	int fd = raw_open(SIB_UDP_PORT);
	struct usiw_ud_sqe to;
	struct rnicpair p;

	ud_open(&p, &defaults);
	to = ud_to(p.side[1].qp);
	ud_recv(&p.side[1], 1, 0, 100);
	ud_send(&p.side[0], &to, 2, 10);
	assert_int_equal(rnicpair_take(&p.side[1], p.side[1].rcq).wr_id, 1);
	rnicpair_close(&p);
	close(fd);
}

/* The ICRC covers the port that a packet comes from. */
CASE(without_the_port_packets_are_right)
{
	static const uint8_t lo[4] = { 127, 0, 0, 1 };
	struct sib_path path = { .dst_port = SIB_UDP_PORT };
	int fd = raw_open(SIB_UDP_PORT);
	struct sockaddr_in from;
	socklen_t from_len = sizeof(from);
	struct usiw_ud_sqe to;
	uint8_t octets[128];
	struct rnicpair p;
	uint16_t ip_id;
	ssize_t len;

	ud_open(&p, &defaults);
	to = ud_to(p.side[1].qp);
	to.label &= ~USIW_AV_OWN; /* as to another host */
	ud_send(&p.side[0], &to, 1, 10);
	len = recvfrom(fd, octets, sizeof(octets), 0, (struct sockaddr *)&from,
		       &from_len);
	assert_int_equal(len, SIB_BTH_SIZE + 8 + 12 + SIB_ICRC_SIZE);
	assert_int_not_equal(ntohs(from.sin_port), SIB_UDP_PORT);
	path.src_port = ntohs(from.sin_port);
	must(!sib_gid_from_ip(lo, 4, &path.src));
	must(!sib_gid_from_ip(lo, 4, &path.dst));
	assert_int_equal(sib_icrc_check(&path, octets, (size_t)len, &ip_id),
			 SIB_OK);
	assert_int_equal(ip_id, 0);
	rnicpair_close(&p);
	close(fd);
}

CASE(the_port_is_free_without_ud)
{
	struct rnicpair p;
	int fd;

	ud_open(&p, &defaults);
	rnicpair_close(&p);
	fd = raw_open(SIB_UDP_PORT);
	close(fd);
}

/* ---- without sockets ---- */

static struct {
	int (*real)(int family, int type, int protocol);
	int family;
} missing;

static int socket_or_fail(int family, int type, int protocol)
{
	if (family != missing.family || (type & 0xf) != SOCK_DGRAM)
		return missing.real(family, type, protocol);
	errno = EMFILE;
	return -1;
}

/* The next one gets them. */
CASE(a_qp_without_sockets_does_not_begin)
{
	struct rnic_tcp_ops ops = *rnic_tcp();
	struct rnic_qp_options ud = { .type = RNIC_QPT_UD };
	struct rnic_qp *qp;
	struct rnicpair p;

	missing.real = ops.socket;
	missing.family = AF_UNIX;
	ops.socket = socket_or_fail;
	rnicpair_open_idle(&p, &defaults);
	ud.send_cq = p.side[0].scq;
	ud.recv_cq = p.side[0].rcq;
	ud.max_send_wr = ud.max_recv_wr = 4;
	ud.max_send_sge = ud.max_recv_sge = 1;
	for (int i = 0; i < 2; i++) {
		rnic_tcp_replace(&ops);
		assert_int_equal(rnic_qp_create(p.side[0].pd, &ud, &qp),
				 -EMFILE);
		rnic_tcp_replace(NULL);
	}
	rnicpair_close(&p);
	ud_open(&p, &defaults);
	rnicpair_close(&p);
}

/* ---- management datagrams ---- */

static void udp_user(int (*act)(void))
{
	util_lock(&rnic_loop.lock);
	assert_int_equal(act(), 0);
	util_unlock(&rnic_loop.lock);
}

static int user_close(void)
{
	rnic_udp_close();
	return 0;
}

static void send_mad(uint8_t *mad)
{
	static const uint8_t lo[4] = { 127, 0, 0, 1 };
	struct sib_path path = { .src_port = SIB_UDP_PORT,
				 .dst_port = SIB_UDP_PORT };

	must(!sib_gid_from_ip(lo, 4, &path.src));
	must(!sib_gid_from_ip(lo, 4, &path.dst));
	assert_int_equal(rnic_udp_send_mad(&path, 0, mad), 0);
}

static bool has_news(int fd)
{
	uint32_t magic;

	return rnic_host_peek(fd, &magic) == 0;
}

/* It reaches whom it names, whoever reads the port. */
static void mads_arrive(int service_fd, int asker_fd)
{
	static uint8_t mad[SIB_MAD_SIZE], buf[RNIC_HOST_MAX];
	const struct sib_sidr_req req = {
		.tid = 0x1234567800000001,
		.service_id = sib_service_id(SIB_PS_UDP, 7174),
	};
	const struct sib_sidr_rep rep = { .tid = 0x1234567800000001 };

	assert_int_equal(sib_sidr_req_encode(&req, mad, sizeof(mad)),
			 SIB_MAD_SIZE);
	send_mad(mad);
	wait_until(has_news(service_fd));
	assert_int_equal(rnic_host_recv(service_fd, buf, &sender),
			 sizeof(struct rnic_host_head) + SIB_MAD_SIZE);
	assert_memory_equal(buf + sizeof(struct rnic_host_head), mad,
			    SIB_MAD_SIZE);
	assert_int_equal(sib_sidr_rep_encode(&rep, mad, sizeof(mad)),
			 SIB_MAD_SIZE);
	send_mad(mad);
	wait_until(has_news(asker_fd));
	assert_int_equal(rnic_host_recv(asker_fd, buf, &sender),
			 sizeof(struct rnic_host_head) + SIB_MAD_SIZE);
}

CASE(management_datagrams_find_who_listens_and_asks)
{
	struct rnic_host_name service =
		rnic_host_name_service(SIB_PS_UDP, 7174);
	struct rnic_host_name asker = rnic_host_name_asker(0x12345678);
	int service_fd = rnic_host_open(&service);
	int asker_fd = rnic_host_open(&asker);
	struct rnicpair p;

	assert_true(service_fd >= 0 && asker_fd >= 0);
	udp_user(rnic_udp_open);
	mads_arrive(service_fd, asker_fd); /* the loop reads */
	ud_open(&p, &defaults);
	mads_arrive(service_fd, asker_fd); /* an engine */
	rnicpair_close(&p);
	mads_arrive(service_fd, asker_fd);
	udp_user(user_close);
	rnic_fd_close(service_fd);
	rnic_fd_close(asker_fd);
	close(raw_open(SIB_UDP_PORT));
}

CASE(a_management_datagram_for_nobody_is_lost)
{
	static uint8_t mad[SIB_MAD_SIZE];
	const struct sib_sidr_rep rep = { .tid = 1 };
	uint64_t lost = test_stat(RNIC_STAT_ud_lost);

	udp_user(rnic_udp_open);
	send_mad(mad); /* no MAD of connection management */
	wait_until(test_stat(RNIC_STAT_ud_lost) == lost + 1);
	assert_int_equal(sib_sidr_rep_encode(&rep, mad, sizeof(mad)),
			 SIB_MAD_SIZE);
	send_mad(mad); /* nobody has asked */
	wait_until(test_stat(RNIC_STAT_ud_lost) == lost + 2);
	udp_user(user_close);
}

CASE(who_asks_for_a_service_of_nobody_hears_it)
{
	static uint8_t mad[SIB_MAD_SIZE], buf[RNIC_HOST_MAX];
	const struct sib_sidr_req req = {
		.tid = 0x1234567800000001,
		.request_id = 7,
		.service_id = sib_service_id(SIB_PS_UDP, 7174),
	};
	struct rnic_host_name asker = rnic_host_name_asker(0x12345678);
	int asker_fd = rnic_host_open(&asker);
	struct sib_sidr_rep rep;

	assert_true(asker_fd >= 0);
	udp_user(rnic_udp_open);
	assert_int_equal(sib_sidr_req_encode(&req, mad, sizeof(mad)),
			 SIB_MAD_SIZE);
	send_mad(mad);
	wait_until(has_news(asker_fd));
	assert_int_equal(rnic_host_recv(asker_fd, buf, &sender),
			 sizeof(struct rnic_host_head) + SIB_MAD_SIZE);
	assert_int_equal(
		sib_sidr_rep_decode(buf + sizeof(struct rnic_host_head),
				    SIB_MAD_SIZE, &rep),
		SIB_OK);
	assert_int_equal(rep.status, SIB_SIDR_NO_SERVICE);
	assert_int_equal(rep.request_id, 7);
	assert_true(rep.tid == req.tid);
	assert_true(rep.service_id == req.service_id);
	udp_user(user_close);
	rnic_fd_close(asker_fd);
}

/* ---- a QP of another process --------------------------------------------- */

/* Instead of that process: its QP's socket.  spoil_num() makes the number. */
static int away_open(const struct rnic_qp *qp)
{
	struct rnic_host_name name =
		rnic_host_name_qp(rnic_qp_num(qp) ^ 0x800000);
	int fd = rnic_host_open(&name);

	assert_true(fd >= 0);
	return fd;
}

static void away_send(int raw_fd, const struct rnic_qp *qp, int cnt)
{
	uint8_t octets[SIB_HDR_MAX + 16];
	size_t len = packet(qp, octets, spoil_num);

	for (int i = 0; i < cnt; i++)
		raw_send(raw_fd, octets, len);
}

static bool away_take(int fd)
{
	_Alignas(struct rnic_host_head) uint8_t buf[RNIC_HOST_MAX];

	return rnic_host_recv(fd, buf, &sender) >= 0;
}

/* An AF_UNIX socket holds 10 datagrams. */
CASE(packets_wait_for_a_process_that_is_full)
{
	uint64_t lost = test_stat(RNIC_STAT_ud_lost);
	int raw_fd = raw_open(RAW_PORT), fd;
	struct rnicpair p;

	ud_open(&p, &defaults);
	fd = away_open(p.side[1].qp);
	away_send(raw_fd, p.side[1].qp, 100);
	for (int i = 0; i < 100; i++)
		wait_until(away_take(fd));
	assert_false(away_take(fd));
	assert_int_equal(test_stat(RNIC_STAT_ud_lost), lost);
	rnic_fd_close(fd);
	close(raw_fd);
	rnicpair_close(&p);
}

CASE(one_that_stays_full_holds_up_others_once)
{
	uint64_t lost = test_stat(RNIC_STAT_ud_lost);
	int raw_fd = raw_open(RAW_PORT), fd, taken = 0;
	uint8_t octets[SIB_HDR_MAX + 16];
	struct rnicpair p;

	ud_open(&p, &defaults);
	fd = away_open(p.side[1].qp);
	for (uint64_t i = 0; i < 3; i++) {
		size_t len = packet(p.side[1].qp, octets, NULL);

		away_send(raw_fd, p.side[1].qp, 40);
		ud_recv(&p.side[1], i, 0, 100);
		raw_send(raw_fd, octets, len);
		assert_int_equal(rnicpair_take(&p.side[1], p.side[1].rcq).wr_id,
				 i);
	}
	while (away_take(fd))
		taken++;
	assert_true(taken > 0);
	assert_int_equal(test_stat(RNIC_STAT_ud_lost) - lost, 3 * 40 - taken);
	/* It has taken some: packets wait for it again. */
	away_send(raw_fd, p.side[1].qp, 40);
	for (int i = 0; i < 40; i++)
		wait_until(away_take(fd));
	rnic_fd_close(fd);
	close(raw_fd);
	rnicpair_close(&p);
}

/* The QP that has read goes while a packet waits. */
CASE(what_waits_is_lost_with_its_engine)
{
	uint64_t lost = test_stat(RNIC_STAT_ud_lost);
	int raw_fd = raw_open(RAW_PORT), fd, taken = 0;
	struct rnicpair p;

	ud_open(&p, &defaults);
	fd = away_open(p.side[1].qp);
	away_send(raw_fd, p.side[1].qp, 12);
	rnicpair_close(&p);
	while (away_take(fd))
		taken++;
	assert_true(test_stat(RNIC_STAT_ud_lost) - lost + (uint64_t)taken <=
		    12);
	rnic_fd_close(fd);
	close(raw_fd);
}

/* Two contexts have engines of their own: the port is read as long as one of
 * them has UD QPs. */
CASE(another_engine_reads_when_one_goes)
{
	struct rnicpair p, q;
	struct usiw_ud_sqe to;

	ud_open(&p, &defaults);
	ud_open(&q, &defaults);
	rnicpair_close(&q); /* the newest reads */
	to = ud_to(p.side[1].qp);
	to.label = 0;
	ud_recv(&p.side[1], 1, 0, 100);
	ud_send(&p.side[0], &to, 2, 10);
	assert_int_equal(rnicpair_take(&p.side[1], p.side[1].rcq).wr_id, 1);
	rnicpair_close(&p);
}
