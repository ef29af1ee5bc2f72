/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See spin.h. */
#include "spin.h"

#include "util/cancel.h"
#include "util/env.h"
#include "hot.h"
#include "os/guard.h"

/* Looks at memory between two looks at epoll and at the clock: at most some
 * microseconds, for which the end of a source may have to wait. */
#define SPIN_LOOKS 10
/* Words that are looked at: two of each hot source. */
#define SPIN_WORDS (2 * RNIC_HOT_MAX)

struct spin_look {
	struct rnic_hot_word words[SPIN_WORDS];
	uint32_t cnt;
	bool has_news;
};

/* Guarded: a thread that has stood still for so long that the end of a source
 * has not waited for it looks at memory that is gone. */
static void spin_looks(void *arg)
{
	struct spin_look *look = arg;

	for (int i = 0; i < SPIN_LOOKS && !look->has_news; i++) {
		look->has_news =
			rnic_engine_hot_words_differ(look->words, look->cnt);
		atomic_thread_fence(memory_order_seq_cst);
	}
}

/* Return: whether the other end of a source with memory has written to it. */
static bool spin_look(struct rnic_engine *engine)
{
	struct spin_look look; /* too large to be cleared in each round */

	if (!rnic_engine_has_memory(engine) || !util_trylock(&engine->lead))
		return false; /* the leader looks */
	rnic_guard_thread();
	look.cnt = rnic_engine_hot_words_take(engine, look.words, SPIN_WORDS);
	look.has_news = !rnic_engine_unlead_holding(engine);
	if (!look.cnt)
		return look.has_news;
	if (rnic_guard(spin_looks, &look) < 0)
		look.has_news = false;
	rnic_engine_hot_words_give(engine);
	return look.has_news;
}

int rnic_spin(struct rnic_engine *engine, struct epoll_event *ev)
{
	uint64_t now_ns = util_now_ns();
	uint64_t end_ns = now_ns + util_settings()->spin_us * 1000ull;
	int cnt = 0;

	/* An error is one of the next wait, too. */
	while (cnt <= 0 && now_ns < end_ns &&
	       !atomic_load_explicit(&engine->is_stopping,
				     memory_order_relaxed) &&
	       rnic_sched_spins_on(&engine->sched, now_ns)) {
		cnt = spin_look(engine)
			      ? RNIC_SPIN_NEWS
			      : util_sys_epoll_wait(engine->epfd, ev,
						    ENGINE_EVENT_MAX, 0);
		now_ns = util_now_ns();
	}
	rnic_sched_spun(&engine->sched, cnt > 0);
	return cnt > 0 ? cnt : 0;
}
