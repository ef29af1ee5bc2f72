/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* spin.c: when the completion thread looks for more, and what ends that. */
#define _GNU_SOURCE
#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/engine.h"
#include "engine/hot.h"
#include "engine/spin.h"
#include "engine/wake.h"
#include "mem/context.h"
#include "os/fd.h"
#include "rnicpair.h"
#include "siw-mpa.h"
#include "stream/object.h"

/* Long: only an event ends the spin of a test. */
#define SPIN_US "1000000"

/* ---- a machine that has an idle CPU, or none ---- */

static _Atomic bool has_idle;
static _Atomic uint32_t idle_until_cnt; /* it is busy after so many looks */

bool __wrap_rnic_cpus_have_idle(struct rnic_cpus *cpus, uint64_t now_ns);
bool __wrap_rnic_cpus_have_idle(struct rnic_cpus *cpus, uint64_t now_ns)
{
	uint32_t left = atomic_load(&idle_until_cnt);

	(void)cpus;
	(void)now_ns;
	if (!atomic_load(&has_idle))
		return false;
	if (left)
		atomic_store(&idle_until_cnt, left - 1);
	return left > 0;
}

static void set_idle(uint32_t looks)
{
	atomic_store(&idle_until_cnt, looks);
	atomic_store(&has_idle, looks > 0);
}

/* ---- one round after the other, by a clock of the test ---- */

/* Of the thread of the test; all zero: as it is. */
static __thread struct {
	uint64_t now_ns, step_ns; /* from one question to the next */
	uint32_t take_cnt, give_cnt, look_cnt;
	uint32_t news_at; /* look; 0: none comes */
	uint32_t words_max;
	bool all_sleep; /* no source has words to look at */
} fake;

int __real_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	if (!fake.now_ns)
		return __real_clock_gettime(id, ts);
	ts->tv_sec = (time_t)(fake.now_ns / 1000000000);
	ts->tv_nsec = (long)(fake.now_ns % 1000000000);
	fake.now_ns += fake.step_ns;
	return 0;
}

uint32_t __real_rnic_engine_hot_words_take(struct rnic_engine *engine,
					   struct rnic_hot_word *words,
					   uint32_t max);
uint32_t __wrap_rnic_engine_hot_words_take(struct rnic_engine *engine,
					   struct rnic_hot_word *words,
					   uint32_t max);
uint32_t __wrap_rnic_engine_hot_words_take(struct rnic_engine *engine,
					   struct rnic_hot_word *words,
					   uint32_t max)
{
	if (!fake.now_ns)
		return __real_rnic_engine_hot_words_take(engine, words, max);
	fake.words_max = max;
	fake.take_cnt++;
	return !fake.all_sleep;
}

bool __real_rnic_engine_hot_words_differ(const struct rnic_hot_word *words,
					 uint32_t cnt);
bool __wrap_rnic_engine_hot_words_differ(const struct rnic_hot_word *words,
					 uint32_t cnt);
bool __wrap_rnic_engine_hot_words_differ(const struct rnic_hot_word *words,
					 uint32_t cnt)
{
	if (!fake.now_ns)
		return __real_rnic_engine_hot_words_differ(words, cnt);
	return ++fake.look_cnt == fake.news_at;
}

void __real_rnic_engine_hot_words_give(struct rnic_engine *engine);
void __wrap_rnic_engine_hot_words_give(struct rnic_engine *engine);
void __wrap_rnic_engine_hot_words_give(struct rnic_engine *engine)
{
	if (!fake.now_ns)
		__real_rnic_engine_hot_words_give(engine);
	else
		fake.give_cnt++;
}

static int setup(void **state)
{
	set_idle(0);
	return 0;
}

/* ---- the completion thread of a QP that receives ---- */

static const struct rnicpair_options defaults = RNICPAIR_OPTIONS_INIT;

static bool is_spinning(struct rnicpair *p, int side)
{
	return rnic_engine_is_spinning(p->side[side].ctx->engine);
}

static uint64_t fpdus_received(struct rnicpair *p)
{
	struct rnic_engine *engine = p->side[1].ctx->engine;

	return with_lead(engine,
			 smpa_conn_counters(rnic_qp_stream(p->side[1].qp)->conn)
				 ->rx_fpdu);
}

/* Nobody polls: what side 1 receives is found by its completion thread. */
static void receive_octet(struct rnicpair *p)
{
	struct usiw_sge sge = rnicpair_sge(&p->side[0], 0, 1);
	uint64_t before = fpdus_received(p);

	/* Its program posts, too. */
	atomic_store(&p->side[1].ctx->engine->has_posted, true);
	rnicpair_post_wr(&p->side[0], .opcode = USIW_WR_WRITE, .sge = &sge,
			 .sge_cnt = 1, .rkey = p->side[1].stag,
			 .remote_addr = rnicpair_addr(&p->side[1], 0));
	wait_until(fpdus_received(p) > before);
}

/* Beside other load the thread loses its CPU, and spins the next time but
 * one. */
static void spin_begin(struct rnicpair *p)
{
	set_idle(UINT32_MAX);
	do
		receive_octet(p);
	while (!is_spinning(p, 1));
}

static void open_unpolled(struct rnicpair *p)
{
	rnicpair_open(p, &defaults);
	for (int i = 0; i < 2; i++)
		rnic_engine_unpark(p->side[i].ctx->engine);
}

CASE_WITH(it_spins_while_a_cpu_is_idle, setup, NULL)
{
	struct rnicpair p;

	open_unpolled(&p);
	receive_octet(&p);
	assert_false(is_spinning(&p, 1));
	spin_begin(&p);
	for (int i = 0; i < 20; i++)
		receive_octet(&p);
	set_idle(0);
	wait_until(!is_spinning(&p, 1));
	receive_octet(&p);
	assert_false(is_spinning(&p, 1));
	rnicpair_close(&p);
}

/* A thread that polls finds the next octets itself. */
CASE_WITH(a_poller_ends_it, setup, NULL)
{
	struct rnicpair p;

	open_unpolled(&p);
	spin_begin(&p);
	while (is_spinning(&p, 1))
		rnic_cq_progress(p.side[1].scq);
	rnicpair_close(&p);
}

CASE_WITH(the_end_of_the_engine_ends_it, setup, NULL)
{
	struct rnicpair p;

	open_unpolled(&p);
	spin_begin(&p);
	rnicpair_close(&p);
}

/* ---- alone ---- */

CASE_WITH(it_is_skipped_after_spins_in_vain, setup, NULL)
{
	static const uint32_t skips[] = { 1, 3, 7, 15, 31, 63, 63 };
	struct rnicpair p;
	struct rnic_spin spin = { .has_cpus = false };
	struct rnic_engine *engine;
	struct epoll_event ev[ENGINE_EVENT_MAX];
	uint32_t skipped = 0;

	rnicpair_open_idle(&p, &defaults);
	engine = p.side[0].ctx->engine;
	for (size_t i = 0; i < ARRAY_LEN(skips); i++) {
		for (uint32_t k = 0; k <= skipped; k++) {
			set_idle(5);
			rnic_engine_lead(engine);
			rnic_engine_note_arrival(engine);
			rnic_spin_begin(&spin, engine);
			rnic_engine_unlead(engine);
			assert_int_equal(rnic_engine_is_spinning(engine),
					 k == skipped);
			assert_int_equal(rnic_spin(&spin, engine, ev), 0);
		}
		skipped = skips[i];
		assert_int_equal(spin.skip_cnt, skipped);
	}
	rnic_spin_fini(&spin);
	rnicpair_close(&p);
}

CASE_WITH(it_needs_an_arrival, setup, NULL)
{
	struct rnicpair p;
	struct rnic_spin spin = { .has_cpus = false };
	struct rnic_engine *engine;

	rnicpair_open_idle(&p, &defaults);
	engine = p.side[0].ctx->engine;
	set_idle(UINT32_MAX);
	rnic_engine_lead(engine);
	rnic_spin_begin(&spin, engine); /* what came before */
	rnic_spin_begin(&spin, engine);
	assert_false(rnic_engine_is_spinning(engine));
	rnic_engine_note_arrival(engine);
	rnic_spin_begin(&spin, engine);
	assert_true(rnic_engine_is_spinning(engine));
	assert_true(spin.has_cpus);
	/* Another thread sleeps there, or has slept. */
	for (int i = 0; i < 2; i++) {
		atomic_store(&engine->sleeper_cnt, i);
		atomic_store(&engine->is_attended, !i);
		rnic_engine_note_arrival(engine);
		rnic_spin_begin(&spin, engine);
		assert_false(rnic_engine_is_spinning(engine));
	}
	atomic_store(&engine->sleeper_cnt, 0);
	/* Nothing came since. */
	rnic_spin_begin(&spin, engine);
	assert_false(rnic_engine_is_spinning(engine));
	rnic_engine_unlead(engine);
	rnic_spin_fini(&spin);
	rnicpair_close(&p);
}

/* While no CPU is idle. */
CASE_WITH(a_program_that_posts_has_its_cpu, setup, NULL)
{
	struct rnicpair p;
	struct rnic_spin spin = { .has_cpus = true };
	struct epoll_event ev[ENGINE_EVENT_MAX];
	struct rnic_engine *engine;

	rnicpair_open_idle(&p, &defaults);
	engine = p.side[0].ctx->engine;
	spin.cpus.fd = rnic_fd_own(open("/dev/null", O_RDONLY | O_CLOEXEC));
	for (int i = 0; i < 40; i++) {
		/* The 5th arrival comes behind a post. */
		if (i == 5)
			atomic_store(&engine->has_posted, true);
		rnic_engine_lead(engine);
		rnic_engine_note_arrival(engine);
		rnic_spin_begin(&spin, engine);
		rnic_engine_unlead(engine);
		assert_int_equal(rnic_engine_is_spinning(engine), i > 5 + 15);
		/* Shorter than it would be beside an idle CPU. */
		assert_int_equal(rnic_spin(&spin, engine, ev), 0);
		spin.skip_cnt = 0;
	}
	rnic_spin_fini(&spin);
	rnicpair_close(&p);
}

/* ---- how long ---- */

static void sleeps(struct rnic_engine *engine)
{
	must(rnic_engine_sleep_begin(engine));
}

static void stops(struct rnic_engine *engine)
{
	atomic_store(&engine->is_stopping, true);
}

static void polls(struct rnic_engine *engine)
{
	atomic_store(&engine->poll_ns, fake.now_ns);
}

static const struct round_row {
	const char *name;
	uint32_t limit_us, step_ns;
	uint32_t idle_looks; /* the machine is busy after so many */
	uint32_t news_at;
	void (*change)(struct rnic_engine *engine); /* NULL: nothing */
	bool has_no_memory, all_sleep;
	uint32_t rounds, looks;
	bool has_news;
} round_rows[] = {
	{ "until its time is over", 50, 10000, 99, .rounds = 5, .looks = 500 },
	{ "not behind it", 50, 50000, 99, .rounds = 1, .looks = 100 },
	{ "the last nanosecond", 50, 49999, 99, .rounds = 2, .looks = 200 },
	{ "rounds are slow", 1000, 100000, 99, .rounds = 10, .looks = 1000 },
	{ "its CPU was lost", 1000, 100001, 99, .rounds = 1, .looks = 100 },
	{ "until no CPU is idle", 50, 10000, 2, .rounds = 2, .looks = 200 },
	{ "no CPU is idle", 11, 10000, 0, .rounds = 0, .looks = 0 },
	{ "no CPU needs to be", 10, 1000, 0, .rounds = 10, .looks = 1000 },
	{ "news at once", 50, 10000, 99, 1, .rounds = 1, .looks = 1,
	  .has_news = true },
	{ "news later", 50, 10000, 99, 250, .rounds = 3, .looks = 250,
	  .has_news = true },
	{ "another one sleeps there", 50, 10000, 99, .change = sleeps },
	{ "the engine stops", 50, 10000, 99, .change = stops },
	{ "another one polls", 50, 10000, 99, .change = polls },
	{ "epoll only", 50, 10000, 99, .has_no_memory = true },
	{ "no source is awake", 50, 10000, 99, .all_sleep = true, .rounds = 5 },
};

/* A round is so many looks at memory, and one at epoll unless there is news. */
CASE_WITH(it_looks_for_so_long, setup, NULL)
{
	for (size_t i = 0; i < ARRAY_LEN(round_rows); i++) {
		const struct round_row *row = &round_rows[i];
		struct rnic_spin spin = { .limit_us = row->limit_us,
					  .has_cpus = true,
					  .gap = 1 };
		struct epoll_event ev[ENGINE_EVENT_MAX];
		struct rnic_engine *engine;
		struct rnicpair p;
		int cnt;

		spin.cpus.fd = -1;
		rnicpair_open_idle(&p, &defaults);
		engine = p.side[0].ctx->engine;
		set_idle(row->idle_looks);
		atomic_store(&engine->memory_cnt, row->has_no_memory ? 0 : 1);
		atomic_store(&engine->is_spinning, true);
		memset(&fake, 0, sizeof(fake));
		fake.now_ns = 1000 * NS_PER_MS;
		fake.news_at = row->news_at;
		fake.all_sleep = row->all_sleep;
		if (row->change)
			row->change(engine);
		fake.step_ns = row->step_ns;
		cnt = rnic_spin(&spin, engine, ev);
		fake.now_ns = 0;
		if (row->change == sleeps)
			rnic_engine_sleep_end(engine);
		atomic_store(&engine->is_stopping, false);
		atomic_store(&engine->memory_cnt, 0);
		assert_row(row->name,
			   cnt == (row->has_news ? RNIC_SPIN_NEWS : 0));
		assert_row(row->name, fake.take_cnt == row->rounds);
		assert_row(row->name,
			   fake.give_cnt == (row->all_sleep ? 0 : row->rounds));
		assert_row(row->name, fake.look_cnt == row->looks);
		assert_row(row->name, !row->rounds || fake.words_max == 16);
		/* What is in vain makes the next ones rarer. */
		assert_row(row->name, spin.gap == (row->has_news ? 0 : 3));
		assert_row(row->name,
			   rnic_engine_is_spinning(engine) == row->has_news);
		rnicpair_close(&p);
	}
}

static const struct limit_row {
	const char *name;
	bool has_idle, is_known;
	uint32_t served_cnt; /* arrivals before this one */
	bool has_posted;
	uint32_t limit_us; /* 0: it does not spin */
	bool is_crowded;
	uint32_t served_after;
} limit_rows[] = {
	{ "an idle CPU", true, true, 0, true, 1000000, false, 0 },
	{ "an idle CPU, no posts", true, true, 3, false, 1000000, false, 4 },
	{ "nothing is known", false, false, 16, false, 0, false, 16 },
	{ "busy", false, true, 0, true, 0, true, 0 },
	{ "busy, a post after many arrivals", false, true, 16, true, 0, true,
	  0 },
	{ "busy, some arrivals", false, true, 14, false, 0, true, 15 },
	{ "busy, many arrivals", false, true, 15, false, 10, true, 16 },
	{ "busy, more arrivals", false, true, 16, false, 10, true, 16 },
};

CASE_WITH(the_machine_and_the_program_set_the_limit, setup, NULL)
{
	for (size_t i = 0; i < ARRAY_LEN(limit_rows); i++) {
		const struct limit_row *row = &limit_rows[i];
		struct rnic_spin spin = { .has_cpus = true,
					  .served_cnt = row->served_cnt };
		struct rnic_engine *engine;
		struct rnicpair p;

		rnicpair_open_idle(&p, &defaults);
		engine = p.side[0].ctx->engine;
		spin.cpus.fd = row->is_known
				       ? rnic_fd_own(open("/dev/null",
							  O_RDONLY | O_CLOEXEC))
				       : -1;
		set_idle(row->has_idle ? 99 : 0);
		rnic_engine_lead(engine);
		atomic_store(&engine->has_posted, row->has_posted);
		rnic_engine_note_arrival(engine);
		rnic_spin_begin(&spin, engine);
		rnic_engine_unlead(engine);
		assert_row(row->name, spin.limit_us == row->limit_us);
		assert_row(row->name, rnic_engine_is_spinning(engine) ==
					      (row->limit_us > 0));
		assert_row(row->name,
			   atomic_load(&engine->is_crowded) == row->is_crowded);
		assert_row(row->name, spin.served_cnt == row->served_after);
		assert_false(atomic_load(&engine->has_posted));
		rnic_spin_fini(&spin);
		assert_false(spin.has_cpus);
		rnicpair_close(&p);
	}
}

BEFORE_CASES()
{
	setenv("USIW_SPIN_US", SPIN_US, 1);
}
