/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* sockets.c: which sockets a poll reads. */
#define _GNU_SOURCE
#include "engine/sockets.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/engine.h"
#include "engine/wake.h"
#include "test.h"
#include "until.h"

#define MANY 20

/* A source that only counts, and takes what its peer has sent. */
struct plain {
	struct rnic_source source;
	int peer_fd;
	uint32_t pass_cnt, octets;
	bool ends; /* with the next octet */
};

static struct plain plains[MANY];
static struct rnic_engine *engine;

static void plain_pass(struct rnic_source *source, uint32_t events)
{
	struct plain *plain = RNIC_CONTAINER_OF(source, struct plain, source);
	char octet;

	(void)events;
	plain->pass_cnt++;
	if (recv(source->fd, &octet, 1, MSG_DONTWAIT) != 1)
		return;
	plain->octets++;
	source->quiet_cnt = 0;
	if (plain->ends)
		rnic_engine_remove(engine, source);
}

static void plain_end(struct rnic_source *source)
{
	rnic_engine_remove(engine, source);
}

static const struct rnic_source_ops plain_source_ops = {
	.pass = plain_pass,
	.drain = plain_end,
	.abort = plain_end,
};

static const struct rnic_engine_ops plain_ops;

static int setup(size_t cnt)
{
	must(!rnic_engine_new(&plain_ops, NULL, &engine));
	memset(plains, 0, sizeof(plains));
	rnic_engine_lead(engine);
	for (size_t i = 0; i < cnt; i++) {
		int fd[2];

		must(!socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
		plains[i].source.fd = fd[0];
		plains[i].peer_fd = fd[1];
		plains[i].source.ops = &plain_source_ops;
		must(!rnic_engine_add(engine, &plains[i].source));
	}
	rnic_engine_unlead(engine);
	return 0;
}

static int setup_two(void **state)
{
	return setup(2);
}

static int setup_many(void **state)
{
	return setup(MANY);
}

static int teardown(void **state)
{
	rnic_engine_free(engine);
	for (size_t i = 0; i < MANY && plains[i].source.fd; i++) {
		close(plains[i].source.fd);
		close(plains[i].peer_fd);
	}
	return 0;
}

#define TWO_CASE(name) CASE_WITH(name, setup_two, teardown)
#define MANY_CASE(name) CASE_WITH(name, setup_many, teardown)

static void plain_write(struct plain *plain)
{
	must(write(plain->peer_fd, "x", 1) == 1);
}

/* @busy: has an octet for each poll. */
static void poll_times(uint32_t cnt, struct plain *busy)
{
	for (uint32_t i = 0; i < cnt; i++) {
		if (busy)
			plain_write(busy);
		rnic_engine_poll(engine);
	}
}

/* ---- few ---- */

/* A quiet socket is read by few polls while another one is busy, and by all
 * when that is quiet, too, or if it has something to send. */
TWO_CASE(quiet_ones_are_read_seldom)
{
	struct plain *busy = &plains[0], *quiet = &plains[1];

	poll_times(ENGINE_QUIET_POLLS, busy);
	assert_int_equal(quiet->pass_cnt, ENGINE_QUIET_POLLS);
	poll_times(10 * ENGINE_QUIET_TURNS, busy);
	assert_int_equal(busy->octets,
			 ENGINE_QUIET_POLLS + 10 * ENGINE_QUIET_TURNS);
	assert_int_equal(quiet->pass_cnt, ENGINE_QUIET_POLLS + 10);
	quiet->source.events |= EPOLLOUT;
	poll_times(10, busy);
	assert_int_equal(quiet->pass_cnt, ENGINE_QUIET_POLLS + 20);
	quiet->source.events &= ~(uint32_t)EPOLLOUT;
	poll_times(ENGINE_QUIET_POLLS, NULL);
	quiet->pass_cnt = 0;
	poll_times(10, NULL);
	assert_int_equal(quiet->pass_cnt, 10);
}

/* ---- many ---- */

/* So many polls that epoll is asked as seldom as can be. */
static void warm_up(struct plain *busy)
{
	poll_times(4 * ENGINE_BUSY_TURNS, busy);
	assert_int_equal(engine->turn_gap, ENGINE_BUSY_TURNS);
}

MANY_CASE(a_busy_one_is_read_by_each_poll)
{
	struct plain *busy = &plains[3];

	warm_up(busy);
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t before = busy->octets;

		poll_times(1, busy);
		assert_int_equal(busy->octets, before + 1);
	}
	for (size_t i = 0; i < MANY; i++)
		assert_true(&plains[i] == busy || !plains[i].pass_cnt);
}

/* Others are found by epoll, the first one after some polls, and all that
 * follow at once. */
MANY_CASE(others_are_found)
{
	struct plain *busy = &plains[3];
	uint32_t polls = 0;

	warm_up(busy);
	plain_write(&plains[7]);
	while (!plains[7].octets && polls++ < ENGINE_BUSY_TURNS)
		poll_times(1, busy);
	assert_int_equal(plains[7].octets, 1);
	for (size_t i = 8; i < MANY; i++) {
		plain_write(&plains[i]);
		poll_times(1, busy);
		assert_int_equal(plains[i].octets, 1);
	}
}

/* ... and by a thread that polls now and then with its next poll. */
MANY_CASE(slow_polls_find_others)
{
	struct plain *busy = &plains[3];

	for (size_t i = 7; i < MANY; i++) {
		warm_up(busy);
		plain_write(&plains[i]);
		usleep(100); /* that time itself is meant */
		poll_times(1, busy);
		assert_int_equal(plains[i].octets, 1);
	}
}

MANY_CASE(a_quiet_one_is_left_to_epoll)
{
	struct plain *busy = &plains[3], *quiet = &plains[5];

	warm_up(quiet);
	poll_times(2 * ENGINE_QUIET_POLLS, busy);
	quiet->pass_cnt = 0;
	poll_times(100, busy);
	assert_int_equal(quiet->pass_cnt, 0);
}

/* A thread that has slept on the descriptor polls once, and sleeps again. */
MANY_CASE(a_poll_after_a_sleep_asks_epoll)
{
	warm_up(&plains[3]);
	for (size_t i = 0; i < MANY; i++) {
		assert_true(rnic_engine_sleep_begin(engine));
		plain_write(&plains[i]);
		rnic_engine_sleep_end(engine);
		rnic_engine_poll(engine);
		assert_true(plains[i].octets > 0);
	}
}

/* Ended by epoll's answer, or in a pass of its own. */
MANY_CASE(one_that_ends_is_forgotten)
{
	warm_up(&plains[3]);
	plains[3].ends = true;
	plains[4].ends = true;
	poll_times(1, &plains[3]);
	assert_int_equal(engine->busy_cnt, 0);
	poll_times(1, &plains[4]);
	assert_int_equal(engine->busy_cnt, 0);
	assert_int_equal(plains[4].octets, 1);
	poll_times(ENGINE_BUSY_TURNS, &plains[5]);
	assert_int_equal(plains[5].octets, ENGINE_BUSY_TURNS);
}

/* More are busy than are read without epoll: none waits for long. */
MANY_CASE(more_than_can_be_busy)
{
	for (uint32_t i = 0; i < 10 * ENGINE_BUSY_TURNS; i++) {
		plain_write(&plains[i % MANY]);
		poll_times(1, NULL);
		assert_int_equal(plains[i % MANY].octets, i / MANY + 1);
	}
}
