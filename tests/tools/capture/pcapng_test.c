/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Blocks of a pcapng file: their layout, and memory that is too small. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "capture/pcapng.h"
#include "pcapng-read.h"

#define SIZE 4096u

static _Alignas(8) uint8_t octets[SIZE];

/* One block; it is read back. */
static struct read_block only(const struct pcapng *file)
{
	struct read_block block;
	size_t at = 0;

	assert_true(read_next(file, &at, &block));
	assert_int_equal(at, file->len);
	return block;
}

CASE(begins_with_a_section)
{
	struct pcapng file = { octets, SIZE, 0 };
	struct read_block block;

	assert_int_equal(pcapng_put_section(&file, "Linux 6.1", "usiw 1"), 0);
	block = only(&file);
	assert_int_equal(block.type, READ_SECTION);
	assert_int_equal(read32(block.body), 0x1a2b3c4d);
	assert_int_equal(read16(block.body + 4), 1);
	assert_int_equal(read16(block.body + 6), 0);
	assert_int_equal(read_time(block.body + 8), UINT64_MAX);
	assert_true(read_text_is(&block, 3, "Linux 6.1"));
	assert_true(read_text_is(&block, 4, "usiw 1"));
}

CASE(describes_an_interface)
{
	const struct pcapng_interface interface = {
		.name = "usiw-7",
		.description = "process 7 (rping)",
		.filter = "qp 5",
		.snap_len = 128,
	};
	const struct pcapng_interface bare = { .name = "" };
	struct pcapng file = { octets, SIZE, 0 };
	struct read_block block;
	const uint8_t *value;
	uint16_t len;

	assert_int_equal(pcapng_put_interface(&file, &interface), 0);
	block = only(&file);
	assert_int_equal(block.type, READ_INTERFACE);
	assert_int_equal(read16(block.body), 101); /* raw IP */
	assert_int_equal(read32(block.body + 4), 128);
	assert_true(read_text_is(&block, 2, "usiw-7"));
	assert_true(read_text_is(&block, 3, "process 7 (rping)"));
	value = read_option(&block, 9, &len);
	assert_int_equal(len, 1);
	assert_int_equal(*value, 9); /* nanoseconds */
	value = read_option(&block, 11, &len);
	assert_int_equal(len, 5);
	assert_memory_equal(value, "\0qp 5", 5);

	file.len = 0;
	assert_int_equal(pcapng_put_interface(&file, &bare), 0);
	block = only(&file);
	assert_true(read_text_is(&block, 2, NULL));
	assert_true(read_text_is(&block, 3, NULL));
	assert_null(read_option(&block, 11, &len));
}

CASE(keeps_a_packet)
{
	static const struct {
		const char *name, *comment;
		enum pcapng_direction direction;
		uint64_t drop_cnt;
		uint32_t kept, len;
	} rows[] = {
		{ "whole", "what it is", PCAPNG_OUT, 0, 8, 8 },
		{ "padded", "x", PCAPNG_IN, 7, 5, 5 },
		{ "cut", NULL, PCAPNG_UNKNOWN, 1, 3, 9000 },
		{ "empty", "two\nlines", PCAPNG_IN, 0, 0, 0 },
	};
	uint8_t data[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct pcapng_packet packet = {
			.interface = 3,
			.ns = 0x1122334455667788,
			.direction = rows[i].direction,
			.drop_cnt = rows[i].drop_cnt,
			.comment = rows[i].comment,
			.len = rows[i].len,
		};
		uint32_t half = rows[i].kept / 2;
		const struct iovec iov[2] = {
			{ data, half }, { data + half, rows[i].kept - half }
		};
		struct pcapng file = { octets, SIZE, 0 };
		struct read_block block;
		const uint8_t *flags;
		uint16_t len;

		assert_int_equal(pcapng_put_packet(&file, &packet, iov, 2), 0);
		block = only(&file);
		assert_row(rows[i].name, block.type == READ_PACKET);
		assert_row(rows[i].name, read32(block.body) == 3);
		assert_row(rows[i].name,
			   read_time(block.body + 4) == packet.ns);
		assert_row(rows[i].name,
			   read32(block.body + 12) == rows[i].kept);
		assert_row(rows[i].name,
			   read32(block.body + 16) == rows[i].len);
		assert_memory_equal(block.body + 20, data, rows[i].kept);
		assert_row(rows[i].name,
			   read_text_is(&block, 1, rows[i].comment));
		flags = read_option(&block, 2, &len);
		assert_row(rows[i].name,
			   (flags ? read32(flags) : 0) == rows[i].direction);
		assert_row(rows[i].name,
			   read_count(&block, 4) == rows[i].drop_cnt);
	}
}

CASE(refuses_more_octets_than_a_packet_has)
{
	const struct pcapng_packet packet = { .len = 7 };
	const struct iovec iov = { octets, 8 };
	struct pcapng file = { octets, SIZE, 0 };

	assert_int_equal(pcapng_put_packet(&file, &packet, &iov, 1), -EMSGSIZE);
	assert_int_equal(file.len, 0);
}

CASE(refuses_a_text_that_no_option_holds)
{
	static char text[70000];
	struct pcapng file = { octets, SIZE, 0 };

	memset(text, 'x', sizeof(text) - 1);
	assert_int_equal(pcapng_put_section(&file, text, NULL), -EMSGSIZE);
	assert_int_equal(file.len, 0);
}

CASE(counts_what_has_become_of_packets)
{
	const struct pcapng_statistics statistics = {
		.interface = 2,
		.begin_ns = 0x100000002,
		.end_ns = 0x300000004,
		.received_cnt = 10,
		.lost_cnt = 3,
		.dropped_cnt = 2,
		.written_cnt = 5,
	};
	struct pcapng file = { octets, SIZE, 0 };
	struct read_block block;
	uint16_t len;

	assert_int_equal(pcapng_put_statistics(&file, &statistics), 0);
	block = only(&file);
	assert_int_equal(block.type, READ_STATISTICS);
	assert_int_equal(read32(block.body), 2);
	assert_int_equal(read_time(block.body + 4), 0x300000004);
	assert_int_equal(read_time(read_option(&block, 2, &len)), 0x100000002);
	assert_int_equal(read_time(read_option(&block, 3, &len)), 0x300000004);
	assert_int_equal(read_count(&block, 4), 10);
	assert_int_equal(read_count(&block, 5), 3);
	assert_int_equal(read_count(&block, 7), 2);
	assert_int_equal(read_count(&block, 8), 5);
}

static int put_any(struct pcapng *file, int which)
{
	static const struct pcapng_interface interface = { "usiw-7",
							   "process 7",
							   "port 5", 99 };
	static const struct pcapng_packet packet = { .comment = "a comment",
						     .direction = PCAPNG_IN,
						     .drop_cnt = 1,
						     .len = 21 };
	static const struct pcapng_statistics statistics;
	static uint8_t data[21];
	const struct iovec iov = { data, sizeof(data) };

	switch (which) {
	case 0:
		return pcapng_put_section(file, "Linux", "usiw");
	case 1:
		return pcapng_put_interface(file, &interface);
	case 2:
		return pcapng_put_packet(file, &packet, &iov, 1);
	default:
		return pcapng_put_statistics(file, &statistics);
	}
}

CASE(adds_nothing_without_room)
{
	for (int which = 0; which < 4; which++) {
		struct pcapng file = { octets, SIZE, 0 };
		size_t len;

		assert_int_equal(put_any(&file, which), 0);
		len = file.len;
		for (size_t size = 0; size < len; size++) {
			file = (struct pcapng){ octets, 8 + size, 8 };
			memset(octets, 0x5a, sizeof(octets));
			assert_int_equal(put_any(&file, which), -ENOSPC);
			assert_int_equal(file.len, 8);
			assert_int_equal(octets[8 + size], 0x5a);
		}
		file = (struct pcapng){ octets, 8 + len, 8 };
		assert_int_equal(put_any(&file, which), 0);
		assert_int_equal(file.len, 8 + len);
	}
}
