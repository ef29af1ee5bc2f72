/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* engines.c: engines made, led together, ended together. */
#define _GNU_SOURCE
#include "engine/engines.h"
#include "descriptors.h"
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "engine/engine.h"
#include "must.h"

#define MAX 4

static struct rnic_engines engines;

/* ---- the engine's owner ---- */

static void fake_all_due(struct rnic_engine *engine)
{
	rnic_engines_lead(engine->engines);
	rnic_engines_unlead(engine->engines);
}

/* One source of each engine, in some tests. */
static struct fake {
	struct rnic_source source;
	int drain_cnt, gone_cnt, each_cnt;
	int drains_before_end; /* of all */
} fakes[MAX];

static int drain_cnt; /* of all */

static struct fake *fake_of(struct rnic_source *source)
{
	return RNIC_CONTAINER_OF(source, struct fake, source);
}

static void fake_drain(struct rnic_source *source)
{
	fake_of(source)->drain_cnt++;
	drain_cnt++;
}

static void fake_abort(struct rnic_source *source)
{
	fake_of(source)->drains_before_end = drain_cnt;
	rnic_engine_remove(
		rnic_engines_at(&engines, (uint32_t)(fake_of(source) - fakes)),
		source);
}

static void fake_mr_gone(struct rnic_source *source, uint32_t stag,
			 const void *addr, size_t len)
{
	must(stag == 7 && addr == fakes && len == 9);
	fake_of(source)->gone_cnt++;
}

static const struct rnic_source_ops fake_source_ops = {
	.drain = fake_drain,
	.abort = fake_abort,
	.mr_gone = fake_mr_gone,
};

static const struct rnic_engine_ops fake_ops = {
	.all_due = fake_all_due,
};

static int setup(void **state)
{
	must(!rnic_engines_init(&engines, &fake_ops, NULL));
	engines.max = MAX;
	return 0;
}

static int teardown(void **state)
{
	must(rnic_engines_stop(&engines));
	rnic_engines_free(&engines);
	return 0;
}

#define ENGINES_CASE(name) CASE_WITH(name, setup, teardown)

static struct rnic_engine *pick(void)
{
	struct rnic_engine *engine;

	rnic_engines_lead(&engines);
	engine = rnic_engines_pick(&engines);
	rnic_engines_unlead(&engines);
	return engine;
}

/* All that may be made. */
static void make_all(void)
{
	for (int i = 0; i < MAX; i++)
		atomic_fetch_add(&pick()->qp_cnt, 1);
	must(rnic_engines_cnt(&engines) == MAX);
}

static void fake_open(uint32_t i)
{
	struct rnic_engine *engine = rnic_engines_at(&engines, i);

	memset(&fakes[i], 0, sizeof(fakes[i]));
	fakes[i].source.fd = eventfd(0, 0);
	must(fakes[i].source.fd >= 0);
	rnic_engine_lead(engine);
	fakes[i].source.ops = &fake_source_ops;
	must(!rnic_engine_add(engine, &fakes[i].source));
	rnic_engine_unlead(engine);
}

/* ---- made ---- */

static int allowed_cnt; /* CPUs; 0: as it is; -1: nothing is known */

int __real_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *ret_cpus);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *ret_cpus);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *ret_cpus)
{
	if (!allowed_cnt)
		return __real_sched_getaffinity(pid, size, ret_cpus);
	CPU_ZERO(ret_cpus);
	for (int i = 0; i < 8 || i < allowed_cnt; i++)
		CPU_SET(i, ret_cpus);
	return allowed_cnt < 0 ? -1 : 0;
}

CASE(the_allowed_cpus_count)
{
	static const struct {
		int cnt;
		uint32_t max;
	} rows[] = { { -1, 1 }, { 8, 4 }, { 12, 6 } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		allowed_cnt = rows[i].cnt;
		must(!rnic_engines_init(&engines, &fake_ops, NULL));
		allowed_cnt = 0;
		assert_int_equal(engines.max, rows[i].max);
		assert_int_equal(rnic_engines_cnt(&engines), 1);
		(void)teardown(state);
	}
}

CASE(the_number_follows_the_cpus)
{
	static const struct {
		uint32_t cpu_cnt, engine_cnt;
	} rows[] = { { 0, 1 }, { 1, 1 }, { 2, 1 },  { 3, 1 },  { 4, 2 },
		     { 5, 2 }, { 8, 4 }, { 16, 8 }, { 18, 8 }, { 1024, 8 } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(rnic_engines_by_cpus(rows[i].cpu_cnt),
				 rows[i].engine_cnt);
}

ENGINES_CASE(is_made_when_all_have_queue_pairs)
{
	struct rnic_engine *engine[MAX];

	for (uint32_t i = 0; i < MAX; i++) {
		engine[i] = pick();
		assert_int_equal(rnic_engines_cnt(&engines), i + 1);
		assert_ptr_equal(engine[i], rnic_engines_at(&engines, i));
		/* Nobody has taken it yet. */
		assert_ptr_equal(pick(), engine[i]);
		atomic_fetch_add(&engine[i]->qp_cnt, 1);
	}
	/* No more: the one with the fewest. */
	assert_ptr_equal(pick(), engine[0]);
	for (int i = 0; i < MAX; i++)
		atomic_store(&engine[i]->qp_cnt, i == 2 ? 3 : 5);
	assert_ptr_equal(pick(), engine[2]);
	atomic_store(&engine[3]->qp_cnt, 0);
	assert_ptr_equal(pick(), engine[3]);
	assert_int_equal(rnic_engines_cnt(&engines), MAX);
}

/* An engine has two descriptors. */
CASE(is_not_made_without_descriptors)
{
	for (int left = 0; left < 3; left++) {
		int rc, cnt = test_fd_cnt();
		struct rlimit old = test_fd_leave(left);

		rc = rnic_engines_init(&engines, &fake_ops, NULL);
		test_fd_restore(old);
		assert_int_equal(rc, left < 2 ? -EMFILE : 0);
		if (rc == 0)
			(void)teardown(state);
		assert_int_equal(test_fd_cnt(), cnt);
	}
}

/* ---- led together ---- */

static void *try_leads(void *arg)
{
	uint32_t *free_cnt = arg;

	for (uint32_t i = 0; i < rnic_engines_cnt(&engines); i++) {
		struct util_lock *lead = &rnic_engines_at(&engines, i)->lead;

		if (util_trylock(lead)) {
			++*free_cnt;
			util_unlock(lead);
		}
	}
	return NULL;
}

/* How many leads another thread can have now. */
static uint32_t free_leads(void)
{
	uint32_t free_cnt = 0;
	pthread_t thread;

	must(!pthread_create(&thread, NULL, try_leads, &free_cnt));
	pthread_join(thread, NULL);
	return free_cnt;
}

ENGINES_CASE(one_thread_has_all_leads)
{
	make_all();
	assert_int_equal(free_leads(), MAX);
	rnic_engines_lead(&engines);
	assert_int_equal(free_leads(), 0);
	assert_false(rnic_engines_is_partial(&engines));
	rnic_engines_unlead(&engines);
	assert_int_equal(free_leads(), MAX);
}

/* The new engine's lead is one of them. */
ENGINES_CASE(a_new_engine_is_led_by_its_maker)
{
	atomic_store(&rnic_engines_at(&engines, 0)->qp_cnt, 1);
	rnic_engines_lead(&engines);
	assert_ptr_not_equal(rnic_engines_pick(&engines),
			     rnic_engines_at(&engines, 0));
	assert_int_equal(rnic_engines_cnt(&engines), 2);
	assert_int_equal(free_leads(), 0);
	rnic_engines_unlead(&engines);
	assert_int_equal(free_leads(), 2);
}

ENGINES_CASE(one_engine_is_never_partial)
{
	struct rnic_engine *engine = rnic_engines_at(&engines, 0);

	rnic_engine_lead(engine);
	assert_false(rnic_engines_is_partial(&engines));
	rnic_engine_unlead(engine);
	make_all();
	rnic_engine_lead(engine);
	assert_true(rnic_engines_is_partial(&engines));
	rnic_engine_unlead(engine);
}

/* ---- bells ---- */

static uint32_t served_cnt, served_whole_cnt;

static void serve_count(struct rnic_bell *bell)
{
	served_cnt++;
	served_whole_cnt += engines.is_whole;
}

static struct rnic_bell bell;

static void bell_reset(void)
{
	memset(&bell, 0, sizeof(bell));
	bell.serve = serve_count;
	served_cnt = 0;
	served_whole_cnt = 0;
}

ENGINES_CASE(a_bell_is_served_after_the_lead_under_all)
{
	make_all();
	for (uint32_t i = 0; i < MAX; i++) {
		struct rnic_engine *engine = rnic_engines_at(&engines, i);

		bell_reset();
		rnic_engine_lead(engine);
		rnic_engines_bell(&engines, &bell);
		rnic_engines_bell(&engines, &bell);
		assert_int_equal(served_cnt, 0);
		rnic_engine_unlead(engine);
		assert_int_equal(served_cnt, 1);
		assert_int_equal(served_whole_cnt, 1);
	}
	/* Rung while all are led: the same thread serves it. */
	bell_reset();
	rnic_engines_lead(&engines);
	rnic_engines_bell(&engines, &bell);
	rnic_engines_unlead(&engines);
	assert_int_equal(served_cnt, 1);
	assert_int_equal(served_whole_cnt, 1);
}

/* A leader rings a bell of another engine, which nobody leads. */
ENGINES_CASE(a_flush_serves_the_bells_of_all)
{
	make_all();
	bell_reset();
	rnic_engine_lead(rnic_engines_at(&engines, 1));
	rnic_engine_bell(rnic_engines_at(&engines, 3), &bell);
	rnic_engines_flush(&engines);
	assert_int_equal(served_cnt, 0);
	rnic_engine_unlead(rnic_engines_at(&engines, 1));
	assert_int_equal(served_cnt, 1);
}

/* ---- who may leave octets unread ---- */

static struct {
	struct rnic_bell bell;
	struct rnic_engine *engine;
	uint32_t cnt;
	bool may_leave;
} served;

static void serve_note(struct rnic_bell *rung)
{
	served.cnt++;
	served.may_leave = served.engine->turn.may_leave;
}

static void by_poll(struct rnic_engine *engine, struct rnic_bell *rung)
{
	rnic_engine_bell(engine, rung);
	rnic_engine_poll(engine);
}

static void by_flush(struct rnic_engine *engine, struct rnic_bell *rung)
{
	rnic_engine_bell(engine, rung);
	rnic_engine_flush(engine);
}

static void by_lead(struct rnic_engine *engine, struct rnic_bell *rung)
{
	rnic_engine_bell(engine, rung);
	rnic_engine_lead(engine);
	rnic_engine_unlead(engine);
}

static void by_serve(struct rnic_engine *engine, struct rnic_bell *rung)
{
	rnic_engine_bell(engine, rung);
	rnic_engine_serve(engine);
}

static const struct {
	const char *name;
	void (*serve)(struct rnic_engine *engine, struct rnic_bell *rung);
	bool may_leave;
} leaders[] = {
	{ "a post", rnic_engine_post, true },
	{ "a poll", by_poll, true },
	{ "posts that were gathered", by_flush, true },
	{ "a call that needs the lead", by_lead, false },
	{ "a thread that waits for events", by_serve, false },
};

/* A thread of the program that comes back for them. */
ENGINES_CASE(posts_and_polls_may_leave_octets)
{
	served.bell.serve = serve_note;
	served.engine = rnic_engines_at(&engines, 0);
	for (size_t i = 0; i < ARRAY_LEN(leaders); i++) {
		served.cnt = 0;
		leaders[i].serve(served.engine, &served.bell);
		assert_row(leaders[i].name, served.cnt == 1);
		assert_row(leaders[i].name,
			   served.may_leave == leaders[i].may_leave);
		assert_row(leaders[i].name, !served.engine->turn.may_leave);
	}
}

/* A turn of zero is that of a post: however often it was polled. */
ENGINES_CASE(no_turn_is_zero)
{
	struct rnic_engine *engine = rnic_engines_at(&engines, 0);
	uint32_t first = engine->turn.last_no;

	assert_true(first % 2);
	rnic_engine_poll(engine);
	assert_int_equal(engine->turn.poll_no, first + 2);
	engine->turn.last_no = UINT32_MAX;
	rnic_engine_poll(engine);
	assert_int_equal(engine->turn.poll_no, 1);
	served.engine = engine;
	rnic_engine_bell(engine, &(struct rnic_bell){ .serve = serve_note });
	rnic_engine_flush(engine);
	assert_int_equal(engine->turn.poll_no, 0);
}

/* ---- threads ---- */

#define ROUNDS 3000

/* Changed under all leads, read under one. No atomics: TSan checks, too. */
static uint32_t common[2];
static uint32_t own[MAX];

static void serve_change(struct rnic_bell *rung)
{
	must(engines.is_whole);
	common[0]++;
	common[1]++;
}

struct leader {
	pthread_t thread;
	uint32_t num;
	struct rnic_bell bell;
};

static void *lead_one(void *arg)
{
	struct leader *leader = arg;
	struct rnic_engine *engine = rnic_engines_at(&engines, leader->num);

	for (int i = 0; i < ROUNDS; i++) {
		rnic_engine_lead(engine);
		must(common[0] == common[1]);
		own[leader->num]++;
		if (i % 16 == 0)
			rnic_engines_bell(&engines, &leader->bell);
		rnic_engine_unlead(engine);
		if (i % 64 == 0) {
			rnic_engines_lead(&engines);
			serve_change(NULL);
			rnic_engines_unlead(&engines);
		}
	}
	return NULL;
}

ENGINES_CASE(leaders_and_changes_exclude_each_other)
{
	struct leader leader[2 * MAX];
	uint32_t cnt = 0;

	make_all();
	memset(common, 0, sizeof(common));
	memset(own, 0, sizeof(own));
	for (uint32_t i = 0; i < 2 * MAX; i++) {
		leader[i].num = i % MAX;
		leader[i].bell = (struct rnic_bell){ .serve = serve_change };
		must(!pthread_create(&leader[i].thread, NULL, lead_one,
				     &leader[i]));
	}
	for (int i = 0; i < 2 * MAX; i++)
		pthread_join(leader[i].thread, NULL);
	for (int i = 0; i < MAX; i++)
		cnt += own[i];
	assert_int_equal(cnt, 2 * MAX * ROUNDS);
	assert_int_equal(common[0], common[1]);
	/* A bell that is rung again before it is served counts once. */
	assert_true(common[0] > 2 * MAX * (ROUNDS / 64));
	for (int i = 0; i < 2 * MAX; i++)
		assert_false(atomic_load(&leader[i].bell.is_rung));
}

/* ---- all of them ---- */

static void count_each(struct rnic_source *source, void *arg)
{
	must(arg == fakes);
	fake_of(source)->each_cnt++;
}

ENGINES_CASE(each_source_of_each_engine_is_told)
{
	make_all();
	for (uint32_t i = 0; i < MAX; i++)
		fake_open(i);
	rnic_engines_each(&engines, count_each, fakes);
	rnic_engines_lead(&engines);
	rnic_engines_mr_gone(&engines, 7, fakes, 9);
	rnic_engines_unlead(&engines);
	for (uint32_t i = 0; i < MAX; i++) {
		assert_int_equal(fakes[i].each_cnt, 1);
		assert_int_equal(fakes[i].gone_cnt, 1);
		close(fakes[i].source.fd);
		rnic_engine_lead(rnic_engines_at(&engines, i));
		rnic_engine_remove(rnic_engines_at(&engines, i),
				   &fakes[i].source);
		rnic_engine_unlead(rnic_engines_at(&engines, i));
	}
}

/* The others have nothing to catch up with. */
ENGINES_CASE(engines_with_queue_pairs_catch_up)
{
	make_all();
	atomic_store(&rnic_engines_at(&engines, 1)->qp_cnt, 0);
	rnic_engines_catch_up(&engines);
	for (uint32_t i = 0; i < MAX; i++)
		assert_int_equal(
			rnic_engines_at(&engines, i)->sched.look.asked_ns > 0,
			i != 1);
}

/* ---- the end ---- */

/* One may be the other's peer: all begin before the first one waits. */
ENGINES_CASE(all_begin_to_end_before_one_waits)
{
	for (uint32_t cnt = 1; cnt <= 2; cnt++) {
		drain_cnt = 0;
		if (cnt > 1) {
			atomic_store(&rnic_engines_at(&engines, 0)->qp_cnt, 1);
			(void)pick();
		}
		for (uint32_t i = 0; i < cnt; i++)
			fake_open(i);
		assert_true(rnic_engines_drain(&engines));
		for (uint32_t i = 0; i < cnt; i++) {
			assert_int_equal(fakes[i].drain_cnt, cnt);
			close(fakes[i].source.fd);
		}
		assert_int_equal(fakes[0].drains_before_end, cnt * 2 - 1);
	}
}

/* A signal handler that exits has interrupted the thread that leads. */
ENGINES_CASE(the_end_does_not_wait_for_a_lead_for_ever)
{
	struct rnic_engine *engine;

	make_all();
	engine = rnic_engines_at(&engines, 2);
	must(util_trylock(&engine->lead));
	assert_false(rnic_engines_drain(&engines));
	util_unlock(&engine->lead);
	assert_true(rnic_engines_drain(&engines));
}

BEFORE_CASES()
{
	/* Settings are read once. */
	setenv("USIW_DRAIN_MS", "200", 1);
}
