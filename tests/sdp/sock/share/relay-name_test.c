/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The name of a pair: set at one end, read at the other. */
#include "addr.h"
#include "test.h"

#include <stddef.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "sock/share/relay-name.h"

static int pair[2];
static union sdp_addr local, peer;

static int begin(void **state)
{
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair);
}

static int end(void **state)
{
	close(pair[0]);
	close(pair[1]);
	return 0;
}

static union sdp_addr addr_of(const char *text, uint16_t port)
{
	struct sockaddr_storage storage = test_addr(text, port);
	union sdp_addr addr;

	memcpy(&addr, &storage, sizeof(addr));
	return addr;
}

#define ADDRS_LEN (2 * sizeof(union sdp_addr))

/* A prefix, and behind it @len octets, which begin with two addresses. */
static void name_bind(const char *prefix, size_t len, sa_family_t from,
		      sa_family_t to)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	union sdp_addr addrs[2] = { { .sa.sa_family = from },
				    { .sa.sa_family = to } };
	size_t at = strlen(prefix);

	memcpy(name.sun_path + 1, prefix, at);
	memcpy(name.sun_path + 1 + at, addrs, sizeof(addrs));
	assert_int_equal(
		bind(pair[1], (struct sockaddr *)&name,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				 at + len)),
		0);
}

CASE(tells_both_addresses)
{
	static const struct {
		const char *local, *peer;
	} rows[] = {
		{ "127.0.0.1", "192.0.2.255" },
		{ "::1", "2001:db8:ffff:1:2:3:4:5" },
		{ "::ffff:127.0.0.1", "::ffff:10.0.0.1" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		union sdp_addr from = addr_of(rows[i].local, 80);
		union sdp_addr to = addr_of(rows[i].peer, 65535);

		begin(state);
		sdp_relay_name_put(pair[1], &from, &to);
		assert_true(sdp_relay_name_get(pair[0], &local, &peer));
		assert_memory_equal(&local, &from, sizeof(from));
		assert_memory_equal(&peer, &to, sizeof(to));
		end(state);
	}
}

CASE_WITH(two_of_one_connection_have_two_names, begin, end)
{
	union sdp_addr from = addr_of("127.0.0.1", 1);
	union sdp_addr to = addr_of("127.0.0.1", 2);
	int other[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, other), 0);
	sdp_relay_name_put(pair[1], &from, &to);
	sdp_relay_name_put(other[1], &from, &to);
	assert_true(sdp_relay_name_get(pair[0], &local, &peer));
	assert_true(sdp_relay_name_get(other[0], &local, &peer));
	close(other[0]);
	close(other[1]);
}

CASE_WITH(other_descriptors_have_none, begin, end)
{
	int pipes[2];

	assert_int_equal(pipe(pipes), 0);
	assert_false(sdp_relay_name_get(pair[0], &local, &peer));
	assert_false(sdp_relay_name_get(pipes[0], &local, &peer));
	assert_false(sdp_relay_name_get(-1, &local, &peer));
	close(pipes[0]);
	close(pipes[1]);
}

/* Any process can bind such names. */
CASE(bad_names_are_none)
{
	static const struct {
		const char *prefix;
		size_t len;
		sa_family_t local, peer;
	} rows[] = {
		{ "usiw-sdp/relay/", 0, AF_INET, AF_INET },
		{ "usiw-sdp/relay/", ADDRS_LEN + 7, AF_INET, AF_INET },
		{ "usiw-sdp/relay/", ADDRS_LEN + 9, AF_INET, AF_INET },
		{ "usiw-sdp/relay/", ADDRS_LEN + 8, AF_INET, AF_INET6 },
		{ "usiw-sdp/relay/", ADDRS_LEN + 8, AF_UNIX, AF_UNIX },
		{ "usiw-sdp/other/", ADDRS_LEN + 8, AF_INET, AF_INET },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		begin(state);
		name_bind(rows[i].prefix, rows[i].len, rows[i].local,
			  rows[i].peer);
		assert_row(rows[i].prefix,
			   !sdp_relay_name_get(pair[0], &local, &peer));
		end(state);
	}
}
