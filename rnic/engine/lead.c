/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See lead.h. */
#define _GNU_SOURCE
#include "lead.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "util/cancel.h"
#include "util/log.h"
#include "bell.h"
#include "hot.h"
#include "os/guard.h"
#include "sockets.h"
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
	engine->turn.now_ns = 0;
	rnic_guard_thread();
}

bool rnic_engine_try_lead(struct rnic_engine *engine)
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

/*
 * The lead, if it can be had by then.  It may never be given back: a signal
 * handler that exits has interrupted the thread that holds it.
 */
bool rnic_engine_lead_until(struct rnic_engine *engine, uint64_t end_ns)
{
	UTIL_CANCEL_OFF();

	while (!rnic_engine_try_lead(engine)) {
		if (util_now_ns() >= end_ns)
			return false;
		usleep(50);
	}
	return true;
}

struct rnic_source *rnic_engine_find(const struct rnic_engine *engine,
				     uint64_t token)
{
	uint32_t slot = (uint32_t)token & ~ENGINE_SLOT_WAKE;

	/* The wake token's number is above any slot's, too. */
	if (slot >= engine->slots.cnt ||
	    engine->slots.at[slot].gen != (uint32_t)(token >> 32))
		return NULL; /* it went in the meantime */
	return engine->slots.at[slot].source;
}

/* The thread may have the leads of engines before this one. */
static void engine_unwakeable(struct rnic_engine *engine, uint64_t token)
{
	struct rnic_source *source;

	rnic_engine_lead_beside(engine);
	source = rnic_engine_find(engine, token);
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
		 * engine_lead_or_bell() and rnic_burst_waits(): a bell pushed
		 * by a thread that failed to get the lead is seen here.  So is
		 * a thread that looked and sleeps (engine_is_at_rest()).
		 */
		if (!atomic_load_explicit(&engine->bells,
					  memory_order_seq_cst) &&
		    (!are_awake || rnic_engine_may_stay_awake(engine)))
			return;
		if (!rnic_engine_try_lead(engine))
			return; /* the next leader looks, too */
		rnic_engine_serve_bells(engine);
	}
}

bool rnic_engine_unlead_holding(struct rnic_engine *engine)
{
	util_unlock(&engine->lead);
	/* seq_cst: as in rnic_engine_unlead_beside() */
	return !atomic_load_explicit(&engine->bells, memory_order_seq_cst) &&
	       (!rnic_engine_is_restless(engine) ||
		rnic_engine_may_stay_awake(engine));
}

bool rnic_engine_is_all_due(const struct rnic_engine *engine)
{
	/* relaxed: the thread that leaves a bell comes here afterwards */
	return engine->all_bells &&
	       atomic_load_explicit(engine->all_bells, memory_order_relaxed);
}

void rnic_engine_unlead(struct rnic_engine *engine)
{
	rnic_engine_unlead_beside(engine);
	if (rnic_engine_is_all_due(engine))
		engine->ops->all_due(engine);
}

/* ---- sources ------------------------------------------------------------ */

static int slots_grow(struct rnic_engine *engine)
{
	uint32_t cnt = engine->slots.cnt ? engine->slots.cnt * 2 : 16;
	struct rnic_slot *slots;

	slots = realloc(engine->slots.at, cnt * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (uint32_t i = engine->slots.cnt; i < cnt; i++) {
		slots[i].source = NULL;
		slots[i].gen = 0;
		slots[i].next_free = i + 1 < cnt ? i + 1 : UINT32_MAX;
	}
	engine->slots.free = engine->slots.cnt;
	engine->slots.at = slots;
	engine->slots.cnt = cnt;
	return 0;
}

static uint64_t slot_token(const struct rnic_engine *engine, uint32_t slot)
{
	return (uint64_t)engine->slots.at[slot].gen << 32 | slot;
}

static uint32_t source_flags(const struct rnic_source *source)
{
	return source->is_shared ? EPOLLEXCLUSIVE : 0;
}

int rnic_engine_add(struct rnic_engine *engine, struct rnic_source *source)
{
	struct epoll_event ev = { .events = EPOLLIN | source_flags(source) };
	uint32_t slot;
	int rc;

	util_lock_assert_held(&engine->lead);
	if (engine->is_broken)
		return -EIO;
	if (engine->slots.free == UINT32_MAX) {
		rc = slots_grow(engine);
		if (rc < 0)
			return rc;
	}
	slot = engine->slots.free;
	ev.data.u64 = slot_token(engine, slot);
	if (epoll_ctl(engine->epfd, EPOLL_CTL_ADD, source->fd, &ev) < 0)
		return -errno;
	engine->slots.free = engine->slots.at[slot].next_free;
	engine->slots.at[slot].source = source;
	source->slot = slot;
	source->events = EPOLLIN;
	LIST_INSERT_HEAD(&engine->slots.list, source, link);
	return 0;
}

void rnic_engine_remove(struct rnic_engine *engine, struct rnic_source *source)
{
	struct rnic_slot *slot = &engine->slots.at[source->slot];

	util_lock_assert_held(&engine->lead);
	rnic_engine_remove_wake(engine, source);
	rnic_engine_forget_busy(engine, source);
	epoll_ctl(engine->epfd, EPOLL_CTL_DEL, source->fd, NULL);
	slot->source = NULL;
	slot->gen++;
	slot->next_free = engine->slots.free;
	engine->slots.free = source->slot;
	LIST_REMOVE(source, link);
	rnic_due_clear(&engine->due, &source->due);
}

int rnic_engine_change_fd(struct rnic_engine *engine,
			  struct rnic_source *source, int fd)
{
	struct epoll_event ev = { .events = source->events };

	util_lock_assert_held(&engine->lead);
	ev.data.u64 = slot_token(engine, source->slot);
	if (epoll_ctl(engine->epfd, EPOLL_CTL_ADD, fd, &ev) < 0)
		return -errno;
	epoll_ctl(engine->epfd, EPOLL_CTL_DEL, source->fd, NULL);
	source->fd = fd;
	return 0;
}

void rnic_engine_set_events(struct rnic_engine *engine,
			    struct rnic_source *source, uint32_t events)
{
	struct epoll_event ev = { .events = events | source_flags(source) };
	int op = source->is_shared ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;

	if (events == source->events)
		return;
	ev.data.u64 = slot_token(engine, source->slot);
	/* The kernel changes no entry that is exclusive. */
	if (source->is_shared)
		epoll_ctl(engine->epfd, EPOLL_CTL_DEL, source->fd, NULL);
	if (epoll_ctl(engine->epfd, op, source->fd, &ev) == 0)
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

void rnic_engine_mr_gone(struct rnic_engine *engine, uint32_t stag,
			 const void *addr, size_t len)
{
	struct rnic_source *source;

	util_lock_assert_held(&engine->lead);
	LIST_FOREACH(source, &engine->slots.list, link)
	source->ops->mr_gone(source, stag, addr, len);
}

void rnic_engine_each(struct rnic_engine *engine,
		      void (*act)(struct rnic_source *source, void *arg),
		      void *arg)
{
	struct rnic_source *source, *next;

	rnic_engine_lead(engine);
	for (source = LIST_FIRST(&engine->slots.list); source; source = next) {
		next = LIST_NEXT(source, link);
		act(source, arg);
	}
	rnic_engine_unlead(engine);
}

void rnic_engine_let_finish(const struct rnic_engine *engine, int turns)
{
	for (int i = 0; i < turns && util_lock_is_held(&engine->lead); i++)
		atomic_thread_fence(memory_order_seq_cst);
}

uint64_t rnic_engine_yield(void)
{
	uint64_t begin_ns = util_now_ns();

	sched_yield();
	return util_now_ns() - begin_ns;
}

void rnic_engine_abort(struct rnic_engine *engine)
{
	struct rnic_source *source;

	while ((source = LIST_FIRST(&engine->slots.list)))
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
	rnic_engine_abort(engine);
}
