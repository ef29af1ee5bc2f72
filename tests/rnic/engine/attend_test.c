/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* attend.c: threads that wait for events and may outlast the engine
 * whose work they do. engine_test.c has what they do. */
#include "engine/attend.h"

#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "engine/engine.h"
#include "engine/wake.h"
#include "mem/context.h"
#include "os/chan.h"
#include "rnicpair.h"

static struct rnic_engine *engine_of(struct rnicpair *p)
{
	return p->side[1].ctx->engine;
}

/* The completion thread has nothing to do: it sleeps, or soon will. */
static int rest(struct rnic_engine *engine)
{
	int ret;

	for (;;) {
		ret = engine->host.ops->rest(&engine->host);
		if (ret >= 0)
			return ret;
		if (ret == -EALREADY)
			engine->host.ops->serve(&engine->host);
		sched_yield();
	}
}

PAIR_CASE(a_wait_counts_as_a_poller)
{
	struct rnic_engine *engine = engine_of(*state);

	assert_int_equal(rest(engine), engine->epfd);
	assert_true(rnic_polls_are_attended(&engine->sched.polls));
	assert_true(atomic_load(&engine->sched.burst.may_gather));
	atomic_store(&engine->sched.burst.may_gather, false);
	rnic_engine_unpark(engine);
	assert_false(rnic_polls_are_attended(&engine->sched.polls));
	engine->host.ops->serve(&engine->host);
	assert_true(rnic_polls_are_attended(&engine->sched.polls));
	assert_true(atomic_load(&engine->sched.burst.may_gather));
	assert_int_equal(atomic_load(&engine->visitor_cnt), 0);
}

/* Otherwise its wake-up would make the descriptor readable each time. */
PAIR_CASE(the_completion_thread_goes_first)
{
	struct rnic_engine *engine = engine_of(*state);

	(void)rest(engine);
	rnic_engine_lead(engine); /* it cannot take its wake-up to the end */
	atomic_store(&engine->thread.is_woken, true);
	assert_int_equal(engine->host.ops->rest(&engine->host), -EAGAIN);
	assert_false(rnic_polls_are_attended(&engine->sched.polls));
	atomic_store(&engine->thread.is_woken, false);
	rnic_engine_unlead(engine);
}

CASE(a_reference_outlasts_the_engine)
{
	static struct rnicpair p;
	const struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	struct rnic_engine *engine;

	rnicpair_open(&p, &opt);
	engine = engine_of(&p);
	engine->host.ops->get(&engine->host);
	rnicpair_close(&p);
	assert_int_equal(engine->host.ops->rest(&engine->host), -EAGAIN);
	engine->host.ops->serve(&engine->host);
	engine->host.ops->put(&engine->host);
}

/* ---- a reader that is asleep when its context ends ---- */

static struct rnic_chan *chan;

static void *read_event(void *arg)
{
	assert_int_equal(rnic_chan_read(chan, arg, sizeof(uint64_t)),
			 sizeof(uint64_t));
	return NULL;
}

CASE(a_reader_outlasts_the_context)
{
	static struct rnicpair p;
	const struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	struct rnic_chan_node node = { 0 };
	struct rnic_engine *engine;
	uint64_t record = 7, found = 0;
	pthread_t thread;

	rnicpair_open(&p, &opt);
	engine = engine_of(&p);
	assert_int_equal(rnic_chan_new(sizeof(record), &chan), 0);
	(void)rnic_chan_set_host(chan, &engine->host);
	assert_int_equal(pthread_create(&thread, NULL, read_event, &found), 0);
	/* The pair's, the channel's, and the reader's. */
	wait_until(atomic_load(&engine->ref_cnt) == 3);
	rnicpair_close(&p);
	assert_int_equal(found, 0);
	rnic_chan_post(chan, &node, &record, sizeof(record));
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(found, 7);
	assert_int_equal(atomic_load(&engine->ref_cnt), 1);
	rnic_chan_purge(chan, &node);
	rnic_chan_close(chan);
}
