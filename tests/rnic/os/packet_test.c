/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* packet.c: lists of memory that may not be there, and records of octets. */
#define _GNU_SOURCE
#include "test.h"

#include <arpa/inet.h>
#include <errno.h>

#include "captured.h"
#include "child.h"
#include "os/guard.h"
#include "os/packet.h"

static uint8_t first[5] = "abcde", second[1] = "f", third[4] = "ghij";
static const struct iovec list[] = {
	{ first, sizeof(first) },
	{ NULL, 0 },
	{ second, sizeof(second) },
	{ NULL, 0 },
	{ third, 4 },
	{ NULL, 0 },
};

static struct rnic_cursor all(void)
{
	return (struct rnic_cursor){ list, ARRAY_LEN(list), 0 };
}

CASE(copies_from_any_place)
{
	for (size_t from = 0; from <= 10; from++)
		for (size_t len = 0; from + len <= 10; len++) {
			struct rnic_cursor cursor = all();
			char text[16] = "";

			assert_true(rnic_cursor_skip(&cursor, from));
			assert_int_equal(rnic_cursor_copy(&cursor, text, len),
					 0);
			assert_memory_equal(text, "abcdefghij" + from, len);
			text[0] = '!';
			/* It has moved on. */
			if (from + len < 10) {
				assert_int_equal(
					rnic_cursor_copy(&cursor, text, 1), 0);
				assert_int_equal(text[0],
						 "abcdefghij"[from + len]);
			}
		}
}

CASE(knows_its_end)
{
	struct rnic_cursor cursor = all();

	assert_true(rnic_cursor_skip(&cursor, 10));
	assert_false(rnic_cursor_skip(&cursor, 1));
	cursor = all();
	assert_false(rnic_cursor_skip(&cursor, 11));
}

/* A page that is there, and one that is not. */
static uint8_t *half_a_mapping(size_t *ret_page)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *mem = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(mem != MAP_FAILED);
	memset(mem, 7, 2 * page);
	assert_int_equal(mprotect(mem + page, page, PROT_NONE), 0);
	*ret_page = page;
	return mem;
}

/* In a child: cmocka has handlers of its own. */
static int check_gone(void)
{
	size_t page;
	uint8_t *mem = half_a_mapping(&page), got[8];
	const struct iovec iov[] = { { mem + page - 4, 8 }, { first, 5 } };
	struct rnic_cursor cursor = { iov, 2, 0 };

	CHECK(rnic_guard_install() == 0);
	memset(got, 1, sizeof(got));
	CHECK(rnic_cursor_copy(&cursor, got, 8) == -EFAULT);
	for (int i = 0; i < 8; i++)
		CHECK(got[i] == 0);
	/* It stands behind it nevertheless. */
	CHECK(rnic_cursor_copy(&cursor, got, 5) == 0);
	CHECK(memcmp(got, "abcde", 5) == 0);
	return 0;
}

CASE(memory_that_is_gone_is_0)
{
	assert_int_equal(in_child(check_gone), 0);
}

static int check_records(void)
{
	const struct usiw_packet packet = { .stream = 3, .len = 9, .at = 5 };
	struct rnic_cursor cursor = all();
	static struct captured got;
	size_t page;
	uint8_t *mem = half_a_mapping(&page);
	const struct iovec gone = { mem + page, 4 };

	CHECK(rnic_guard_install() == 0);
	captured_begin(1000, 1u << 16);
	(void)rnic_cursor_skip(&cursor, 3);
	rnic_packet_record(USIW_PACKET_UNIT, USIW_PACKET_SENT, &packet, "xy", 2,
			   &cursor, 4);
	CHECK(captured_take(&got));
	CHECK(got.record.kind == USIW_PACKET_UNIT);
	CHECK(got.record.flags == USIW_PACKET_SENT);
	CHECK(memcmp(&got.packet, &packet, sizeof(packet)) == 0);
	CHECK(got.kept == 6 && memcmp(got.octets, "xydefg", 6) == 0);
	cursor = (struct rnic_cursor){ &gone, 1, 0 };
	rnic_packet_record(USIW_PACKET_UNIT, USIW_PACKET_SENT, &packet, "xy", 2,
			   &cursor, 4);
	CHECK(captured_take(&got));
	CHECK(got.record.flags == (USIW_PACKET_SENT | USIW_PACKET_UNREADABLE));
	CHECK(memcmp(got.octets, "xy\0\0\0\0", 6) == 0);
	rnic_packet_record(USIW_PACKET_END, 0, &packet, NULL, 0, NULL, 0);
	CHECK(captured_take(&got) && got.kept == 0);
	CHECK(!captured_take(&got));
	return 0;
}

CASE(a_record_has_head_and_octets)
{
	assert_int_equal(in_child(check_records), 0);
}

CASE(tells_the_snap_length)
{
	captured_begin(77, 1u << 16);
	assert_int_equal(rnic_observer_snap_len(USIW_OBSERVE_PACKETS), 77);
	captured_end();
}

CASE(addresses_have_16_octets)
{
	struct sockaddr_storage addr = { 0 };
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&addr;
	struct sockaddr_in *sin = (struct sockaddr_in *)&addr;
	uint8_t octets[16];
	uint16_t port;

	sin->sin_family = AF_INET;
	sin->sin_port = htons(7);
	inet_pton(AF_INET, "192.0.2.1", &sin->sin_addr);
	rnic_packet_set_end(octets, &port, &addr);
	assert_memory_equal(octets, "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\0\2\1",
			    16);
	assert_int_equal(port, 7);
	sin6->sin6_family = AF_INET6;
	inet_pton(AF_INET6, "2001:db8::1", &sin6->sin6_addr);
	rnic_packet_set_end(octets, &port, &addr);
	assert_memory_equal(octets, &sin6->sin6_addr, 16);
}
