/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a sink adds to a packet, and cuts off. */
#include "test.h"

#include <errno.h>

#include "capture/sink.h"
#include "pcapng-read.h"

static uint8_t octets[1024];
static const uint8_t head[40], data[200] = { 7 };

CASE(cuts_a_packet_at_the_snap_length)
{
	static const struct {
		const char *name;
		uint32_t snap_len;
		size_t kept, len;
		uint32_t want_kept, want_len;
	} rows[] = {
		{ "all", 1000, 200, 200, 240, 240 },
		{ "exact", 240, 200, 200, 240, 240 },
		{ "cut", 239, 200, 200, 239, 240 },
		{ "headers", 40, 200, 200, 40, 240 },
		{ "cut before", 1000, 100, 200, 140, 240 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct packet_payload payload = { data, rows[i].kept,
							rows[i].len };
		struct pcapng file = { octets, sizeof(octets), 0 };
		struct sink sink = { .to = &file,
				     .snap_len = rows[i].snap_len };
		struct read_block block;
		size_t at = 0;

		assert_int_equal(
			sink_put(&sink, head, sizeof(head), &payload, NULL), 0);
		assert_true(read_next(&file, &at, &block));
		assert_row(rows[i].name,
			   read32(block.body + 12) == rows[i].want_kept);
		assert_row(rows[i].name,
			   read32(block.body + 16) == rows[i].want_len);
	}
}

CASE(tells_of_lost_packets_once)
{
	const struct packet_payload payload = { data, 1, 1 };
	struct pcapng file = { octets, sizeof(octets), 0 };
	struct sink sink = { .to = &file,
			     .snap_len = 1000,
			     .interface = 4,
			     .ns = 5,
			     .direction = PCAPNG_OUT,
			     .drop_cnt = 3 };
	struct read_block block;
	size_t at = 0;

	for (int i = 0; i < 2; i++)
		assert_int_equal(sink_put(&sink, head, sizeof(head), &payload,
					  i ? NULL : "first"),
				 0);
	assert_int_equal(sink.written_cnt, 2);
	assert_true(read_next(&file, &at, &block));
	assert_int_equal(read32(block.body), 4);
	assert_int_equal(read_time(block.body + 4), 5);
	assert_int_equal(read_count(&block, 4), 3);
	assert_true(read_text_is(&block, 1, "first"));
	assert_true(read_next(&file, &at, &block));
	assert_int_equal(read_count(&block, 4), 0);
	assert_true(read_text_is(&block, 1, NULL));
}

CASE(tells_later_what_finds_no_room)
{
	const struct packet_payload payload = { data, 1, 1 };
	struct pcapng file = { octets, 10, 0 };
	struct sink sink = { .to = &file, .snap_len = 1000, .drop_cnt = 3 };

	assert_int_equal(sink_put(&sink, head, sizeof(head), &payload, NULL),
			 -ENOSPC);
	assert_int_equal(sink.written_cnt, 0);
	assert_int_equal(sink.drop_cnt, 3);
}
