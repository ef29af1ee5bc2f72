/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* device.c: on simulated networks, and on the network of this machine. */
#include "dev/device.h"
#include "child.h"
#include "test.h"

#include <arpa/inet.h>
#include <string.h>

static struct rnic_netif nets[] = {
	{ .ifindex = 1,
	  .name = "lo",
	  .mtu = 65536,
	  .is_loopback = true,
	  .is_up = true,
	  .is_running = true },
	{ .ifindex = 2,
	  .name = "eth0",
	  .mac = { 2, 1, 2, 3, 4, 5 },
	  .mtu = 1500,
	  .is_up = true,
	  .is_running = true },
	{ .ifindex = 3,
	  .name = "down0",
	  .mac = { 2, 1, 2, 3, 4, 6 },
	  .mtu = 1500 },
	{ .ifindex = 4,
	  .name = "bare0",
	  .mac = { 2, 1, 2, 3, 4, 7 },
	  .mtu = 1500,
	  .is_up = true,
	  .is_running = true },
	{ .ifindex = 5,
	  .name = "a+b",
	  .mac = { 2, 1, 2, 3, 4, 5 },
	  .mtu = 9000,
	  .is_up = true },
	{ .ifindex = 6,
	  .name = "a@b",
	  .mtu = 1400,
	  .is_up = true,
	  .is_running = true },
};
static struct rnic_netif_addr addrs[] = {
	{ 1, AF_INET, { 127, 0, 0, 1 }, false },
	{ 1, AF_INET6, { [15] = 1 }, false },
	{ 2, AF_INET6, { 0xfe, 0x80, [15] = 9 }, true },
	{ 2, AF_INET6, { 0x20, 0x01, 0x0d, 0xb8, [15] = 2 }, false },
	{ 2, AF_INET, { 192, 0, 2, 7 }, false },
	{ 3, AF_INET, { 192, 0, 2, 8 }, false },
	{ 5, AF_INET, { 192, 0, 2, 9 }, false },
	{ 6, AF_INET, { 169, 254, 0, 9 }, true },
};
static const struct rnic_netif_table net = {
	.netif_cnt = 6,
	.netifs = nets,
	.addr_cnt = 8,
	.addrs = addrs,
};

static struct rnic_device_set *set_of(const char *interfaces)
{
	struct rnic_device_set *set;

	assert_int_equal(rnic_device_set_new(&net, interfaces, &set), 0);
	return set;
}

CASE(takes_lo_and_interfaces_up_with_address)
{
	struct rnic_device_set *set = set_of(NULL);

	assert_int_equal(set->device_cnt, 4);
	/* first what may reach other hosts; last what has no carrier, or only
	 * link-local addresses */
	assert_string_equal(set->devices[0]->name, "usiw_eth0");
	assert_string_equal(set->devices[1]->name, "usiw_lo");
	assert_string_equal(set->devices[2]->ifname, "a+b");
	assert_string_equal(set->devices[3]->ifname, "a@b");
	assert_int_equal(set->devices[0]->uverbs_num, 1000);
	assert_int_equal(set->devices[3]->uverbs_num, 1003);
	rnic_device_set_free(set);
}

CASE(takes_lo_without_address)
{
	const struct rnic_netif_table empty = { .netif_cnt = 1,
						.netifs = nets };
	struct rnic_device_set *set;
	struct rnic_device_attr attr;
	static const uint8_t none[8];

	assert_int_equal(rnic_device_set_new(&empty, NULL, &set), 0);
	assert_int_equal(set->device_cnt, 1);
	rnic_device_fill_attr(set->devices[0], &empty, &attr);
	assert_int_equal(attr.gid_cnt, 1);
	/* Programs skip a GID whose low half is zero. */
	assert_memory_not_equal(attr.gid[0] + 8, none, 8);
	rnic_device_set_free(set);
}

CASE(replaces_odd_characters_and_keeps_names_unique)
{
	struct rnic_device_set *set = set_of(NULL);

	assert_string_equal(set->devices[2]->name, "usiw_a_b");
	assert_string_equal(set->devices[3]->name, "usiw_a_b_6");
	rnic_device_set_free(set);
}

CASE(keeps_only_the_interfaces_of_the_setting)
{
	struct rnic_device_set *set = set_of("nonsuch, eth0 ,eth");

	assert_int_equal(set->device_cnt, 1);
	assert_string_equal(set->devices[0]->ifname, "eth0");
	rnic_device_set_free(set);
	set = set_of("");
	assert_int_equal(set->device_cnt, 0);
	rnic_device_set_free(set);
}

CASE(gives_unique_guids_that_are_not_zero)
{
	static const uint8_t eui64[] = { 0, 1, 2, 0xff, 0xfe, 3, 4, 5 };
	struct rnic_device_set *set = set_of(NULL);

	assert_memory_equal(&set->devices[0]->guid_be, eui64, 8);
	for (size_t i = 0; i < set->device_cnt; i++) {
		assert_true(set->devices[i]->guid_be != 0);
		/* eth0 and a+b have one MAC */
		for (size_t j = 0; j < i; j++)
			assert_true(set->devices[i]->guid_be !=
				    set->devices[j]->guid_be);
	}
	rnic_device_set_free(set);
}

CASE(orders_gids_ipv4_global_link_local)
{
	static const uint8_t want[3][16] = {
		{ [10] = 0xff, 0xff, 192, 0, 2, 7 },
		{ 0x20, 0x01, 0x0d, 0xb8, [15] = 2 },
		{ 0xfe, 0x80, [15] = 9 },
	};
	struct rnic_device_set *set = set_of(NULL);
	struct rnic_device_attr attr;

	rnic_device_fill_attr(set->devices[0], &net, &attr);
	assert_int_equal(attr.gid_cnt, 3);
	assert_memory_equal(attr.gid, want, sizeof(want));
	assert_true(attr.is_up);
	assert_int_equal(attr.mtu, 1500);
	rnic_device_fill_attr(set->devices[2], &net, &attr);
	assert_false(attr.is_up); /* no carrier */
	rnic_device_set_free(set);
}

CASE(reports_a_vanished_interface_as_down)
{
	const struct rnic_netif_table empty = { 0 };
	struct rnic_device_set *set = set_of(NULL);
	struct rnic_device_attr attr;

	rnic_device_fill_attr(set->devices[0], &empty, &attr);
	assert_false(attr.is_up);
	assert_int_equal(attr.gid_cnt, 1);
	assert_string_equal(attr.name, "usiw_eth0");
	rnic_device_set_free(set);
}

static struct rnic_device_attr attr_of(const struct rnic_device *dev,
				       struct rnic_netif *one)
{
	const struct rnic_netif_addr addr = {
		one->ifindex, AF_INET, { 192, 0, 2, 7 }, false
	};
	const struct rnic_netif_table table = {
		.netif_cnt = 1,
		.netifs = one,
		.addr_cnt = 1,
		.addrs = (struct rnic_netif_addr *)(uintptr_t)&addr,
	};
	struct rnic_device_attr attr;

	rnic_device_fill_attr(dev, &table, &attr);
	return attr;
}

/* By number, whatever its name; otherwise a new one with the same name. */
CASE(follows_an_interface_renamed_or_made_anew)
{
	struct rnic_device_set *set = set_of(NULL);
	struct rnic_netif renamed = nets[1], anew = nets[1], other = nets[1];
	struct rnic_device_attr attr;

	strcpy(renamed.name, "wan0");
	attr = attr_of(set->devices[0], &renamed);
	assert_true(attr.is_up);
	assert_string_equal(attr.name, "usiw_eth0");
	assert_string_equal(attr.ifname, "wan0");
	anew.ifindex = 77;
	attr = attr_of(set->devices[0], &anew);
	assert_true(attr.is_up);
	assert_int_equal(attr.ifindex, 77);
	assert_int_equal(attr.gid[0][15], 7);
	other.ifindex = 77;
	strcpy(other.name, "wan0");
	attr = attr_of(set->devices[0], &other);
	assert_false(attr.is_up);
	assert_int_equal(attr.ifindex, 0);
	assert_string_equal(attr.ifname, "eth0");
	rnic_device_set_free(set);
}

CASE(caps_the_gid_table)
{
	struct rnic_netif_addr many[RNIC_GID_MAX + 9];
	const struct rnic_netif_table crowd = {
		.netif_cnt = 2,
		.netifs = nets,
		.addr_cnt = RNIC_GID_MAX + 9,
		.addrs = many,
	};
	struct rnic_device_set *set = set_of(NULL);
	struct rnic_device_attr attr;

	for (size_t i = 0; i < crowd.addr_cnt; i++)
		many[i] = (struct rnic_netif_addr){
			.ifindex = 2,
			.family = AF_INET,
			.addr = { 10, 0, 0, (uint8_t)i },
		};
	rnic_device_fill_attr(set->devices[0], &crowd, &attr);
	assert_int_equal(attr.gid_cnt, RNIC_GID_MAX);
	rnic_device_set_free(set);
}

/* ---- the real machine ---- */

static struct rnic_device *by_text(int family, const char *text)
{
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} addr;

	memset(&addr, 0, sizeof(addr));
	addr.sa.sa_family = (sa_family_t)family;
	addr.in.sin_port = 4711;
	assert_int_equal(inet_pton(family, text,
				   family == AF_INET
					   ? (void *)&addr.in.sin_addr
					   : (void *)&addr.in6.sin6_addr),
			 1);
	return rnic_device_by_addr(&addr.sa);
}

CASE(finds_loopback_by_every_spelling)
{
	struct rnic_device *lo = rnic_device_by_name("usiw_lo");

	assert_non_null(lo);
	assert_ptr_equal(by_text(AF_INET, "127.0.0.1"), lo);
	assert_ptr_equal(by_text(AF_INET, "127.9.8.7"), lo);
	assert_ptr_equal(by_text(AF_INET6, "::ffff:127.0.0.1"), lo);
	assert_null(by_text(AF_INET, "0.0.0.0"));
	assert_null(by_text(AF_INET, "192.0.2.254"));
	assert_null(by_text(AF_INET6, "2001:db8::dead"));
	assert_null(rnic_device_by_name("usiw_"));
	assert_null(rnic_device_by_guid(0));
}

CASE(finds_each_device_by_what_query_says)
{
	struct rnic_device *const *list;
	struct rnic_device *const *again;
	struct rnic_device_attr attr;
	int cnt = rnic_device_list(&list);

	assert_true(cnt >= 1);
	assert_int_equal(rnic_device_list(&again), cnt);
	assert_ptr_equal(list, again);
	for (int i = 0; i < cnt; i++) {
		struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

		assert_int_equal(rnic_device_query(list[i], &attr), 0);
		assert_ptr_equal(rnic_device_by_name(attr.name), list[i]);
		assert_ptr_equal(rnic_device_by_guid(attr.guid_be), list[i]);
		assert_true(attr.gid_cnt >= 1);
		memcpy(&in6.sin6_addr, attr.gid[0], 16);
		in6.sin6_scope_id = attr.ifindex;
		assert_ptr_equal(
			rnic_device_by_addr((struct sockaddr *)(void *)&in6),
			list[i]);
	}
}

CASE(states_limits_that_programs_accept)
{
	const struct rnic_limits *limits = rnic_limits();

	assert_true(limits->vendor_id != 0 && limits->vendor_id != 5157 &&
		    limits->vendor_id != 0x8086);
	assert_true(limits->vendor_part_id != 0);
	assert_true(limits->max_msg_size > 0x1000);
	assert_true(limits->max_mr_size >= 4096);
}

/* A child leaves its parent's memory where it is. */
static int counts_of_the_child(void)
{
	struct rnic_device *lo = rnic_device_by_name("usiw_lo");
	const struct rnic_stat_part none = { 0 };
	struct rnic_device_stats stats;

	rnic_stat_fork_child();
	rnic_res_fork_child();
	rnic_device_fork_child();
	rnic_device_stats(lo, &stats);
	CHECK(stats.tx_fpdu == 0);
	CHECK(rnic_device_show(lo) == 0);
	atomic_store(&rnic_device_count(lo, none)->tx_fpdu, 3);
	rnic_device_stats(lo, &stats);
	CHECK(stats.tx_fpdu == 3);
	CHECK(stats.rx_staged == 0);
	return 0;
}

CASE(a_forked_child_counts_from_zero)
{
	struct rnic_device *lo = rnic_device_by_name("usiw_lo");
	const struct rnic_stat_part none = { 0 }, part = { 3 };
	struct rnic_device_stats stats;

	assert_non_null(lo);
	rnic_device_stats(lo, &stats); /* no context was opened */
	assert_int_equal(stats.tx_fpdu, 0);
	assert_int_equal(rnic_device_show(lo), 0);
	assert_int_equal(rnic_device_show(lo), 0);
	atomic_store(&rnic_device_count(lo, none)->tx_fpdu, 7);
	atomic_store(&rnic_device_count(lo, part)->rx_staged, 9);
	rnic_device_stats(lo, &stats);
	assert_int_equal(stats.tx_fpdu, 7);
	assert_int_equal(stats.rx_staged, 9);
	assert_int_equal(in_child(counts_of_the_child), 0);
}
