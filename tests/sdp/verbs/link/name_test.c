/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How the ends of a link are named in the log. */
#include "test.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

#include "verbs/link/name.h"

static const struct {
	sa_family_t family;
	const char *address;
	uint16_t port;
	const char *text;
} rows[] = {
	{ AF_INET, "192.0.2.1", 80, "192.0.2.1:80" },
	{ AF_INET, "255.255.255.255", 65535, "255.255.255.255:65535" },
	{ AF_INET6, "::1", 0, "[::1]:0" },
	{ AF_INET6, "::ffff:192.0.2.1", 80, "[::ffff:192.0.2.1]:80" },
	{ AF_INET6, "2001:db8:1111:2222:3333:4444:5555:6666", 65535,
	  "[2001:db8:1111:2222:3333:4444:5555:6666]:65535" },
	{ AF_UNSPEC, NULL, 0, "?" },
};

CASE(names_both_families)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sockaddr_storage name = { .ss_family = rows[i].family };
		void *at = rows[i].family == AF_INET6
				   ? (void *)&((struct sockaddr_in6 *)&name)
					     ->sin6_addr
				   : &((struct sockaddr_in *)&name)->sin_addr;
		char buf[LINK_NAME_MAX];

		if (rows[i].address) {
			assert_int_equal(
				inet_pton(rows[i].family, rows[i].address, at),
				1);
			link_name_set_port(&name, rows[i].port);
		}
		assert_string_equal(
			link_name_str((struct sockaddr *)&name, buf),
			rows[i].text);
	}
}

CASE(knows_no_name)
{
	char buf[LINK_NAME_MAX];

	assert_string_equal(link_name_str(NULL, buf), "?");
}
