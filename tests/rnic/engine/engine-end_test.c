/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* engine.c: who waits for the lead, and the end of an engine. */
#define _GNU_SOURCE
#include "engine-steps.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "descriptors.h"
#include "siw-mpa.h"

/* ---- the lead is not given back ---- */

STEP_CASE(a_lead_is_waited_for_until_its_time)
{
	fake_open(&fakes[0]);
	must(util_trylock(&engine->lead));
	fake_now_ns = BEGIN_NS;
	assert_false(rnic_engine_close(engine, BEGIN_NS));
	assert_false(rnic_engine_drain(engine, BEGIN_NS));
	assert_int_equal(fakes[0].drain_cnt, 0);
	ask_cnt = 0;
	step_ns = NS_PER_MS;
	rnic_engine_catch_up(engine); /* 10 ms from its first question on */
	assert_int_equal(ask_cnt, 11);
	fake_now_ns = 0;
	util_unlock(&engine->lead);
	assert_true(rnic_engine_close(engine, 0));
	assert_int_equal(fakes[0].drain_cnt, 1);
	fake_close(&fakes[0]);
}

static void *close_cancelled(void *arg)
{
	pthread_cancel(pthread_self());
	/* No other point of cancellation follows. */
	return rnic_engine_close(engine, util_now_ns() + NS_PER_MS) ? NULL
								    : arg;
}

/* The lead would stay taken. */
STEP_CASE(who_waits_for_it_is_not_cancelled)
{
	pthread_t thread;
	void *ret;

	must(util_trylock(&engine->lead));
	must(!pthread_create(&thread, NULL, close_cancelled, &seen));
	must(!pthread_join(thread, &ret));
	assert_ptr_equal(ret, &seen);
	util_unlock(&engine->lead);
}

/* ---- the end ---- */

STEP_CASE(a_drain_lasts_until_all_have_ended)
{
	for (int i = 0; i < 3; i++) {
		fake_open(&fakes[i]);
		must(!eventfd_write(fakes[i].source.fd, 1));
	}
	rnic_engine_thread_wake(engine);
	seen.ends_with_pass = true;
	assert_true(rnic_engine_drain(engine, UINT64_MAX));
	assert_false(rnic_engine_is_woken(engine));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(fakes[i].drain_cnt, 1);
		assert_int_equal(fakes[i].pass_cnt, 1);
		assert_int_equal(fakes[i].abort_cnt, 0);
		close(fakes[i].source.fd);
	}
}

STEP_CASE(a_drain_ends_by_its_time_or_an_error)
{
	for (int i = 0; i < 2; i++) {
		fake_open(&fakes[0]);
		wait_err = i ? EBADF : 0;
		fake_now_ns = BEGIN_NS;
		assert_true(
			rnic_engine_drain(engine, i ? UINT64_MAX : BEGIN_NS));
		fake_now_ns = 0;
		wait_err = 0;
		assert_int_equal(fakes[0].abort_cnt, 1);
		close(fakes[0].source.fd);
	}
}

/* What needs the leads of all engines is done in between. */
STEP_CASE(a_drain_gives_up_the_lead_for_others)
{
	rnic_bell_head all_bells = NULL;
	struct rnic_bell bell = { .serve = serve_count };

	fake_open(&fakes[0]);
	must(!eventfd_write(fakes[0].source.fd, 1));
	engine->all_bells = &all_bells;
	rnic_bell_push(&all_bells, &bell);
	fake_now_ns = BEGIN_NS;
	step_ns = NS_PER_MS;
	assert_true(rnic_engine_drain(engine, BEGIN_NS + 3 * NS_PER_MS));
	assert_int_equal(seen.all_due_cnt, 1);
	assert_false(seen.was_led);
	assert_int_equal(fakes[0].abort_cnt, 1);
	engine->all_bells = NULL;
	close(fakes[0].source.fd);
}

/* The completion thread, if there is one, has to learn of it. */
STEP_CASE(a_stop_wakes_the_thread)
{
	atomic_store(&engine->thread.park_word, 1);
	assert_true(rnic_engine_stop(engine, UINT64_MAX));
	assert_true(atomic_load(&engine->is_stopping));
	assert_true(rnic_engine_is_woken(engine));
	assert_int_equal(atomic_load(&engine->thread.park_word), 0);
	atomic_store(&engine->visitor_cnt, 1);
	assert_false(rnic_engine_stop(engine, 0));
	atomic_store(&engine->visitor_cnt, 0);
}

STEP_CASE(an_engine_is_as_new)
{
	assert_int_equal(engine->turn.last_no, 1);
	assert_int_equal(engine->sched.post_cpu, -1);
	assert_int_equal(engine->ref_cnt, 1);
	assert_int_equal(engine->rx_pool.size, 256 * 1024);
	assert_int_equal(engine->tx_pool.size, SMPA_TX_STAGING_FULL);
}

/* By the limit of the settings, and whatever is in the way. */
CASE(the_end_leaves_nothing)
{
	struct mallinfo2 before = { 0 };
	uint32_t num = 0;
	void *rx, *tx;

	for (int i = 0; i < 3; i++) {
		int fd_cnt = test_fd_cnt();

		if (i == 1) /* the first time, others may allocate for good */
			before = mallinfo2();
		(void)setup(NULL);
		assert_true(!i || engine->stat.num == num);
		num = engine->stat.num;
		fake_open(&fakes[0]);
		rx = rnic_staging_get(&engine->rx_pool);
		tx = rnic_staging_get(&engine->tx_pool);
		rnic_staging_put(&engine->rx_pool, rx);
		rnic_staging_put(&engine->tx_pool, tx);
		fake_now_ns = BEGIN_NS;
		step_ns = 100 * NS_PER_MS;
		rnic_engine_free(engine);
		fake_now_ns = 0;
		step_ns = 0;
		close(fakes[0].source.fd);
		/* No mapping is there any more. */
		assert_int_equal(msync(rx, 4096, MS_ASYNC), -1);
		assert_int_equal(msync(tx, 4096, MS_ASYNC), -1);
		assert_int_equal(fakes[0].abort_cnt, 1);
		assert_int_equal(fakes[0].abort_ns,
				 BEGIN_NS + (2000 + 100) * NS_PER_MS);
		assert_int_equal(test_fd_cnt(), fd_cnt);
	}
	assert_true(mallinfo2().uordblks == before.uordblks);
	is_full = true;
	for (int i = 0; i < 2; i++) {
		int fd_cnt = test_fd_cnt();

		before = mallinfo2();
		assert_int_equal(rnic_engine_new(&fake_ops, NULL, &engine),
				 -ENOSPC);
		assert_int_equal(test_fd_cnt(), fd_cnt);
		assert_true(mallinfo2().uordblks == before.uordblks);
	}
	is_full = false;
	rnic_engine_free(NULL);
}

BEFORE_CASES()
{
	unsetenv("USIW_DRAIN_MS");
	unsetenv("USIW_STAGING_KIB");
}
