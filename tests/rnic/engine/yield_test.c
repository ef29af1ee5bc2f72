/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* yield.c: which posts and polls yield the CPU, and when they stop to do so. */
#define _GNU_SOURCE
#include "test.h"

#include <sched.h>
#include <time.h>

#include "engine/engine.h"
#include "engine/wake.h"
#include "engine/yield.h"
#include "mem/context.h"
#include "util/clock.h"
#include "rnicpair.h"

/* ---- a scheduler ---- */

static pthread_t main_thread;
static uint32_t yield_cnt; /* of the main thread */
/* How long another thread has the CPU when it yields. */
static uint64_t other_ns;
/* What a peer has read, from its yield of this number on. */
#define WRITTEN 100u
static _Atomic uint64_t read_octets;
static uint32_t read_at;
/* Its clock stands still otherwise, so that other load does not matter. */
static bool is_clock_fake;
static uint64_t fake_ns;

static bool is_main(void)
{
	return pthread_equal(pthread_self(), main_thread);
}

int __real_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	if (!is_main() || !is_clock_fake)
		return __real_clock_gettime(id, ts);
	ts->tv_sec = (time_t)(fake_ns / 1000000000u);
	ts->tv_nsec = (long)(fake_ns % 1000000000u);
	return 0;
}

int __real_sched_yield(void);
int __wrap_sched_yield(void);
int __wrap_sched_yield(void)
{
	if (is_main() && is_clock_fake) {
		yield_cnt++;
		fake_ns += other_ns;
		if (yield_cnt == read_at)
			atomic_store(&read_octets, WRITTEN);
	}
	return __real_sched_yield();
}

static int setup(void **state)
{
	is_clock_fake = true;
	yield_cnt = 0;
	other_ns = 0;
	return 0;
}

/* The end of the process needs a clock that goes. */
static int teardown(void **state)
{
	is_clock_fake = false;
	return 0;
}

#define YIELD_CASE(name) CASE_WITH(name, setup, teardown)

/* ---- yield.c alone ---- */

YIELD_CASE(one_post_is_the_answer)
{
	struct rnic_yield yield = { 0 };

	assert_int_equal(rnic_yield_take(&yield), RNIC_ANSWER_NONE);
	rnic_yield_note(&yield, RNIC_ANSWER_POLLER);
	rnic_yield_note(&yield, RNIC_ANSWER_SPINNER);
	assert_int_equal(rnic_yield_take(&yield), RNIC_ANSWER_SPINNER);
	assert_int_equal(rnic_yield_take(&yield), RNIC_ANSWER_NONE);
}

/* The last of some posts, with so many polls before each. */
YIELD_CASE(a_poller_polls_between_its_posts)
{
	static const struct {
		uint32_t posts, polls, then_posts, then_polls;
		bool is_poller;
	} table[] = {
		{ 1, 0, 0, 0, false },
		{ 100, 0, 0, 0, false },
		{ 1, 1, 0, 0, false },
		{ 100, 1, 0, 0, true },
		{ 1, 1000, 0, 0, false },
		{ 3, 1000, 0, 0, true },
		/* Now and then it waits for a completion. */
		{ 100, 0, 1, 1000, false },
		/* It does something else now. */
		{ 100, 1000, 1, 0, true },
		{ 100, 1000, 20, 0, false },
		{ 100, 1000, 100, 0, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct rnic_yield yield = { 0 };
		uint32_t posts = table[i].posts + table[i].then_posts;
		bool is_poller = false;

		for (uint32_t j = 0; j < posts; j++) {
			uint32_t polls = j < table[i].posts
						 ? table[i].polls
						 : table[i].then_polls;

			for (uint32_t k = 0; k < polls; k++)
				rnic_yield_note_poll(&yield);
			is_poller = rnic_yield_note_post(&yield);
		}
		assert_int_equal(is_poller, table[i].is_poller);
	}
}

/* Chances that are not taken until one is. */
static uint32_t skipped(struct rnic_yield_skip *skip)
{
	uint32_t cnt = 0;

	while (!rnic_yield_may(skip))
		cnt++;
	rnic_yield(skip);
	return cnt;
}

YIELD_CASE(short_yields_are_repeated)
{
	struct rnic_yield_skip skip = { 0 };

	other_ns = 100000; /* what a completion thread may take */
	for (uint32_t i = 1; i <= 100; i++) {
		assert_int_equal(skipped(&skip), 0);
		assert_int_equal(yield_cnt, i);
	}
}

/* A program that computes has a CPU for milliseconds. */
YIELD_CASE(long_yields_become_rare)
{
	struct rnic_yield_skip skip = { 0 };
	uint32_t want = 64;

	other_ns = 3 * NS_PER_MS;
	assert_int_equal(skipped(&skip), 0);
	for (int i = 0; i < 14; i++) {
		assert_int_equal(skipped(&skip), want);
		want = want < 65536 ? 2 * want : 65536;
	}
	assert_int_equal(want, 65536);
}

YIELD_CASE(yields_return_when_the_other_program_has_gone)
{
	struct rnic_yield_skip skip = { 0 };

	other_ns = 3 * NS_PER_MS;
	for (int i = 0; i < 12; i++)
		(void)skipped(&skip);
	other_ns = 0;
	(void)skipped(&skip); /* the last one was long */
	for (int i = 0; i < 20; i++)
		assert_int_equal(skipped(&skip), 0);
	/* ... and a single long one is the first again. */
	other_ns = 3 * NS_PER_MS;
	assert_int_equal(skipped(&skip), 0);
	assert_int_equal(skipped(&skip), 64);
}

YIELD_CASE(a_poster_yields_until_its_octets_are_read)
{
	static const struct {
		uint64_t read;
		uint32_t read_at; /* 0: never */
		uint64_t other_ns;
		uint32_t yields;
		bool is_long;
	} table[] = {
		{ WRITTEN, 0, 1000, 0, false },
		{ WRITTEN + 1, 0, 1000, 0, false }, /* it has written more */
		{ WRITTEN - 1, 1, 1000, 1, false },
		{ 0, 3, 1000, 3, false },
		{ 0, 0, 1000, 15, false },
		{ 0, 0, 3 * NS_PER_MS, 1, true },
		{ 0, 1, 3 * NS_PER_MS, 1, true },
		{ WRITTEN + UINT64_MAX / 2 + 2, 0, 5000, 3, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct rnic_yield_skip skip = { 0 };
		struct rnic_handover handover = { .read = &read_octets,
						  .written = WRITTEN };

		atomic_store(&read_octets, table[i].read);
		read_at = table[i].read_at;
		other_ns = table[i].other_ns;
		yield_cnt = 0;
		assert_int_equal(rnic_yield_until(&skip, &handover),
				 table[i].yields > 0);
		assert_int_equal(yield_cnt, table[i].yields);
		assert_int_equal(rnic_yield_may(&skip), !table[i].is_long);
	}
	read_at = 0;
}

/* ---- polls in vain ---- */

/* Return: how many polls until one yields. */
static uint32_t polls_to_yield(struct rnic_vain *vain)
{
	uint32_t before = yield_cnt, cnt = 0;

	while (yield_cnt == before) {
		rnic_vain_poll(vain);
		cnt++;
	}
	return cnt;
}

YIELD_CASE(many_polls_in_vain_yield)
{
	struct rnic_vain vain = { 0 };

	for (int i = 0; i < 10; i++)
		assert_int_equal(polls_to_yield(&vain), RNIC_VAIN_POLLS + 1);
}

YIELD_CASE(octets_begin_the_count_anew)
{
	struct rnic_vain vain = { 0 };

	for (uint32_t i = 0; i < RNIC_VAIN_POLLS; i++)
		rnic_vain_poll(&vain);
	rnic_vain_end(&vain);
	assert_int_equal(yield_cnt, 0);
	assert_int_equal(polls_to_yield(&vain), RNIC_VAIN_POLLS + 1);
}

YIELD_CASE(polls_beside_a_program_that_computes_yield_seldom)
{
	struct rnic_vain vain = { 0 };

	other_ns = 3 * NS_PER_MS;
	assert_int_equal(polls_to_yield(&vain), RNIC_VAIN_POLLS + 1);
	assert_int_equal(polls_to_yield(&vain), RNIC_VAIN_POLLS + 1 + 64);
	assert_int_equal(polls_to_yield(&vain), RNIC_VAIN_POLLS + 1 + 128);
}

/* ---- posts ---- */

static const struct rnicpair_options defaults = RNICPAIR_OPTIONS_INIT;

/* An octet of one side's memory to the same place of the other's. */
static void write_octet(struct rnicpair *p, int from)
{
	struct usiw_sge sge = rnicpair_sge(&p->side[from], 0, 1);

	is_clock_fake = true;
	rnicpair_post_wr(&p->side[from], .opcode = USIW_WR_WRITE, .sge = &sge,
			 .sge_cnt = 1, .rkey = p->side[!from].stag,
			 .remote_addr = rnicpair_addr(&p->side[!from], 0));
	is_clock_fake = false;
}

static struct rnic_yield *yield_of(struct rnicpair *p, int side)
{
	return &p->side[side].ctx->engine->yield;
}

/* When this READ is done, nothing is on its way to either side. No thread
 * polls: the completion threads move it. It may have answered what came at the
 * start, and have yielded for long beside other programs. */
static void settle(struct rnicpair *p)
{
	struct rnicpair_side *s = &p->side[1];
	struct usiw_cqe cqe;

	rnicpair_post_read(p, 1, 1, 1);
	wait_until(rnicpair_peek(s, s->scq, &cqe));
	for (int i = 0; i < 2; i++) {
		(void)rnic_yield_take(yield_of(p, i));
		atomic_store(&yield_of(p, i)->skip.cnt, 0);
		atomic_store(&yield_of(p, i)->skip.next, 0);
	}
}

/* The octet of side 0 has come.  Return: false: side 1's thread came from its
 * park with it, as beside a poller. */
static bool has_come_to_a_spinner(struct rnicpair *p)
{
	settle(p);
	yield_cnt = 0;
	write_octet(p, 0);
	assert_int_equal(yield_cnt, 0); /* there is no question */
	wait_until(atomic_load(&yield_of(p, 1)->due));
	return atomic_load(&yield_of(p, 1)->due) == RNIC_ANSWER_SPINNER;
}

/* Side 1 posts an answer, and a second post, after it has polled so much. */
static void answer_octets(uint32_t poll_mean, uint32_t yields)
{
	struct rnicpair p;
	int cnt = 0;

	is_clock_fake = false;
	rnicpair_open(&p, &defaults);
	for (int i = 0; i < 2; i++)
		rnic_engine_unpark(p.side[i].ctx->engine);
	for (int i = 0; i < 1000 && cnt < 20; i++) {
		if (!has_come_to_a_spinner(&p))
			continue;
		atomic_store(&yield_of(&p, 1)->poll_mean, poll_mean);
		write_octet(&p, 1);
		assert_int_equal(yield_cnt, yields);
		/* The same is not answered twice. */
		write_octet(&p, 1);
		assert_int_equal(yield_cnt, yields);
		cnt++;
	}
	assert_int_equal(cnt, 20);
	rnicpair_close(&p);
}

YIELD_CASE(an_answer_yields)
{
	answer_octets(0, 1);
}

YIELD_CASE(an_answer_of_a_poller_does_not_yield)
{
	answer_octets(2 * RNIC_YIELD_POLLER, 0);
}

/* A program polls for the completion of its READ, and for a Send. */
YIELD_CASE(what_completes_is_not_answered)
{
	struct rnicpair p;
	struct usiw_cqe cqe;
	struct usiw_sge sge;

	is_clock_fake = false;
	rnicpair_open(&p, &defaults);
	settle(&p);
	rnicpair_post_read(&p, 1, 1, 1);
	wait_until(rnicpair_peek(&p.side[1], p.side[1].scq, &cqe));
	assert_int_equal(atomic_load(&yield_of(&p, 1)->due), RNIC_ANSWER_NONE);
	rnicpair_post_echo(&p, 0, 1);
	wait_until(rnicpair_peek(&p.side[1], p.side[1].rcq, &cqe));
	assert_int_equal(atomic_load(&yield_of(&p, 1)->due), RNIC_ANSWER_NONE);
	/* A Write is told by what follows it. */
	assert_int_equal(rnicpair_post_recv(&p.side[1], 0, NULL, 0), 0);
	sge = rnicpair_sge(&p.side[0], 0, 1);
	rnicpair_post_wr(&p.side[0], .opcode = USIW_WR_WRITE_IMM, .sge = &sge,
			 .sge_cnt = 1, .rkey = p.side[1].stag,
			 .remote_addr = rnicpair_addr(&p.side[1], 0));
	wait_until(rnicpair_peek(&p.side[1], p.side[1].rcq, &cqe));
	assert_int_equal(atomic_load(&yield_of(&p, 1)->due), RNIC_ANSWER_NONE);
	rnicpair_close(&p);
}

/* A poll that finds a completion at once does not count, see poll.c. */
YIELD_CASE(polls_of_the_engine_count)
{
	struct rnicpair p;
	struct rnic_yield *yield;

	is_clock_fake = false;
	rnicpair_open_idle(&p, &defaults);
	yield = yield_of(&p, 1);
	wait_until((rnic_cq_progress(p.side[1].scq),
		    atomic_load(&yield->poll_cnt) == RNIC_YIELD_POLLS_MAX));
	rnicpair_close(&p);
}

YIELD_CASE(a_thread_that_polls_in_vain_yields)
{
	struct rnicpair p;

	is_clock_fake = false;
	rnicpair_open_idle(&p, &defaults);
	is_clock_fake = true;
	for (uint32_t i = 0; i < RNIC_VAIN_POLLS; i++)
		rnic_cq_progress(p.side[1].scq);
	assert_int_equal(yield_cnt, 0);
	rnic_cq_progress(p.side[1].scq);
	assert_int_equal(yield_cnt, 1);
	is_clock_fake = false;
	rnicpair_close(&p);
}

YIELD_CASE(octets_end_what_is_in_vain)
{
	struct rnic_engine engine = { .vain.poll_cnt = 5 };

	rnic_engine_note_arrival(&engine);
	assert_int_equal(engine.vain.poll_cnt, 0);
}

/* A program that polls needs no completion thread for what it receives. */
YIELD_CASE(a_poller_is_told_from_a_spinner)
{
	struct rnic_engine engine = { .is_watching = true };

	rnic_engine_note_write(&engine);
	assert_int_equal(rnic_yield_take(&engine.yield), RNIC_ANSWER_POLLER);
	atomic_store(&engine.is_watching, false);
	rnic_engine_note_write(&engine);
	assert_int_equal(rnic_yield_take(&engine.yield), RNIC_ANSWER_SPINNER);
	atomic_store(&engine.is_spinning, true);
	rnic_engine_note_write(&engine);
	assert_int_equal(rnic_yield_take(&engine.yield), RNIC_ANSWER_NONE);
}

BEFORE_CASES()
{
	/* A completion thread that looks before it sleeps asks for no yield. */
	setenv("USIW_SPIN_US", "0", 1);
	main_thread = pthread_self();
}
