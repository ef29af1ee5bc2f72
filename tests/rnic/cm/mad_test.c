/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Management datagrams of the process: its name, what it sends and takes. */
#include "sidr-fixture.h"

#include "cm/mad.h"
#include "cm/way.h"
#include "dgram/udp-send.h"

static const struct rnic_host_name name_here = { .text = "usiw-test/mad" };

static bool is_held;

static struct cm_mad_sock *sock_of(int fd)
{
	static struct cm_mad_sock sock;

	sock.fd = fd;
	return &sock;
}

static int setup(void **state)
{
	static int fd;

	/* The thread that drops descriptors may have it a little longer. */
	wait_until((fd = rnic_host_open(&name_here)) >= 0);
	util_lock(&rnic_loop.lock);
	assert_int_equal(cm_mads_hold(&is_held), 0);
	*state = &fd;
	return 0;
}

static int teardown(void **state)
{
	cm_mads_release(&is_held);
	assert_int_equal(cm.mads.user_cnt, 0);
	util_unlock(&rnic_loop.lock);
	rnic_fd_close(*(int *)*state);
	return 0;
}

#define MAD_CASE(name) CASE_WITH(name, setup, teardown)

MAD_CASE(transaction_ids_name_the_process)
{
	uint64_t first = cm_mads_tid(), second = cm_mads_tid();
	struct rnic_host_name name = sidr_asker(first);
	bool is_held_too = false;

	assert_int_equal(first >> 32, second >> 32);
	assert_true(first != second);
	assert_int_equal(rnic_host_open(&name), -EADDRINUSE);
	/* A second user has the same name. */
	assert_int_equal(cm_mads_hold(&is_held_too), 0);
	assert_int_equal(cm_mads_tid() >> 32, first >> 32);
	cm_mads_release(&is_held_too);
	assert_int_equal(rnic_host_open(&name), -EADDRINUSE);
}

MAD_CASE(what_is_sent_arrives)
{
	const int *fd = *state;
	const struct sib_gid own = sidr_loopback();
	uint8_t mad[SIB_MAD_SIZE];
	struct cm_mad got;
	struct cm_way way;

	for (size_t i = 0; i < sizeof(mad); i++)
		mad[i] = (uint8_t)(i * 7);
	cm_way_set(&way, &own, &own, 1);
	assert_true(way.is_own);
	assert_int_equal(cm_mad_recv(sock_of(*fd), &got), -EAGAIN);
	assert_int_equal(cm_mad_send(&way, &name_here, mad), 0);
	assert_int_equal(cm_mad_recv(sock_of(*fd), &got), 0);
	assert_memory_equal(got.octets, mad, sizeof(mad));
	assert_memory_equal(&got.path.src, &own, sizeof(own));
	assert_memory_equal(&got.path.dst, &own, sizeof(own));
	assert_int_equal(
		cm_mad_send(&way, &(struct rnic_host_name){ "none" }, mad),
		-ECONNREFUSED);
}

static const struct {
	const char *name;
	size_t len; /* with the head */
	size_t at;  /* this octet is another one */
} others[] = {
	{ "empty", 1, 64 },
	{ "a head without a MAD", 64, 64 },
	{ "short", 64 + SIB_MAD_SIZE - 1, 64 },
	{ "long", 64 + SIB_MAD_SIZE + 1, 64 },
	{ "magic", 64 + SIB_MAD_SIZE, 0 },
	{ "QP", 64 + SIB_MAD_SIZE, 4 },
	{ "Q_Key", 64 + SIB_MAD_SIZE, 12 },
	{ "GRH", 64 + SIB_MAD_SIZE, 24 },
};

MAD_CASE(others_are_counted)
{
	const int *fd = *state;

	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		uint64_t bad = test_stat(RNIC_STAT_mads_bad);
		struct sidr_dgram dgram = { 0 };
		struct cm_mad got;
		struct iovec iov = { &dgram, others[i].len };

		sidr_head(&dgram.head);
		((uint8_t *)&dgram)[others[i].at] ^= 0x7f;
		assert_int_equal(rnic_host_send(*fd, &name_here, &iov, 1), 0);
		assert_row(others[i].name,
			   cm_mad_recv(sock_of(*fd), &got) == -EBADMSG);
		assert_row(others[i].name,
			   test_stat(RNIC_STAT_mads_bad) == bad + 1);
	}
}

/* They cost a pause, and what is behind them comes. */
MAD_CASE(descriptors_of_a_stranger_are_dropped)
{
	const int *fd = *state;
	struct cm_mad_sock *sock = sock_of(*fd);
	struct sidr_dgram dgram = { 0 };
	struct cm_mad got;

	for (int i = 0; i < 3; i++) {
		struct iovec iov = { &dgram, 64 + SIB_MAD_SIZE };

		sidr_pass_descriptor(name_here);
		sidr_head(&dgram.head);
		assert_int_equal(rnic_host_send(*fd, &name_here, &iov, 1), 0);
		assert_int_equal(cm_mad_sock_watch(sock, RNIC_LOOP_MAD, 0), 0);
		assert_int_equal(cm_mad_recv(sock, &got), -EAGAIN);
		assert_int_equal(sock->watched, 0);
		assert_true(rnic_timer_runs(&sock->pause));
		wait_until(cm_mad_recv(sock, &got) == 0);
		cm_mad_sock_unwatch(sock);
	}
}

static const struct {
	const char *text;
	int family;
	bool is_own;
} addresses[] = {
	{ "127.0.0.1", AF_INET, true },	     { "127.1.2.3", AF_INET, true },
	{ "::1", AF_INET6, true },	     { "192.0.2.77", AF_INET, false },
	{ "2001:db8::77", AF_INET6, false }, { "fe80::77", AF_INET6, false },
};

MAD_CASE(addresses_keep_their_way)
{
	for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
		struct sockaddr_storage addr, back;
		uint8_t octets[16];
		struct sib_gid gid, same;
		struct cm_way way;

		assert_int_equal(inet_pton(addresses[i].family,
					   addresses[i].text, octets),
				 1);
		sib_gid_from_ip(octets, addresses[i].family == AF_INET ? 4 : 16,
				&gid);
		rnic_udp_addr(&gid, 99, 1, &addr);
		assert_row(addresses[i].text,
			   addr.ss_family == addresses[i].family);
		assert_row(addresses[i].text, cm_port(&addr) == 99);
		cm_gid_of(&addr, &same);
		assert_memory_equal(&gid, &same, sizeof(gid));
		rnic_udp_addr(&same, 99, 1, &back);
		assert_memory_equal(&addr, &back, sizeof(addr));
		cm_way_set(&way, &gid, &gid, 1);
		assert_row(addresses[i].text,
			   way.is_own == addresses[i].is_own);
	}
}

BEFORE_CASES()
{
	/* Before the settings are read for the first time. */
	setenv("USIW_PERSONA", "ca", 1);
}
