/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* wake.c: what threads tell each other, without a completion thread. */
#define _GNU_SOURCE
#include "test.h"

#include <string.h>

#include "engine/engine.h"
#include "engine/wake.h"
#include "must.h"
#include "wrap-clock.h"

/* ---- an engine without sources ---- */

#define BEGIN_NS (1000 * NS_PER_MS)

static const struct rnic_engine_ops fake_ops;
static struct rnic_engine *engine;

static int setup(void **state)
{
	fake_now_ns = 0;
	must(!rnic_engine_new(&fake_ops, NULL, &engine));
	return 0;
}

static int teardown(void **state)
{
	fake_now_ns = 0;
	rnic_engine_free(engine);
	return 0;
}

#define WAKE_CASE(name) CASE_WITH(name, setup, teardown)

/* ---- asleep, and parked ---- */

static void assert_unparked(void)
{
	assert_false(atomic_load(&engine->sched.polls.is_attended));
	assert_int_equal(atomic_load(&engine->sched.polls.last_ns), 0);
	assert_int_equal(atomic_load(&engine->thread.park_word), 0);
}

static void polled(void)
{
	atomic_store(&engine->sched.polls.is_attended, true);
	atomic_store(&engine->sched.polls.last_ns, BEGIN_NS);
	atomic_store(&engine->thread.park_word, 1);
}

WAKE_CASE(unparking_ends_the_run_of_polls)
{
	polled();
	rnic_engine_unpark(engine);
	assert_unparked();
	rnic_engine_unpark(engine);
	assert_unparked();
}

/* The completion thread has to come first: it has work. */
WAKE_CASE(a_sleep_waits_for_the_thread_that_is_woken)
{
	polled();
	assert_true(rnic_engine_sleep_begin(engine));
	assert_int_equal(atomic_load(&engine->sched.polls.sleeper_cnt), 1);
	assert_int_equal(atomic_load(&engine->thread.park_word), 1);
	rnic_engine_sleep_end(engine);
	assert_int_equal(atomic_load(&engine->sched.polls.sleeper_cnt), 0);
	assert_false(atomic_load(&engine->sched.burst.may_gather));
	polled();
	rnic_engine_thread_wake(engine);
	assert_false(rnic_engine_sleep_begin(engine));
	assert_int_equal(atomic_load(&engine->sched.polls.sleeper_cnt), 0);
	assert_unparked();
}

/* The thread is about to poll, and asks epoll then. */
WAKE_CASE(the_end_of_a_sleep_counts_as_a_poll)
{
	struct rnic_polls *polls = &engine->sched.polls;

	atomic_store(&engine->sched.burst.may_gather, true);
	assert_true(rnic_engine_sleep_begin(engine));
	assert_true(rnic_engine_has_sleeper(engine));
	fake_now_ns = BEGIN_NS;
	rnic_engine_sleep_end(engine);
	assert_false(rnic_engine_has_sleeper(engine));
	assert_int_equal(atomic_load(&polls->last_ns), BEGIN_NS);
	assert_true(rnic_polls_are_attended(polls));
	assert_true(rnic_polls_take_slept(polls));
	assert_false(atomic_load(&engine->sched.burst.may_gather));
}

/* ---- woken ---- */

static bool is_readable(struct epoll_event *ret_ev)
{
	return epoll_wait(engine->epfd, ret_ev, 1, 0) == 1;
}

WAKE_CASE(a_wakeup_is_cleared_once)
{
	struct epoll_event ev, other = { .data.u64 = 1 };

	assert_false(is_readable(&ev));
	for (int i = 0; i < 2; i++)
		rnic_engine_thread_wake(engine);
	assert_true(is_readable(&ev));
	assert_true(ev.data.u64 == ENGINE_WAKE_TOKEN);
	rnic_engine_wake_clear(engine, &other, 1);
	rnic_engine_wake_clear(engine, &ev, 0);
	rnic_engine_wake_clear(engine, &ev, -1);
	assert_true(rnic_engine_is_woken(engine));
	assert_true(is_readable(&ev));
	rnic_engine_wake_clear(engine, (struct epoll_event[]){ other, ev }, 2);
	assert_false(rnic_engine_is_woken(engine));
	assert_false(is_readable(&ev));
}
