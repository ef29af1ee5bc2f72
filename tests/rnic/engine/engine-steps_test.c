/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* engine.c: sources, times, and passes, one step after the other. */
#define _GNU_SOURCE
#include "engine-steps.h"

#include <malloc.h>
#include <pthread.h>

#include "until.h"

/* ---- sources ---- */

/* Each is found by its events, however many there are. */
STEP_CASE(a_source_is_found_by_its_token)
{
	struct epoll_event ev[FAKE_MAX];

	mallopt(M_PERTURB, 0x5a); /* memory is not zero */
	for (int i = 0; i < FAKE_MAX; i++) {
		fake_open(&fakes[i]);
		assert_int_equal(engine->source_cnt, i + 1);
		assert_int_equal(fakes[i].source.slot, i);
		assert_int_equal(fakes[i].source.events, EPOLLIN);
		assert_int_equal(engine->slot_cnt, i < 16   ? 16
						   : i < 32 ? 32
							    : 64);
	}
	mallopt(M_PERTURB, 0);
	for (int i = 0; i < FAKE_MAX; i++) {
		must(!eventfd_write(fakes[i].source.fd, 1));
		must(epoll_wait(engine->epfd, ev, FAKE_MAX, 0) == 1);
		(void)led((rnic_engine_serve_events(engine, ev, 1), 0));
		for (int j = 0; j < FAKE_MAX; j++)
			assert_int_equal(fakes[j].pass_cnt, j <= i);
		assert_int_equal(fakes[i].pass_events, EPOLLIN);
		must(!eventfd_read(fakes[i].source.fd, &(eventfd_t){ 0 }));
	}
	/* Slots that are free, and beyond. */
	for (uint32_t i = FAKE_MAX; i < 64; i++) {
		assert_int_equal(engine->slots[i].gen, 0);
		assert_null(engine->slots[i].source);
	}
	engine->slot_cnt = FAKE_MAX - 1;
	ev[0].data.u64 = FAKE_MAX - 1;
	(void)led((rnic_engine_serve_events(engine, ev, 1), 0));
	assert_int_equal(fakes[FAKE_MAX - 1].pass_cnt, 1);
	engine->slot_cnt = 64;
	for (int i = 0; i < FAKE_MAX; i++)
		fake_close(&fakes[i]);
	assert_int_equal(engine->source_cnt, 0);
}

STEP_CASE(a_source_that_cannot_be_added_changes_nothing)
{
	struct fake *fake = &fakes[1];

	is_full = true;
	assert_int_equal(led(rnic_engine_add(engine, &fakes[0].source)),
			 -ENOMEM);
	is_full = false;
	fake_open(&fakes[0]);
	is_full = true;
	assert_int_equal(led(rnic_engine_add(engine, &fake->source)), -ENOSPC);
	is_full = false;
	assert_int_equal(engine->source_cnt, 1);
	assert_int_equal(engine->slot_free, 1);
	fake_open(fake);
	assert_int_equal(fake->source.slot, 1);
	fake_close(fake);
	fake_close(&fakes[0]);
}

/* Its descriptor stays open, and its time is not over. */
STEP_CASE(a_source_that_is_removed_is_forgotten)
{
	struct fake *fake = &fakes[0];
	struct epoll_event ev;

	fake_open(&fakes[1]);
	fake_open(fake);
	rnic_engine_lead(engine);
	rnic_engine_deadline(engine, &fake->source.due, BEGIN_NS);
	rnic_engine_wake_clear(
		engine, &(struct epoll_event){ .data.u64 = ENGINE_WAKE_TOKEN },
		1);
	rnic_engine_remove(engine, &fake->source);
	rnic_engine_unlead(engine);
	assert_null(engine->due);
	assert_int_equal(engine->source_cnt, 1);
	assert_ptr_equal(LIST_FIRST(&engine->sources), &fakes[1].source);
	must(!eventfd_write(fake->source.fd, 1));
	assert_int_equal(epoll_wait(engine->epfd, &ev, 1, 0), 0);
	close(fake->source.fd);
	fake_close(&fakes[1]);
}

STEP_CASE(events_are_registered_as_they_change)
{
	struct rnic_source *source = &fakes[1].source;
	struct epoll_event ev;

	fake_open(&fakes[0]);
	fake_open(&fakes[1]);
	assert_int_equal(epoll_wait(engine->epfd, &ev, 1, 0), 0);
	rnic_engine_set_events(engine, source, EPOLLOUT);
	assert_int_equal(source->events, EPOLLOUT);
	assert_int_equal(epoll_wait(engine->epfd, &ev, 1, 0), 1);
	assert_int_equal(ev.events, EPOLLOUT);
	assert_int_equal(ev.data.u64, source->slot);
	is_full = true;
	rnic_engine_set_events(engine, source, EPOLLIN);
	assert_int_equal(source->events, EPOLLOUT);
	is_full = false;
	rnic_engine_set_events(engine, source, EPOLLIN);
	assert_int_equal(epoll_wait(engine->epfd, &ev, 1, 0), 0);
	/* No call is made for what is there. */
	source->fd = -1;
	rnic_engine_set_events(engine, source, EPOLLIN);
	is_full = false;
	(void)led((rnic_engine_remove(engine, source), 0));
	fake_close(&fakes[0]);
}

STEP_CASE(all_sources_learn_that_memory_is_gone)
{
	for (int i = 0; i < 3; i++)
		fake_open(&fakes[i]);
	(void)led((rnic_engine_mr_gone(engine, 7, &seen, 9), 0));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(fakes[i].gone_cnt, 1);
		fake_close(&fakes[i]);
	}
}

/* ---- times ---- */

static void due_serve(struct rnic_due *due, uint64_t now_ns)
{
	struct fake *fake = RNIC_CONTAINER_OF(due, struct fake, source.due);

	must(now_ns == fake_now_ns);
	fake->due_cnt++;
}

static const struct {
	const char *name;
	uint64_t other_ns, old_ns; /* 0: none */
	uint64_t ns, set_ns;
	bool wakes;
} times[] = {
	{ "the only one", 0, 0, 10, 10, true },
	{ "the first one", 20, 0, 10, 10, true },
	{ "at once with another one", 10, 0, 10, 10, false },
	{ "not the first one", 10, 0, 20, 20, false },
	{ "no sooner", 0, 10, 10, 10, false },
	{ "later", 0, 10, 20, 10, false },
	{ "sooner", 0, 20, 10, 10, true },
};

/* The thread that waits for the first one is woken if that changes. */
STEP_CASE(a_time_is_kept_or_brought_forward)
{
	struct epoll_event woken = { .data.u64 = ENGINE_WAKE_TOKEN };

	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		struct rnic_due due = { .serve = due_serve };
		struct rnic_due other = { .serve = due_serve };

		rnic_engine_lead(engine);
		if (times[i].other_ns)
			rnic_engine_deadline(engine, &other, times[i].other_ns);
		if (times[i].old_ns)
			rnic_engine_deadline(engine, &due, times[i].old_ns);
		rnic_engine_wake_clear(engine, &woken, 1);
		rnic_engine_deadline(engine, &due, times[i].ns);
		rnic_engine_unlead(engine);
		assert_row(times[i].name, due.ns == times[i].set_ns);
		assert_row(times[i].name,
			   rnic_engine_is_woken(engine) == times[i].wakes);
		rnic_due_clear(&engine->due, &due);
		rnic_due_clear(&engine->due, &other);
	}
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

/* A wake-up of the completion thread is nothing for a poll. */
STEP_CASE(only_sources_make_polls_ask_again)
{
	fake_now_ns = BEGIN_NS;
	fake_open_memory(&fakes[0]);
	rnic_engine_thread_wake(engine);
	rnic_engine_poll(engine);
	assert_int_equal(engine->poll_gap, 2);
	assert_int_equal(engine->poll_cnt, 0);
	assert_int_equal(engine->asked_ns, BEGIN_NS);
	must(!eventfd_write(fakes[0].source.fd, 1));
	rnic_engine_poll(engine);
	assert_int_equal(engine->poll_cnt, 1);
	rnic_engine_poll(engine);
	assert_int_equal(engine->poll_gap, 1);
	assert_int_equal(fakes[0].pass_cnt, 1);
	/* ... unless the last question is long ago. */
	engine->poll_gap = 100;
	fake_now_ns += ENGINE_UNASKED_NS - 1;
	rnic_engine_poll(engine);
	assert_int_equal(fakes[0].pass_cnt, 1);
	fake_now_ns += 1;
	rnic_engine_poll(engine);
	assert_int_equal(fakes[0].pass_cnt, 2);
	fake_close(&fakes[0]);
}

/* However many there are: they need no question for sockets. */
STEP_CASE(sources_with_memory_are_asked_for_seldom)
{
	for (int i = 0; i < 2 * ENGINE_FEW_SOCKETS; i++)
		fake_open_memory(&fakes[i]);
	fake_now_ns = BEGIN_NS;
	engine->asked_ns = BEGIN_NS;
	engine->poll_gap = 100;
	for (uint32_t i = 1; i < 10; i++) {
		rnic_engine_poll(engine);
		assert_int_equal(engine->poll_cnt, i);
	}
	for (int i = 0; i < 2 * ENGINE_FEW_SOCKETS; i++)
		fake_close(&fakes[i]);
}

/* It would wait for its memory; its socket says next to nothing. */
STEP_CASE(a_source_with_memory_is_never_busy)
{
	for (int i = 0; i <= ENGINE_FEW_SOCKETS; i++)
		fake_open(&fakes[i]);
	fake_open_memory(&fakes[20]);
	must(!eventfd_write(fakes[20].source.fd, 1));
	must(!eventfd_write(fakes[1].source.fd, 1));
	rnic_engine_catch_up(engine);
	assert_int_equal(engine->busy_cnt, 1);
	assert_ptr_equal(engine->busy[0], &fakes[1].source);
	assert_int_equal(engine->turn_gap, 1);
	fake_close(&fakes[20]);
	/* Few are read by each poll anyway. */
	fake_close(&fakes[0]);
	rnic_engine_lead(engine);
	rnic_engine_forget_busy(engine, &fakes[1].source);
	rnic_engine_unlead(engine);
	rnic_engine_catch_up(engine);
	assert_int_equal(fakes[1].pass_cnt, 2);
	assert_int_equal(engine->busy_cnt, 0);
	assert_int_equal(engine->turn_gap, 2);
	for (int i = 1; i <= ENGINE_FEW_SOCKETS; i++)
		fake_close(&fakes[i]);
}

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
