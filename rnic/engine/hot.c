/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Sources whose octets come through memory: looked at, and put to sleep. */
#include "hot.h"

#include <errno.h>
#include <sys/epoll.h>

#include "wake.h"

/* Rounds in which a source that cannot be put to sleep is served again. */
#define HOT_ROUNDS 4

static bool word_differs(const _Atomic uint64_t *word, uint64_t seen)
{
	/* relaxed: a hint; who serves the source acquires */
	return word && atomic_load_explicit(word, memory_order_relaxed) != seen;
}

static bool source_has_news(const struct rnic_source *source)
{
	return word_differs(source->in, source->in_seen) ||
	       word_differs(source->out, source->out_seen);
}

int rnic_engine_add_wake(struct rnic_engine *engine, struct rnic_source *source,
			 int wake_fd)
{
	struct epoll_event ev = { .events = EPOLLIN };
	uint32_t slot = source->slot;

	util_lock_assert_held(&engine->lead);
	ev.data.u64 = (uint64_t)engine->slots[slot].gen << 32 |
		      (slot | ENGINE_SLOT_WAKE);
	if (epoll_ctl(engine->epfd, EPOLL_CTL_ADD, wake_fd, &ev) < 0)
		return -errno;
	source->wake_fd = wake_fd;
	source->has_wake = true;
	source->is_asleep = true;
	/* relaxed: the thread looks at it under the lead, or not at all */
	atomic_fetch_add_explicit(&engine->memory_cnt, 1, memory_order_relaxed);
	rnic_engine_heat(engine, source);
	return 0;
}

static void source_cool(struct rnic_engine *engine, struct rnic_source *source)
{
	TAILQ_REMOVE(&engine->hot, source, hot_link);
	engine->hot_cnt--;
	source->is_hot = false;
}

void rnic_engine_remove_wake(struct rnic_engine *engine,
			     struct rnic_source *source)
{
	if (source->is_hot)
		source_cool(engine, source);
	if (!source->has_wake)
		return;
	epoll_ctl(engine->epfd, EPOLL_CTL_DEL, source->wake_fd, NULL);
	source->has_wake = false;
	source->in = NULL;
	source->out = NULL;
	atomic_fetch_sub_explicit(&engine->memory_cnt, 1, memory_order_relaxed);
}

/* Return: false: it has news. */
static bool source_sleep(struct rnic_engine *engine, struct rnic_source *source)
{
	if (!source->is_asleep)
		source->is_asleep = engine->ops->sleep(source);
	return source->is_asleep;
}

/* Makes room for one more.  One that has news stays, whatever the limit. */
static void hot_trim(struct rnic_engine *engine)
{
	struct rnic_source *last;

	while (engine->hot_cnt >= ENGINE_HOT_MAX) {
		last = TAILQ_LAST(&engine->hot, rnic_hot_list);
		if (!source_sleep(engine, last))
			return;
		source_cool(engine, last);
	}
}

void rnic_engine_heat(struct rnic_engine *engine, struct rnic_source *source)
{
	if (!source->has_wake)
		return;
	/* One that is hot only changes its place: loops over the list go on
	 * with the next one, which must not have left. */
	if (source->is_hot)
		source_cool(engine, source);
	else
		hot_trim(engine);
	TAILQ_INSERT_HEAD(&engine->hot, source, hot_link);
	engine->hot_cnt++;
	source->is_hot = true;
}

/* The completion thread comes back from where it is before it sleeps in epoll,
 * and nobody else sleeps there. */
bool rnic_engine_may_stay_awake(const struct rnic_engine *engine)
{
	return rnic_engine_is_watched(engine) &&
	       !rnic_engine_has_sleeper(engine);
}

void rnic_engine_await(struct rnic_engine *engine, struct rnic_source *source)
{
	source->is_asleep = false;
	engine->is_restless = true;
	rnic_engine_heat(engine, source);
}

bool rnic_engine_look_hot(struct rnic_engine *engine)
{
	bool may_stay = rnic_engine_may_stay_awake(engine);
	struct rnic_source *source, *next;
	bool has_news = false;

	for (source = TAILQ_FIRST(&engine->hot); source; source = next) {
		next = TAILQ_NEXT(source, hot_link);
		if (may_stay && source->is_asleep) {
			engine->ops->stay_awake(source);
			source->is_asleep = false;
			engine->is_restless = true;
		}
		if (!source_has_news(source))
			continue;
		has_news = true;
		/* The other end may have woken it. */
		rnic_engine_await(engine, source);
		engine->ops->look(source, false);
	}
	return has_news;
}

bool rnic_engine_has_news(const struct rnic_engine *engine)
{
	const struct rnic_source *source;

	TAILQ_FOREACH(source, &engine->hot, hot_link)
	{
		if (source_has_news(source))
			return true;
	}
	return false;
}

bool rnic_engine_sleep_hot(struct rnic_engine *engine)
{
	struct rnic_source *source, *next;
	bool is_quiet = false;

	for (int i = 0; i < HOT_ROUNDS && !is_quiet; i++) {
		is_quiet = true;
		for (source = TAILQ_FIRST(&engine->hot); source;
		     source = next) {
			next = TAILQ_NEXT(source, hot_link);
			if (source_sleep(engine, source))
				continue;
			is_quiet = false;
			engine->ops->look(source, false);
		}
	}
	engine->is_restless = !is_quiet;
	return is_quiet;
}

void rnic_engine_leave_hot(struct rnic_engine *engine)
{
	if (engine->is_restless && !rnic_engine_may_stay_awake(engine) &&
	    !rnic_engine_sleep_hot(engine))
		rnic_engine_thread_wake(engine);
}
