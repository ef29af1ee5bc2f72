/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* UDP sockets: packets of other kinds, and a port that another one has. */
#define _GNU_SOURCE
#include "ud-fixture.h"

#include <arpa/inet.h>

#include "../netns-fixture.h"

static const struct rnicpair_options defaults = RNICPAIR_OPTIONS_INIT;

BEFORE_CASES()
{
	(void)argc;
	(void)argv;
	must(netns_enter());
	netns_lo_set_up(true);
}

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

CASE(the_port_is_free_without_ud)
{
	struct rnicpair p;
	int fd;

	ud_open(&p, &defaults);
	rnicpair_close(&p);
	fd = raw_open(SIB_UDP_PORT);
	close(fd);
}
