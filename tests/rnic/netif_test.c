/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* netif.c against libc's own view of the same interfaces. */
#include "netif.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

static struct rnic_netif_table *table;

static int group_setup(void **state)
{
	(void)state;
	return rnic_netif_table_new(&table);
}

static int group_teardown(void **state)
{
	(void)state;
	rnic_netif_table_free(table);
	return 0;
}

static void lists_what_if_nameindex_lists(void **state)
{
	struct if_nameindex *all = if_nameindex();
	size_t cnt = 0;

	(void)state;
	assert_non_null(all);
	for (; all[cnt].if_index != 0; cnt++) {
		const struct rnic_netif *netif =
			rnic_netif_by_index(table, all[cnt].if_index);

		assert_non_null(netif);
		assert_string_equal(netif->name, all[cnt].if_name);
		assert_true(netif->mtu > 0);
	}
	assert_int_equal(cnt, table->netif_cnt);
	if_freenameindex(all);
}

static void puts_lo_first_then_by_index(void **state)
{
	(void)state;
	assert_true(table->netif_cnt > 0);
	assert_true(table->netifs[0].is_loopback);
	assert_string_equal(table->netifs[0].name, "lo");
	for (size_t i = 2; i < table->netif_cnt; i++)
		assert_true(table->netifs[i - 1].ifindex <
			    table->netifs[i].ifindex);
}

static size_t sockaddr_octets(const struct sockaddr *sa, const uint8_t **octets)
{
	if (sa->sa_family == AF_INET) {
		*octets = (const uint8_t *)&(
				  (const struct sockaddr_in *)(const void *)sa)
				  ->sin_addr;
		return 4;
	}
	*octets = (const uint8_t *)&(
			  (const struct sockaddr_in6 *)(const void *)sa)
			  ->sin6_addr;
	return 16;
}

static int table_has(uint32_t ifindex, const struct sockaddr *sa)
{
	const uint8_t *octets;
	size_t len = sockaddr_octets(sa, &octets);

	for (size_t i = 0; i < table->addr_cnt; i++) {
		if (table->addrs[i].ifindex == ifindex &&
		    table->addrs[i].family == sa->sa_family &&
		    memcmp(table->addrs[i].addr, octets, len) == 0)
			return 1;
	}
	return 0;
}

static void lists_the_addresses_of_getifaddrs(void **state)
{
	struct ifaddrs *all, *ifa;
	size_t cnt = 0;

	(void)state;
	assert_int_equal(getifaddrs(&all), 0);
	for (ifa = all; ifa; ifa = ifa->ifa_next) {
		uint32_t ifindex = if_nametoindex(ifa->ifa_name);
		const struct rnic_netif *netif =
			rnic_netif_by_index(table, ifindex);

		assert_non_null(netif);
		assert_int_equal(netif->is_up, !!(ifa->ifa_flags & IFF_UP));
		assert_int_equal(netif->is_running,
				 !!(ifa->ifa_flags & IFF_RUNNING));
		if (!ifa->ifa_addr || (ifa->ifa_addr->sa_family != AF_INET &&
				       ifa->ifa_addr->sa_family != AF_INET6))
			continue;
		assert_true(table_has(ifindex, ifa->ifa_addr));
		cnt++;
	}
	assert_int_equal(cnt, table->addr_cnt);
	freeifaddrs(all);
}

static void counts_addresses_by_interface(void **state)
{
	size_t sum = 0;

	(void)state;
	for (size_t i = 0; i < table->netif_cnt; i++)
		sum += rnic_netif_addr_cnt(table, table->netifs[i].ifindex);
	assert_int_equal(sum, table->addr_cnt);
	assert_int_equal(rnic_netif_addr_cnt(table, UINT32_MAX), 0);
	assert_null(rnic_netif_by_index(table, UINT32_MAX));
}

static void gives_lo_no_mac(void **state)
{
	static const uint8_t none[6];

	(void)state;
	assert_memory_equal(table->netifs[0].mac, none, sizeof(none));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_what_if_nameindex_lists),
		cmocka_unit_test(puts_lo_first_then_by_index),
		cmocka_unit_test(lists_the_addresses_of_getifaddrs),
		cmocka_unit_test(counts_addresses_by_interface),
		cmocka_unit_test(gives_lo_no_mac),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
