/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What an address handle is made of. */
#include "test.h"

#include <arpa/inet.h>

#include "dgram/rnic-ud.h"

CASE(a_datagram_fits_the_interface)
{
	static const struct {
		uint32_t link, ud;
	} rows[] = { { 68, 0 },	     { 335, 0 },     { 336, 256 },
		     { 1500, 1024 }, { 2128, 2048 }, { 4175, 2048 },
		     { 4176, 4096 }, { 65536, 4096 } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct rnic_device_attr attr = { .mtu = rows[i].link };

		assert_int_equal(rnic_device_ud_mtu(&attr), rows[i].ud);
	}
}

CASE(own_addresses_are_known)
{
	static const struct {
		const char *addr;
		bool is_own;
	} rows[] = { { "::ffff:127.0.0.1", true },
		     { "::ffff:127.1.2.3", true },
		     { "::1", true },
		     { "::ffff:192.0.2.77", false },
		     { "2001:db8::77", false } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint8_t gid[16];

		assert_int_equal(inet_pton(AF_INET6, rows[i].addr, gid), 1);
		assert_row(rows[i].addr,
			   rnic_gid_is_own(gid) == rows[i].is_own);
	}
}
