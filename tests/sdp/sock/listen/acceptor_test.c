/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connections that wait to be accepted where rdma_cm listens, and their
 * order. */
#include "test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "sock/listen/acceptor.h"
#include "verbs/sdp-link.h"

#include "fake-sock.h"
#include "sock-fixture.h"
#include "threads.h"

/* ---- a scripted device ---- */

#define PEER_MAX 8

/* A peer. Its link and its request are the same object. */
struct peer {
	bool is_closed;
	int answer; /* 1: none yet */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct peer peers[PEER_MAX];
static int asked_cnt, taken_cnt; /* number of peers, in their order */
static int listener_cnt, used_port_cnt;
static union sdp_addr listened_at[PEER_MAX];

static struct sdp_link *link_of(int i)
{
	return (struct sdp_link *)(void *)&peers[i];
}

/* The time. It changes only when a test sets it. */

int sdp_listener_new(struct sdp_listener **ret_listener,
		     const struct sockaddr *addr, int backlog)
{
	union sdp_addr *name = &listened_at[listener_cnt];

	(void)backlog;
	memcpy(name, addr, sizeof(*name)); /* the acceptor's are of this type */
	if (sdp_addr_port(name) && used_port_cnt-- > 0)
		return -EADDRINUSE;
	if (!sdp_addr_port(name))
		sdp_addr_set_port(name, (uint16_t)(4000 + listener_cnt));
	*ret_listener = (struct sdp_listener *)(void *)name;
	listener_cnt++;
	return 0;
}

void sdp_listener_name(const struct sdp_listener *listener,
		       struct sockaddr_storage *ret_addr)
{
	memcpy(ret_addr, listener, sizeof(union sdp_addr));
}

void sdp_listener_free(struct sdp_listener *listener)
{
	(void)listener;
	pthread_mutex_lock(&mutex);
	listener_cnt--;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

int sdp_listener_take(struct sdp_listener *listener,
		      struct sdp_request **ret_request)
{
	int ret = -EAGAIN;
	uint64_t cnt;

	(void)listener;
	pthread_mutex_lock(&mutex);
	if (taken_cnt < asked_cnt) {
		*ret_request =
			(struct sdp_request *)(void *)&peers[taken_cnt++];
		pthread_cond_broadcast(&changed);
		ret = 0;
	}
	if (taken_cnt == asked_cnt)
		(void)!read(fake.sdp_listener_fd.ret, &cnt, sizeof(cnt));
	pthread_mutex_unlock(&mutex);
	return ret;
}

int sdp_request_accept(struct sdp_link **ret_link, struct sdp_request *request,
		       const struct sdp_link_options *opt, uint64_t deadline,
		       struct sdp_outcome *ret_outcome)
{
	struct peer *peer = (struct peer *)(void *)request;
	int ret;

	(void)deadline;
	assert_int_equal(opt->conn.carrier, SDP_CM_PRIV);
	pthread_mutex_lock(&mutex);
	while (peer->answer > 0)
		pthread_cond_wait(&changed, &mutex);
	ret = peer->answer;
	pthread_mutex_unlock(&mutex);
	memset(ret_outcome, 0, sizeof(*ret_outcome));
	*ret_link = (struct sdp_link *)(void *)peer;
	return ret;
}

void sdp_request_reject(struct sdp_request *request)
{
	(void)request;
	fail();
}

void sdp_link_close(struct sdp_link *link, uint64_t deadline)
{
	assert_int_equal(deadline, 0);
	pthread_mutex_lock(&mutex);
	((struct peer *)(void *)link)->is_closed = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

/* ---- what the test decides ---- */

static struct sdp_acceptor *acceptor;
static int fd;
static uint16_t port;

static void acceptor_new(const char *text, bool is_dual, int backlog)
{
	union sdp_addr name = { .in = { .sin_family = AF_INET } };

	if (inet_pton(AF_INET6, text, &name.in6.sin6_addr) == 1)
		name.in6.sin6_family = AF_INET6;
	else
		assert_int_equal(inet_pton(AF_INET, text, &name.in.sin_addr),
				 1);
	assert_int_equal(sdp_acceptor_new(&acceptor, &name, is_dual, backlog,
					  &port, &fd),
			 0);
}

static void acceptor_open(int backlog)
{
	acceptor_new("127.0.0.1", false, backlog);
}

static int begin(void **state)
{
	for (int i = 0; i < PEER_MAX; i++)
		peers[i] = (struct peer){ .answer = 1 };
	asked_cnt = taken_cnt = listener_cnt = used_port_cnt = 0;
	fake_reset();
	fake.sdp_now_ns.ret = 1;
	fake.sdp_listener_fd.ret = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return fake.sdp_listener_fd.ret < 0;
}

static void ask(int cnt)
{
	uint64_t one = 1;

	pthread_mutex_lock(&mutex);
	asked_cnt += cnt;
	pthread_mutex_unlock(&mutex);
	(void)!write(fake.sdp_listener_fd.ret, &one, sizeof(one));
}

static void answer(int i, int ret)
{
	pthread_mutex_lock(&mutex);
	peers[i].answer = ret;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

static void wait_taken(int cnt)
{
	pthread_mutex_lock(&mutex);
	while (taken_cnt < cnt)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
}

/* Freed by the acceptor's thread, which goes on while a peer is answered. */
static void wait_listeners_freed(void)
{
	pthread_mutex_lock(&mutex);
	while (listener_cnt > 0)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
}

static void wait_closed(int i)
{
	pthread_mutex_lock(&mutex);
	while (!peers[i].is_closed)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
}

/* Waits on the descriptor that the program polls. */
static void wait_readable(void)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN | POLLOUT };

	assert_int_equal(poll(&pfd, 1, -1), 1);
	assert_int_equal(pfd.revents, POLLIN);
}

static struct sdp_link *take(void)
{
	wait_readable();
	return sdp_acceptor_take(acceptor);
}

static bool is_readable(void)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

static int end(void **state)
{
	sdp_acceptor_free(acceptor);
	/* A case that fails leaves some without an answer. */
	for (int i = 0; i < PEER_MAX; i++)
		answer(i, -EPROTO);
	threads_wait();
	assert_int_equal(listener_cnt, 0);
	return close(fake.sdp_listener_fd.ret);
}

#define FILE_CASE(name) CASE_WITH(name, begin, end)

/* ---- cases ---- */

FILE_CASE(has_one_port_for_both_families)
{
	/* The first port that rdma_cm chooses is in use in the other family. */
	used_port_cnt = 2;
	acceptor_new("::", true, 1);
	assert_int_equal(listener_cnt, 2);
	assert_int_equal(listened_at[0].sa.sa_family, AF_INET6);
	assert_int_equal(listened_at[1].sa.sa_family, AF_INET);
	for (int i = 0; i < 2; i++)
		assert_int_equal(sdp_addr_port(&listened_at[i]), port);
}

FILE_CASE(is_accepted_in_the_order_of_asking)
{
	acceptor_open(8);
	ask(3);
	wait_taken(3);
	answer(2, 0);
	answer(1, 0);
	answer(0, 0);
	for (int i = 0; i < 3; i++)
		assert_ptr_equal(take(), link_of(i));
	assert_false(is_readable());
	assert_null(sdp_acceptor_take(acceptor));
}

FILE_CASE(a_peer_that_does_not_go_on_is_overtaken)
{
	acceptor_open(8);
	ask(2);
	wait_taken(2);
	answer(1, 0);
	fake.sdp_now_ns.ret += 1000000000;
	assert_ptr_equal(take(), link_of(1));
	answer(0, 0);
	assert_ptr_equal(take(), link_of(0));
}

FILE_CASE(a_peer_that_fails_delays_no_other)
{
	acceptor_open(8);
	ask(2);
	wait_taken(2);
	answer(1, 0);
	answer(0, -EPROTO);
	assert_ptr_equal(take(), link_of(1));
	assert_false(peers[0].is_closed);
}

/* Its place is free, although an earlier one still waits. */
FILE_CASE(a_peer_that_fails_gives_its_place_back)
{
	acceptor_open(2);
	ask(4);
	wait_taken(3);
	answer(1, 0);
	answer(2, -EPROTO);
	wait_taken(4);
	answer(0, 0);
	answer(3, 0);
	assert_ptr_equal(take(), link_of(0));
	assert_ptr_equal(take(), link_of(1));
	assert_ptr_equal(take(), link_of(3));
}

/* Linux accepts one more than listen() was told. */
FILE_CASE(takes_no_more_than_the_backlog)
{
	for (int i = 0; i < PEER_MAX; i++)
		peers[i].answer = 0;
	acceptor_open(1);
	ask(4);
	wait_taken(2);
	assert_ptr_equal(take(), link_of(0));
	wait_taken(3);
	sdp_acceptor_set_backlog(acceptor, 3);
	wait_taken(4);
	for (int i = 1; i < 4; i++)
		assert_ptr_equal(take(), link_of(i));
}

FILE_CASE(what_is_put_back_is_the_first)
{
	struct sdp_link *link;

	peers[0].answer = peers[1].answer = 0;
	acceptor_open(8);
	ask(2);
	link = take();
	sdp_acceptor_put_back(acceptor, link);
	assert_ptr_equal(take(), link);
	assert_ptr_equal(take(), link_of(1));
}

FILE_CASE(stops_without_losing_any)
{
	peers[0].answer = 0;
	acceptor_open(8);
	ask(2);
	wait_taken(2);
	sdp_acceptor_stop(acceptor);
	wait_listeners_freed();
	assert_ptr_equal(take(), link_of(0));
	answer(1, 0);
	assert_ptr_equal(take(), link_of(1));
}

/* One is ready, one waits for it, one is still starting. */
FILE_CASE(connections_that_are_not_accepted_are_reset)
{
	peers[0].answer = peers[2].answer = 0;
	acceptor_open(8);
	ask(3);
	wait_taken(3);
	wait_readable();
	sdp_acceptor_free(acceptor);
	answer(1, 0);
	for (int i = 0; i < 3; i++)
		wait_closed(i);
	threads_wait();
	assert_int_equal(listener_cnt, 0);
	acceptor_open(8); /* for the teardown */
}

ALL_CASES_WITH(table_start, NULL);
