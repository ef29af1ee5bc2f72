/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* engine.c: posts and polls, one step after the other. */
#define _GNU_SOURCE
#include "engine-steps.h"

#include "os/stat.h"
#include "stats.h"

/* ---- posts ---- */

STEP_CASE(a_post_is_noted)
{
	struct rnic_bell bell = { .serve = serve_count };
	uint64_t passes = test_stat(RNIC_STAT_passes_post);

	assert_int_equal(engine->post_cpu, -1);
	engine->poll_turn = 3;
	rnic_engine_post(engine, &bell);
	assert_int_equal(seen.served_cnt, 1);
	assert_true(seen.may_leave);
	assert_false(engine->may_leave);
	assert_int_equal(seen.poll_turn, 0);
	assert_int_equal(engine->post_cpu, CPU);
	assert_int_equal(engine->armed_cnt, 0);
	assert_true(atomic_load(&engine->has_posted));
	assert_int_equal(test_stat(RNIC_STAT_passes_post), passes + 1);
	atomic_store(&engine->armed_cnt, 5);
	rnic_engine_post(engine, &bell);
	assert_int_equal(engine->armed_cnt, 4);
	assert_int_equal(test_stat(RNIC_STAT_passes_post), passes + 2);
	/* There is nothing to flush. */
	rnic_engine_flush(engine);
	assert_int_equal(engine->armed_cnt, 4);
	rnic_engine_bell(engine, &bell);
	rnic_engine_flush(engine);
	assert_int_equal(engine->armed_cnt, 3);
	assert_int_equal(seen.served_cnt, 3);
}

static const struct {
	const char *name;
	enum rnic_answer answer;
	bool is_crowded, has_memory, has_sleeper, is_attended, is_skipped;
	bool is_read;		/* what was written */
	uint32_t yields, tries; /* if another thread leads all the time */
	bool is_counted;
} answers[] = {
	{ "no answer", RNIC_ANSWER_NONE, true, true, .tries = 1 },
	{ "a poller", RNIC_ANSWER_POLLER, true, true, .yields = 1, .tries = 5,
	  .is_counted = true },
	{ "a poller, an idle CPU", RNIC_ANSWER_POLLER, false, true,
	  .tries = 1 },
	{ "a poller, by TCP", RNIC_ANSWER_POLLER, true, false, .tries = 1 },
	{ "a poller, one sleeps", RNIC_ANSWER_POLLER, true, true,
	  .has_sleeper = true, .tries = 1 },
	{ "a poller, one has slept", RNIC_ANSWER_POLLER, true, true,
	  .is_attended = true, .tries = 1 },
	{ "a poller, others compute", RNIC_ANSWER_POLLER, true, true,
	  .is_skipped = true, .tries = 1 },
	{ "a poller, read at once", RNIC_ANSWER_POLLER, true, true,
	  .is_read = true, .tries = 5 },
	{ "a spinner", RNIC_ANSWER_SPINNER, true, true, .yields = 1, .tries = 5,
	  .is_counted = true },
	{ "a spinner, read at once", RNIC_ANSWER_SPINNER, true, true,
	  .is_read = true, .tries = 5 },
	{ "a spinner, by TCP", RNIC_ANSWER_SPINNER, true, false, .yields = 1,
	  .tries = 1, .is_counted = true },
	{ "a spinner, an idle CPU", RNIC_ANSWER_SPINNER, false, true,
	  .yields = 1, .tries = 1, .is_counted = true },
	{ "a spinner, others compute", RNIC_ANSWER_SPINNER, false, true,
	  .is_skipped = true, .tries = 1 },
};

static void answer(size_t row)
{
	struct rnic_bell bell = { .serve = serve_count };

	rnic_yield_note(&engine->yield, answers[row].answer);
	atomic_store(&engine->is_crowded, answers[row].is_crowded);
	atomic_store(&engine->sleeper_cnt, answers[row].has_sleeper);
	atomic_store(&engine->is_attended, answers[row].is_attended);
	atomic_store(&engine->burst_cnt, 0);
	atomic_store(&engine->armed_cnt, 10);
	atomic_store(&engine->yield.skip.cnt, answers[row].is_skipped);
	atomic_store(&seen.read, answers[row].is_read);
	/* The clock says that one yield is enough. */
	fake_now_ns = BEGIN_NS;
	step_ns = 20000;
	yield_cnt = 0;
	rnic_engine_post(engine, &bell);
	fake_now_ns = 0;
	step_ns = 0;
	atomic_store(&engine->sleeper_cnt, 0);
	rnic_engine_lead(engine); /* before the bell goes */
	rnic_engine_unlead(engine);
}

STEP_CASE(an_answer_hands_over_the_cpu)
{
	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		const char *name = answers[i].name;
		uint64_t yields;

		if (answers[i].has_memory)
			fake_open_memory(&fakes[0]);
		yields = test_stat(RNIC_STAT_yields);
		answer(i);
		assert_row(name, yield_cnt == answers[i].yields);
		assert_row(name, test_stat(RNIC_STAT_yields) - yields ==
					 answers[i].is_counted);
		assert_row(name, engine->armed_cnt == 9);
		assert_row(name, engine->waker_cnt == 0);
		if (answers[i].has_memory)
			fake_close(&fakes[0]);
	}
}

/* The leader does not come back: the poster tries some times. */
STEP_CASE(an_answer_beside_a_leader_is_tried_again)
{
	struct rnic_bell bell = { .serve = serve_count };

	fake_open_memory(&fakes[0]);
	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		atomic_store(&engine->memory_cnt, answers[i].has_memory);
		must(util_trylock(&engine->lead));
		rnic_yield_note(&engine->yield, answers[i].answer);
		atomic_store(&engine->is_crowded, answers[i].is_crowded);
		atomic_store(&engine->sleeper_cnt, answers[i].has_sleeper);
		atomic_store(&engine->is_attended, answers[i].is_attended);
		atomic_store(&engine->burst_cnt, 0);
		atomic_store(&engine->armed_cnt, 10);
		atomic_store(&engine->yield.skip.cnt, answers[i].is_skipped);
		rnic_engine_post(engine, &bell);
		assert_row(answers[i].name,
			   engine->armed_cnt == 10 - answers[i].tries);
		atomic_store(&engine->sleeper_cnt, 0);
		util_unlock(&engine->lead);
		rnic_engine_lead(engine);
		rnic_engine_unlead(engine);
	}
	atomic_store(&engine->memory_cnt, 1);
	fake_close(&fakes[0]);
}

/* ---- polls ---- */

static const struct {
	const char *name;
	uint64_t poll_ns, run_ns; /* of the last one */
	uint32_t burst;
	bool is_watched, wants_pass;
	uint64_t run_after_ns;
	bool asks;
} polls[] = {
	{ "the first one", 0, 0, 0, .run_after_ns = BEGIN_NS },
	{ "soon", BEGIN_NS - 199999, 7, 0, .run_after_ns = 7 },
	{ "after a pause", BEGIN_NS - 200000, 7, 0, .run_after_ns = BEGIN_NS },
	{ "a burst", BEGIN_NS, 7, 8, .run_after_ns = 7, .asks = true },
	{ "a short burst", BEGIN_NS, 7, 7, .run_after_ns = 7 },
	{ "a burst that is watched", BEGIN_NS, 7, 8, .is_watched = true,
	  .wants_pass = true, .run_after_ns = 7 },
	{ "no burst", BEGIN_NS, 7, 0, .wants_pass = true, .run_after_ns = 7 },
};

STEP_CASE(a_poll_is_noted)
{
	for (size_t i = 0; i < ARRAY_LEN(polls); i++) {
		uint64_t passes = test_stat(RNIC_STAT_passes_poll);

		fake_now_ns = BEGIN_NS;
		engine->ask_ns = 0;
		atomic_store(&engine->poll_ns, polls[i].poll_ns);
		atomic_store(&engine->run_ns, polls[i].run_ns);
		atomic_store(&engine->burst_cnt, polls[i].burst);
		atomic_store(&engine->is_watching, polls[i].is_watched);
		atomic_store(&engine->wants_pass, polls[i].wants_pass);
		atomic_store(&engine->wants_park, false);
		atomic_store(&engine->has_left, true);
		rnic_engine_poll(engine);
		fake_now_ns = 0;
		assert_row(polls[i].name, engine->poll_ns == BEGIN_NS);
		assert_row(polls[i].name,
			   engine->run_ns == polls[i].run_after_ns);
		assert_row(polls[i].name, engine->wants_park == polls[i].asks);
		assert_row(polls[i].name, !engine->burst_cnt);
		assert_row(polls[i].name, !engine->wants_pass);
		assert_row(polls[i].name, !engine->has_left);
		assert_row(polls[i].name,
			   test_stat(RNIC_STAT_passes_poll) == passes + 1);
	}
}

/* A thread with a signal is interrupted; any other error is for ever. */
STEP_CASE(a_poll_finds_that_epoll_fails)
{
	struct rnic_bell bell = { .serve = serve_count };

	for (int i = 0; i < 3; i++)
		fake_open(&fakes[i]);
	wait_err = EINTR;
	rnic_engine_catch_up(engine);
	assert_int_equal(seen.broken_cnt, 0);
	wait_err = EBADF;
	rnic_engine_bell(engine, &bell);
	rnic_engine_catch_up(engine);
	wait_err = 0;
	assert_int_equal(seen.broken_cnt, 1);
	assert_int_equal(seen.served_before_abort, 1);
	assert_true(LIST_EMPTY(&engine->sources));
	(void)led((rnic_engine_break(engine, -EBADF), 0));
	assert_int_equal(seen.broken_cnt, 1);
	assert_int_equal(led(rnic_engine_add(engine, &fakes[0].source)), -EIO);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(fakes[i].abort_cnt, 1);
		close(fakes[i].source.fd);
	}
}
