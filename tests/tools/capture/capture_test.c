/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Records become packets: units, pieces, both ends, datagrams, filters. */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"
#include "tcp-read.h"
#include "util/v4-mapped.h"

#define SIZE (1u << 20)
#define MAX 64

enum {
	SENT = USIW_PACKET_SENT,
	INITIATOR = USIW_PACKET_INITIATOR,
	START = USIW_PACKET_START,
};

static struct capture *cap;
static struct capture_filter filter;
static uint8_t octets[SIZE];
static struct pcapng file;
static struct read_tcp got[MAX];

static uint8_t data[70000];

/* Two processes; 0 is the Initiator of the connection. */
static void begin(uint32_t snap_len)
{
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 >> 3);
	memset(&filter, 0, sizeof(filter));
	file = (struct pcapng){ octets, SIZE, 0 };
	cap = capture_new(snap_len, &filter);
	assert_non_null(cap);
	assert_int_equal(capture_begin_file(cap, &file), 0);
	assert_int_equal(capture_add_process(cap, 1001, "active"), 0);
	assert_int_equal(capture_add_process(cap, 1002, "\xffpassive\n"), 1);
}

static int setup(void **state)
{
	(void)state;
	begin(CAPTURE_SNAP_MAX);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	capture_free(cap);
	return 0;
}

#define CAPTURE_CASE(name) CASE_WITH(name, setup, teardown)

struct told {
	int process;
	uint16_t kind, flags;
	uint64_t at;
	uint32_t len, off, kept;
	uint8_t carrier;
	uint32_t qp_num;
	uint64_t lost;
};

static void take(struct told told)
{
	struct {
		struct usiw_record record;
		struct usiw_packet packet;
		uint8_t octets[sizeof(data)];
	} *whole = calloc(1, sizeof(*whole));
	bool is_initiator = told.process == 0;

	assert_non_null(whole);
	whole->record.kind = told.kind;
	whole->record.flags =
		(uint16_t)(told.flags | (is_initiator ? INITIATOR : 0));
	whole->record.ns = 1700000000000000000 + told.at;
	whole->packet = (struct usiw_packet){
		.stream = 1,
		.at = told.at,
		.len = told.len,
		.off = told.off,
		.qp_num = told.qp_num,
		.own_port = is_initiator ? 4000 : 5000,
		.peer_port = is_initiator ? 5000 : 4000,
		.carrier = told.carrier,
	};
	util_v4_map(whole->packet.own,
		    (const uint8_t[]){ 10, 0, 0, is_initiator ? 1 : 2 });
	util_v4_map(whole->packet.peer,
		    (const uint8_t[]){ 10, 0, 0, is_initiator ? 2 : 1 });
	memcpy(whole->octets, data + told.off, told.kept);
	capture_take(cap, told.process, &whole->record,
		     sizeof(whole->record) + sizeof(whole->packet) + told.kept,
		     told.lost, &file);
	free(whole);
}

/* A whole unit. */
static struct told unit(int process, uint16_t flags, uint64_t at, uint32_t len)
{
	return (struct told){ .process = process,
			      .flags = flags,
			      .at = at,
			      .len = len,
			      .kept = len };
}

static size_t read_all(void)
{
	return read_tcp_all(&file, got, MAX);
}

static void start(void)
{
	take(unit(0, SENT | START, 0, 20));
	take(unit(1, SENT | START, 0, 20));
}

CAPTURE_CASE(octets_are_those_of_the_process)
{
	start();
	take(unit(0, SENT, 20, 65492));
	take(unit(1, SENT, 20, 8));
	assert_int_equal(read_all(), 7);
	assert_int_equal(got[5].len, 65492);
	assert_int_equal(got[5].kept, 65492);
	assert_memory_equal(got[5].payload, data, 65492);
	assert_int_equal(got[6].len, 8);
	assert_int_equal(got[6].from, 5000);
	assert_int_equal(capture_counts(cap)->written, 7);
}

CAPTURE_CASE(a_packet_of_both_ends_is_written_once)
{
	start();
	take(unit(1, START, 0, 20));
	take(unit(0, START, 0, 20));
	take(unit(1, 0, 20, 100)); /* the receiver is first */
	take(unit(0, SENT, 20, 100));
	take(unit(0, SENT, 120, 100));
	take(unit(1, 0, 120, 100));
	assert_int_equal(read_all(), 7);
	assert_int_equal(capture_counts(cap)->written, 7);
	/* Each end has an interface. */
	assert_int_equal(read32(got[5].block.body), 1);
	assert_int_equal(read32(got[6].block.body), 0);
}

CAPTURE_CASE(pieces_become_one_packet)
{
	start();
	take((struct told){ .flags = SENT, .at = 20, .len = 3000, .kept = 6 });
	take((struct told){
		.flags = SENT, .at = 20, .len = 3000, .off = 6, .kept = 2000 });
	/* The other direction does not wait. */
	take(unit(1, SENT, 20, 50));
	take((struct told){ .flags = SENT,
			    .at = 20,
			    .len = 3000,
			    .off = 2006,
			    .kept = 994 });
	assert_int_equal(read_all(), 7);
	assert_int_equal(got[5].len, 50);
	assert_int_equal(got[6].len, 3000);
	assert_memory_equal(got[6].payload, data, 3000);
}

CAPTURE_CASE(a_piece_that_was_lost_cuts_the_packet)
{
	start();
	take((struct told){ .flags = SENT, .at = 20, .len = 900, .kept = 100 });
	take((struct told){
		.flags = SENT, .at = 20, .len = 900, .off = 200, .kept = 700 });
	take((struct told){
		.flags = SENT, .at = 920, .len = 900, .off = 1, .kept = 899 });
	take(unit(0, SENT, 1820, 40));
	take((struct told){ .flags = SENT, .at = 1860, .len = 90, .kept = 9 });
	take((struct told){ .kind = USIW_PACKET_END, .flags = SENT });
	assert_int_equal(read_all(), 8);
	assert_int_equal(got[5].len, 900);
	assert_int_equal(got[5].kept, 100);
	assert_int_equal(got[6].len, 40);
	assert_int_equal(got[6].seq, got[5].seq + 1800);
	assert_int_equal(got[7].len, 90);
	assert_int_equal(got[7].kept, 9);
}

CASE(the_snap_length_cuts_packets)
{
	begin(CAPTURE_SNAP_MIN);
	start();
	/* A process tells as many octets of a unit. */
	take((struct told){
		.flags = SENT, .at = 20, .len = 5000, .kept = 100 });
	take((struct told){
		.flags = SENT, .at = 20, .len = 5000, .off = 100, .kept = 28 });
	take(unit(0, SENT, 5020, 90));
	assert_int_equal(read_all(), 7);
	assert_int_equal(got[5].len, 5000);
	assert_int_equal(got[5].kept, CAPTURE_SNAP_MIN - 40);
	assert_int_equal(got[6].kept, CAPTURE_SNAP_MIN - 40);
	assert_int_equal(got[6].seq, got[5].seq + 5000);
	capture_free(cap);
}

static void check_comment(size_t i, const char *text)
{
	assert_row(text, read_text_is(&got[i].block, 1, text));
}

CAPTURE_CASE(comments_tell_what_changes_seldom)
{
	struct told told = unit(0, SENT, 20, 40);

	start();
	told.qp_num = 17;
	take(told);
	told.at += 40;
	take(told);
	told.at += 40;
	told.carrier = USIW_CARRIER_RING;
	take(told);
	told.at += 40;
	told.flags |= USIW_PACKET_CA | USIW_PACKET_UNREADABLE;
	take(told);
	assert_int_equal(read_all(), 9);
	check_comment(3, "process 1001 (active), no QP yet, persona rnic, sent "
			 "by TCP");
	check_comment(4, "process 1002 (?passive?), no QP yet, persona rnic, "
			 "sent by TCP");
	check_comment(5,
		      "process 1001 (active), QP 0x11, persona rnic, sent by "
		      "TCP");
	check_comment(6, NULL);
	check_comment(7,
		      "process 1001 (active), QP 0x11, persona rnic, sent by "
		      "shared memory, without CRC");
	check_comment(
		8, "process 1001 (active), QP 0x11, persona ca, sent by "
		   "shared memory, without CRC; its memory could not be read");
}

CAPTURE_CASE(lost_records_are_counted)
{
	struct told told = unit(0, SENT, 20, 40);
	struct read_block block;
	size_t at = 0, cnt = 0;

	start();
	told.lost = 5;
	take(told);
	told.at = 500;
	take(told);
	told.at = 900;
	told.lost = 4; /* nonsense */
	take(told);
	capture_end_process(cap, 0, 7, &file);
	assert_int_equal(read_all(), 8);
	assert_int_equal(read_count(&got[5].block, 4), 5);
	assert_int_equal(read_count(&got[6].block, 4), 0);
	assert_int_equal(capture_counts(cap)->lost, 7);
	capture_end_file(cap, 99, &file);
	while (read_next(&file, &at, &block)) {
		if (block.type != READ_STATISTICS)
			continue;
		assert_int_equal(read32(block.body), cnt);
		assert_int_equal(read_count(&block, 5), cnt ? 0 : 7);
		assert_int_equal(read_count(&block, 8), cnt ? 1 : 7);
		cnt++;
	}
	assert_int_equal(cnt, 2);
}

CAPTURE_CASE(packets_without_room_are_counted)
{
	start();
	file.size = file.len + 100;
	take(unit(0, SENT, 20, 400));
	take(unit(0, SENT, 420, 400));
	assert_int_equal(capture_counts(cap)->dropped, 2);
	file.size = SIZE;
	take(unit(0, SENT, 820, 400));
	assert_int_equal(read_all(), 6);
	assert_int_equal(got[5].seq, got[3].seq + 820);
	assert_int_equal(capture_counts(cap)->written, 6);
	capture_uncount(cap, 2);
	assert_int_equal(capture_counts(cap)->written, 4);
	assert_int_equal(capture_counts(cap)->dropped, 4);
}

CAPTURE_CASE(each_file_stands_by_itself)
{
	struct read_block block;
	size_t at = 0;

	start();
	take(unit(0, SENT, 20, 400));
	file.len = 0;
	assert_int_equal(capture_begin_file(cap, &file), 0);
	take(unit(1, SENT, 20, 30));
	take(unit(0, SENT, 420, 400));
	assert_true(read_next(&file, &at, &block));
	assert_int_equal(block.type, READ_SECTION);
	assert_true(read_next(&file, &at, &block));
	assert_int_equal(block.type, READ_INTERFACE);
	assert_true(read_text_is(&block, 2, "usiw-1002"));
	assert_int_equal(read_all(), 7);
	assert_int_equal(read32(got[5].block.body), 0);
	assert_int_equal(read32(got[6].block.body), 1);
	check_comment(6, "process 1001 (active), no QP yet, persona rnic, sent "
			 "by TCP");
}

CAPTURE_CASE(filters_choose_packets)
{
	static const struct {
		const char *name;
		struct capture_filter filter;
		size_t want;
	} rows[] = {
		{ "all", { 0 }, 7 },
		{ "QP", { .qp_num = 6 }, 6 },
		{ "no such QP", { .qp_num = 7 }, 0 },
		{ "own port", { .port = 4000 }, 7 },
		{ "no such port", { .port = 4001 }, 0 },
		{ "peer", { .has_peer = true }, 6 },
	};
	struct told told;

	capture_free(cap);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		begin(CAPTURE_SNAP_MAX);
		filter = rows[i].filter;
		if (filter.has_peer)
			util_v4_map(filter.peer,
				    (const uint8_t[]){ 10, 0, 0, 2 });
		told = unit(0, SENT | START, 0, 20);
		told.qp_num = 5;
		take(told);
		told = unit(0, SENT, 20, 40);
		told.qp_num = 6;
		take(told);
		told = unit(1, SENT, 20, 40);
		told.qp_num = 1;
		take(told);
		assert_row(rows[i].name, read_all() == rows[i].want);
		capture_free(cap);
	}
	begin(CAPTURE_SNAP_MAX);
}

/* BTH and DETH of one datagram. */
static void datagram_begin(uint32_t psn)
{
	memset(data, 0, 32);
	data[0] = 0x64;
	data[7] = 9; /* to QP 9 */
	data[10] = (uint8_t)(psn >> 8);
	data[11] = (uint8_t)psn;
	data[19] = 8; /* from QP 8 */
}

static struct told datagram(int process, uint16_t flags)
{
	return (struct told){ .process = process,
			      .kind = USIW_PACKET_DATAGRAM,
			      .flags = flags,
			      .len = 32,
			      .kept = 32,
			      .carrier = USIW_CARRIER_INBOX };
}

static size_t packets(struct read_block *last)
{
	struct read_block block;
	size_t at = 0, cnt = 0;

	while (read_next(&file, &at, &block))
		if (block.type == READ_PACKET) {
			*last = block;
			cnt++;
		}
	return cnt;
}

CAPTURE_CASE(datagrams_are_udp)
{
	struct read_block block;
	const uint8_t *ip;

	datagram_begin(3);
	take(datagram(0, SENT | USIW_PACKET_CA));
	take(datagram(1, USIW_PACKET_CA)); /* the same one */
	assert_int_equal(packets(&block), 1);
	ip = block.body + 20;
	assert_int_equal(ip[0], 0x45);
	assert_int_equal(ip[9], 17);
	assert_memory_equal(ip + 12, "\12\0\0\1\12\0\0\2", 8);
	assert_int_equal(ip[20] << 8 | ip[21], 4000);
	assert_memory_equal(ip + 28, data, 32);
	assert_true(read_text_is(&block, 1,
				 "process 1001 (active), no QP yet, persona "
				 "ca, sent by shared memory"));
	datagram_begin(4);
	take(datagram(1, USIW_PACKET_CA)); /* from elsewhere */
	assert_int_equal(packets(&block), 2);
	ip = block.body + 20;
	assert_memory_equal(ip + 12, "\12\0\0\1\12\0\0\2", 8);
	assert_int_equal(ip[20] << 8 | ip[21], 4000);
	assert_int_equal(read32(block.body), 1);
}

CAPTURE_CASE(nonsense_is_counted)
{
	static const struct {
		const char *name;
		struct told told;
	} rows[] = {
		{ "kind", { .kind = 4, .len = 1 } },
		{ "long unit", { .len = 65496 } },
		{ "long datagram",
		  { .kind = USIW_PACKET_DATAGRAM, .len = 65508 } },
		{ "offset", { .len = 10, .off = 11 } },
		{ "octets", { .len = 10, .off = 5, .kept = 6 } },
		{ "carrier", { .len = 1, .kept = 1, .carrier = 5 } },
	};
	static struct usiw_record record;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		take(rows[i].told);
		assert_row(rows[i].name, capture_counts(cap)->bad == i + 1);
	}
	capture_take(cap, 0, &record, sizeof(record), 0, &file);
	assert_int_equal(capture_counts(cap)->bad, ARRAY_LEN(rows) + 1);
	assert_int_equal(capture_counts(cap)->written, 0);
}
