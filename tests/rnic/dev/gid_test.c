/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* gid.c: an address keeps its index while other addresses come and go. */
#include "dev/gid.h"

#include <string.h>
#include <sys/socket.h>

#include "../../harness/test.h"

#define ETH 2
#define OTHER 3
#define GUID UINT64_C(0x0807060504030201)

static struct rnic_gid_table gids;

/* Interface ETH has IPv4 addresses 10.0.0.x, one digit each. Other letters are
 * IPv6: a..m global, n..z link-local. */
static struct rnic_netif_addr addr_of(char c)
{
	struct rnic_netif_addr addr = { .ifindex = ETH, .family = AF_INET6 };

	if (c <= '9') {
		addr.family = AF_INET;
		addr.addr[0] = 10;
		addr.addr[3] = (uint8_t)c;
		return addr;
	}
	addr.is_link_local = c >= 'n';
	addr.addr[0] = addr.is_link_local ? 0xfe : 0x20;
	addr.addr[1] = addr.is_link_local ? 0x80 : 0x01;
	addr.addr[15] = (uint8_t)c;
	return addr;
}

/* Return: the resulting table as a word; '-': empty, '*': the default GID. */
static const char *update(const char *addrs)
{
	static char word[RNIC_GID_MAX + 1];
	struct rnic_netif_addr all[2 * RNIC_GID_MAX];
	struct rnic_netif_table table = { .addrs = all };
	uint8_t gid[RNIC_GID_MAX][16];
	static const uint8_t zero[16];
	uint32_t cnt;

	all[table.addr_cnt++] = (struct rnic_netif_addr){ .ifindex = OTHER,
							  .family = AF_INET,
							  .addr = { 10, 9 } };
	for (; *addrs; addrs++)
		all[table.addr_cnt++] = addr_of(*addrs);
	memset(gid, 0xee, sizeof(gid));
	cnt = rnic_gid_table_update(&gids, &table, ETH, GUID, gid);
	assert_in_range(cnt, 1, RNIC_GID_MAX);
	for (uint32_t i = 0; i < RNIC_GID_MAX; i++) {
		bool is_there = memcmp(gid[i], zero, 16) != 0;

		if (i >= cnt)
			assert_false(is_there);
		if (i == cnt - 1)
			assert_true(is_there);
		word[i] = is_there ? (char)gid[i][15] : '-';
		if (is_there && !memcmp(gid[i] + 8, &(uint64_t){ GUID }, 8))
			word[i] = '*';
	}
	word[cnt] = 0;
	return word;
}

static const struct {
	const char *name;
	const char *step[6][2]; /* addresses, and the table afterwards */
} rows[] = {
	{ "order at first", { { "za2b1", "21abz" } } },
	{ "a removed one leaves a hole",
	  { { "12a", "12a" }, { "1a", "1-a" }, { "1", "1" } } },
	{ "a new one goes to the end, whatever its family",
	  { { "1a", "1a" }, { "12a", "1a2" }, { "132a", "1a23" } } },
	{ "a hole is filled",
	  { { "12a", "12a" }, { "2a", "-2a" }, { "23a", "32a" } } },
	{ "an address that returns has its place again",
	  { { "12a", "12a" },
	    { "a", "--a" },
	    { "2a", "-2a" },
	    { "21a", "12a" } } },
	{ "addresses that stay come before new ones",
	  { { "12", "12" }, { "3", "3" }, { "32", "32" }, { "12", "12" } } },
	{ "without an address",
	  { { "", "*" }, { "1", "1" }, { "", "*" }, { "a", "a" } } },
	{ "the same twice", { { "11a", "1a" }, { "a1", "1a" } } },
};

CASE(indices_stay)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		rnic_gid_table_init(&gids);
		for (size_t j = 0; j < 6 && rows[i].step[j][0]; j++)
			assert_row(rows[i].name,
				   !strcmp(update(rows[i].step[j][0]),
					   rows[i].step[j][1]));
	}
}

/* Known addresses keep their place. The table has no place for the rest. */
CASE(new_addresses_displace_no_known_one)
{
	char crowd[RNIC_GID_MAX + 2] = { 0 };
	const char *table;

	rnic_gid_table_init(&gids);
	assert_string_equal(update("z"), "z");
	memset(crowd, 0, sizeof(crowd));
	for (int i = 0; i < RNIC_GID_MAX; i++)
		crowd[i] = (char)('0' - i);
	crowd[RNIC_GID_MAX] = 'z';
	table = update(crowd);
	assert_int_equal(strlen(table), RNIC_GID_MAX);
	assert_int_equal(table[0], 'z');
	assert_null(strchr(table, '0' - (RNIC_GID_MAX - 1)));
	assert_string_equal(update("z"), "z");
}
