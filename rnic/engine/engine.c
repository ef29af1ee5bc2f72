/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The engine: the lead, the doorbell, and what a pass is. */
#define _GNU_SOURCE
#include "engine.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/cancel.h"
#include "util/env.h"
#include "util/keep-errno.h"
#include "util/log.h"
#include "bell.h"
#include "hot.h"
#include "os/fd.h"
#include "os/guard.h"
#include "os/relax.h"
#include "os/stat.h"
#include "siw-mpa.h"
#include "sockets.h"
#include "visit.h"
#include "wake.h"

/* ---- lead and doorbell -------------------------------------------------- */

void rnic_engine_bell(struct rnic_engine *engine, struct rnic_bell *bell)
{
	rnic_bell_push(&engine->bells, bell);
}

void rnic_engine_serve_bells(struct rnic_engine *engine)
{
	util_lock_assert_held(&engine->lead);
	rnic_bells_serve(&engine->bells);
}

/* The leader touches the application's memory. */
static void engine_begin_lead(struct rnic_engine *engine)
{
	engine->now_ns = 0;
	rnic_guard_thread();
}

static bool engine_try_lead(struct rnic_engine *engine)
{
	if (!util_trylock(&engine->lead))
		return false;
	engine_begin_lead(engine);
	return true;
}

void rnic_engine_lead_beside(struct rnic_engine *engine)
{
	util_lock_beside(&engine->lead);
	engine_begin_lead(engine);
}

void rnic_engine_lead(struct rnic_engine *engine)
{
	util_lock(&engine->lead);
	engine_begin_lead(engine);
	/* What was posted goes before what the caller is about to do. */
	rnic_engine_serve_bells(engine);
}

static struct rnic_source *source_find(const struct rnic_engine *engine,
				       uint64_t token)
{
	uint32_t slot = (uint32_t)token & ~ENGINE_SLOT_WAKE;

	/* The wake token's number is above any slot's, too. */
	if (slot >= engine->slot_cnt ||
	    engine->slots[slot].gen != (uint32_t)(token >> 32))
		return NULL; /* it went in the meantime */
	return engine->slots[slot].source;
}

/* The thread may have the leads of engines before this one. */
static void engine_unwakeable(struct rnic_engine *engine, uint64_t token)
{
	struct rnic_source *source;

	rnic_engine_lead_beside(engine);
	source = source_find(engine, token);
	if (source && source->has_wake)
		source->ops->unwakeable(source);
	rnic_engine_unlead_beside(engine);
}

static void engine_wake(struct rnic_engine *engine, struct rnic_wakes *wakes)
{
	rnic_engine_wakes_send(engine, wakes);
	for (uint32_t i = 0; i < wakes->cnt; i++)
		engine_unwakeable(engine, wakes->at[i].token);
}

void rnic_engine_unlead_beside(struct rnic_engine *engine)
{
	struct rnic_wakes wakes;
	bool are_awake;

	for (;;) {
		are_awake = rnic_engine_leave_hot(engine);
		rnic_engine_wakes_take(engine, &wakes);
		util_unlock(&engine->lead);
		if (wakes.cnt)
			engine_wake(engine, &wakes);
		/*
		 * seq_cst, as util_unlock() asks for; pairs with the fences in
		 * engine_lead_or_bell() and engine_bell_waits(): a bell pushed
		 * by a thread that failed to get the lead is seen here.  So is
		 * a thread that looked and sleeps (engine_is_at_rest()).
		 */
		if (!atomic_load_explicit(&engine->bells,
					  memory_order_seq_cst) &&
		    (!are_awake || rnic_engine_may_stay_awake(engine)))
			return;
		if (!engine_try_lead(engine))
			return; /* the next leader looks, too */
		rnic_engine_serve_bells(engine);
	}
}

/* Did a leader find work that needs the leads of all engines? */
static bool engine_is_all_due(const struct rnic_engine *engine)
{
	/* relaxed: the thread that leaves a bell comes here afterwards */
	return engine->all_bells &&
	       atomic_load_explicit(engine->all_bells, memory_order_relaxed);
}

void rnic_engine_unlead(struct rnic_engine *engine)
{
	rnic_engine_unlead_beside(engine);
	if (engine_is_all_due(engine))
		engine->ops->all_due(engine);
}

/* @bell: NULL: it has been rung.  Return: whether this thread leads, and shall
 * serve @bell.  Otherwise the bell is rung: the leader serves it. */
static bool engine_lead_or_bell(struct rnic_engine *engine,
				struct rnic_bell *bell)
{
	if (engine_try_lead(engine))
		return true;
	if (!bell)
		return false;
	rnic_engine_bell(engine, bell);
	/* Pairs with rnic_engine_unlead_beside(), and with the fence in
	 * engine_is_unserved(). */
	atomic_thread_fence(memory_order_seq_cst);
	return engine_try_lead(engine);
}

static void engine_note_post(struct rnic_engine *engine)
{
	/* relaxed: hints */
	uint32_t armed_cnt =
		atomic_load_explicit(&engine->armed_cnt, memory_order_relaxed);

	if (armed_cnt)
		atomic_store_explicit(&engine->armed_cnt, armed_cnt - 1,
				      memory_order_relaxed);
	atomic_store_explicit(&engine->post_cpu, sched_getcpu(),
			      memory_order_relaxed);
}

/*
 * @bell: as engine_lead_or_bell().
 * @ret_handover: NULL, or for the answer that was posted; its read stays NULL
 *   if there is nothing to hand the CPU over for.
 * Return: whether this thread could lead; otherwise the leader serves.
 */
static bool engine_serve_ring(struct rnic_engine *engine,
			      struct rnic_bell *bell,
			      struct rnic_handover *ret_handover)
{
	engine_note_post(engine);
	if (!engine_lead_or_bell(engine, bell))
		return false;
	rnic_stat_count(engine->stat, RNIC_STAT_passes_post, 1);
	engine->poll_turn = 0;
	engine->may_leave = true;
	rnic_engine_serve_bells(engine);
	if (bell)
		bell->serve(bell);
	engine->may_leave = false;
	if (ret_handover && !rnic_engine_handover_begin(engine, ret_handover))
		ret_handover->read = NULL;
	rnic_engine_unlead(engine);
	return true;
}

/* Waits until the leader has served the bells, and has woken who is to be
 * woken, for at most so many turns. */
static void engine_let_serve(const struct rnic_engine *engine, int turns)
{
	for (int i = 0;
	     i < turns &&
	     (rnic_engine_has_bells(engine) ||
	      util_lock_is_held(&engine->lead) ||
	      atomic_load_explicit(&engine->waker_cnt, memory_order_relaxed));
	     i++)
		atomic_thread_fence(memory_order_seq_cst);
}

/* A program that sleeps when it waits, as a server of many connections does,
 * needs its CPU for the next one, and gives it up soon enough. */
static bool engine_hands_over(const struct rnic_engine *engine)
{
	/* relaxed: hints */
	return atomic_load_explicit(&engine->is_crowded,
				    memory_order_relaxed) &&
	       atomic_load_explicit(&engine->memory_cnt,
				    memory_order_relaxed) &&
	       !rnic_engine_has_sleeper(engine) &&
	       !rnic_engine_is_attended(engine);
}

/* @handover: what the CPU is handed over for; its read is NULL: nothing. */
static void engine_give_cpu(struct rnic_engine *engine,
			    const struct rnic_handover *handover)
{
	bool is_given = true;

	if (handover->read) {
		is_given = rnic_yield_until(&engine->yield.skip, handover);
		rnic_engine_hot_words_give(engine);
	} else {
		rnic_yield(&engine->yield.skip);
	}
	if (is_given)
		rnic_stat_add(RNIC_STAT_yields, 1);
}

/* It has to reach the peer's completion thread, which may need this CPU. */
static void engine_serve_answer(struct rnic_engine *engine,
				struct rnic_bell *bell, bool is_spinner,
				bool hands_over)
{
	struct rnic_handover handover = { .read = NULL };
	struct rnic_handover *ret_handover = hands_over ? &handover : NULL;
	bool is_served = engine_serve_ring(engine, bell, ret_handover);

	for (int i = 0; i < ENGINE_SERVE_TRIES && !is_served; i++) {
		engine_let_serve(engine, ENGINE_SERVE_SPINS);
		is_served = !hands_over ||
			    engine_serve_ring(engine, NULL, ret_handover);
	}
	if (handover.read || is_spinner)
		engine_give_cpu(engine, &handover);
}

/* @bell: as engine_serve_ring(). */
static void engine_serve_post(struct rnic_engine *engine,
			      struct rnic_bell *bell)
{
	UTIL_KEEP_ERRNO();
	enum rnic_answer answer = rnic_yield_take(&engine->yield);
	bool is_spinner = answer == RNIC_ANSWER_SPINNER;
	bool hands_over = answer && engine_hands_over(engine);

	if ((is_spinner || hands_over) && rnic_yield_may(&engine->yield.skip))
		engine_serve_answer(engine, bell, is_spinner, hands_over);
	else
		(void)engine_serve_ring(engine, bell, NULL);
}

void rnic_engine_flush(struct rnic_engine *engine)
{
	if (rnic_engine_has_bells(engine))
		(void)engine_serve_ring(engine, NULL, NULL);
}

void rnic_engine_let_finish(const struct rnic_engine *engine, int turns)
{
	for (int i = 0; i < turns && util_lock_is_held(&engine->lead); i++)
		atomic_thread_fence(memory_order_seq_cst);
}

/* May the posts of a thread that waits for events share transmissions?  A
 * single answer must not wait while its sender computes. */
static bool engine_gathers(const struct rnic_engine *engine)
{
	/* relaxed: hints */
	return atomic_load_explicit(&engine->may_gather,
				    memory_order_relaxed) &&
	       atomic_load_explicit(&engine->is_bursty, memory_order_relaxed);
}

/* Rings @bell.  Return: whether it waits for a thread that watches. */
static bool engine_bell_waits(struct rnic_engine *engine,
			      struct rnic_bell *bell)
{
	rnic_engine_bell(engine, bell);
	/* Pairs with the fences in rnic_engine_poll() and engine_block(), and
	 * with rnic_engine_unlead_beside(). */
	atomic_thread_fence(memory_order_seq_cst);
	return rnic_engine_is_watched(engine) &&
	       !rnic_engine_has_sleeper(engine) &&
	       (!rnic_engine_is_attended(engine) || engine_gathers(engine));
}

/*
 * A program that spins on its memory posts the moment the octets are there,
 * while the completion thread that has placed them still leads, for some
 * hundred nanoseconds.  A bell that is rung now would be served by that thread,
 * and what it sends would wake the peer's from the wrong CPU, by an interrupt.
 */
void rnic_engine_post(struct rnic_engine *engine, struct rnic_bell *bell)
{
	/* Posts of several threads at once may count as one. */
	uint32_t burst =
		atomic_load_explicit(&engine->burst_cnt, memory_order_relaxed);
	bool may_wait = burst % ENGINE_BURST_MAX, waits;

	atomic_store_explicit(&engine->has_posted, true, memory_order_relaxed);
	if (!may_wait || !rnic_engine_is_watched(engine))
		rnic_engine_let_finish(engine, ENGINE_FINISH_SPINS);
	atomic_store_explicit(&engine->burst_cnt, burst + 1,
			      memory_order_relaxed);
	waits = may_wait && engine_bell_waits(engine, bell);
	if (waits || burst + 1 >= ENGINE_BURST_MANY)
		atomic_store_explicit(&engine->wants_pass, true,
				      memory_order_relaxed);
	if (!waits)
		engine_serve_post(engine, may_wait ? NULL : bell);
}

/* ---- sources ------------------------------------------------------------ */

static int slots_grow(struct rnic_engine *engine)
{
	uint32_t cnt = engine->slot_cnt ? engine->slot_cnt * 2 : 16;
	struct rnic_slot *slots;

	slots = realloc(engine->slots, cnt * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (uint32_t i = engine->slot_cnt; i < cnt; i++) {
		slots[i].source = NULL;
		slots[i].gen = 0;
		slots[i].next_free = i + 1 < cnt ? i + 1 : UINT32_MAX;
	}
	engine->slot_free = engine->slot_cnt;
	engine->slots = slots;
	engine->slot_cnt = cnt;
	return 0;
}

static uint64_t slot_token(const struct rnic_engine *engine, uint32_t slot)
{
	return (uint64_t)engine->slots[slot].gen << 32 | slot;
}

int rnic_engine_add(struct rnic_engine *engine, struct rnic_source *source)
{
	struct epoll_event ev = { .events = EPOLLIN };
	uint32_t slot;
	int rc;

	util_lock_assert_held(&engine->lead);
	if (engine->is_broken)
		return -EIO;
	if (engine->slot_free == UINT32_MAX) {
		rc = slots_grow(engine);
		if (rc < 0)
			return rc;
	}
	slot = engine->slot_free;
	ev.data.u64 = slot_token(engine, slot);
	if (epoll_ctl(engine->epfd, EPOLL_CTL_ADD, source->fd, &ev) < 0)
		return -errno;
	engine->slot_free = engine->slots[slot].next_free;
	engine->slots[slot].source = source;
	source->slot = slot;
	source->events = EPOLLIN;
	LIST_INSERT_HEAD(&engine->sources, source, link);
	engine->source_cnt++;
	return 0;
}

void rnic_engine_remove(struct rnic_engine *engine, struct rnic_source *source)
{
	struct rnic_slot *slot = &engine->slots[source->slot];

	util_lock_assert_held(&engine->lead);
	rnic_engine_remove_wake(engine, source);
	rnic_engine_forget_busy(engine, source);
	epoll_ctl(engine->epfd, EPOLL_CTL_DEL, source->fd, NULL);
	slot->source = NULL;
	slot->gen++;
	slot->next_free = engine->slot_free;
	engine->slot_free = source->slot;
	LIST_REMOVE(source, link);
	rnic_due_clear(&engine->due, &source->due);
	engine->source_cnt--;
}

void rnic_engine_set_events(struct rnic_engine *engine,
			    struct rnic_source *source, uint32_t events)
{
	struct epoll_event ev = { .events = events };

	if (events == source->events)
		return;
	ev.data.u64 = slot_token(engine, source->slot);
	if (epoll_ctl(engine->epfd, EPOLL_CTL_MOD, source->fd, &ev) == 0)
		source->events = events;
}

void rnic_engine_deadline(struct rnic_engine *engine, struct rnic_due *due,
			  uint64_t ns)
{
	uint64_t first_ns = rnic_due_first_ns(engine->due);

	util_lock_assert_held(&engine->lead);
	if (due->ns && due->ns <= ns)
		return;
	rnic_due_set(&engine->due, due, ns);
	if (!first_ns || ns < first_ns)
		rnic_engine_thread_wake(engine);
}

/* ---- passes ------------------------------------------------------------- */

/* Return: whether a source was there for it. */
static bool engine_serve_event(struct rnic_engine *engine, uint64_t token,
			       uint32_t events)
{
	struct rnic_source *source = source_find(engine, token);

	if (!source)
		return false;
	if (!((uint32_t)token & ENGINE_SLOT_WAKE)) {
		source->ops->pass(source, events);
	} else if (source->has_wake) {
		rnic_engine_await(engine, source);
		source->ops->look(source, true);
	}
	return true;
}

static void engine_due(struct rnic_engine *engine)
{
	if (engine->due)
		rnic_due_serve(&engine->due, rnic_engine_now_ns(engine));
}

void rnic_engine_serve_events(struct rnic_engine *engine,
			      const struct epoll_event *ev, int cnt)
{
	engine->now_ns = 0; /* a drain keeps the lead while it waits */
	/* Wake-ups first: a look at a source takes its wake-up, and would be
	 * followed by another one for the event. */
	for (int i = 0; i < cnt; i++)
		(void)engine_serve_event(engine, ev[i].data.u64, ev[i].events);
	(void)rnic_engine_look_hot(engine);
	rnic_engine_serve_bells(engine);
	engine_due(engine);
}

/* Return: whether it is a socket that no poll has read lately. */
static bool engine_note_named(struct rnic_engine *engine, uint64_t token)
{
	struct rnic_source *source = source_find(engine, token);

	return source && !source->has_wake &&
	       engine->source_cnt > ENGINE_FEW_SOCKETS &&
	       rnic_engine_note_busy(engine, source);
}

/* What epoll knows now.  Return: whether it was anything. */
static bool engine_pass_epoll(struct rnic_engine *engine)
{
	struct epoll_event ev[ENGINE_EVENT_MAX];
	bool has_any = false, has_others = false;
	int cnt = util_sys_epoll_wait(engine->epfd, ev, ENGINE_EVENT_MAX, 0);

	if (rnic_engine_wait_error(cnt))
		rnic_engine_break(engine, rnic_engine_wait_error(cnt));
	for (int i = 0; i < cnt; i++) {
		if (!engine_serve_event(engine, ev[i].data.u64, ev[i].events))
			continue;
		has_any = true;
		has_others |= engine_note_named(engine, ev[i].data.u64);
	}
	rnic_engine_note_asked(engine, rnic_engine_now_ns(engine), has_others);
	return has_any;
}

static void engine_ask_epoll(struct rnic_engine *engine)
{
	engine->poll_cnt = 0;
	if (engine_pass_epoll(engine))
		engine->poll_gap = 1;
	else if (engine->poll_gap < ENGINE_SOCKET_POLLS)
		engine->poll_gap *= 2;
}

/*
 * Shall this poll look at sources that have a socket only?  A thread that
 * exchanges messages through memory would pay a system call for each poll
 * between two of them.
 */
static bool engine_asks_for_sockets(struct rnic_engine *engine,
				    uint32_t memory_cnt, bool has_news)
{
	if (!memory_cnt)
		return true;
	if (has_news)
		engine->news_ns = rnic_engine_now_ns(engine);
	return rnic_engine_now_ns(engine) - engine->news_ns >= ENGINE_NEWS_NS;
}

/*
 * A look takes little of a poll, and a thread that waits for an answer polls
 * without a pause.  So the poll waits a little itself.  Where both ends run on
 * one core, the other one is faster meanwhile.
 */
static bool engine_look_again(struct rnic_engine *engine)
{
	for (int i = 0; i < ENGINE_LOOKS && !rnic_engine_has_bells(engine);
	     i++) {
		if (rnic_engine_has_news(engine))
			return rnic_engine_look_hot(engine);
		rnic_relax();
	}
	return false;
}

/* Return: whether there was news in memory. */
static bool engine_look(struct rnic_engine *engine)
{
	bool has_news = rnic_engine_look_hot(engine);

	if (!has_news && engine->vain_cnt < ENGINE_LOOK_POLLS)
		has_news = engine_look_again(engine);
	if (has_news)
		engine->vain_cnt = 0;
	else if (engine->vain_cnt < ENGINE_LOOK_POLLS)
		engine->vain_cnt++;
	return has_news;
}

/* The sockets of sources with memory say next to nothing. */
static void engine_pass(struct rnic_engine *engine)
{
	uint32_t memory_cnt =
		atomic_load_explicit(&engine->memory_cnt, memory_order_relaxed);
	bool has_sockets = engine->source_cnt > memory_cnt;
	bool is_due = memory_cnt && (rnic_engine_take_slept(engine) ||
				     rnic_engine_is_question_due(engine) ||
				     ++engine->poll_cnt >= engine->poll_gap);
	bool has_news = memory_cnt && engine_look(engine);

	if (has_sockets &&
	    engine_asks_for_sockets(engine, memory_cnt, has_news) &&
	    rnic_engine_pass_sockets(engine))
		is_due = true;
	if (is_due)
		engine_ask_epoll(engine);
	rnic_engine_serve_bells(engine);
	engine_due(engine);
}

/*
 * Whoever led before this has left all sources asleep, and nobody leads.
 * Whoever leads from now on sees that the caller does not look any more, at the
 * latest in rnic_engine_unlead_beside().
 */
static bool engine_is_at_rest(const struct rnic_engine *engine)
{
	/* Behind the caller's note; pairs with util_unlock(). */
	atomic_thread_fence(memory_order_seq_cst);
	if (util_lock_is_held(&engine->lead))
		return false;
	/* Behind what is left by the last one that led. */
	atomic_thread_fence(memory_order_acquire);
	return !rnic_engine_is_restless(engine) &&
	       !rnic_engine_has_bells(engine);
}

/*
 * A completion thread that took the lead once more would meet the program that
 * spins on its memory, and posts: what that thread sends in its place wakes
 * the peer's from the wrong CPU, by an interrupt.
 */
bool rnic_engine_rest(struct rnic_engine *engine)
{
	bool is_quiet;

	/* relaxed: a source that comes later comes asleep */
	if (!atomic_load_explicit(&engine->memory_cnt, memory_order_relaxed))
		return true;
	if (engine_is_at_rest(engine))
		return true;
	rnic_engine_lead(engine);
	is_quiet = rnic_engine_sleep_hot(engine);
	rnic_engine_unlead(engine);
	return is_quiet;
}

static void engine_abort(struct rnic_engine *engine)
{
	struct rnic_source *source;

	while ((source = LIST_FIRST(&engine->sources)))
		source->ops->abort(source);
}

void rnic_engine_break(struct rnic_engine *engine, int err)
{
	if (engine->is_broken)
		return;
	engine->is_broken = true;
	util_err("rnic", "engine: cannot wait for its sockets: %s",
		 strerror(-err));
	engine->ops->broken(engine);
	rnic_engine_serve_bells(engine);
	engine_abort(engine);
}

static void engine_note_poll(struct rnic_engine *engine)
{
	uint64_t noted_ns =
		atomic_load_explicit(&engine->poll_ns, memory_order_relaxed);
	uint64_t now_ns = rnic_engine_now_ns(engine);

	/* Zero: nothing is noted. */
	if (!noted_ns || now_ns - noted_ns >= ENGINE_PAUSE_NS)
		atomic_store_explicit(&engine->run_ns, now_ns,
				      memory_order_relaxed);
	atomic_store_explicit(&engine->poll_ns, now_ns, memory_order_relaxed);
}

static void engine_begin_poll(struct rnic_engine *engine)
{
	uint32_t burst =
		atomic_load_explicit(&engine->burst_cnt, memory_order_relaxed);

	engine_note_poll(engine);
	if (!burst &&
	    !atomic_load_explicit(&engine->wants_pass, memory_order_relaxed))
		return;
	if (burst && rnic_engine_is_attended(engine))
		atomic_store_explicit(&engine->is_bursty,
				      burst >= ENGINE_BURST_MANY,
				      memory_order_relaxed);
	if (burst >= ENGINE_BURST_MANY && !rnic_engine_is_watched(engine))
		rnic_engine_ask_park(engine, rnic_engine_now_ns(engine));
	atomic_store_explicit(&engine->burst_cnt, 0, memory_order_relaxed);
	atomic_store_explicit(&engine->wants_pass, false, memory_order_relaxed);
	/* Pairs with the fence in rnic_engine_post(): a bell that this pass
	 * does not see is that of a poster that has asked for another. */
	atomic_thread_fence(memory_order_seq_cst);
}

static void engine_poll(struct rnic_engine *engine)
{
	engine_begin_poll(engine);
	rnic_stat_count(engine->stat, RNIC_STAT_passes_poll, 1);
	engine_pass(engine);
}

static uint32_t engine_begin_turn(struct rnic_engine *engine)
{
	/* relaxed: a hint */
	if (atomic_load_explicit(&engine->has_left, memory_order_relaxed))
		atomic_store_explicit(&engine->has_left, false,
				      memory_order_relaxed);
	engine->turn_no += 2; /* odd, so never 0 */
	return engine->turn_no;
}

void rnic_engine_poll(struct rnic_engine *engine)
{
	UTIL_KEEP_ERRNO();

	rnic_vain_poll(&engine->vain);
	if (!engine_try_lead(engine))
		return; /* another thread makes progress already */
	rnic_yield_note_poll(&engine->yield);
	engine->poll_turn = engine_begin_turn(engine);
	engine->may_leave = true;
	engine_poll(engine);
	engine->may_leave = false;
	rnic_engine_unlead(engine);
}

void rnic_engine_serve(struct rnic_engine *engine)
{
	rnic_engine_lead(engine);
	engine_poll(engine);
	rnic_engine_unlead(engine);
}

/*
 * The lead, if it can be had by then.  It may never be given back: a signal
 * handler that exits has interrupted the thread that holds it.
 */
static bool engine_lead_until(struct rnic_engine *engine, uint64_t end_ns)
{
	UTIL_CANCEL_OFF();

	while (!engine_try_lead(engine)) {
		if (util_now_ns() >= end_ns)
			return false;
		usleep(50);
	}
	return true;
}

void rnic_engine_catch_up(struct rnic_engine *engine)
{
	rnic_engine_let_finish(engine, ENGINE_SERVE_SPINS);
	if (!engine_lead_until(engine, util_now_ns() + ENGINE_CATCH_UP_NS))
		return;
	(void)engine_pass_epoll(engine);
	rnic_engine_unlead(engine);
}

void rnic_engine_mr_gone(struct rnic_engine *engine, uint32_t stag,
			 const void *addr, size_t len)
{
	struct rnic_source *source;

	util_lock_assert_held(&engine->lead);
	LIST_FOREACH(source, &engine->sources, link)
	source->ops->mr_gone(source, stag, addr, len);
}

void rnic_engine_each(struct rnic_engine *engine,
		      void (*act)(struct rnic_source *source, void *arg),
		      void *arg)
{
	struct rnic_source *source, *next;

	rnic_engine_lead(engine);
	for (source = LIST_FIRST(&engine->sources); source; source = next) {
		next = LIST_NEXT(source, link);
		act(source, arg);
	}
	rnic_engine_unlead(engine);
}

/* ---- life --------------------------------------------------------------- */

static int engine_open_fds(struct rnic_engine *engine)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int rc;

	engine->epfd = rnic_fd_own(epoll_create1(EPOLL_CLOEXEC));
	if (engine->epfd < 0)
		return engine->epfd;
	engine->wake_fd = rnic_fd_own(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (engine->wake_fd < 0) {
		rc = engine->wake_fd;
		goto close_epfd;
	}
	ev.data.u64 = ENGINE_WAKE_TOKEN;
	if (epoll_ctl(engine->epfd, EPOLL_CTL_ADD, engine->wake_fd, &ev) == 0)
		return 0;
	rc = -errno;
	rnic_fd_close(engine->wake_fd);
close_epfd:
	rnic_fd_close(engine->epfd);
	return rc;
}

int rnic_engine_new(const struct rnic_engine_ops *ops, struct rnic_context *ctx,
		    struct rnic_engine **ret_engine)
{
	struct rnic_engine *engine = util_alloc_lines(1, sizeof(*engine));
	size_t staging = (size_t)util_settings()->staging_kib * 1024;
	int rc;

	if (!engine)
		return -ENOMEM;
	util_lock_init(&engine->lead, UTIL_RANK_ENGINE);
	engine->ops = ops;
	engine->ctx = ctx;
	LIST_INIT(&engine->sources);
	TAILQ_INIT(&engine->hot);
	engine->slot_free = UINT32_MAX;
	engine->poll_gap = 1;
	engine->turn_gap = 1;
	engine->turn_no = 1;
	atomic_init(&engine->post_cpu, -1);
	atomic_init(&engine->ref_cnt, 1);
	engine->rx_pool.size =
		staging < SMPA_RX_STAGING_MIN ? SMPA_RX_STAGING_MIN : staging;
	engine->tx_pool.size = SMPA_TX_STAGING_FULL;
	rc = engine_open_fds(engine);
	if (rc < 0) {
		free(engine);
		return rc;
	}
	engine->stat = rnic_stat_part_take();
	*ret_engine = engine;
	return 0;
}

static void engine_close(struct rnic_engine *engine)
{
	struct rnic_source *source, *next;

	for (source = LIST_FIRST(&engine->sources); source; source = next) {
		next = LIST_NEXT(source, link);
		source->ops->drain(source);
	}
}

bool rnic_engine_close(struct rnic_engine *engine, uint64_t end_ns)
{
	if (!engine_lead_until(engine, end_ns))
		return false;
	engine_close(engine);
	rnic_engine_unlead(engine);
	return true;
}

/* Every stream sends its FIN and gets its peer's, within the limit. */
bool rnic_engine_drain(struct rnic_engine *engine, uint64_t end_ns)
{
	struct epoll_event ev[ENGINE_EVENT_MAX];
	int cnt;

	if (!engine_lead_until(engine, end_ns))
		return false;
	engine_close(engine);
	while (!LIST_EMPTY(&engine->sources) && util_now_ns() < end_ns) {
		cnt = util_sys_epoll_wait(engine->epfd, ev, ENGINE_EVENT_MAX,
					  rnic_engine_sleep_hot(engine) ? 10
									: 0);
		if (rnic_engine_wait_error(cnt))
			break;
		rnic_engine_wake_clear(engine, ev, cnt);
		rnic_engine_serve_events(engine, ev, cnt > 0 ? cnt : 0);
		if (!engine_is_all_due(engine))
			continue;
		rnic_engine_unlead(engine);
		if (!engine_lead_until(engine, end_ns))
			return false;
	}
	engine_abort(engine);
	rnic_engine_unlead(engine);
	return true;
}

bool rnic_engine_stop(struct rnic_engine *engine, uint64_t end_ns)
{
	UTIL_CANCEL_OFF();

	/* seq_cst: rnic_engine_visit_wait() */
	atomic_store_explicit(&engine->is_stopping, true, memory_order_seq_cst);
	/* Before the thread is waited for: it may be waiting for the lead. */
	if (!rnic_engine_drain(engine, end_ns) ||
	    !rnic_engine_visit_wait(engine, end_ns))
		return false;
	rnic_engine_unpark(engine);
	rnic_engine_thread_wake(engine);
	if (engine->has_thread)
		pthread_join(engine->thread, NULL);
	engine->has_thread = false;
	return true;
}

void rnic_engine_free(struct rnic_engine *engine)
{
	uint64_t end_ns = util_now_ns() + util_settings()->drain_ms * NS_PER_MS;

	if (!engine || !rnic_engine_stop(engine, end_ns))
		return;
	rnic_staging_fini(&engine->rx_pool);
	rnic_staging_fini(&engine->tx_pool);
	rnic_fd_close(engine->wake_fd);
	rnic_fd_close(engine->epfd);
	rnic_stat_part_give(engine->stat);
	free(engine->slots);
	rnic_engine_put(engine);
}
