/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* visit.c: references to an engine's memory, and visits that its end waits
 * for. */
#include "engine/visit.h"

#include "test.h"

#include <pthread.h>
#include <stdlib.h>

#include "until.h"

static struct rnic_engine *engine;

static int setup(void **state)
{
	engine = calloc(1, sizeof(*engine));
	if (!engine)
		return -1;
	atomic_init(&engine->ref_cnt, 1);
	return 0;
}

/* ASan reports it if the memory is not freed, or is used afterwards. */
static int teardown(void **state)
{
	rnic_engine_put(engine);
	return 0;
}

#define FILE_CASE(name) CASE_WITH(name, setup, teardown)

FILE_CASE(the_last_reference_frees)
{
	rnic_engine_get(engine);
	rnic_engine_get(engine);
	rnic_engine_put(engine);
	rnic_engine_put(engine);
	assert_int_equal(atomic_load(&engine->ref_cnt), 1);
}

FILE_CASE(an_end_refuses_visits)
{
	assert_true(rnic_engine_visit_begin(engine));
	rnic_engine_visit_end(engine);
	atomic_store(&engine->is_stopping, true);
	assert_false(rnic_engine_visit_begin(engine));
	assert_true(rnic_engine_visit_wait(engine, 0));
}

FILE_CASE(an_end_waits_for_its_limit)
{
	assert_true(rnic_engine_visit_begin(engine));
	assert_true(rnic_engine_visit_begin(engine));
	assert_false(rnic_engine_visit_wait(engine, 0));
	rnic_engine_visit_end(engine);
	assert_false(rnic_engine_visit_wait(engine, util_now_ns() + 1000000));
	rnic_engine_visit_end(engine);
	assert_true(rnic_engine_visit_wait(engine, 0));
}

static _Atomic bool is_visiting, has_waited;

static void *visit(void *arg)
{
	(void)arg;
	assert_true(rnic_engine_visit_begin(engine));
	is_visiting = true;
	wait_until(atomic_load(&engine->is_stopping));
	assert_false(has_waited);
	rnic_engine_visit_end(engine);
	return NULL;
}

FILE_CASE(an_end_waits_for_a_visit)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, visit, NULL), 0);
	wait_until(is_visiting);
	atomic_store(&engine->is_stopping, true);
	assert_true(rnic_engine_visit_wait(engine, UINT64_MAX));
	has_waited = true;
	assert_int_equal(pthread_join(thread, NULL), 0);
}
