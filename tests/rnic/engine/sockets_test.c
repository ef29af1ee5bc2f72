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
#include "must.h"
#include "test.h"
#include "util/clock.h"
#include "wrap-clock.h"

#define MANY 20
/* Polls ask epoll when that time has passed since the last question. */
#define ASK_NS 50000u
#define QUIET_POLLS 256u

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

static int setup(void **state)
{
	fake_now_ns = 1000 * NS_PER_MS;
	must(!rnic_engine_new(&plain_ops, NULL, &engine));
	memset(plains, 0, sizeof(plains));
	rnic_engine_lead(engine);
	for (size_t i = 0; i < MANY; i++) {
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

static int teardown(void **state)
{
	rnic_engine_free(engine);
	for (size_t i = 0; i < MANY && plains[i].source.fd; i++) {
		close(plains[i].source.fd);
		close(plains[i].peer_fd);
	}
	return 0;
}

#define SOCKETS_CASE(name) CASE_WITH(name, setup, teardown)

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

/* No poll asks epoll again until ASK_NS have passed. */
static void warm_up(struct plain *busy)
{
	poll_times(4, busy);
	assert_ptr_equal(engine->busy.at[0], &busy->source);
	assert_false(engine->sched.look.asks_again);
}

SOCKETS_CASE(a_busy_one_is_read_by_each_poll)
{
	struct plain *busy = &plains[3];

	warm_up(busy);
	plain_write(&plains[7]);
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t before = busy->octets;

		poll_times(1, busy);
		assert_int_equal(busy->octets, before + 1);
	}
	for (size_t i = 0; i < MANY; i++)
		assert_true(&plains[i] == busy || !plains[i].pass_cnt);
}

/* Others are found by epoll, the first one after some time, and all that
 * follow at once. */
SOCKETS_CASE(others_are_found)
{
	struct plain *busy = &plains[3];

	warm_up(busy);
	fake_now_ns += ASK_NS - 1;
	plain_write(&plains[7]);
	poll_times(1, busy);
	assert_int_equal(plains[7].octets, 0);
	fake_now_ns++;
	poll_times(1, busy);
	assert_int_equal(plains[7].octets, 1);
	for (size_t i = 8; i < MANY; i++) {
		plain_write(&plains[i]);
		poll_times(1, busy);
		assert_int_equal(plains[i].octets, 1);
	}
}

SOCKETS_CASE(a_quiet_one_is_left_to_epoll)
{
	struct plain *busy = &plains[3], *quiet = &plains[5];

	warm_up(quiet);
	poll_times(QUIET_POLLS, NULL);
	quiet->pass_cnt = 0;
	poll_times(100, busy);
	assert_int_equal(quiet->pass_cnt, 0);
	plain_write(quiet);
	fake_now_ns += ASK_NS;
	poll_times(1, busy);
	assert_int_equal(quiet->pass_cnt, 1);
}

SOCKETS_CASE(one_that_has_something_to_send_is_not_quiet)
{
	struct plain *sends = &plains[5];

	warm_up(sends);
	sends->source.events |= EPOLLOUT;
	poll_times(2 * QUIET_POLLS, NULL);
	sends->pass_cnt = 0;
	poll_times(10, NULL);
	assert_int_equal(sends->pass_cnt, 10);
}

/* A thread that has slept on the descriptor polls once, and sleeps again. */
SOCKETS_CASE(a_poll_after_a_sleep_asks_epoll)
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
SOCKETS_CASE(one_that_ends_is_forgotten)
{
	warm_up(&plains[3]);
	plains[3].ends = true;
	plains[4].ends = true;
	poll_times(1, &plains[3]);
	assert_int_equal(engine->busy.cnt, 0);
	poll_times(1, &plains[4]);
	assert_int_equal(engine->busy.cnt, 0);
	assert_int_equal(plains[4].octets, 1);
	poll_times(10, &plains[5]);
	assert_int_equal(plains[5].octets, 10);
}

/* More are busy than are read without epoll: none waits for long. */
SOCKETS_CASE(more_than_can_be_busy)
{
	for (uint32_t i = 0; i < 100 * MANY; i++) {
		plain_write(&plains[i % MANY]);
		poll_times(1, NULL);
		assert_int_equal(plains[i % MANY].octets, i / MANY + 1);
	}
}
