/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Addresses: IPv4-mapped, wildcard, local; the source address that the kernel
 * would choose. */
#include "../cm/fixture.h"

#include "os/addr.h"
#include "os/fd.h"

static struct sockaddr_storage addr(int family, const char *text, uint16_t port)
{
	struct sockaddr_storage ss = cm_loopback(family, port);
	void *place =
		family == AF_INET
			? (void *)&((struct sockaddr_in *)&ss)->sin_addr
			: (void *)&((struct sockaddr_in6 *)&ss)->sin6_addr;

	assert_int_equal(inet_pton(family, text, place), 1);
	return ss;
}

#define SA(ss) ((const struct sockaddr *)&(ss))

CASE(mapped_becomes_ipv4)
{
	struct sockaddr_storage a = addr(AF_INET6, "::ffff:10.1.2.3", 77);
	struct sockaddr_storage b = addr(AF_INET, "10.1.2.3", 77);
	struct sockaddr_storage c = addr(AF_INET6, "2001:db8::1", 77), d = c;

	rnic_addr_unmap(&a);
	assert_memory_equal(&a, &b, sizeof(a));
	assert_true(rnic_addr_equal(&a, &b));
	rnic_addr_set_port_be(&b, htons(78));
	assert_false(rnic_addr_equal(&a, &b));
	assert_int_equal(rnic_addr_port_be(SA(b)), htons(78));
	rnic_addr_unmap(&c);
	assert_true(rnic_addr_equal(&c, &d));
}

CASE(any_is_any_in_each_family)
{
	static const struct {
		int family;
		const char *text;
		bool is_any, is_loopback;
	} rows[] = {
		{ AF_INET, "0.0.0.0", true, false },
		{ AF_INET, "0.0.0.1", false, false },
		{ AF_INET, "127.1.2.3", false, true },
		{ AF_INET, "128.0.0.1", false, false },
		{ AF_INET6, "::", true, false },
		{ AF_INET6, "::1", false, true },
		{ AF_INET6, "::2", false, false },
		{ AF_INET6, "::ffff:0.0.0.0", true, false },
		{ AF_INET6, "::ffff:127.0.0.1", false, true },
	};
	struct sockaddr_storage none = { .ss_family = AF_UNIX };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sockaddr_storage ss =
			addr(rows[i].family, rows[i].text, 1);

		assert_int_equal(rnic_addr_is_any(SA(ss)), rows[i].is_any);
		assert_int_equal(rnic_addr_is_loopback(SA(ss)),
				 rows[i].is_loopback);
	}
	assert_false(rnic_addr_is_any(SA(none)));
	assert_false(rnic_addr_is_loopback(SA(none)));
	assert_int_equal(rnic_addr_len(SA(none)), 0);
	assert_int_equal(rnic_addr_port_be(SA(none)), 0);
}

CASE(own_addresses_are_known)
{
	static const struct {
		int family;
		const char *text;
		bool is_own;
	} rows[] = {
		{ AF_INET, "127.0.0.1", true },
		{ AF_INET, "127.9.9.9", true },
		{ AF_INET6, "::1", true },
		{ AF_INET6, "::ffff:127.0.0.1", true },
		{ AF_INET, "192.0.2.77", false },
		{ AF_INET6, "2001:db8::77", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sockaddr_storage ss =
			addr(rows[i].family, rows[i].text, 7);

		assert_int_equal(rnic_addr_is_own(SA(ss)), rows[i].is_own);
	}
}

CASE(source_is_the_kernels_choice)
{
	struct sockaddr_storage dst = addr(AF_INET, "127.0.0.1", 9), local;
	struct sockaddr_storage src = addr(AF_INET, "127.0.0.5", 1234);

	assert_int_equal(rnic_addr_source(NULL, SA(dst), &local), 0);
	rnic_addr_set_port_be(&dst, 0);
	assert_true(rnic_addr_equal(&local, &dst));
	rnic_addr_set_port_be(&dst, htons(9));
	assert_int_equal(rnic_addr_source(SA(src), SA(dst), &local), 0);
	rnic_addr_set_port_be(&src, 0);
	assert_true(rnic_addr_equal(&local, &src));
	src = addr(AF_INET, "192.0.2.1", 0);
	assert_int_equal(rnic_addr_source(SA(src), SA(dst), &local),
			 -EADDRNOTAVAIL);
}
