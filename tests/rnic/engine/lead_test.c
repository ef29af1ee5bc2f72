/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* lead.c: the lead, the doorbell and the sources, one step after the other. */
#define _GNU_SOURCE
#include "engine-steps.h"

#include "sources.h"

#include <malloc.h>

#define ASK_NS 50000u /* polls do not ask epoll for so long */

/* ---- sources ---- */

/* Each is found by its events, however many there are. */
STEP_CASE(a_source_is_found_by_its_token)
{
	struct epoll_event ev[FAKE_MAX];

	mallopt(M_PERTURB, 0x5a); /* memory is not zero */
	for (int i = 0; i < FAKE_MAX; i++) {
		fake_open(&fakes[i]);
		assert_int_equal(sources_cnt(engine), i + 1);
		assert_int_equal(fakes[i].source.slot, i);
		assert_int_equal(fakes[i].source.events, EPOLLIN);
		assert_int_equal(engine->slots.cnt, i < 16   ? 16
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
		assert_int_equal(engine->slots.at[i].gen, 0);
		assert_null(engine->slots.at[i].source);
	}
	engine->slots.cnt = FAKE_MAX - 1;
	ev[0].data.u64 = FAKE_MAX - 1;
	(void)led((rnic_engine_serve_events(engine, ev, 1), 0));
	assert_int_equal(fakes[FAKE_MAX - 1].pass_cnt, 1);
	engine->slots.cnt = 64;
	for (int i = 0; i < FAKE_MAX; i++)
		fake_close(&fakes[i]);
	assert_int_equal(sources_cnt(engine), 0);
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
	assert_int_equal(sources_cnt(engine), 1);
	assert_int_equal(engine->slots.free, 1);
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
	assert_int_equal(sources_cnt(engine), 1);
	assert_ptr_equal(LIST_FIRST(&engine->slots.list), &fakes[1].source);
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
		struct rnic_due due = { 0 };
		struct rnic_due other = { 0 };

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
