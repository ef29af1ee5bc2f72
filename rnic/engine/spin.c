/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The completion thread looks for more octets before it sleeps. */
#include "spin.h"

#include "util/cancel.h"
#include "util/env.h"
#include "hot.h"
#include "os/guard.h"
#include "wake.h"

/* Looks at memory between two looks at epoll and at the clock: some
 * microseconds, for which the end of a source may have to wait. */
#define SPIN_LOOKS 100
/* Words of sources that are looked at. */
#define SPIN_WORDS 16u
/* If a round takes so long, the thread has lost its CPU to another one. */
#define SPIN_LOST_NS 100000u
/* How long it looks on a machine without an idle CPU, and how many arrivals it
 * has served then since its program posted. */
#define SPIN_BUSY_US 10u
#define SPIN_SERVED 16u
/* Times that it does not spin, after many times in vain. */
#define SPIN_SKIPS 63u

void rnic_spin_fini(struct rnic_spin *spin)
{
	if (spin->has_cpus)
		rnic_cpus_fini(&spin->cpus);
	spin->has_cpus = false;
}

static bool spin_has_idle_cpu(struct rnic_spin *spin, uint64_t now_ns)
{
	if (!spin->has_cpus)
		rnic_cpus_init(&spin->cpus, spin->cpu_cnt);
	spin->has_cpus = true;
	return rnic_cpus_have_idle(&spin->cpus, now_ns);
}

/* Return: 0: it shall not spin. */
static uint32_t spin_limit_us(struct rnic_spin *spin,
			      struct rnic_engine *engine)
{
	uint32_t limit_us = util_settings()->spin_us;
	bool has_idle = spin_has_idle_cpu(spin, rnic_engine_now_ns(engine));
	bool is_crowded = !has_idle && rnic_cpus_are_known(&spin->cpus);

	/* relaxed: hints */
	atomic_store_explicit(&engine->is_crowded, is_crowded,
			      memory_order_relaxed);
	if (has_idle)
		return limit_us;
	if (!is_crowded || spin->served_cnt < SPIN_SERVED)
		return 0;
	return limit_us < SPIN_BUSY_US ? limit_us : SPIN_BUSY_US;
}

static void spin_note_served(struct rnic_spin *spin, struct rnic_engine *engine)
{
	/* relaxed: a hint */
	if (!atomic_load_explicit(&engine->has_posted, memory_order_relaxed)) {
		if (spin->served_cnt < SPIN_SERVED)
			spin->served_cnt++;
		return;
	}
	atomic_store_explicit(&engine->has_posted, false, memory_order_relaxed);
	spin->served_cnt = 0;
}

static bool spin_is_due(struct rnic_spin *spin, struct rnic_engine *engine)
{
	if (rnic_engine_arrival_no(engine) == spin->arrival_no)
		return false;
	spin_note_served(spin, engine);
	if (rnic_engine_has_sleeper(engine) || rnic_engine_is_attended(engine))
		return false;
	spin->limit_us = spin_limit_us(spin, engine);
	if (!spin->limit_us)
		return false;
	if (!spin->skip_cnt)
		return true;
	spin->skip_cnt--;
	return false;
}

void rnic_spin_begin(struct rnic_spin *spin, struct rnic_engine *engine)
{
	bool is_due = spin_is_due(spin, engine);

	spin->arrival_no = rnic_engine_arrival_no(engine);
	/* relaxed: who leads looks at it, or takes it as a hint */
	atomic_store_explicit(&engine->is_spinning, is_due,
			      memory_order_relaxed);
}

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
	struct spin_look look = { .cnt = 0 };

	/* relaxed: a hint */
	if (!atomic_load_explicit(&engine->memory_cnt, memory_order_relaxed) ||
	    !util_trylock(&engine->lead))
		return false; /* the leader looks */
	rnic_guard_thread();
	look.cnt = rnic_engine_hot_words_take(engine, look.words, SPIN_WORDS);
	rnic_engine_unlead(engine);
	if (!look.cnt)
		return false;
	if (rnic_guard(spin_looks, &look) < 0)
		look.has_news = false;
	rnic_engine_hot_words_give(engine);
	return look.has_news;
}

/* Other threads that run or poll have what this one waits for, or want its
 * CPU. */
static bool spin_is_over(struct rnic_spin *spin,
			 const struct rnic_engine *engine, uint64_t now_ns)
{
	return atomic_load_explicit(&engine->is_stopping,
				    memory_order_relaxed) ||
	       rnic_engine_has_sleeper(engine) ||
	       rnic_engine_is_polled(engine, now_ns) ||
	       (spin->limit_us > SPIN_BUSY_US &&
		!spin_has_idle_cpu(spin, now_ns));
}

static int spin_rounds(struct rnic_spin *spin, struct rnic_engine *engine,
		       struct epoll_event *ev)
{
	uint64_t now_ns = util_now_ns(), before_ns = now_ns;
	uint64_t end_ns = now_ns + spin->limit_us * 1000ull;
	int cnt = 0;

	/* An error is one of the next wait, too. */
	while (cnt <= 0 && now_ns < end_ns &&
	       !spin_is_over(spin, engine, now_ns)) {
		cnt = spin_look(engine)
			      ? RNIC_SPIN_NEWS
			      : util_sys_epoll_wait(engine->epfd, ev,
						    ENGINE_EVENT_MAX, 0);
		now_ns = util_now_ns();
		if (now_ns - before_ns > SPIN_LOST_NS)
			return cnt;
		before_ns = now_ns;
	}
	return cnt;
}

int rnic_spin(struct rnic_spin *spin, struct rnic_engine *engine,
	      struct epoll_event *ev)
{
	int cnt;

	if (!atomic_load_explicit(&engine->is_spinning, memory_order_relaxed))
		return 0;
	cnt = spin_rounds(spin, engine, ev);
	if (cnt > 0) {
		spin->gap = 0;
		return cnt;
	}
	spin->gap = 2 * spin->gap + 1;
	if (spin->gap > SPIN_SKIPS)
		spin->gap = SPIN_SKIPS;
	spin->skip_cnt = spin->gap;
	/* relaxed: sources that stay awake by it are put to sleep under the
	 * lead before this thread sleeps (rnic_engine_rest()) */
	atomic_store_explicit(&engine->is_spinning, false,
			      memory_order_relaxed);
	return 0;
}
