/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The engines of a context: made, led together, ended together. */
#define _GNU_SOURCE
#include "engines.h"

#include <sched.h>

#include "util/env.h"
#include "attend.h"
#include "bell.h"
#include "engine.h"

/* Of the number by CPUs. */
#define ENGINES_AUTO_MAX 8u
/* A thread that polls, and another one that it waits for: the completion
 * thread, or the peer's. */
#define ENGINES_AUTO_CPUS 2u

/* ---- made ---------------------------------------------------------------- */

/* The CPUs that the process may use. */
static uint32_t allowed_cpu_cnt(void)
{
	cpu_set_t cpus;
	int cnt;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
		return 1;
	cnt = CPU_COUNT(&cpus);
	return cnt > 0 ? (uint32_t)cnt : 1;
}

uint32_t rnic_engines_by_cpus(uint32_t cpu_cnt)
{
	uint32_t cnt = cpu_cnt / ENGINES_AUTO_CPUS;

	if (cnt > ENGINES_AUTO_MAX)
		return ENGINES_AUTO_MAX;
	return cnt ? cnt : 1;
}

static uint32_t engines_max(void)
{
	uint32_t max = util_settings()->engines;

	return max ? max : rnic_engines_by_cpus(allowed_cpu_cnt());
}

static int engines_add(struct rnic_engines *engines, uint32_t idx)
{
	struct rnic_engine *engine;
	int rc = rnic_engine_new(engines->ops, engines->ctx, &engine);

	if (rc < 0)
		return rc;
	engine->host.ops = &rnic_engine_host_ops;
	engine->engines = engines;
	engine->all_bells = &engines->bells;
	/* Others find it once the count says so. */
	atomic_store_explicit(&engines->engine[idx], engine,
			      memory_order_relaxed);
	return 0;
}

/* All queue pairs have rung already. */
static void serve_flush(struct rnic_bell *bell)
{
	(void)bell;
}

int rnic_engines_init(struct rnic_engines *engines,
		      const struct rnic_engine_ops *ops,
		      struct rnic_context *ctx)
{
	int rc;

	*engines = (struct rnic_engines){
		.ops = ops,
		.ctx = ctx,
		.max = engines_max(),
		.flush = { .serve = serve_flush },
	};
	rc = engines_add(engines, 0);
	if (rc == 0)
		atomic_store_explicit(&engines->cnt, 1, memory_order_release);
	return rc;
}

/* One more, whose lead the caller has, too. Return: NULL: there cannot be. */
static struct rnic_engine *engines_grow(struct rnic_engines *engines)
{
	uint32_t cnt = rnic_engines_cnt(engines);
	struct rnic_engine *engine;

	if (cnt >= engines->max || engines_add(engines, cnt) < 0)
		return NULL;
	engine = rnic_engines_at(engines, cnt);
	rnic_engine_lead_beside(engine);
	/* release: pairs with rnic_engines_cnt() */
	atomic_store_explicit(&engines->cnt, cnt + 1, memory_order_release);
	return engine;
}

static uint32_t engine_qp_cnt(const struct rnic_engine *engine)
{
	return atomic_load_explicit(&engine->qp_cnt, memory_order_relaxed);
}

struct rnic_engine *rnic_engines_pick(struct rnic_engines *engines)
{
	struct rnic_engine *least = rnic_engines_at(engines, 0), *more;

	for (uint32_t i = 1; i < rnic_engines_cnt(engines); i++)
		if (engine_qp_cnt(rnic_engines_at(engines, i)) <
		    engine_qp_cnt(least))
			least = rnic_engines_at(engines, i);
	if (!engine_qp_cnt(least))
		return least;
	more = engines_grow(engines);
	return more ? more : least;
}

/* ---- led together -------------------------------------------------------- */

/* Until there is no bell: serving some may ring others. */
static void engines_serve(struct rnic_engines *engines)
{
	do {
		rnic_bells_serve(&engines->bells);
		for (uint32_t i = 0; i < rnic_engines_cnt(engines); i++)
			rnic_engine_serve_bells(rnic_engines_at(engines, i));
	} while (atomic_load_explicit(&engines->bells, memory_order_relaxed));
}

void rnic_engines_lead(struct rnic_engines *engines)
{
	rnic_engine_lead(rnic_engines_at(engines, 0));
	/* None is added now. */
	for (uint32_t i = 1; i < rnic_engines_cnt(engines); i++)
		rnic_engine_lead_beside(rnic_engines_at(engines, i));
	engines->is_whole = true;
	engines_serve(engines);
}

void rnic_engines_unlead(struct rnic_engines *engines)
{
	uint32_t cnt = rnic_engines_cnt(engines);

	engines->is_whole = false;
	while (cnt-- > 1)
		rnic_engine_unlead_beside(rnic_engines_at(engines, cnt));
	/* This one looks at the bells for all. */
	rnic_engine_unlead(rnic_engines_at(engines, 0));
}

void rnic_engines_bell(struct rnic_engines *engines, struct rnic_bell *bell)
{
	rnic_bell_push(&engines->bells, bell);
}

void rnic_engines_flush(struct rnic_engines *engines)
{
	if (rnic_engines_is_partial(engines))
		rnic_engines_bell(engines, &engines->flush);
}

void rnic_engines_mr_gone(struct rnic_engines *engines, uint32_t stag,
			  const void *addr, size_t len)
{
	for (uint32_t i = 0; i < rnic_engines_cnt(engines); i++)
		rnic_engine_mr_gone(rnic_engines_at(engines, i), stag, addr,
				    len);
}

void rnic_engines_catch_up(struct rnic_engines *engines)
{
	for (uint32_t i = 0; i < rnic_engines_cnt(engines); i++)
		if (engine_qp_cnt(rnic_engines_at(engines, i)))
			rnic_engine_catch_up(rnic_engines_at(engines, i));
}

void rnic_engines_each(struct rnic_engines *engines,
		       void (*act)(struct rnic_source *source, void *arg),
		       void *arg)
{
	for (uint32_t i = 0; i < rnic_engines_cnt(engines); i++)
		rnic_engine_each(rnic_engines_at(engines, i), act, arg);
}

/* ---- ended together ------------------------------------------------------ */

/* First all send FIN, since one may be the other's peer; the limit is that of
 * all. */
static bool engines_end(struct rnic_engines *engines,
			bool (*end)(struct rnic_engine *, uint64_t))
{
	uint64_t end_ns = util_now_ns() + util_settings()->drain_ms * NS_PER_MS;
	uint32_t cnt = rnic_engines_cnt(engines);
	bool is_done = true;

	for (uint32_t i = 0; i < cnt && cnt > 1; i++)
		is_done &=
			rnic_engine_close(rnic_engines_at(engines, i), end_ns);
	for (uint32_t i = 0; i < cnt; i++)
		is_done &= end(rnic_engines_at(engines, i), end_ns);
	return is_done;
}

bool rnic_engines_drain(struct rnic_engines *engines)
{
	return engines_end(engines, rnic_engine_drain);
}

bool rnic_engines_stop(struct rnic_engines *engines)
{
	return engines_end(engines, rnic_engine_stop);
}

void rnic_engines_free(struct rnic_engines *engines)
{
	for (uint32_t i = 0; i < rnic_engines_cnt(engines); i++)
		rnic_engine_free(rnic_engines_at(engines, i));
}
