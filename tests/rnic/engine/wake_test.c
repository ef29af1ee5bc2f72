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

/* ---- who polls ---- */

static const struct {
	const char *name;
	uint64_t poll_ns; /* when it polled last; 0: never */
	bool has_sleeper, is_attended, has_left;
	uint64_t live_ns; /* so long it counts; 0: it does not */
} polls[] = {
	{ "nobody has polled", 0, false, false, false, 0 },
	{ "nobody, but one sleeps", 0, true, true, true, 0 },
	{ "spins", BEGIN_NS, false, false, false, 50000 },
	{ "works on what it got", BEGIN_NS, false, true, false, 2000000 },
	{ "has left octets", BEGIN_NS, false, false, true, 2000000 },
	{ "sleeps", BEGIN_NS, true, false, false, 10000000 },
	{ "sleeps again", BEGIN_NS, true, true, true, 10000000 },
};

WAKE_CASE(a_poller_is_trusted_for_so_long)
{
	for (size_t i = 0; i < ARRAY_LEN(polls); i++) {
		uint64_t live_ns = polls[i].live_ns;

		atomic_store(&engine->poll_ns, polls[i].poll_ns);
		atomic_store(&engine->sleeper_cnt, polls[i].has_sleeper);
		atomic_store(&engine->is_attended, polls[i].is_attended);
		atomic_store(&engine->has_left, polls[i].has_left);
		/* The caller may have looked at the clock before the poll. */
		for (int before = 0; before < 2; before++)
			assert_row(polls[i].name,
				   rnic_engine_is_polled(engine,
							 BEGIN_NS - before) ==
					   (live_ns > 0));
		if (!live_ns)
			continue;
		assert_row(
			polls[i].name,
			rnic_engine_is_polled(engine, BEGIN_NS + live_ns - 1));
		assert_row(polls[i].name,
			   !rnic_engine_is_polled(engine, BEGIN_NS + live_ns));
	}
	atomic_store(&engine->sleeper_cnt, 0);
}

static const struct {
	const char *name;
	uint64_t gap_ns; /* since the last poll */
	bool may_gather, begins_run;
} attends[] = {
	{ "at once", 0, true, false },
	{ "soon", NS_PER_MS - 1, false, false },
	{ "after a pause", NS_PER_MS, true, true },
	{ "after a long pause", 500 * NS_PER_MS, false, true },
};

WAKE_CASE(a_sleep_is_noted_as_a_poll)
{
	for (size_t i = 0; i < ARRAY_LEN(attends); i++) {
		uint64_t now_ns = BEGIN_NS + attends[i].gap_ns;

		atomic_store(&engine->poll_ns, BEGIN_NS);
		atomic_store(&engine->run_ns, 1);
		atomic_store(&engine->is_attended, false);
		atomic_store(&engine->has_slept, false);
		atomic_store(&engine->may_gather, !attends[i].may_gather);
		fake_now_ns = now_ns;
		rnic_engine_note_attended(engine, attends[i].may_gather);
		fake_now_ns = 0;
		assert_int_equal(atomic_load(&engine->poll_ns), now_ns);
		assert_row(attends[i].name,
			   atomic_load(&engine->run_ns) ==
				   (attends[i].begins_run ? now_ns : 1));
		assert_true(atomic_load(&engine->is_attended));
		assert_true(atomic_load(&engine->has_slept));
		assert_int_equal(atomic_load(&engine->may_gather),
				 attends[i].may_gather);
	}
}

/* ---- asleep, and parked ---- */

static void assert_unparked(void)
{
	assert_false(atomic_load(&engine->is_attended));
	assert_int_equal(atomic_load(&engine->poll_ns), 0);
	assert_int_equal(atomic_load(&engine->armed_cnt), 64);
	assert_int_equal(atomic_load(&engine->park_word), 0);
}

static void polled(void)
{
	atomic_store(&engine->is_attended, true);
	atomic_store(&engine->poll_ns, BEGIN_NS);
	atomic_store(&engine->armed_cnt, 0);
	atomic_store(&engine->park_word, 1);
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
	assert_int_equal(atomic_load(&engine->sleeper_cnt), 1);
	assert_int_equal(atomic_load(&engine->park_word), 1);
	rnic_engine_sleep_end(engine);
	assert_int_equal(atomic_load(&engine->sleeper_cnt), 0);
	assert_false(atomic_load(&engine->may_gather));
	polled();
	rnic_engine_thread_wake(engine);
	assert_false(rnic_engine_sleep_begin(engine));
	assert_int_equal(atomic_load(&engine->sleeper_cnt), 0);
	assert_unparked();
}

static void ask(uint64_t now_ns)
{
	rnic_engine_lead(engine);
	rnic_engine_ask_park(engine, now_ns);
	rnic_engine_unlead(engine);
}

/* It looks for posts from here on. */
WAKE_CASE(a_thread_that_watches_is_not_asked)
{
	rnic_engine_watch(engine);
	ask(BEGIN_NS);
	assert_false(atomic_load(&engine->wants_park));
	assert_false(rnic_engine_is_woken(engine));
	atomic_store(&engine->is_watching, false);
	ask(BEGIN_NS);
	assert_true(atomic_load(&engine->wants_park));
	assert_true(rnic_engine_is_woken(engine));
	assert_true(rnic_engine_is_watched(engine));
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
