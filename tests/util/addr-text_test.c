/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* addr-text.c: addresses in log lines. */
#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "util/addr-text.h"

static struct sockaddr_storage addr(int family, const char *text, uint16_t port)
{
	struct sockaddr_storage ss = { .ss_family = (sa_family_t)family };
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ss;
	struct sockaddr_in *in = (struct sockaddr_in *)&ss;

	assert_int_equal(inet_pton(family, text,
				   family == AF_INET ? (void *)&in->sin_addr
						     : &in6->sin6_addr),
			 1);
	if (family == AF_INET)
		in->sin_port = htons(port);
	else
		in6->sin6_port = htons(port);
	return ss;
}

CASE(addresses_have_a_text)
{
	const struct sockaddr_storage none = { 0 };
	const struct sockaddr_storage v4 = addr(AF_INET, "192.0.2.1", 4791);
	const struct sockaddr_storage v6 = addr(AF_INET6, "2001:db8::1", 77);

	assert_string_equal(UTIL_ADDR_TEXT(&v4), "192.0.2.1 port 4791");
	assert_string_equal(UTIL_ADDR_TEXT(&v6), "2001:db8::1 port 77");
	assert_string_equal(UTIL_ADDR_TEXT(&none), "an unknown address");
	assert_string_equal(UTIL_ADDR_PAIR_TEXT(&v4, &v6),
			    " from 192.0.2.1 port 4791 to 2001:db8::1 port 77");
	assert_string_equal(UTIL_ADDR_PAIR_TEXT(&none, &v4),
			    " to 192.0.2.1 port 4791");
	assert_string_equal(UTIL_ADDR_PAIR_TEXT(&v4, &none),
			    " from 192.0.2.1 port 4791");
	assert_string_equal(UTIL_ADDR_PAIR_TEXT(&none, &none), "");
}

CASE(an_address_of_one_link_has_its_interface)
{
	struct sockaddr_storage ss = addr(AF_INET6, "fe80::1", 77);

	((struct sockaddr_in6 *)&ss)->sin6_scope_id = 3;
	assert_string_equal(UTIL_ADDR_TEXT(&ss), "fe80::1%3 port 77");
}

/* The longest that there are. */
CASE(long_addresses_are_whole)
{
	const char *text = "1111:2222:3333:4444:5555:6666:7777:8888";
	struct sockaddr_storage ss = addr(AF_INET6, text, 65535);

	((struct sockaddr_in6 *)&ss)->sin6_scope_id = UINT32_MAX;
	assert_non_null(
		strstr(UTIL_ADDR_PAIR_TEXT(&ss, &ss), " port 65535 to "));
	assert_non_null(strstr(UTIL_ADDR_TEXT(&ss), " port 65535"));
}
