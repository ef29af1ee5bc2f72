/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* netif.c compared with libc's view of the same interfaces. */
#define _GNU_SOURCE /* unshare, fopencookie */
#include "os/netif.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../netns-fixture.h"

static struct rnic_netif_table *table;

static int group_setup(void **state)
{
	return rnic_netif_table_new(&table);
}

static int group_teardown(void **state)
{
	rnic_netif_table_free(table);
	return 0;
}

static void lists_what_if_nameindex_lists(void **state)
{
	struct if_nameindex *all = if_nameindex();
	size_t cnt = 0;

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

	for (size_t i = 0; i < table->netif_cnt; i++)
		sum += rnic_netif_addr_cnt(table, table->netifs[i].ifindex);
	assert_int_equal(sum, table->addr_cnt);
	assert_int_equal(rnic_netif_addr_cnt(table, UINT32_MAX), 0);
	assert_null(rnic_netif_by_index(table, UINT32_MAX));
}

static void gives_lo_no_mac(void **state)
{
	static const uint8_t none[6];

	assert_memory_equal(table->netifs[0].mac, none, sizeof(none));
}

/* ---- changes in a separate network namespace ---- */

/* ifconfig removes an address by setting 0.0.0.0. */
static void lo_forget_ipv4(void)
{
	struct ifreq req = { .ifr_name = "lo" };
	struct sockaddr_in none = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	memcpy(&req.ifr_addr, &none, sizeof(none));
	assert_int_equal(ioctl(fd, SIOCSIFADDR, &req), 0);
	close(fd);
}

static struct rnic_netif_change heard[256];

/* Reads all pending messages; *ret_has_any: some concern an unknown
 * interface. */
static uint32_t drain(int fd, struct rnic_netif_news *news, bool *ret_has_any)
{
	uint32_t cnt = 0;
	int rc;

	*ret_has_any = false;
	while ((rc = rnic_netif_watch_next(fd, news, &heard[cnt])) == 1) {
		uint32_t ifindex = heard[cnt].ifindex;

		*ret_has_any = *ret_has_any || ifindex == 0;
		assert_true(ifindex == 0 || ifindex == 1);
		if (cnt < ARRAY_LEN(heard) - 1)
			cnt++;
	}
	assert_int_equal(rc, 0);
	return cnt;
}

static void reports_interfaces_and_addresses(void **state)
{
	struct rnic_netif_news news = { 0 };
	int fd = rnic_netif_watch_open();
	struct rnic_netif_table *now;
	bool has_any;

	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(drain(fd, &news, &has_any), 0);
	for (int i = 0; i < 4; i++) {
		netns_lo_set_up(i % 2 == 0);
		/* The interface, and at least one address of each family. */
		assert_true(drain(fd, &news, &has_any) >= 2);
		assert_false(has_any);
		assert_int_equal(rnic_netif_table_new(&now), 0);
		assert_int_equal(rnic_netif_by_index(now, 1)->is_up,
				 i % 2 == 0);
		rnic_netif_table_free(now);
	}
	close(fd);
}

static bool has_heard_gone(uint32_t cnt, int family, uint8_t last)
{
	for (uint32_t i = 0; i < cnt; i++) {
		const struct rnic_netif_addr *gone = &heard[i].gone;

		if (gone->family == family &&
		    gone->addr[family == AF_INET ? 3 : 15] == last)
			return true;
	}
	return false;
}

/* A change that was undone before it was read is reported too. */
static void reports_changes_that_were_undone(void **state)
{
	struct rnic_netif_news news = { 0 };
	int fd = rnic_netif_watch_open();
	uint32_t up_cnt = 0, down_cnt = 0, cnt;
	bool has_any;

	netns_lo_set_up(true);
	drain(fd, &news, &has_any);
	netns_lo_set_up(false);
	netns_lo_set_up(true);
	cnt = drain(fd, &news, &has_any);
	assert_false(has_any);
	for (uint32_t i = 0; i < cnt; i++) {
		up_cnt += heard[i].what == RNIC_NETIF_UP;
		if (heard[i].what == RNIC_NETIF_DOWN) {
			down_cnt++;
			assert_int_equal(up_cnt, 0);
		}
	}
	assert_true(down_cnt > 0 && up_cnt > 0);
	assert_true(has_heard_gone(cnt, AF_INET6, 1));
	netns_lo_set_up(false);
	netns_lo_set_up(true);
	lo_forget_ipv4();
	cnt = drain(fd, &news, &has_any);
	assert_true(has_heard_gone(cnt, AF_INET, 1));
	close(fd);
}

/* A late reader learns of the overrun, then of later changes. */
static void reports_lost_messages(void **state)
{
	struct rnic_netif_news news = { 0 };
	int fd = rnic_netif_watch_open();
	int little = 1;
	bool has_any;

	assert_true(fd >= 0);
	assert_int_equal(
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof(little)),
		0);
	for (int i = 0; i < 20; i++)
		netns_lo_set_up(i % 2 == 0);
	drain(fd, &news, &has_any);
	assert_true(has_any);
	assert_int_equal(drain(fd, &news, &has_any), 0);
	little = 1 << 20;
	assert_int_equal(
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof(little)),
		0);
	netns_lo_set_up(true);
	assert_true(drain(fd, &news, &has_any) > 0);
	assert_false(has_any);
	close(fd);
}

/* For any content of a datagram the end is found, and nothing beyond it is
 * read. */
static void treats_malformed_messages_as_lost(void **state)
{
	static const struct {
		uint32_t len, type;
		size_t size;
		int rc;
	} odd[] = {
		{ 0, RTM_NEWLINK, 16, 1 },   { 15, RTM_NEWLINK, 16, 1 },
		{ 16, RTM_NEWLINK, 16, 1 },  { 16, RTM_NEWADDR, 16, 1 },
		{ 32, RTM_NEWLINK, 20, 1 },  { UINT32_MAX, RTM_NEWLINK, 40, 1 },
		{ 16, RTM_NEWROUTE, 16, 0 }, { 16, RTM_NEWLINK, 3, 1 },
		{ 17, RTM_NEWROUTE, 17, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
		struct rnic_netif_news news = { 0 };
		struct nlmsghdr head = {
			.nlmsg_len = odd[i].len,
			.nlmsg_type = (uint16_t)odd[i].type,
		};
		char octets[64] = { 0 };
		struct rnic_netif_change change = { .ifindex = 42 };
		int via[2];

		assert_int_equal(socketpair(AF_UNIX,
					    SOCK_SEQPACKET | SOCK_NONBLOCK, 0,
					    via),
				 0);
		memcpy(octets, &head, sizeof(head));
		assert_int_equal(send(via[0], octets, odd[i].size, 0),
				 odd[i].size);
		assert_int_equal(rnic_netif_watch_next(via[1], &news, &change),
				 odd[i].rc);
		if (odd[i].rc)
			assert_int_equal(change.ifindex, 0);
		assert_int_equal(rnic_netif_watch_next(via[1], &news, &change),
				 0);
		/* A closed socket must not be read for ever. */
		close(via[0]);
		assert_true(rnic_netif_watch_next(via[1], &news, &change) < 0);
		close(via[1]);
	}
}

static _Atomic bool has_asked;

static void *ask_always(void *arg)
{
	struct rnic_netif_table *now;

	for (;;) {
		if (rnic_netif_table_new(&now) == 0)
			rnic_netif_table_free(now);
		atomic_store(&has_asked, true);
	}
	return NULL;
}

/* The last thing that a process does in exit(). */
static ssize_t flush_late(void *cookie, const char *buf, size_t size)
{
	(void)cookie;
	(void)buf;
	usleep(20000);
	return (ssize_t)size;
}

/* libnl's own end must not find a cache. */
static void exits_while_a_thread_asks(void **state)
{
	static const cookie_io_functions_t late = { .write = flush_late };
	pthread_t thread;
	int status;
	FILE *file;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		file = fopencookie(NULL, "w", late);
		if (!file || fputs("to be flushed", file) < 0 ||
		    pthread_create(&thread, NULL, ask_always, NULL) != 0)
			_exit(1);
		while (!atomic_load(&has_asked))
			sched_yield();
		exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_what_if_nameindex_lists),
		cmocka_unit_test(puts_lo_first_then_by_index),
		cmocka_unit_test(lists_the_addresses_of_getifaddrs),
		cmocka_unit_test(counts_addresses_by_interface),
		cmocka_unit_test(gives_lo_no_mac),
		cmocka_unit_test(treats_malformed_messages_as_lost),
		cmocka_unit_test(exits_while_a_thread_asks),
	};

	const struct CMUnitTest changes[] = {
		cmocka_unit_test(reports_interfaces_and_addresses),
		cmocka_unit_test(reports_changes_that_were_undone),
		cmocka_unit_test(reports_lost_messages),
	};
	int failed = cmocka_run_group_tests(tests, group_setup, group_teardown);

	if (!netns_enter())
		return failed;
	return failed + cmocka_run_group_tests(changes, NULL, NULL);
}
