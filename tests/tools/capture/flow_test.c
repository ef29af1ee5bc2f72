/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connections as packets of TCP: numbers, handshakes, start frames, gaps. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "capture/flow.h"
#include "tcp-read.h"
#include "util/v4-mapped.h"

#define SIZE 65536u
#define MAX 32

enum { SYN = PACKET_SYN, ACK = PACKET_ACK, PSH = PACKET_PSH, FIN = PACKET_FIN };

static uint8_t octets[SIZE];
static struct pcapng file;
static struct flow flow;
static struct sink sink;
static struct read_tcp got[MAX];

static int setup(void **state)
{
	struct packet_end end[2] = { { .port = 4000 }, { .port = 5000 } };

	(void)state;
	util_v4_map(end[0].addr, (const uint8_t[]){ 10, 0, 0, 1 });
	util_v4_map(end[1].addr, (const uint8_t[]){ 10, 0, 0, 2 });
	file = (struct pcapng){ octets, SIZE, 0 };
	flow_init(&flow, end, 3);
	sink = (struct sink){
		.to = &file, .file = 1, .snap_len = SIZE, .comment = "ours"
	};
	return 0;
}

static const uint8_t data[200] = { 1, 2, 3 };

static int put(int side, uint64_t at, size_t len, bool is_start)
{
	const struct flow_unit unit = {
		.side = side,
		.at = at,
		.is_start = is_start,
		.payload = { data, len, len },
	};

	return flow_put(&flow, &unit, &sink);
}

static size_t read_all(void)
{
	return read_tcp_all(&file, got, MAX);
}

/* Is it a segment of that side with so many octets? */
static bool is_segment(size_t i, int side, uint8_t flags, uint32_t len)
{
	return got[i].from == (side ? 5000 : 4000) &&
	       got[i].to == (side ? 4000 : 5000) && got[i].flags == flags &&
	       got[i].len == len;
}

/* Do the numbers of @i follow those of @before, of the same side? */
static bool follows(size_t i, size_t before)
{
	return got[i].seq == got[before].seq + got[before].len +
				     (got[before].flags & SYN ? 1 : 0);
}

#define FLOW_CASE(name) CASE_WITH(name, setup, NULL)

FLOW_CASE(shows_a_connection_from_its_begin)
{
	assert_int_equal(put(0, 0, 30, true), 1);
	assert_int_equal(put(1, 0, 20, true), 1);
	assert_int_equal(put(0, 30, 40, false), 1);
	assert_int_equal(put(1, 20, 50, false), 1);
	assert_int_equal(read_all(), 7);
	assert_true(is_segment(0, 0, SYN, 0));
	assert_true(is_segment(1, 1, SYN | ACK, 0));
	assert_true(is_segment(2, 0, ACK, 0));
	assert_true(is_segment(3, 0, PSH | ACK, 30));
	assert_true(is_segment(4, 1, PSH | ACK, 20));
	assert_true(is_segment(5, 0, PSH | ACK, 40));
	assert_true(is_segment(6, 1, PSH | ACK, 50));
	assert_true(follows(2, 0) && follows(3, 0) && follows(5, 3));
	assert_true(follows(4, 1) && follows(6, 4));
	assert_int_equal(got[1].ack, got[0].seq + 1);
	assert_int_equal(got[2].ack, got[1].seq + 1);
	assert_int_equal(got[4].ack, got[5].seq);
	assert_int_equal(got[6].ack, got[5].seq + 40);
	for (size_t i = 0; i < 7; i++)
		assert_true(
			read_text_is(&got[i].block, 1,
				     i < 3 ? "made by usiw capture" : "ours"));
	assert_int_equal(sink.written_cnt, 7);
}

FLOW_CASE(makes_the_start_frames_of_an_older_connection)
{
	static const struct {
		bool has_crc, markers[2];
		uint8_t request, reply;
	} rows[] = {
		{ false, { false, false }, 0x00, 0x00 },
		{ true, { false, false }, 0x40, 0x40 },
		{ true, { true, false }, 0x40, 0xc0 },
		{ false, { false, true }, 0x80, 0x00 },
		{ false, { true, true }, 0x80, 0x80 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct flow_unit unit = {
			.side = 1,
			.at = 123456789012,
			.has_crc = rows[i].has_crc,
			.has_markers = { rows[i].markers[0],
					 rows[i].markers[1] },
			.payload = { data, 100, 100 },
		};

		setup(NULL);
		assert_int_equal(flow_put(&flow, &unit, &sink), 1);
		unit.side = 0;
		unit.at = 77;
		assert_int_equal(flow_put(&flow, &unit, &sink), 1);
		assert_int_equal(read_all(), 7);
		assert_true(is_segment(3, 0, PSH | ACK, 20));
		assert_true(is_segment(4, 1, PSH | ACK, 20));
		assert_true(is_segment(5, 1, PSH | ACK, 100));
		assert_true(is_segment(6, 0, PSH | ACK, 100));
		assert_true(follows(3, 0) && follows(6, 3));
		assert_true(follows(4, 1) && follows(5, 4));
		assert_int_equal(got[3].ack, got[4].seq);
		assert_int_equal(got[4].ack, got[6].seq);
		assert_memory_equal(got[3].payload, "MPA ID Req Frame", 16);
		assert_memory_equal(got[4].payload, "MPA ID Rep Frame", 16);
		assert_int_equal(got[3].payload[16], rows[i].request);
		assert_int_equal(got[4].payload[16], rows[i].reply);
		assert_memory_equal(got[3].payload + 17, "\1\0\0", 3);
	}
}

FLOW_CASE(makes_a_start_frame_that_was_lost)
{
	/* The Reply. */
	assert_int_equal(put(0, 0, 30, true), 1);
	assert_int_equal(put(1, 20, 50, false), 1);
	assert_int_equal(read_all(), 6);
	assert_true(is_segment(4, 1, PSH | ACK, 20));
	assert_true(is_segment(5, 1, PSH | ACK, 50));
	assert_true(follows(4, 1) && follows(5, 4));
	/* The Request. */
	setup(NULL);
	assert_int_equal(put(1, 0, 30, true), 1);
	assert_int_equal(put(0, 44, 50, false), 1);
	assert_int_equal(read_all(), 6);
	assert_true(is_segment(3, 0, PSH | ACK, 20));
	assert_memory_equal(got[3].payload, "MPA ID Req Frame", 16);
	assert_true(is_segment(4, 1, PSH | ACK, 30));
	assert_true(follows(3, 0) && follows(4, 1) && follows(5, 3));
}

FLOW_CASE(writes_no_octet_twice)
{
	assert_int_equal(put(0, 0, 30, true), 1);
	assert_int_equal(put(0, 0, 30, true), 0);
	assert_int_equal(put(0, 30, 40, false), 1);
	assert_int_equal(put(0, 30, 40, false), 0);
	assert_int_equal(put(0, 69, 40, false), 0);
	assert_int_equal(put(0, 70, 40, false), 1);
	assert_int_equal(sink.written_cnt, 6 + 1); /* the Reply is made up */
}

FLOW_CASE(leaves_a_gap_where_octets_were_lost)
{
	assert_int_equal(put(0, 1000, 30, false), 1);
	assert_int_equal(put(0, 1090, 30, false), 1);
	assert_int_equal(put(0, 1120 + (1ull << 32), 30, false), 1);
	assert_int_equal(read_all(), 8);
	assert_int_equal(got[6].seq, got[5].seq + 90);
	assert_int_equal(got[7].seq, got[5].seq + 120);
}

FLOW_CASE(is_introduced_in_each_file)
{
	assert_int_equal(put(0, 0, 30, true), 1);
	assert_int_equal(put(1, 0, 30, true), 1);
	assert_int_equal(put(0, 30, 40, false), 1);
	file.len = 0;
	sink.file = 2;
	assert_int_equal(put(0, 90, 40, false), 1);
	assert_int_equal(put(1, 30, 40, false), 1);
	assert_int_equal(read_all(), 7);
	assert_true(is_segment(0, 0, SYN, 0));
	assert_true(is_segment(3, 0, PSH | ACK, 20));
	assert_true(is_segment(4, 1, PSH | ACK, 20));
	assert_true(is_segment(5, 0, PSH | ACK, 40));
	assert_true(follows(3, 0) && follows(5, 3));
	assert_true(follows(4, 1) && follows(6, 4));
	/* What a frame acknowledges has come before it. */
	assert_int_equal(got[3].ack, got[4].seq);
	assert_int_equal(got[4].ack, got[5].seq);
}

FLOW_CASE(ends_each_side_once)
{
	assert_int_equal(flow_fin(&flow, 0, &sink), 0); /* nothing was seen */
	assert_int_equal(put(0, 0, 30, true), 1);
	assert_int_equal(flow_fin(&flow, 0, &sink), 1);
	assert_int_equal(flow_fin(&flow, 0, &sink), 0);
	assert_int_equal(flow_fin(&flow, 1, &sink), 1);
	assert_int_equal(read_all(), 6);
	assert_true(is_segment(4, 0, FIN | ACK, 0));
	assert_true(follows(4, 3));
	assert_true(is_segment(5, 1, FIN | ACK, 0));
	assert_true(follows(5, 1));
}

FLOW_CASE(changes_nothing_without_room)
{
	struct flow before = flow;
	size_t len;

	assert_int_equal(put(1, 500, 100, false), 1);
	len = file.len;
	for (size_t size = 0; size < len; size++) {
		flow = before;
		file = (struct pcapng){ octets, size, 0 };
		sink.written_cnt = 0;
		assert_int_equal(put(1, 500, 100, false), -ENOSPC);
		assert_int_equal(file.len, 0);
		assert_int_equal(sink.written_cnt, 0);
		assert_memory_equal(&flow, &before, sizeof(flow));
	}
}

CASE(connections_have_numbers_of_their_own)
{
	struct packet_end end[2] = { { .port = 1 }, { .port = 2 } };
	struct flow a, b;

	flow_init(&a, end, 1);
	flow_init(&b, end, 2);
	assert_true(b.dir[0].seq - a.dir[0].seq > 1u << 20);
	assert_true(a.dir[0].seq - b.dir[0].seq > 1u << 20);
}
