/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Sources that have a socket only: which of them a poll reads. */
#include "sockets.h"

#include <string.h>
#include <sys/epoll.h>

/* Has the peer sent nothing for long, and is there nothing to be sent? */
static bool source_is_quiet(const struct rnic_source *source)
{
	return source->quiet_cnt >= ENGINE_QUIET_POLLS &&
	       !(source->events & EPOLLOUT);
}

/* The source may be freed. */
static void source_pass(struct rnic_source *source)
{
	if (source->quiet_cnt < ENGINE_QUIET_POLLS)
		source->quiet_cnt++;
	source->ops->pass(source, EPOLLIN | EPOLLOUT);
}

/* ---- few ---- */

static bool has_busy(const struct rnic_engine *engine)
{
	const struct rnic_source *source;

	LIST_FOREACH(source, &engine->sources, link)
	{
		if (!source->has_wake && !source_is_quiet(source))
			return true;
	}
	return false;
}

static void pass_all(struct rnic_engine *engine)
{
	bool skips = has_busy(engine) &&
		     ++engine->turn_cnt % ENGINE_QUIET_TURNS;
	struct rnic_source *source, *next;

	for (source = LIST_FIRST(&engine->sources); source; source = next) {
		next = LIST_NEXT(source, link);
		if (source->has_wake || (skips && source_is_quiet(source)))
			continue;
		source_pass(source);
	}
}

/* ---- many ---- */

/* Return: its place; busy_cnt: it has none. */
static uint32_t busy_find(const struct rnic_engine *engine,
			  const struct rnic_source *source)
{
	uint32_t i = 0;

	while (i < engine->busy_cnt && engine->busy[i] != source)
		i++;
	return i;
}

void rnic_engine_forget_busy(struct rnic_engine *engine,
			     const struct rnic_source *source)
{
	uint32_t i = busy_find(engine, source);

	if (i == engine->busy_cnt)
		return;
	engine->busy_cnt--;
	memmove(engine->busy + i, engine->busy + i + 1,
		(engine->busy_cnt - i) * sizeof(engine->busy[0]));
}

bool rnic_engine_note_busy(struct rnic_engine *engine,
			   struct rnic_source *source)
{
	uint32_t cnt = engine->busy_cnt;

	if (busy_find(engine, source) < cnt)
		return false;
	if (cnt == RNIC_ENGINE_BUSY_MAX)
		cnt--;
	/* The latest is first. */
	memmove(engine->busy + 1, engine->busy, cnt * sizeof(engine->busy[0]));
	engine->busy[0] = source;
	engine->busy_cnt = cnt + 1;
	source->quiet_cnt = 0;
	return true;
}

static void pass_busy(struct rnic_engine *engine)
{
	struct rnic_source *busy[RNIC_ENGINE_BUSY_MAX];
	uint32_t cnt = engine->busy_cnt;

	memcpy(busy, engine->busy, sizeof(busy));
	for (uint32_t i = 0; i < cnt; i++) {
		/* One of the others may have ended it. */
		if (busy_find(engine, busy[i]) == engine->busy_cnt)
			continue;
		if (source_is_quiet(busy[i]))
			rnic_engine_forget_busy(engine, busy[i]);
		else
			source_pass(busy[i]);
	}
}

void rnic_engine_note_asked(struct rnic_engine *engine, uint64_t now_ns,
			    bool has_named_others)
{
	engine->asked_ns = now_ns;
	engine->turn_cnt = 0;
	if (has_named_others)
		engine->turn_gap = 1;
	else if (engine->turn_gap < ENGINE_BUSY_TURNS)
		engine->turn_gap *= 2;
}

bool rnic_engine_pass_sockets(struct rnic_engine *engine)
{
	if (engine->source_cnt <= ENGINE_FEW_SOCKETS) {
		pass_all(engine);
		return false;
	}
	/* Epoll names those as well that would be read. */
	if (!engine->busy_cnt || rnic_engine_take_slept(engine) ||
	    rnic_engine_is_question_due(engine) ||
	    ++engine->turn_cnt >= engine->turn_gap)
		return true;
	pass_busy(engine);
	return false;
}
