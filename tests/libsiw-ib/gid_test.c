/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * GIDs and MGIDs against the addresses that they are.
 */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "hex.h"
#include "siw-ib.h"

static const struct {
	const char *name, *ip, *gid;
	bool is_multicast;
} rows[] = {
	{ "10.7.0.1", "0a070001", "00000000000000000000ffff0a070001", false },
	{ "0.0.0.0", "00000000", "00000000000000000000ffff00000000", false },
	{ "223.255.255.255", "dfffffff", "00000000000000000000ffffdfffffff",
	  false },
	/* what mckey was given, and where its packets went */
	{ "239.1.1.1", "ef010101", "00000000000000000000ffffef010101", true },
	{ "224.0.0.0", "e0000000", "00000000000000000000ffffe0000000", true },
	{ "240.0.0.0", "f0000000", "00000000000000000000fffff0000000", false },
	{ "fd07::1", "fd070000000000000000000000000001",
	  "fd070000000000000000000000000001", false },
	{ "ff0e::1234", "ff0e0000000000000000000000001234",
	  "ff0e0000000000000000000000001234", true },
	{ "::", "00000000000000000000000000000000",
	  "00000000000000000000000000000000", false },
	/* IPv4-compatible, without ffff: an address of IPv6 */
	{ "::224.0.0.1", "000000000000000000000000e0000001",
	  "000000000000000000000000e0000001", false },
	/* RoCE version 1's form of 239.1.1.1 is a group of IPv6 */
	{ "ff0e::ffff:239.1.1.1", "ff0e0000000000000000ffffef010101",
	  "ff0e0000000000000000ffffef010101", true },
};

CASE(maps_there_and_back)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint8_t ip[16], back[16];
		size_t len = test_unhex(rows[i].ip, ip, sizeof(ip));
		struct sib_gid gid, want;

		test_unhex(rows[i].gid, want.raw, sizeof(want.raw));
		assert_row(rows[i].name, sib_gid_from_ip(ip, len, &gid) == 0);
		assert_row(rows[i].name, !memcmp(&gid, &want, sizeof(gid)));
		assert_row(rows[i].name, sib_gid_is_ipv4(&gid) == (len == 4));
		assert_row(rows[i].name, sib_gid_to_ip(&gid, back) == len);
		assert_row(rows[i].name, !memcmp(back, ip, len));
		assert_row(rows[i].name,
			   sib_gid_is_multicast(&gid) == rows[i].is_multicast);
	}
}

CASE(maps_groups_only)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint8_t ip[16], back[16];
		int len = (int)test_unhex(rows[i].ip, ip, sizeof(ip));
		struct sib_gid gid, want, mgid = { { 1 } };
		int got;

		test_unhex(rows[i].gid, want.raw, sizeof(want.raw));
		sib_gid_from_ip(ip, (size_t)len, &gid);
		got = sib_mgid_from_ip(ip, (size_t)len, &mgid);
		assert_row(rows[i].name,
			   got == (rows[i].is_multicast ? 0 : -EINVAL));
		assert_row(rows[i].name, (got ? mgid.raw[0] == 1
					      : !memcmp(&mgid, &want, 16)));
		got = sib_mgid_to_ip(&gid, back);
		assert_row(rows[i].name,
			   got == (rows[i].is_multicast ? len : -EINVAL));
	}
}

CASE(refuses_other_lengths)
{
	uint8_t ip[17] = { 0xef };
	struct sib_gid gid;

	for (size_t len = 0; len <= sizeof(ip); len++) {
		if (len == 4 || len == 16)
			continue;
		assert_int_equal(sib_gid_from_ip(ip, len, &gid), -EINVAL);
		assert_int_equal(sib_mgid_from_ip(ip, len, &gid), -EINVAL);
	}
}
