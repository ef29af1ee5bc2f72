/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * port.c: contexts get events for changes of the network. The network is
 * simulated: netif.c is replaced, and its socket is a pipe of changes.
 */
#define _GNU_SOURCE
#include "test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cm/object.h"
#include "mem/context.h"
#include "dev/device.h"
#include "os/fd.h"
#include "os/netif.h"
#include "until.h"

#define LIMIT_MS 10000
#define LO 1
#define ETH 2
#define OTHER_IFINDEX 9

/* ---- the network ---- */

static pthread_mutex_t net_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct rnic_netif netifs[] = {
	{ .ifindex = LO, .name = "lo", .mtu = 65536, .is_loopback = true },
	{ .ifindex = ETH, .name = "eth0", .mtu = 1500 },
};
static struct rnic_netif_addr addrs[] = {
	{ LO, AF_INET, { 127, 0, 0, 1 }, false },
	{ ETH, AF_INET, { 192, 0, 2, 1 }, false },
	{ ETH, AF_INET, { 192, 0, 2, 2 }, false },
};
static size_t netif_cnt, addr_cnt;
static int look_err;	  /* result of the next queries */
static uint32_t look_cnt; /* number of queries so far, including failed ones */
static int open_err, next_err;
static int news_fd = -1; /* to write messages */
static int watch_fd = -1;

static void *copy(const void *from, size_t size)
{
	void *to = malloc(size + 1);

	assert_non_null(to);
	return memcpy(to, from, size);
}

int __wrap_rnic_netif_table_new(struct rnic_netif_table **ret_table);
int __wrap_rnic_netif_table_new(struct rnic_netif_table **ret_table)
{
	struct rnic_netif_table *table = calloc(1, sizeof(*table));
	int err;

	assert_non_null(table);
	pthread_mutex_lock(&net_mutex);
	look_cnt++;
	err = look_err;
	table->netif_cnt = netif_cnt;
	table->netifs = copy(netifs, netif_cnt * sizeof(*netifs));
	table->addr_cnt = addr_cnt;
	table->addrs = copy(addrs, addr_cnt * sizeof(*addrs));
	pthread_mutex_unlock(&net_mutex);
	if (err)
		rnic_netif_table_free(table);
	else
		*ret_table = table;
	return err;
}

int __wrap_rnic_netif_watch_open(void);
int __wrap_rnic_netif_watch_open(void)
{
	int fd[2];

	if (open_err)
		return open_err;
	assert_int_equal(pipe2(fd, O_NONBLOCK | O_CLOEXEC), 0);
	watch_fd = rnic_fd_own(fd[0]);
	news_fd = fd[1];
	return watch_fd;
}

int __wrap_rnic_netif_watch_next(int fd, struct rnic_netif_news *news,
				 struct rnic_netif_change *ret_change);
int __wrap_rnic_netif_watch_next(int fd, struct rnic_netif_news *news,
				 struct rnic_netif_change *ret_change)
{
	(void)news;
	pthread_mutex_lock(&net_mutex);
	if (next_err) {
		int err = next_err;

		pthread_mutex_unlock(&net_mutex);
		return err;
	}
	pthread_mutex_unlock(&net_mutex);
	return read(fd, ret_change, sizeof(*ret_change)) ==
	       (ssize_t)sizeof(*ret_change);
}

static void net_reset(void)
{
	for (size_t i = 0; i < 2; i++)
		netifs[i].is_up = netifs[i].is_running = true;
	netif_cnt = 2;
	addr_cnt = 2;
	look_err = open_err = next_err = 0;
}

static uint32_t looks(void)
{
	uint32_t cnt;

	pthread_mutex_lock(&net_mutex);
	cnt = look_cnt;
	pthread_mutex_unlock(&net_mutex);
	return cnt;
}

static void say_change(const struct rnic_netif_change *change, size_t cnt)
{
	assert_int_equal(write(news_fd, change, cnt * sizeof(*change)),
			 cnt * sizeof(*change));
}

/* The kernel sends a message about the interface. */
static void say(uint32_t ifindex)
{
	say_change(&(struct rnic_netif_change){ .ifindex = ifindex }, 1);
}

static void wait_looks(uint32_t cnt)
{
	wait_until(looks() >= cnt);
	/* The results of the query were processed too. */
	util_lock(&rnic_loop.lock);
	util_unlock(&rnic_loop.lock);
}

/* ... and waits until it was processed. */
static void say_and_wait(uint32_t ifindex)
{
	uint32_t before = looks();

	say(ifindex);
	wait_looks(before + 1);
}

static void set_up(uint32_t ifindex, bool is_up)
{
	pthread_mutex_lock(&net_mutex);
	netifs[ifindex - 1].is_running = is_up;
	pthread_mutex_unlock(&net_mutex);
}

/* ---- events ---- */

static struct rnic_context *open_device(const char *name)
{
	struct rnic_device *dev = rnic_device_by_name(name);
	struct rnic_context *ctx;

	assert_non_null(dev);
	assert_int_equal(rnic_context_open(dev, &ctx), 0);
	return ctx;
}

static void expect(struct rnic_context *ctx, enum usiw_async_type type)
{
	struct pollfd pfd = { .fd = rnic_context_async_fd(ctx),
			      .events = POLLIN };
	struct usiw_async_event ev;

	assert_int_equal(poll(&pfd, 1, LIMIT_MS), 1);
	assert_int_equal(rnic_chan_read(ctx->async, &ev, sizeof(ev)),
			 sizeof(ev));
	assert_int_equal(ev.event_type, type);
	assert_int_equal(ev.element, 1); /* the port */
}

static void expect_nothing(struct rnic_context *ctx)
{
	struct pollfd pfd = { .fd = rnic_context_async_fd(ctx),
			      .events = POLLIN };

	assert_int_equal(poll(&pfd, 1, 0), 0);
}

/* The interface is removed with its addresses. */
static void eth_goes(struct rnic_context *ctx)
{
	pthread_mutex_lock(&net_mutex);
	netif_cnt = addr_cnt = 1;
	pthread_mutex_unlock(&net_mutex);
	say_and_wait(ETH);
	expect(ctx, USIW_EVENT_PORT_ERR);
	expect(ctx, USIW_EVENT_GID_CHANGE);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* ---- tests ---- */

static int setup(void **state)
{
	net_reset();
	return 0;
}

#define FILE_CASE(name) CASE_WITH(name, setup, NULL)

FILE_CASE(up_and_down_are_told_to_each_context_once)
{
	struct rnic_context *a = open_device("usiw_eth0");
	struct rnic_context *b = open_device("usiw_eth0");
	struct rnic_context *lo = open_device("usiw_lo");

	set_up(ETH, false);
	say_and_wait(ETH);
	say_and_wait(ETH);
	expect(a, USIW_EVENT_PORT_ERR);
	expect(b, USIW_EVENT_PORT_ERR);
	set_up(ETH, true);
	say_and_wait(ETH);
	expect(a, USIW_EVENT_PORT_ACTIVE);
	expect(b, USIW_EVENT_PORT_ACTIVE);
	expect_nothing(a);
	expect_nothing(b);
	expect_nothing(lo);
	rnic_context_close(a);
	rnic_context_close(b);
	rnic_context_close(lo);
}

FILE_CASE(order_is_kept_unread)
{
	struct rnic_context *ctx = open_device("usiw_eth0");

	for (int i = 0; i < 6; i++) {
		set_up(ETH, i % 2);
		say_and_wait(ETH);
	}
	for (int i = 0; i < 6; i++)
		expect(ctx,
		       i % 2 ? USIW_EVENT_PORT_ACTIVE : USIW_EVENT_PORT_ERR);
	expect_nothing(ctx);
	/* Unread events are freed with the context. */
	set_up(ETH, false);
	say_and_wait(ETH);
	rnic_context_close(ctx);
}

FILE_CASE(addresses_are_told)
{
	struct rnic_context *ctx = open_device("usiw_eth0");

	pthread_mutex_lock(&net_mutex);
	addr_cnt = 3;
	pthread_mutex_unlock(&net_mutex);
	say_and_wait(ETH);
	expect(ctx, USIW_EVENT_GID_CHANGE);
	pthread_mutex_lock(&net_mutex);
	addrs[2].addr[3] = 77;
	pthread_mutex_unlock(&net_mutex);
	say_and_wait(ETH);
	expect(ctx, USIW_EVENT_GID_CHANGE);
	expect_nothing(ctx);
	rnic_context_close(ctx);
}

FILE_CASE(an_interface_that_goes_is_down_without_address)
{
	struct rnic_context *ctx = open_device("usiw_eth0");

	eth_goes(ctx);
	expect_nothing(ctx);
	rnic_context_close(ctx);
}

FILE_CASE(what_is_over_is_told)
{
	const struct rnic_netif_change flap[] = {
		{ .ifindex = ETH, .what = RNIC_NETIF_DOWN },
		{ .ifindex = ETH, .what = RNIC_NETIF_DOWN },
		{ .ifindex = ETH, .what = RNIC_NETIF_UP },
		{ .ifindex = ETH, .gone = addrs[1] },
	};
	const struct rnic_netif_change removed = { .ifindex = ETH,
						   .gone = addrs[2] };
	struct rnic_context *ctx = open_device("usiw_eth0"), *late;
	struct rnic_context *lo = open_device("usiw_lo");
	uint32_t before;

	say_change(flap, 4);
	expect(ctx, USIW_EVENT_PORT_ERR);
	expect(ctx, USIW_EVENT_PORT_ACTIVE);
	expect(ctx, USIW_EVENT_GID_CHANGE);
	before = looks();
	say_change(&removed, 1); /* its arrival was not seen */
	wait_looks(before + 1);
	expect_nothing(ctx);
	/* A context that is opened afterwards gets no event of it. */
	util_lock(&rnic_loop.lock);
	say_change(flap, 4);
	util_unlock(&rnic_loop.lock);
	late = open_device("usiw_eth0");
	expect(ctx, USIW_EVENT_PORT_ERR);
	expect(ctx, USIW_EVENT_PORT_ACTIVE);
	expect(ctx, USIW_EVENT_GID_CHANGE);
	expect_nothing(ctx);
	expect_nothing(late);
	expect_nothing(lo);
	rnic_context_close(ctx);
	rnic_context_close(late);
	rnic_context_close(lo);
}

/* Another number, the same name: the device has its interface again. */
FILE_CASE(an_interface_made_anew_is_up_again)
{
	struct rnic_context *ctx = open_device("usiw_eth0");

	eth_goes(ctx);
	pthread_mutex_lock(&net_mutex);
	netif_cnt = addr_cnt = 2;
	netifs[1].ifindex = addrs[1].ifindex = OTHER_IFINDEX;
	pthread_mutex_unlock(&net_mutex);
	say_and_wait(OTHER_IFINDEX);
	expect(ctx, USIW_EVENT_PORT_ACTIVE);
	expect(ctx, USIW_EVENT_GID_CHANGE);
	set_up(ETH, false);
	say_and_wait(OTHER_IFINDEX);
	expect(ctx, USIW_EVENT_PORT_ERR);
	expect_nothing(ctx);
	rnic_context_close(ctx);
	netifs[1].ifindex = addrs[1].ifindex = ETH;
}

FILE_CASE(what_was_before_is_not_told)
{
	struct rnic_context *early = open_device("usiw_eth0"), *late;

	set_up(ETH, false);
	late = open_device("usiw_eth0"); /* before the kernel's message */
	say_and_wait(ETH);
	expect(early, USIW_EVENT_PORT_ERR);
	expect_nothing(late);
	rnic_context_close(early);
	rnic_context_close(late);
}

/* A change of another interface causes no query of the kernel. After an overrun
 * all interfaces are queried. */
FILE_CASE(only_own_interfaces_are_looked_at)
{
	struct rnic_context *ctx = open_device("usiw_eth0");
	uint32_t before = looks();

	set_up(ETH, false);
	for (int i = 0; i < 1000; i++)
		say(OTHER_IFINDEX);
	say(LO);
	say_and_wait(0);
	expect(ctx, USIW_EVENT_PORT_ERR);
	assert_int_equal(looks(), before + 1);
	rnic_context_close(ctx);
}

FILE_CASE(a_kernel_that_does_not_answer_is_asked_again)
{
	struct rnic_context *ctx = open_device("usiw_eth0");
	uint32_t before = looks();

	pthread_mutex_lock(&net_mutex);
	look_err = -EMFILE;
	pthread_mutex_unlock(&net_mutex);
	set_up(ETH, false);
	say_and_wait(ETH);
	expect_nothing(ctx);
	pthread_mutex_lock(&net_mutex);
	look_err = 0;
	pthread_mutex_unlock(&net_mutex);
	expect(ctx, USIW_EVENT_PORT_ERR);
	assert_int_equal(looks(), before + 2);
	rnic_context_close(ctx);
}

/* The context opens nevertheless, and the next one may get a socket. */
FILE_CASE(without_a_socket_there_are_no_events)
{
	struct rnic_context *unwatched, *ctx;

	open_err = -EPERM;
	unwatched = open_device("usiw_eth0");
	open_err = 0;
	ctx = open_device("usiw_eth0");
	set_up(ETH, false);
	say_and_wait(ETH);
	expect(ctx, USIW_EVENT_PORT_ERR);
	expect_nothing(unwatched);
	rnic_context_close(ctx);
	rnic_context_close(unwatched);
}

/* A broken socket is closed instead of being read for ever. */
FILE_CASE(a_broken_socket_is_given_up)
{
	struct rnic_context *ctx = open_device("usiw_eth0");

	pthread_mutex_lock(&net_mutex);
	next_err = -EIO;
	pthread_mutex_unlock(&net_mutex);
	say(ETH);
	wait_until(!is_open(watch_fd));
	pthread_mutex_lock(&net_mutex);
	next_err = 0;
	pthread_mutex_unlock(&net_mutex);
	close(news_fd);
	rnic_context_close(ctx);
}

FILE_CASE(the_socket_goes_with_the_last_context)
{
	struct rnic_context *a = open_device("usiw_eth0");
	struct rnic_context *b = open_device("usiw_lo");
	int fd = watch_fd;

	rnic_context_close(a);
	assert_true(is_open(fd));
	rnic_context_close(b);
	assert_false(is_open(fd));
}

FILE_CASE(a_child_has_neither_socket_nor_events)
{
	struct rnic_context *ctx = open_device("usiw_eth0");
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		bool has_it = is_open(watch_fd);

#ifndef __SANITIZE_THREAD__
		struct rnic_context *own = open_device("usiw_eth0");

		set_up(ETH, false);
		say_and_wait(ETH);
		expect(own, USIW_EVENT_PORT_ERR);
		rnic_context_close(own);
#endif
		_exit(has_it);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	set_up(ETH, false);
	say_and_wait(ETH);
	expect(ctx, USIW_EVENT_PORT_ERR);
	expect_nothing(ctx);
	rnic_context_close(ctx);
}
