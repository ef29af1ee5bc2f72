/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* tap.c: what is told of datagrams are packets of RoCEv2, whatever carries
 * them. */
#define _GNU_SOURCE
#include "ud-fixture.h"

#include "captured.h"
#include "dgram/tap.h"

static const struct {
	const char *name;
	uint8_t opcode, flags;
	uint32_t len;
} sends[] = {
	{ "nothing", USIW_WR_SEND, 0, 0 },
	{ "one", USIW_WR_SEND, 0, 1 },
	{ "imm", USIW_WR_SEND_IMM, 0, 7 },
	{ "solicited", USIW_WR_SEND_IMM, USIW_SQE_SOLICITED, 8 },
	{ "full", USIW_WR_SEND, 0, 4096 },
};

/* The other end's address is where the packet came from, or goes to. */
static struct sib_path path_of(const struct captured *got)
{
	const struct usiw_packet *packet = &got->packet;
	bool is_sent = got->record.flags & USIW_PACKET_SENT;
	struct sib_path path = {
		.src_port = is_sent ? packet->own_port : packet->peer_port,
		.dst_port = is_sent ? packet->peer_port : packet->own_port,
	};

	memcpy(path.src.raw, is_sent ? packet->own : packet->peer, 16);
	memcpy(path.dst.raw, is_sent ? packet->peer : packet->own, 16);
	return path;
}

/* What came; what was sent. */
static struct captured both[2];

/* The receiver may be first. */
static void take_both(const char *name)
{
	static struct captured got;

	for (int i = 0; i < 2; i++)
		both[i].record.kind = UINT16_MAX;
	for (int i = 0; i < 2; i++) {
		assert_row(name, captured_take(&got));
		both[got.record.flags & USIW_PACKET_SENT] = got;
	}
	assert_row(name, !captured_take(&got));
}

static void check(const struct rnicpair *p, size_t i, bool is_sent,
		  uint32_t psn)
{
	bool has_imm = sends[i].opcode == USIW_WR_SEND_IMM;
	const struct captured *got = &both[is_sent];
	struct sib_path path = path_of(got);
	struct sib_packet packet;
	uint16_t ip_id;

	assert_int_equal(got->record.kind, USIW_PACKET_DATAGRAM);
	assert_int_equal(got->packet.qp_num, rnic_qp_num(p->side[!is_sent].qp));
	assert_int_equal(got->kept, got->packet.len);
	assert_int_equal(path.dst_port, SIB_UDP_PORT);
	assert_row(sends[i].name, sib_icrc_check(&path, got->octets, got->kept,
						 &ip_id) == SIB_OK);
	assert_int_equal(ip_id, got->packet.ip_id);
	assert_row(sends[i].name, sib_packet_decode(got->octets, got->kept,
						    &packet) == SIB_OK);
	assert_int_equal(packet.hdr.opcode,
			 SIB_OPCODE(SIB_UD, has_imm ? SIB_SEND_ONLY_IMM
						    : SIB_SEND_ONLY));
	assert_int_equal(packet.hdr.is_solicited, !!sends[i].flags);
	assert_int_equal(packet.hdr.dest_qpn, rnic_qp_num(p->side[1].qp));
	assert_int_equal(packet.hdr.src_qpn, rnic_qp_num(p->side[0].qp));
	assert_int_equal(packet.hdr.qkey, UD_QKEY);
	assert_int_equal(packet.hdr.imm_be, has_imm ? 0x1234 : 0);
	assert_int_equal(packet.payload_len, sends[i].len);
	assert_row(
		sends[i].name,
		rnicpair_is_filled(packet.payload, sends[i].len, (uint32_t)i));
	assert_int_equal(packet.hdr.psn, psn);
}

static void send_one(struct rnicpair *p, size_t i, uint32_t label)
{
	struct rnicpair_side *a = &p->side[0], *b = &p->side[1];
	struct usiw_ud_sqe to = ud_to(b->qp);
	struct usiw_sge sge = rnicpair_sge(a, 0, sends[i].len);

	to.label = label;
	rnicpair_fill(a->buf, sends[i].len, (uint32_t)i);
	ud_recv(b, 1, 0, 5000);
	rnicpair_post_wr(a, .wr_id = 2, .opcode = sends[i].opcode,
			 .flags = sends[i].flags | USIW_SQE_SIGNALED,
			 .sge = &sge, .sge_cnt = sends[i].len != 0,
			 .imm_be = 0x1234, .to = &to);
	assert_int_equal(rnicpair_take(a, a->scq).wr_id, 2);
	assert_int_equal(rnicpair_take(b, b->rcq).wr_id, 1);
}

CASE(each_datagram_is_a_packet_at_both_ends)
{
	static const uint32_t labels[] = { USIW_AV_OWN, 0 };
	struct rnicpair p;

	ud_open(&p, &defaults);
	captured_begin(1u << 18, CAPTURED_RING);
	for (size_t w = 0; w < 2 * ARRAY_LEN(sends); w++) {
		size_t i = w % ARRAY_LEN(sends);
		bool is_own = labels[w / ARRAY_LEN(sends)];
		uint8_t carrier;

		send_one(&p, i, labels[w / ARRAY_LEN(sends)]);
		take_both(sends[i].name);
		for (int k = 0; k < 2; k++) {
			check(&p, i, k, (uint32_t)w);
			carrier = both[k].packet.carrier;
			assert_int_equal(carrier == USIW_CARRIER_UDP, !is_own);
			assert_true(carrier >= USIW_CARRIER_UDP);
		}
	}
	captured_end();
	rnicpair_close(&p);
}
