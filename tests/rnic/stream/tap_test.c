/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * tap.c: what is told of streams is what they carry, whatever carries it, from
 * their begin or from the middle on.
 */
#define _GNU_SOURCE
#include "test.h"

#include <string.h>

#include "captured.h"
#include "engine/engine.h"
#include "rnicpair.h"

static const struct rnicpair_options usual = RNICPAIR_OPTIONS_INIT;

/* A direction of a stream, as records tell it. */
struct told {
	uint8_t *octets;
	uint64_t begin, end; /* in the stream */
	uint64_t unit_end;   /* of the unit that is under way */
	uint32_t unit_cnt;
	uint32_t fin_cnt, qp_num;
	uint16_t own_port, flags;
	uint64_t fin_at;
};

#define STREAMS 2
#define OCTETS_MAX (8u << 20)

/* By stream, of which each case has two, and by direction: received, sent. */
static struct told told[STREAMS][2];
static uint32_t end_cnt;

static void told_begin(void)
{
	for (int i = 0; i < STREAMS * 2; i++) {
		struct told *t = &told[i / 2][i % 2];

		free(t->octets);
		*t = (struct told){ .octets = calloc(1, OCTETS_MAX) };
	}
	end_cnt = 0;
}

static void unit_add(struct told *t, const struct captured *got)
{
	const struct usiw_packet *packet = &got->packet;
	uint64_t at = packet->at + packet->off;

	if (!t->unit_cnt)
		t->begin = t->end = at;
	assert_int_equal(at, t->end); /* nothing is missing, or twice */
	if (packet->off == 0) {
		assert_int_equal(at, t->unit_cnt ? t->unit_end : at);
		t->unit_end = at + packet->len;
		t->unit_cnt++;
	}
	assert_true(at + got->kept <= t->unit_end);
	assert_true(at + got->kept - t->begin <= OCTETS_MAX);
	memcpy(t->octets + (at - t->begin), got->octets, got->kept);
	t->end = at + got->kept;
	t->qp_num = packet->qp_num;
	t->own_port = packet->own_port;
	t->flags = got->record.flags;
}

/* All records so far. */
static void told_take(void)
{
	struct captured got;
	struct told *t;

	while (captured_take(&got)) {
		t = &told[got.packet.stream % STREAMS]
			 [got.record.flags & USIW_PACKET_SENT];
		if (got.record.kind == USIW_PACKET_UNIT)
			unit_add(t, &got);
		else if (got.record.kind == USIW_PACKET_FIN)
			t->fin_cnt++, t->fin_at = got.packet.at;
		else
			end_cnt++;
	}
	assert_int_equal(captured_lost(), 0);
}

/* What one end has sent, the other one has received. */
static void check_both_ends(void)
{
	for (int i = 0; i < STREAMS; i++) {
		const struct told *tx = &told[i][1], *rx = &told[!i][0];
		uint64_t from = tx->begin > rx->begin ? tx->begin : rx->begin;

		assert_true(tx->unit_cnt > 0);
		assert_int_equal(tx->end, rx->end);
		assert_int_equal(tx->end, tx->unit_end);
		assert_memory_equal(tx->octets + (from - tx->begin),
				    rx->octets + (from - rx->begin),
				    tx->end - from);
		assert_true(tx->own_port != told[!i][1].own_port);
		assert_int_equal(tx->own_port, told[i][0].own_port);
	}
}

/* Are these FPDUs, without anything between them? */
static void check_fpdus(const struct told *t, uint64_t from)
{
	size_t at = from - t->begin, len = t->end - t->begin;
	uint32_t cnt = 0;

	while (at < len) {
		int size = smpa_fpdu_size(t->octets + at, len - at, 0, false);

		assert_true(size > 0);
		at += (size_t)size;
		cnt++;
	}
	assert_int_equal(at, len);
	assert_int_equal(cnt, t->unit_cnt - (from != t->begin));
}

/* Parts of a buffer: what is sent and received; what the peer writes; what it
 * reads, which nothing changes, since it is looked at when it has left; what is
 * read. */
enum { WRITTEN = 1 << 20, SOURCE = 2 << 20, SINK = 3 << 20 };

/* Sends, Writes and READs of many sizes, both ways. */
static void traffic(struct rnicpair *p)
{
	static const size_t lens[] = { 0, 1, 100, 5000, 40000, 300000 };

	for (size_t i = 0; i < ARRAY_LEN(lens) * 2; i++) {
		struct rnicpair_side *a = &p->side[i % 2];
		struct rnicpair_side *b = &p->side[!(i % 2)];
		size_t len = lens[i / 2];
		struct usiw_sge from = rnicpair_sge(a, 0, len);
		struct usiw_sge to = rnicpair_sge(a, SINK, len);

		rnicpair_fill(a->buf, len, (uint32_t)i);
		rnicpair_post_wr(a, .wr_id = 5, .opcode = USIW_WR_WRITE,
				 .sge = &from, .sge_cnt = 1, .rkey = b->stag,
				 .remote_addr = rnicpair_addr(b, WRITTEN));
		rnicpair_post_echo(p, i % 2, len);
		assert_int_equal(rnicpair_take(b, b->rcq).byte_len, len);
		assert_int_equal(rnicpair_take(a, a->scq).wr_id, 1);
		rnicpair_post_wr(a, .wr_id = 3, .opcode = USIW_WR_READ,
				 .flags = USIW_SQE_SIGNALED, .sge = &to,
				 .sge_cnt = 1, .rkey = b->stag,
				 .remote_addr = rnicpair_addr(b, SOURCE));
		assert_int_equal(rnicpair_take(a, a->scq).wr_id, 3);
	}
}

static bool are_even(void)
{
	told_take();
	return told[0][1].end == told[1][0].end &&
	       told[1][1].end == told[0][0].end;
}

/* A thread tells what it has sent when it has left, and perhaps arrived. */
static void settle(struct rnicpair *p)
{
	struct usiw_cqe cqe;

	for (int i = 0; i < 20; i++)
		for (int side = 0; side < 2; side++)
			(void)rnicpair_poll(&p->side[side], p->side[side].scq,
					    &cqe);
	wait_until(are_even());
}

CASE(each_octet_is_told_once)
{
	for (int has_crc = 0; has_crc < 2; has_crc++) {
		struct rnicpair_options opt = usual;
		uint32_t num[2];
		struct rnicpair p;

		opt.has_crc = has_crc;
		captured_begin(1u << 18, CAPTURED_RING);
		told_begin();
		rnicpair_open(&p, &opt);
		for (int i = 0; i < 2; i++)
			num[i] = rnic_qp_num(p.side[i].qp);
		traffic(&p);
		settle(&p);
		rnicpair_close(&p);
		told_take(); /* the end */
		check_both_ends();
		for (int i = 0; i < 2; i++) {
			struct told *tx = &told[i][1];
			int initiator = !!(tx->flags & USIW_PACKET_INITIATOR);
			int size = smpa_start_frame_size(tx->octets, 20);

			assert_int_equal(tx->begin, 0);
			assert_memory_equal(tx->octets,
					    initiator ? "MPA ID Req Frame"
						      : "MPA ID Rep Frame",
					    16);
			check_fpdus(tx, (uint64_t)size);
			assert_int_equal(tx->qp_num, num[!initiator]);
			assert_int_equal(tx->fin_cnt, 1);
			assert_int_equal(tx->fin_at, tx->end);
		}
		assert_int_equal(end_cnt, 2);
		captured_end();
	}
}

/* Looks at a connection that is busy, at any time. */
CASE(begins_with_a_whole_fpdu)
{
	struct rnicpair_options opt = usual;
	struct rnicpair_side *a, *b;
	struct rnicpair p;

	opt.sockbuf = 20000; /* FPDUs leave in pieces */
	rnicpair_open(&p, &opt);
	traffic(&p);
	a = &p.side[0];
	b = &p.side[1];
	for (int round = 0; round < 10; round++) {
		struct usiw_sge sge = rnicpair_sge(a, 0, 1000000);
		struct usiw_cqe cqe;

		for (int i = 0; i < 3; i++)
			rnicpair_post_wr(
				a, .wr_id = 5 + (uint64_t)i,
				.opcode = USIW_WR_WRITE,
				.flags = i == 2 ? USIW_SQE_SIGNALED : 0,
				.sge = &sge, .sge_cnt = 1, .rkey = b->stag,
				.remote_addr = rnicpair_addr(b, 0));
		for (int i = 0; i < round; i++)
			(void)rnicpair_poll(b, b->scq, &cqe);
		captured_begin(1u << 18, CAPTURED_RING);
		told_begin();
		while (rnicpair_take(a, a->scq).wr_id != 7)
			;
		rnicpair_post_echo(&p, 0, 10);
		assert_int_equal(rnicpair_take(b, b->rcq).byte_len, 10);
		assert_int_equal(rnicpair_take(a, a->scq).wr_id, 1);
		rnicpair_post_read(&p, 1, 3, 100);
		assert_int_equal(rnicpair_take(b, b->scq).wr_id, 3);
		settle(&p);
		check_both_ends();
		for (int i = 0; i < 4; i++) {
			assert_true(told[i / 2][i % 2].begin > 0);
			check_fpdus(&told[i / 2][i % 2],
				    told[i / 2][i % 2].begin);
		}
		captured_end();
	}
	rnicpair_close(&p);
}

CASE(no_more_than_the_snap_length_is_told_of_a_unit)
{
	struct captured got;
	struct rnicpair p;
	uint64_t at[4] = { 0 };
	uint32_t cnt = 0;

	captured_begin(128, CAPTURED_RING);
	rnicpair_open(&p, &usual);
	traffic(&p);
	rnicpair_close(&p);
	while (captured_take(&got)) {
		bool is_sent = got.record.flags & USIW_PACKET_SENT;
		uint64_t *next;

		if (got.record.kind != USIW_PACKET_UNIT)
			continue;
		next = &at[got.packet.stream % STREAMS * 2 + is_sent];
		assert_true(got.packet.off + got.kept <= 128);
		if (got.packet.off == 0) {
			assert_int_equal(got.packet.at, *next);
			*next += got.packet.len;
		}
		cnt += got.packet.len > 128;
	}
	assert_true(cnt > 20);
	captured_end();
}

/* The program does not wait, and what follows can be read again. */
CASE(a_full_ring_loses_records)
{
	uint64_t next[4] = { 0 };
	uint32_t gap_cnt = 0;
	struct captured got;
	struct rnicpair p;

	captured_begin(1u << 18, 1u << 18);
	rnicpair_open(&p, &usual);
	for (int i = 0; i < 3; i++) {
		traffic(&p);
		assert_true(captured_lost() > 0);
		while (captured_take(&got)) {
			uint64_t *at;

			at = &next[got.packet.stream % STREAMS * 2 +
				   (got.record.flags & USIW_PACKET_SENT)];
			if (got.packet.off == 0 && got.packet.at != *at)
				gap_cnt++;
			if (got.packet.off == 0 && got.packet.at >= 20)
				assert_true(smpa_fpdu_size(got.octets, got.kept,
							   0, false) ==
						    (int)got.packet.len ||
					    got.kept < 2);
			*at = got.packet.at + got.packet.len;
		}
	}
	assert_true(gap_cnt > 0);
	rnicpair_close(&p);
	captured_end();
}

CASE(nothing_is_told_when_nobody_asks)
{
	struct rnicpair p;

	captured_begin(1u << 18, CAPTURED_RING);
	captured_end();
	rnicpair_open(&p, &usual);
	traffic(&p);
	for (int i = 0; i < 2; i++)
		assert_null(with_lead(p.side[i].ctx->engine,
				      rnic_qp_stream(p.side[i].qp)->tap));
	rnicpair_close(&p);
}
