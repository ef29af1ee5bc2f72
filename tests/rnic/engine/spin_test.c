/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* spin.c: when the completion thread looks for more, and what ends that. */
#define _GNU_SOURCE
#include "test.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/engine.h"
#include "engine/hot.h"
#include "engine/spin.h"
#include "engine/wake.h"
#include "mem/context.h"
#include "rnicpair.h"
#include "siw-mpa.h"
#include "stream/object.h"

/* Of the settings. */
#define SPIN_US "100000"

/* ---- a machine that has an idle CPU, or none ---- */

static _Atomic bool has_idle;
static _Atomic uint64_t lost_cnt;

uint64_t __wrap_rnic_cpus_lost_cnt(void);
uint64_t __wrap_rnic_cpus_lost_cnt(void)
{
	if (!atomic_load(&has_idle))
		atomic_fetch_add(&lost_cnt, 1000000);
	return atomic_load(&lost_cnt);
}

int __real_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *ret_cpus);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *ret_cpus);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *ret_cpus)
{
	int rc = __real_sched_getaffinity(pid, size, ret_cpus);

	/* There is another one, however many the test may use. */
	CPU_SET(CPU_SETSIZE - 1, ret_cpus);
	return rc;
}

bool __wrap_rnic_cpus_have_quota(void);
bool __wrap_rnic_cpus_have_quota(void)
{
	return false;
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
	atomic_store(&has_idle, false);
	return 0;
}

/* ---- the completion thread of a QP that receives ---- */

static const struct rnicpair_options defaults = RNICPAIR_OPTIONS_INIT;

static bool is_spinning(struct rnicpair *p, int side)
{
	return rnic_sched_is_spinning(&p->side[side].ctx->engine->sched);
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

	rnicpair_post_wr(&p->side[0], .opcode = USIW_WR_WRITE, .sge = &sge,
			 .sge_cnt = 1, .rkey = p->side[1].stag,
			 .remote_addr = rnicpair_addr(&p->side[1], 0));
	wait_until(fpdus_received(p) > before);
}

/* It does not spin after spins in vain, or until it knows the machine. */
static void spin_begin(struct rnicpair *p)
{
	atomic_store(&has_idle, true);
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
	atomic_store(&has_idle, false);
	do
		receive_octet(&p);
	while (is_spinning(&p, 1));
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
	atomic_store(&engine->sched.polls.last_ns, fake.now_ns);
}

#define MS NS_PER_MS

static const struct round_row {
	const char *name;
	uint64_t step_ns;
	uint32_t news_at;
	void (*change)(struct rnic_engine *engine); /* NULL: nothing */
	bool has_no_memory, all_sleep;
	uint32_t rounds, looks;
	bool has_news;
} round_rows[] = {
	{ "until its time is over", 20 * MS, .rounds = 5, .looks = 50 },
	{ "not behind it", 100 * MS, .rounds = 1, .looks = 10 },
	{ "the last nanosecond", 100 * MS - 1, .rounds = 2, .looks = 20 },
	{ "news at once", 20 * MS, 1, .rounds = 1, .looks = 1,
	  .has_news = true },
	{ "news later", 20 * MS, 25, .rounds = 3, .looks = 25,
	  .has_news = true },
	{ "another one sleeps there", 20 * MS, .change = sleeps },
	{ "the engine stops", 20 * MS, .change = stops },
	{ "another one polls", 20 * MS, .change = polls },
	{ "epoll only", 20 * MS, .has_no_memory = true },
	{ "no source is awake", 20 * MS, .all_sleep = true, .rounds = 5 },
};

static void spin_row(const struct round_row *row)
{
	struct epoll_event ev[ENGINE_EVENT_MAX];
	struct rnic_engine *engine;
	struct rnicpair p;
	int cnt;

	rnicpair_open_idle(&p, &defaults);
	engine = p.side[0].ctx->engine;
	atomic_store(&engine->hot.memory_cnt, !row->has_no_memory);
	atomic_store(&engine->sched.is_spinning, true);
	memset(&fake, 0, sizeof(fake));
	fake.now_ns = 1000 * NS_PER_MS;
	fake.news_at = row->news_at;
	fake.all_sleep = row->all_sleep;
	if (row->change)
		row->change(engine);
	fake.step_ns = row->step_ns;
	cnt = rnic_spin(engine, ev);
	fake.now_ns = 0;
	if (row->change == sleeps)
		rnic_engine_sleep_end(engine);
	atomic_store(&engine->is_stopping, false);
	atomic_store(&engine->hot.memory_cnt, 0);
	assert_row(row->name, cnt == (row->has_news ? RNIC_SPIN_NEWS : 0));
	assert_row(row->name, fake.take_cnt == row->rounds);
	assert_row(row->name,
		   fake.give_cnt == (row->all_sleep ? 0 : row->rounds));
	assert_row(row->name, fake.look_cnt == row->looks);
	assert_row(row->name,
		   !row->rounds || fake.words_max == 2 * RNIC_HOT_MAX);
	/* What is in vain makes the next ones rarer. */
	assert_row(row->name, engine->sched.spin.gap == !row->has_news);
	assert_row(row->name,
		   rnic_sched_is_spinning(&engine->sched) == row->has_news);
	rnicpair_close(&p);
}

/* A round is so many looks at memory, and one at epoll unless there is news. */
CASE_WITH(it_looks_for_so_long, setup, NULL)
{
	for (size_t i = 0; i < ARRAY_LEN(round_rows); i++)
		spin_row(&round_rows[i]);
}

BEFORE_CASES()
{
	setenv("USIW_SPIN_US", SPIN_US, 1);
}
