/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Port Mapper messages: the vectors in four ways, dropped messages, PmTime.
 */
#include "test.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "hex.h"
#include "pm/pm-msg.h"

#define ZEROS12 "000000000000000000000000"
#define V6_A "20010db8000000000000000000000001"
#define V6_B "20010db8000000000000000000000002"

/* clang-format off */
static const struct {
	const char *name;
	const char *hex;
	struct sdp_pm_msg msg;
} vectors[] = {
	{ "PMReq, IPv4 (1.10)",
	  "04000000 00509c40 01020304 05060708 0a000001" ZEROS12
	  "0a000002" ZEROS12,
	  { SDP_PM_REQ, 4, 0, 80, 40000, 0x0102030405060708,
	    { 10, 0, 0, 1 }, { 10, 0, 0, 2 } } },
	{ "PMAccept, IPv4",
	  "14280000 00509c40 ffffffff fffffffe 0a000001" ZEROS12
	  "0a000002" ZEROS12,
	  { SDP_PM_ACCEPT, 4, 40, 80, 40000, 0xfffffffffffffffe,
	    { 10, 0, 0, 1 }, { 10, 0, 0, 2 } } },
	{ "PMAck, IPv4",
	  "24000000 00509c40 00000000 00000000 0a000001" ZEROS12
	  "0a000002" ZEROS12,
	  { SDP_PM_ACK, 4, 0, 80, 40000, 0,
	    { 10, 0, 0, 1 }, { 10, 0, 0, 2 } } },
	{ "PMDeny, IPv6",
	  "36000000 ffff0001 00000000 00000001" V6_A V6_B,
	  { SDP_PM_DENY, 6, 0, 0xffff, 1, 1,
	    { 0x20, 1, 0xd, 0xb8, [15] = 1 },
	    { 0x20, 1, 0xd, 0xb8, [15] = 2 } } },
	{ "PMAccept, IPv6, for ever",
	  "16ff0000 00010002 00000000 00000001" V6_A V6_B,
	  { SDP_PM_ACCEPT, 6, 255, 1, 2, 1,
	    { 0x20, 1, 0xd, 0xb8, [15] = 1 },
	    { 0x20, 1, 0xd, 0xb8, [15] = 2 } } },
};
/* clang-format on */

static bool are_same(const struct sdp_pm_msg *a, const struct sdp_pm_msg *b)
{
	return a->type == b->type && a->ipv == b->ipv && a->time == b->time &&
	       a->ap_port == b->ap_port && a->cp_port == b->cp_port &&
	       a->handle == b->handle && !memcmp(a->cp_addr, b->cp_addr, 16) &&
	       !memcmp(a->ap_addr, b->ap_addr, 16);
}

/* T84 */
CASE(decodes_and_encodes_vectors)
{
	for (size_t i = 0; i < ARRAY_LEN(vectors); i++) {
		uint8_t buf[SDP_PM_SIZE], out[SDP_PM_SIZE];
		struct sdp_pm_msg msg;

		assert_row(vectors[i].name,
			   test_unhex(vectors[i].hex, buf, sizeof(buf)) == 48);
		assert_row(vectors[i].name,
			   sdp_pm_msg_decode(buf, sizeof(buf), &msg) == 0);
		assert_row(vectors[i].name, are_same(&msg, &vectors[i].msg));
		sdp_pm_msg_encode(&msg, out);
		assert_row(vectors[i].name, !memcmp(out, buf, sizeof(out)));
	}
}

/* T93 */
CASE(drops_every_other_size)
{
	for (size_t i = 0; i < ARRAY_LEN(vectors); i++) {
		uint8_t buf[SDP_PM_SIZE + 1] = { 0 };
		struct sdp_pm_msg msg;

		test_unhex(vectors[i].hex, buf, sizeof(buf));
		for (size_t cut = 0; cut <= sizeof(buf); cut++) {
			if (cut != SDP_PM_SIZE)
				assert_row(vectors[i].name,
					   sdp_pm_msg_decode(buf, cut, &msg) ==
						   -EPROTO);
		}
	}
}

/* Fields that a receiver must ignore (T94, SDP-256). */
static void clear_ignored(uint8_t *buf, const struct sdp_pm_msg *msg)
{
	if (msg->type != SDP_PM_ACCEPT)
		buf[1] = 0;
	memset(buf + 2, 0, 2);
	if (msg->ipv == 4) {
		memset(buf + 20, 0, 12);
		memset(buf + 36, 0, 12);
	}
}

CASE(sees_each_bit_flip)
{
	size_t dropped = 0;

	for (size_t i = 0; i < ARRAY_LEN(vectors); i++) {
		for (size_t bit = 0; bit < 8 * SDP_PM_SIZE; bit++) {
			uint8_t buf[SDP_PM_SIZE], out[SDP_PM_SIZE];
			struct sdp_pm_msg msg;

			test_unhex(vectors[i].hex, buf, sizeof(buf));
			buf[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
			if (sdp_pm_msg_decode(buf, sizeof(buf), &msg)) {
				assert_row(vectors[i].name, bit < 8);
				dropped++;
				continue;
			}
			clear_ignored(buf, &msg);
			sdp_pm_msg_encode(&msg, out);
			assert_row(vectors[i].name,
				   !memcmp(out, buf, sizeof(out)));
		}
	}
	assert_true(dropped > 0);
}

/* Versions 1 to 3, and every IPV except 4 and 6. */
CASE(drops_other_versions_and_families)
{
	for (unsigned int first = 0; first < 256; first++) {
		uint8_t buf[SDP_PM_SIZE];
		struct sdp_pm_msg msg;
		bool is_good = first < 0x40 &&
			       ((first & 0xf) == 4 || (first & 0xf) == 6);

		test_unhex(vectors[0].hex, buf, sizeof(buf));
		buf[0] = (uint8_t)first;
		assert_int_equal(sdp_pm_msg_decode(buf, sizeof(buf), &msg),
				 is_good ? 0 : -EPROTO);
	}
}

/* T91 */
CASE(counts_the_cache_time)
{
	static const struct {
		uint8_t time;
		uint64_t ms;
	} rows[] = {
		{ 0, 0 },	 { 1, 250 },	  { 127, 31750 },
		{ 128, 128000 }, { 254, 254000 }, { 255, UINT64_MAX },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_true(sdp_pm_time_ms(rows[i].time) == rows[i].ms);
}
