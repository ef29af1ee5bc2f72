/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* pass.c: polls, and what a pass serves, one step after the other. */
#define _GNU_SOURCE
#include "engine-steps.h"

#include <pthread.h>

#include "os/stat.h"
#include "stats.h"
#include "until.h"

/* ---- polls ---- */

static const struct {
	const char *name;
	uint32_t burst; /* posts before */
	bool is_watched, wants_pass;
	bool asks; /* the completion thread to park */
} polls[] = {
	{ "a burst", 8, .asks = true },
	{ "a short burst", 7, .asks = false },
	{ "a burst that is watched", 8, .is_watched = true,
	  .wants_pass = true },
	{ "no burst", 0, .wants_pass = true },
};

STEP_CASE(a_poll_is_noted)
{
	struct rnic_sched *sched = &engine->sched;
	struct epoll_event woken = { .data.u64 = ENGINE_WAKE_TOKEN };

	for (size_t i = 0; i < ARRAY_LEN(polls); i++) {
		const char *name = polls[i].name;
		uint64_t passes = test_stat(RNIC_STAT_passes_poll);

		atomic_store(&sched->polls.last_ns, 1);
		atomic_store(&sched->polls.has_left, true);
		atomic_store(&sched->burst.cnt, polls[i].burst);
		atomic_store(&sched->burst.is_watched, polls[i].is_watched);
		atomic_store(&sched->burst.wants_pass, polls[i].wants_pass);
		fake_now_ns = BEGIN_NS + i;
		rnic_engine_poll(engine);
		assert_row(name, sched->polls.last_ns == fake_now_ns);
		assert_row(name, !sched->polls.has_left);
		assert_row(name, !sched->burst.cnt);
		assert_row(name, !rnic_engine_wants_pass(engine));
		assert_row(name, rnic_engine_is_woken(engine) == polls[i].asks);
		assert_row(name, rnic_burst_take_park(&sched->burst) ==
					 polls[i].asks);
		assert_row(name,
			   test_stat(RNIC_STAT_passes_poll) == passes + 1);
		rnic_engine_wake_clear(engine, &woken, 1);
	}
}

/* The completion thread leads for longer than a poller is taken to be at it. */
STEP_CASE(a_poll_that_finds_a_leader_is_noted)
{
	fake_now_ns = BEGIN_NS;
	must(util_trylock(&engine->lead));
	rnic_engine_poll(engine);
	assert_true(rnic_polls_are_live(&engine->sched.polls, BEGIN_NS));
	util_unlock(&engine->lead);
}

static void poll_bell(void)
{
	struct rnic_bell bell = { .serve = serve_count };

	rnic_engine_bell(engine, &bell);
	rnic_engine_poll(engine);
}

/* Each has a number, and may leave octets to the next one. */
STEP_CASE(a_poll_has_a_turn)
{
	uint32_t last_turn;

	poll_bell();
	assert_int_equal(seen.served_cnt, 1);
	assert_true(seen.may_leave);
	assert_false(engine->turn.may_leave);
	assert_int_not_equal(seen.poll_turn, 0);
	last_turn = seen.poll_turn;
	poll_bell();
	assert_int_not_equal(seen.poll_turn, last_turn);
	/* After very many, too. */
	engine->turn.last_no = UINT32_MAX;
	poll_bell();
	assert_int_not_equal(seen.poll_turn, 0);
}

/* Whether another thread leads or not: it may need this CPU. */
STEP_CASE(a_thread_that_polls_in_vain_yields)
{
	for (int is_led = 0; is_led < 2; is_led++) {
		fake_now_ns = BEGIN_NS;
		yield_cnt = 0;
		if (is_led)
			must(util_trylock(&engine->lead));
		for (uint32_t i = 0; i < RNIC_POLLS_VAIN; i++)
			rnic_engine_poll(engine);
		assert_int_equal(yield_cnt, 0);
		/* It is away for so long that the next ones do not yield. */
		away_ns = is_led ? 0 : 3 * NS_PER_MS;
		rnic_engine_poll(engine);
		assert_int_equal(yield_cnt, 1);
		assert_int_equal(engine->sched.polls.skip.cnt > 0, !is_led);
		atomic_store(&engine->sched.polls.skip.cnt, 0);
		if (is_led)
			util_unlock(&engine->lead);
	}
}

/* ---- epoll ---- */

/* For so long, polls do not ask epoll for sources with memory. */
#define ASK_NS 50000u

/* A wake-up of the completion thread is nothing for a poll. */
STEP_CASE(only_sources_make_polls_ask_again)
{
	struct fake *fake = &fakes[0];

	fake_now_ns = BEGIN_NS;
	fake_open_memory(fake);
	rnic_engine_thread_wake(engine);
	rnic_engine_poll(engine);
	assert_int_equal(engine->sched.look.asked_ns, BEGIN_NS);
	must(!eventfd_write(fake->source.fd, 1));
	fake_now_ns += ASK_NS - 1;
	rnic_engine_poll(engine);
	assert_int_equal(fake->pass_cnt, 0);
	fake_now_ns += 1;
	for (int i = 1; i < 4; i++) {
		rnic_engine_poll(engine);
		assert_int_equal(fake->pass_cnt, i);
	}
	/* ... until epoll names none. */
	must(!eventfd_read(fake->source.fd, &(eventfd_t){ 0 }));
	rnic_engine_poll(engine);
	must(!eventfd_write(fake->source.fd, 1));
	rnic_engine_poll(engine);
	assert_int_equal(fake->pass_cnt, 3);
	/* A thread that has slept was woken by epoll. */
	rnic_polls_note_slept(&engine->sched.polls);
	rnic_engine_poll(engine);
	assert_int_equal(fake->pass_cnt, 4);
	fake_close(fake);
}

/* It would wait for its memory; its socket says next to nothing. */
STEP_CASE(a_source_with_memory_is_never_busy)
{
	fake_open(&fakes[0]);
	fake_open_memory(&fakes[1]);
	must(!eventfd_write(fakes[0].source.fd, 1));
	must(!eventfd_write(fakes[1].source.fd, 1));
	rnic_engine_catch_up(engine);
	assert_int_equal(fakes[1].pass_cnt, 1);
	assert_int_equal(engine->busy.cnt, 1);
	assert_ptr_equal(engine->busy.at[0], &fakes[0].source);
	fake_close(&fakes[1]);
	fake_close(&fakes[0]);
	assert_int_equal(engine->busy.cnt, 0);
}

/* Where messages go through memory, polls pay for no socket in between. */
STEP_CASE(news_in_memory_spares_the_sockets)
{
	struct fake *tcp = &fakes[0], *memory = &fakes[1];

	fake_now_ns = BEGIN_NS;
	fake_open(tcp);
	fake_open_memory(memory);
	must(!eventfd_write(tcp->source.fd, 1));
	rnic_engine_poll(engine);
	must(!eventfd_read(tcp->source.fd, &(eventfd_t){ 0 }));
	rnic_engine_poll(engine); /* by epoll, which has named one before */
	assert_int_equal(tcp->pass_cnt, 1);
	rnic_engine_poll(engine);
	assert_int_equal(tcp->pass_cnt, 2);
	atomic_store(&memory->word, 1);
	rnic_engine_poll(engine);
	assert_int_equal(memory->look_cnt, 1);
	rnic_engine_poll(engine); /* notes the time of the news */
	fake_now_ns += ASK_NS - 1;
	rnic_engine_poll(engine);
	assert_int_equal(tcp->pass_cnt, 2);
	fake_now_ns += 1;
	rnic_engine_poll(engine); /* by epoll, for the time */
	rnic_engine_poll(engine);
	assert_int_equal(tcp->pass_cnt, 3);
	assert_int_equal(memory->look_cnt, 1);
	fake_close(memory);
	fake_close(tcp);
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
	assert_true(LIST_EMPTY(&engine->slots.list));
	(void)led((rnic_engine_break(engine, -EBADF), 0));
	assert_int_equal(seen.broken_cnt, 1);
	assert_int_equal(led(rnic_engine_add(engine, &fakes[0].source)), -EIO);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(fakes[i].abort_cnt, 1);
		close(fakes[i].source.fd);
	}
}

/* ---- what a pass serves ---- */

STEP_CASE(events_are_followed_by_news_and_bells)
{
	struct rnic_bell bell = { .serve = serve_count };

	fake_open_memory(&fakes[0]);
	rnic_engine_lead(engine);
	atomic_store(&fakes[0].word, 1);
	rnic_engine_bell(engine, &bell);
	rnic_engine_serve_events(engine, NULL, 0);
	assert_int_equal(fakes[0].look_cnt, 1);
	assert_int_equal(seen.served_cnt, 1);
	rnic_engine_unlead(engine);
	fake_close(&fakes[0]);
	/* The next source of the slot is found by its wake-up. */
	fake_open_memory(&fakes[0]);
	must(!eventfd_write(fakes[0].source.wake_fd, 1));
	rnic_engine_catch_up(engine);
	assert_int_equal(fakes[0].look_cnt, 1);
	fake_close(&fakes[0]);
}

static void due_serve(struct rnic_due *due, uint64_t now_ns)
{
	struct fake *fake = RNIC_CONTAINER_OF(due, struct fake, source.due);

	must(now_ns == fake_now_ns);
	fake->due_cnt++;
}

static void by_poll(void)
{
	rnic_engine_poll(engine);
}

static void by_events(void)
{
	/* The lead is kept meanwhile. */
	(void)led((fake_now_ns--, rnic_engine_now_ns(engine), fake_now_ns++,
		   rnic_engine_serve_events(engine, NULL, 0), 0));
}

/* Whoever makes a pass serves what is due. */
STEP_CASE(a_pass_serves_what_is_due)
{
	static void (*const passes[])(void) = { by_poll, by_events };

	fake_open(&fakes[0]);
	fakes[0].source.due.serve = due_serve;
	for (size_t i = 0; i < ARRAY_LEN(passes); i++) {
		fake_now_ns = BEGIN_NS - 1;
		fakes[0].due_cnt = 0;
		(void)led((rnic_engine_deadline(engine, &fakes[0].source.due,
						BEGIN_NS),
			   0));
		passes[i]();
		assert_int_equal(fakes[0].due_cnt, 0);
		fake_now_ns = BEGIN_NS;
		passes[i]();
		assert_int_equal(fakes[0].due_cnt, 1);
	}
	/* Nothing is due: the clock is not looked at. */
	fake_now_ns = BEGIN_NS;
	ask_cnt = 0;
	(void)led((rnic_engine_serve_events(engine, NULL, 0), 0));
	assert_int_equal(ask_cnt, 0);
	fake_close(&fakes[0]);
}

/* ---- a thread that goes to sleep ---- */

/* The thread that rests would not look at it any more. */
STEP_CASE(a_rest_serves_bells)
{
	struct rnic_bell bell = { .serve = serve_count };

	fake_open_memory(&fakes[0]);
	assert_true(rnic_engine_rest(engine));
	rnic_engine_bell(engine, &bell);
	assert_true(rnic_engine_rest(engine));
	assert_int_equal(seen.served_cnt, 1);
	fake_close(&fakes[0]);
	/* Without memory, epoll knows everything: the lead is not needed. */
	must(util_trylock(&engine->lead));
	assert_true(rnic_engine_rest(engine));
	util_unlock(&engine->lead);
}

static _Atomic bool has_rested;

static void *rest(void *arg)
{
	(void)arg;
	assert_true(rnic_engine_rest(engine));
	has_rested = true;
	return NULL;
}

/* Who leads may leave a source awake. */
STEP_CASE(a_rest_waits_for_the_leader)
{
	pthread_t thread;

	fake_open_memory(&fakes[0]);
	has_rested = false;
	rnic_engine_lead(engine);
	must(!pthread_create(&thread, NULL, rest, NULL));
	wait_until(atomic_load(&engine->lead.word) == 2 || has_rested);
	assert_false(has_rested);
	rnic_engine_unlead(engine);
	must(!pthread_join(thread, NULL));
	fake_close(&fakes[0]);
}
