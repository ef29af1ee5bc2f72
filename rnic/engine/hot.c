/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Sources whose octets come through memory: looked at, and put to sleep. */
#include "hot.h"

#include <errno.h>
#include <sched.h>
#include <sys/epoll.h>

#include "sockets.h"
#include "wake.h"

/* Rounds in which a source that cannot be put to sleep is served again. */
#define HOT_ROUNDS 4
/* How long the end of a source waits for a thread that wakes.  It takes a
 * system call, unless a signal handler has interrupted it and exits. */
#define HOT_WAKER_NS (1000 * NS_PER_MS)

static bool word_differs(const _Atomic uint64_t *word, uint64_t seen)
{
	/* relaxed: a hint; what serves the source acquires */
	return word && atomic_load_explicit(word, memory_order_relaxed) != seen;
}

static bool source_has_news(const struct rnic_source *source)
{
	return word_differs(source->in, source->in_seen) ||
	       word_differs(source->out, source->out_seen);
}

static uint64_t wake_token(const struct rnic_engine *engine, uint32_t slot)
{
	return (uint64_t)engine->slots.at[slot].gen << 32 |
	       (slot | ENGINE_SLOT_WAKE);
}

/* Under the lead. */
static int wake_watch(const struct rnic_engine *engine,
		      const struct rnic_source *source, int wake_fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	util_lock_assert_held(&engine->lead);
	ev.data.u64 = wake_token(engine, source->slot);
	return epoll_ctl(engine->epfd, EPOLL_CTL_ADD, wake_fd, &ev) < 0 ? -errno
									: 0;
}

int rnic_engine_add_wake(struct rnic_engine *engine, struct rnic_source *source,
			 int wake_fd)
{
	int rc = wake_watch(engine, source, wake_fd);

	if (rc < 0)
		return rc;
	rnic_engine_forget_busy(engine, source);
	source->wake_fd = wake_fd;
	source->has_wake = true;
	source->is_asleep = true;
	/* relaxed: the thread looks at it under the lead, or not at all */
	atomic_fetch_add_explicit(&engine->hot.memory_cnt, 1,
				  memory_order_relaxed);
	rnic_engine_heat(engine, source);
	return 0;
}

int rnic_engine_change_wake_fd(struct rnic_engine *engine,
			       struct rnic_source *source, int fd)
{
	int rc = fd < 0 ? 0 : wake_watch(engine, source, fd);

	if (rc < 0)
		return rc;
	if (source->wake_fd >= 0)
		epoll_ctl(engine->epfd, EPOLL_CTL_DEL, source->wake_fd, NULL);
	source->wake_fd = fd;
	return 0;
}

static void source_cool(struct rnic_engine *engine, struct rnic_source *source)
{
	TAILQ_REMOVE(&engine->hot.list, source, hot_link);
	engine->hot.cnt--;
	source->is_hot = false;
}

/* ---- waking the other end ------------------------------------------------ */

bool rnic_engine_wake_later(struct rnic_engine *engine,
			    struct rnic_source *source)
{
	struct rnic_wakes *wakes = &engine->hot.wakes;

	util_lock_assert_held(&engine->lead);
	if (!source->has_wake || wakes->cnt == RNIC_WAKES_MAX)
		return false;
	wakes->at[wakes->cnt].fd = source->wake_fd;
	wakes->at[wakes->cnt].token = wake_token(engine, source->slot);
	wakes->cnt++;
	return true;
}

void rnic_engine_wakes_send(struct rnic_engine *engine,
			    struct rnic_wakes *wakes)
{
	uint32_t failed_cnt = 0;

	for (uint32_t i = 0; i < wakes->cnt; i++) {
		if (!engine->ops->wake(wakes->at[i].fd))
			wakes->at[failed_cnt++] = wakes->at[i];
	}
	wakes->cnt = failed_cnt;
	/* release: pairs with wakers_wait(): the descriptors are used */
	atomic_fetch_sub_explicit(&engine->hot.waker_cnt, 1,
				  memory_order_release);
}

/* Those that had news lately are first, so the one that is answered is. */
bool rnic_engine_handover_begin(struct rnic_engine *engine,
				struct rnic_handover *ret_handover)
{
	struct rnic_source *source = TAILQ_FIRST(&engine->hot.list);

	util_lock_assert_held(&engine->lead);
	if (!source || !source->ops->handover(source, ret_handover))
		return false;
	/* A thread that polls has a peer that polls, if it is awake. */
	if (!ret_handover->was_asleep &&
	    rnic_burst_is_watched(&engine->sched.burst))
		return false;
	/* relaxed: the lead orders this before the source is removed */
	atomic_fetch_add_explicit(&engine->hot.waker_cnt, 1,
				  memory_order_relaxed);
	return true;
}

/* Return: whether no thread uses wake_fd, or words, any more. */
static bool wakers_wait(struct rnic_engine *engine)
{
	uint64_t end_ns = 0;

	/* acquire: pairs with rnic_engine_wakes_send() */
	while (atomic_load_explicit(&engine->hot.waker_cnt,
				    memory_order_acquire)) {
		if (!end_ns)
			end_ns = util_now_ns() + HOT_WAKER_NS;
		else if (util_now_ns() > end_ns)
			return false;
		sched_yield();
	}
	return true;
}

/* One that has not been woken yet is told by the end of the connection. */
static void wakes_forget(struct rnic_engine *engine, int wake_fd)
{
	struct rnic_wakes *wakes = &engine->hot.wakes;
	uint32_t kept_cnt = 0;

	for (uint32_t i = 0; i < wakes->cnt; i++) {
		if (wakes->at[i].fd != wake_fd)
			wakes->at[kept_cnt++] = wakes->at[i];
	}
	wakes->cnt = kept_cnt;
}

void rnic_engine_remove_wake(struct rnic_engine *engine,
			     struct rnic_source *source)
{
	if (source->is_hot)
		source_cool(engine, source);
	if (!source->has_wake)
		return;
	epoll_ctl(engine->epfd, EPOLL_CTL_DEL, source->wake_fd, NULL);
	wakes_forget(engine, source->wake_fd);
	if (!wakers_wait(engine))
		source->wake_fd = -1;
	source->has_wake = false;
	source->in = NULL;
	source->out = NULL;
	atomic_fetch_sub_explicit(&engine->hot.memory_cnt, 1,
				  memory_order_relaxed);
}

/* Return: false: it has news. */
static bool source_sleep(struct rnic_source *source)
{
	if (!source->is_asleep)
		source->is_asleep = source->ops->sleep(source);
	return source->is_asleep;
}

/* Makes room for one more.  One that has news stays, whatever the limit. */
static void hot_trim(struct rnic_engine *engine)
{
	struct rnic_source *last;

	while (engine->hot.cnt >= RNIC_HOT_MAX) {
		last = TAILQ_LAST(&engine->hot.list, rnic_hot_list);
		if (!source_sleep(last))
			return;
		source_cool(engine, last);
	}
}

void rnic_engine_heat(struct rnic_engine *engine, struct rnic_source *source)
{
	if (!source->has_wake || TAILQ_FIRST(&engine->hot.list) == source)
		return;
	/* One that is hot only changes its place: loops over the list go on
	 * with the next one, which must not have left. */
	if (source->is_hot)
		source_cool(engine, source);
	else
		hot_trim(engine);
	TAILQ_INSERT_HEAD(&engine->hot.list, source, hot_link);
	engine->hot.cnt++;
	source->is_hot = true;
}

/* The completion thread looks, or comes back from where it is before it sleeps
 * in epoll, and no other thread sleeps there. */
bool rnic_engine_may_stay_awake(const struct rnic_engine *engine)
{
	/* seq_cst: pairs with the fence in engine_is_at_rest() */
	return (atomic_load_explicit(&engine->sched.burst.is_watched,
				     memory_order_seq_cst) ||
		atomic_load_explicit(&engine->sched.is_spinning,
				     memory_order_seq_cst)) &&
	       !atomic_load_explicit(&engine->sched.polls.sleeper_cnt,
				     memory_order_seq_cst);
}

static void restless_set(struct rnic_engine *engine, bool is_restless)
{
	/* relaxed: the lead hands it over */
	atomic_store_explicit(&engine->hot.is_restless, is_restless,
			      memory_order_relaxed);
}

bool rnic_engine_is_restless(const struct rnic_engine *engine)
{
	return atomic_load_explicit(&engine->hot.is_restless,
				    memory_order_relaxed);
}

void rnic_engine_await(struct rnic_engine *engine, struct rnic_source *source)
{
	source->is_asleep = false;
	restless_set(engine, true);
	rnic_engine_heat(engine, source);
}

bool rnic_engine_look_hot(struct rnic_engine *engine)
{
	bool may_stay = rnic_engine_may_stay_awake(engine);
	struct rnic_source *source, *next;
	bool has_news = false;

	for (source = TAILQ_FIRST(&engine->hot.list); source; source = next) {
		next = TAILQ_NEXT(source, hot_link);
		if (may_stay && source->is_asleep) {
			source->ops->stay_awake(source);
			source->is_asleep = false;
			restless_set(engine, true);
		}
		if (!source_has_news(source))
			continue;
		has_news = true;
		/* The other end may have woken it. */
		rnic_engine_await(engine, source);
		source->ops->look(source, false);
	}
	return has_news;
}

bool rnic_engine_has_news(const struct rnic_engine *engine)
{
	const struct rnic_source *source;

	TAILQ_FOREACH(source, &engine->hot.list, hot_link)
	{
		if (source_has_news(source))
			return true;
	}
	return false;
}

uint32_t rnic_engine_hot_words_take(struct rnic_engine *engine,
				    struct rnic_hot_word *words, uint32_t max)
{
	const struct rnic_source *source;
	uint32_t cnt = 0;

	TAILQ_FOREACH(source, &engine->hot.list, hot_link)
	{
		if (source->in && cnt < max)
			words[cnt++] =
				(struct rnic_hot_word){ source->in,
							source->in_seen };
		if (source->out && cnt < max)
			words[cnt++] =
				(struct rnic_hot_word){ source->out,
							source->out_seen };
	}
	/* relaxed: the lead orders this before a source is removed */
	if (cnt)
		atomic_fetch_add_explicit(&engine->hot.waker_cnt, 1,
					  memory_order_relaxed);
	return cnt;
}

bool rnic_engine_hot_words_differ(const struct rnic_hot_word *words,
				  uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++) {
		if (word_differs(words[i].word, words[i].seen))
			return true;
	}
	return false;
}

void rnic_engine_hot_words_give(struct rnic_engine *engine)
{
	/* release: pairs with wakers_wait(): the words are looked at */
	atomic_fetch_sub_explicit(&engine->hot.waker_cnt, 1,
				  memory_order_release);
}

bool rnic_engine_sleep_hot(struct rnic_engine *engine)
{
	struct rnic_source *source, *next;
	bool is_quiet = false;

	for (int i = 0; i < HOT_ROUNDS && !is_quiet; i++) {
		is_quiet = true;
		for (source = TAILQ_FIRST(&engine->hot.list); source;
		     source = next) {
			next = TAILQ_NEXT(source, hot_link);
			if (source_sleep(source))
				continue;
			is_quiet = false;
			source->ops->look(source, false);
		}
	}
	restless_set(engine, !is_quiet);
	return is_quiet;
}

bool rnic_engine_leave_hot(struct rnic_engine *engine)
{
	if (!rnic_engine_is_restless(engine))
		return false;
	if (rnic_engine_may_stay_awake(engine))
		return true;
	if (!rnic_engine_sleep_hot(engine))
		rnic_engine_thread_wake(engine);
	return false;
}
