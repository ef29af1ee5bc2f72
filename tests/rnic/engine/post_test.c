/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* post.c: posts, one step after the other. */
#define _GNU_SOURCE
#include "engine-steps.h"

#include "os/stat.h"
#include "stats.h"

STEP_CASE(a_post_is_noted)
{
	struct rnic_bell bell = { .serve = serve_count };
	uint64_t passes = test_stat(RNIC_STAT_passes_post);

	engine->turn.poll_no = 3;
	rnic_engine_post(engine, &bell);
	assert_int_equal(seen.served_cnt, 1);
	assert_true(seen.may_leave);
	assert_false(engine->turn.may_leave);
	assert_int_equal(seen.poll_turn, 0);
	assert_int_equal(engine->sched.post_cpu, CPU);
	assert_int_equal(engine->sched.burst.cnt, 1);
	assert_int_equal(test_stat(RNIC_STAT_passes_post), passes + 1);
	rnic_engine_post(engine, &bell);
	assert_int_equal(seen.served_cnt, 2);
	assert_int_equal(engine->sched.burst.cnt, 2);
	assert_int_equal(test_stat(RNIC_STAT_passes_post), passes + 2);
}

STEP_CASE(only_bells_are_flushed)
{
	struct rnic_bell bell = { .serve = serve_count };

	rnic_engine_flush(engine);
	assert_int_equal(where_cnt, 0);
	rnic_engine_bell(engine, &bell);
	rnic_engine_flush(engine);
	assert_int_equal(seen.served_cnt, 1);
	assert_int_equal(engine->sched.post_cpu, CPU);
}

/* ---- answers ---- */

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

/* As the row says, except for the memory. */
static void answer_set(size_t row)
{
	struct rnic_sched *sched = &engine->sched;

	rnic_answer_note(&sched->answers, answers[row].answer);
	atomic_store(&sched->is_crowded, answers[row].is_crowded);
	atomic_store(&sched->polls.sleeper_cnt, answers[row].has_sleeper);
	atomic_store(&sched->polls.is_attended, answers[row].is_attended);
	atomic_store(&sched->burst.cnt, 0);
	atomic_store(&sched->skip.cnt, answers[row].is_skipped);
	atomic_store(&seen.read, answers[row].is_read);
	yield_cnt = 0;
	where_cnt = 0;
	/* The clock says that one yield is enough. */
	fake_now_ns = BEGIN_NS;
	step_ns = 20000;
}

static void answer_end(void)
{
	fake_now_ns = 0;
	step_ns = 0;
	atomic_store(&engine->sched.polls.sleeper_cnt, 0);
	rnic_engine_lead(engine); /* before the bell goes */
	rnic_engine_unlead(engine);
}

STEP_CASE(an_answer_hands_over_the_cpu)
{
	struct rnic_bell bell = { .serve = serve_count };

	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		const char *name = answers[i].name;
		uint64_t yields;

		if (answers[i].has_memory)
			fake_open_memory(&fakes[0]);
		yields = test_stat(RNIC_STAT_yields);
		answer_set(i);
		rnic_engine_post(engine, &bell);
		answer_end();
		assert_row(name, yield_cnt == answers[i].yields);
		assert_row(name, test_stat(RNIC_STAT_yields) - yields ==
					 answers[i].is_counted);
		assert_row(name, where_cnt == 1);
		assert_row(name, engine->hot.waker_cnt == 0);
		if (answers[i].has_memory)
			fake_close(&fakes[0]);
	}
}

/* The leader does not come back: the poster tries some times.  It cannot know
 * what the leader writes. */
STEP_CASE(an_answer_beside_a_leader_is_tried_again)
{
	struct rnic_bell bell = { .serve = serve_count };

	fake_open_memory(&fakes[0]);
	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		const char *name = answers[i].name;
		bool is_spinner = answers[i].answer == RNIC_ANSWER_SPINNER;

		atomic_store(&engine->hot.memory_cnt, answers[i].has_memory);
		must(util_trylock(&engine->lead));
		answer_set(i);
		rnic_engine_post(engine, &bell);
		assert_row(name, where_cnt == answers[i].tries);
		assert_row(name,
			   yield_cnt == (is_spinner && !answers[i].is_skipped));
		assert_row(name, engine->hot.waker_cnt == 0);
		util_unlock(&engine->lead);
		answer_end();
	}
	atomic_store(&engine->hot.memory_cnt, 1);
	fake_close(&fakes[0]);
}

#define WRITTEN 100u

STEP_CASE(a_poster_yields_until_its_octets_are_read)
{
	static const struct {
		const char *name;
		uint64_t read;
		uint32_t read_at; /* 0: never */
		uint64_t away_ns;
		uint32_t yields;
		bool is_long;
	} table[] = {
		{ "read", WRITTEN, 0, 1000, 0, false },
		{ "more is written", WRITTEN + 1, 0, 1000, 0, false },
		{ "read at once", WRITTEN - 1, 1, 1000, 1, false },
		{ "read later", 0, 3, 1000, 3, false },
		{ "never read", 0, 0, 1000, 15, false },
		{ "never read, others compute", 0, 0, 3 * NS_PER_MS, 1, true },
		{ "others compute", 0, 1, 3 * NS_PER_MS, 1, true },
		{ "far behind", WRITTEN + UINT64_MAX / 2 + 2, 0, 5000, 3,
		  false },
	};
	struct rnic_bell bell = { .serve = serve_count };
	struct rnic_sched *sched = &engine->sched;

	fake_open_memory(&fakes[0]);
	seen.written = WRITTEN;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		atomic_store(&seen.read, table[i].read);
		read_at = table[i].read_at;
		away_ns = table[i].away_ns;
		yield_cnt = 0;
		rnic_answer_note(&sched->answers, RNIC_ANSWER_POLLER);
		atomic_store(&sched->is_crowded, true);
		atomic_store(&sched->burst.cnt, 0);
		sched->skip = (struct rnic_skip){ 0 };
		fake_now_ns = BEGIN_NS;
		rnic_engine_post(engine, &bell);
		fake_now_ns = 0;
		assert_row(table[i].name, yield_cnt == table[i].yields);
		assert_row(table[i].name,
			   (sched->skip.cnt > 0) == table[i].is_long);
	}
	read_at = 0;
	fake_close(&fakes[0]);
}
