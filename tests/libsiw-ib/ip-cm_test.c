/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * rdma_cm's header of private data, and its service IDs.
 */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "hex.h"
#include "siw-ib.h"

static const struct {
	const char *name, *hex, *src, *dst;
	uint16_t port;
} rows[] = {
	{ "udaddy over rxe",
	  "0040b41e"
	  "0000000000000000000000000a070001"
	  "0000000000000000000000000a070002",
	  "00000000000000000000ffff0a070001",
	  "00000000000000000000ffff0a070002", 0xb41e },
	{ "IPv6, by hand",
	  "00601c06"
	  "fd070000000000000000000000000001"
	  "fd070000000000000000000000000002",
	  "fd070000000000000000000000000001",
	  "fd070000000000000000000000000002", 7174 },
};

CASE(reads_and_writes)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint8_t buf[36], out[36], gid[16];
		struct sib_ip_cm ip;

		test_unhex(rows[i].hex, buf, sizeof(buf));
		assert_row(rows[i].name,
			   sib_ip_cm_decode(buf, 36, &ip) == SIB_OK);
		test_unhex(rows[i].src, gid, sizeof(gid));
		assert_row(rows[i].name, !memcmp(ip.src.raw, gid, 16));
		test_unhex(rows[i].dst, gid, sizeof(gid));
		assert_row(rows[i].name, !memcmp(ip.dst.raw, gid, 16));
		assert_row(rows[i].name, ip.src_port == rows[i].port);
		assert_row(rows[i].name, sib_ip_cm_encode(&ip, out, 36) == 36);
		assert_row(rows[i].name, !memcmp(out, buf, 36));
		for (size_t cut = 0; cut < 36; cut++)
			assert_row(rows[i].name,
				   sib_ip_cm_decode(buf, cut, &ip) ==
					   SIB_F_IP_CM_SHORT);
	}
}

CASE(refuses_other_versions)
{
	uint8_t buf[36] = { 0 };
	struct sib_ip_cm ip;

	for (unsigned int ipv = 0; ipv < 16; ipv++) {
		buf[1] = (uint8_t)(ipv << 4 | 0xf); /* low half: reserved */
		assert_int_equal(sib_ip_cm_decode(buf, 36, &ip),
				 ipv == 4 || ipv == 6 ? SIB_OK
						      : SIB_F_IP_CM_IPV);
	}
	buf[1] = 0x40;
	for (unsigned int version = 1; version < 256; version++) {
		buf[0] = (uint8_t)version;
		assert_int_equal(sib_ip_cm_decode(buf, 36, &ip),
				 SIB_F_IP_CM_VERSION);
	}
}

CASE(refuses_to_encode_two_families)
{
	uint8_t out[36];
	struct sib_ip_cm ip = { .src_port = 1 };

	assert_int_equal(sib_ip_cm_encode(&ip, out, 36), 36);
	assert_int_equal(sib_ip_cm_encode(&ip, out, 35), -EMSGSIZE);
	sib_gid_from_ip((const uint8_t[]){ 10, 7, 0, 1 }, 4, &ip.src);
	assert_int_equal(sib_ip_cm_encode(&ip, out, 36), -EINVAL);
}

CASE(knows_service_ids)
{
	uint16_t ps = 0, port = 0;

	/* as udaddy and rping have them */
	assert_true(sib_service_id(SIB_PS_UDP, 7174) == 0x0000000001111c06);
	assert_true(sib_service_id(SIB_PS_TCP, 7174) == 0x0000000001061c06);
	assert_true(sib_service_id_decode(0x0000000001111c06, &ps, &port));
	assert_int_equal(ps, SIB_PS_UDP);
	assert_int_equal(port, 7174);
	assert_false(sib_service_id_decode(0x0000000101111c06, &ps, &port));
	assert_int_equal(port, 7174);
}
