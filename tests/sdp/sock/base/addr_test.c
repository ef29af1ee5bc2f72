/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Addresses of sockets, in both families. */
#include "test.h"

#include <arpa/inet.h>

#include "sock/base/addr.h"

static union sdp_addr addr_of(const char *ip, uint16_t port)
{
	union sdp_addr addr = { .sa.sa_family = AF_INET };

	if (inet_pton(AF_INET, ip, &addr.in.sin_addr) == 1) {
		addr.in.sin_port = htons(port);
	} else {
		addr.in6.sin6_family = AF_INET6;
		assert_int_equal(inet_pton(AF_INET6, ip, &addr.in6.sin6_addr),
				 1);
		addr.in6.sin6_port = htons(port);
	}
	return addr;
}

static void assert_same(const union sdp_addr *addr, const char *ip,
			uint16_t port)
{
	union sdp_addr want = addr_of(ip, port);

	assert_int_equal(sdp_addr_len(addr), sdp_addr_len(&want));
	assert_memory_equal(addr, &want, sdp_addr_len(&want));
}

CASE(has_a_port_in_each_family)
{
	static const char *const ips[] = { "192.0.2.1", "2001:db8::1" };
	union sdp_addr other = { .sa = { .sa_family = AF_UNIX,
					 .sa_data = "path" } };
	union sdp_addr kept = other, addr;

	for (size_t i = 0; i < ARRAY_LEN(ips); i++) {
		addr = addr_of(ips[i], 0x1234);
		assert_int_equal(sdp_addr_port(&addr), 0x1234);
		sdp_addr_set_port(&addr, 80);
		assert_same(&addr, ips[i], 80);
	}
	assert_int_equal(sdp_addr_port(&other), 0);
	sdp_addr_set_port(&other, 80);
	assert_memory_equal(&other, &kept, sizeof(kept));
}

CASE(ipv4_is_mapped_and_unmapped)
{
	static const char *const ips[][2] = {
		{ "192.0.2.1", "::ffff:192.0.2.1" },
		{ "0.0.0.0", "::ffff:0.0.0.0" },
		{ "255.255.255.255", "::ffff:255.255.255.255" },
	};

	for (size_t i = 0; i < ARRAY_LEN(ips); i++) {
		union sdp_addr addr = addr_of(ips[i][0], 80);

		sdp_addr_unmap(&addr);
		assert_same(&addr, ips[i][0], 80);
		sdp_addr_map(&addr);
		assert_same(&addr, ips[i][1], 80);
		sdp_addr_map(&addr);
		assert_same(&addr, ips[i][1], 80);
		sdp_addr_unmap(&addr);
		assert_same(&addr, ips[i][0], 80);
	}
}

/* A link-local address keeps its interface. */
CASE(ipv6_stays_ipv6)
{
	static const char *const ips[] = { "::", "::1", "::192.0.2.1",
					   "2001:db8::ffff:192.0.2.1",
					   "fe80::1" };

	for (size_t i = 0; i < ARRAY_LEN(ips); i++) {
		union sdp_addr addr = addr_of(ips[i], 80), old;

		addr.in6.sin6_scope_id = 3;
		old = addr;
		sdp_addr_map(&addr);
		assert_memory_equal(&addr, &old, sizeof(old));
		sdp_addr_unmap(&addr);
		assert_memory_equal(&addr, &old, sizeof(old));
	}
}

CASE(asks_the_kernel)
{
	union sdp_addr addr = addr_of("127.0.0.1", 0), found;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd6 = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(sdp_addr_family(fd), AF_INET);
	if (fd6 >= 0)
		assert_int_equal(sdp_addr_family(fd6), AF_INET6);
	assert_int_equal(sdp_addr_family(-1), AF_UNSPEC);
	assert_false(sdp_addr_is_bound(fd));
	assert_int_equal(bind(fd, &addr.sa, sdp_addr_len(&addr)), 0);
	assert_true(sdp_addr_is_bound(fd));
	assert_int_equal(sdp_addr_get(fd, false, &found), 0);
	assert_same(&found, "127.0.0.1", sdp_addr_port(&found));
	assert_int_equal(sdp_addr_get(fd, true, &found), -ENOTCONN);
	assert_int_equal(sdp_addr_get(-1, false, &found), -EBADF);
	assert_false(sdp_addr_is_bound(-1));
	close(fd);
	if (fd6 >= 0)
		close(fd6);
}
