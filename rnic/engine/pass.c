/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Passes over the sources: of threads that poll, and of those that wait. */
#include "pass.h"

#include "util/cancel.h"
#include "util/keep-errno.h"
#include "hot.h"
#include "lead.h"
#include "os/relax.h"
#include "os/stat.h"
#include "sockets.h"
#include "wake.h"

/* How long the connection manager waits for a leader: in turns of about 10 ns
 * first. */
#define PASS_CATCH_UP_SPINS 500
#define PASS_CATCH_UP_NS (10 * NS_PER_MS)

/* Return: whether a source was there for it. */
static bool engine_serve_event(struct rnic_engine *engine, uint64_t token,
			       uint32_t events)
{
	struct rnic_source *source = rnic_engine_find(engine, token);

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
	engine->turn.now_ns = 0; /* a drain keeps the lead while it waits */
	/* Wake-ups first: a look at a source takes its wake-up, and would be
	 * followed by another one for the event. */
	for (int i = 0; i < cnt; i++)
		(void)engine_serve_event(engine, ev[i].data.u64, ev[i].events);
	(void)rnic_engine_look_hot(engine);
	rnic_engine_serve_bells(engine);
	engine_due(engine);
}

/* Return: whether it is a source that no poll has looked at lately. */
static bool engine_note_named(struct rnic_engine *engine, uint64_t token)
{
	struct rnic_source *source = rnic_engine_find(engine, token);

	return source &&
	       (source->has_wake || rnic_engine_note_busy(engine, source));
}

/* What epoll knows now. */
static void engine_pass_epoll(struct rnic_engine *engine)
{
	struct epoll_event ev[ENGINE_EVENT_MAX];
	bool has_others = false;
	int cnt = util_sys_epoll_wait(engine->epfd, ev, ENGINE_EVENT_MAX, 0);

	if (rnic_engine_wait_error(cnt))
		rnic_engine_break(engine, rnic_engine_wait_error(cnt));
	for (int i = 0; i < cnt; i++) {
		if (engine_serve_event(engine, ev[i].data.u64, ev[i].events))
			has_others |= engine_note_named(engine, ev[i].data.u64);
	}
	rnic_look_asked(&engine->sched.look, rnic_engine_now_ns(engine),
			has_others);
}

/* Return: whether there is news in memory. */
static bool engine_look(struct rnic_engine *engine)
{
	uint32_t cnt = rnic_look_again_cnt(&engine->sched.look);

	if (rnic_engine_look_hot(engine))
		return true;
	for (uint32_t i = 0; i < cnt && !rnic_engine_has_bells(engine); i++) {
		if (rnic_engine_has_news(engine))
			return rnic_engine_look_hot(engine);
		rnic_relax();
	}
	return false;
}

static void engine_pass_timed(struct rnic_engine *engine,
			      const struct rnic_look_poll *poll)
{
	uint64_t now_ns = rnic_engine_now_ns(engine);

	rnic_polls_note(&engine->sched.polls, now_ns);
	switch (rnic_look(&engine->sched.look, now_ns, poll)) {
	case RNIC_LOOK_EPOLL:
		engine_pass_epoll(engine);
		break;
	case RNIC_LOOK_BUSY:
		rnic_engine_pass_busy(engine);
		break;
	case RNIC_LOOK_MEMORY:
		break;
	}
}

/* The sockets of sources with memory say next to nothing. */
static void engine_pass(struct rnic_engine *engine)
{
	bool has_memory = rnic_engine_has_memory(engine);
	struct rnic_look_poll poll;
	bool is_timed;

	/* Whoever asks during the look shall see this poll. */
	if (!rnic_look_awaits_news(&engine->sched.look))
		rnic_polls_note(&engine->sched.polls,
				rnic_engine_now_ns(engine));
	poll = (struct rnic_look_poll){
		.has_news = has_memory && engine_look(engine),
		.has_others = has_memory || engine->busy.cnt,
		.has_slept = rnic_polls_take_slept(&engine->sched.polls),
		.has_sleeper = rnic_polls_have_sleeper(&engine->sched.polls),
	};
	is_timed = rnic_look_needs_time(&engine->sched.look, &poll);
	if (is_timed)
		engine_pass_timed(engine, &poll);
	rnic_engine_serve_bells(engine);
	if (is_timed)
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

	/* A source that comes later comes asleep. */
	if (!rnic_engine_has_memory(engine) || engine_is_at_rest(engine))
		return true;
	rnic_engine_lead(engine);
	is_quiet = rnic_engine_sleep_hot(engine);
	rnic_engine_unlead(engine);
	return is_quiet;
}

static void engine_poll(struct rnic_engine *engine)
{
	if (rnic_burst_poll(&engine->sched.burst, &engine->sched.polls))
		rnic_engine_thread_wake(engine);
	rnic_stat_count(engine->stat, RNIC_STAT_passes_poll, 1);
	engine_pass(engine);
}

static void engine_begin_turn(struct rnic_engine *engine)
{
	struct rnic_turn *turn = &engine->turn;

	rnic_polls_take_left(&engine->sched.polls);
	turn->last_no += 2; /* odd, so never 0 */
	turn->poll_no = turn->last_no;
	turn->may_leave = true;
}

void rnic_engine_poll(struct rnic_engine *engine)
{
	UTIL_KEEP_ERRNO();

	/* Without the lead: another thread may need it. */
	if (rnic_polls_yield(&engine->sched.polls))
		rnic_polls_note_yield(&engine->sched.polls,
				      rnic_engine_yield());
	if (!rnic_engine_try_lead(engine)) {
		/* Another thread makes progress already.  If it is the
		 * completion thread, it need not go on. */
		rnic_polls_note(&engine->sched.polls, util_now_ns());
		return;
	}
	engine_begin_turn(engine);
	engine_poll(engine);
	engine->turn.may_leave = false;
	rnic_engine_unlead(engine);
}

void rnic_engine_serve(struct rnic_engine *engine)
{
	rnic_engine_lead(engine);
	engine_poll(engine);
	rnic_engine_unlead(engine);
}

void rnic_engine_catch_up(struct rnic_engine *engine)
{
	rnic_engine_let_finish(engine, PASS_CATCH_UP_SPINS);
	if (!rnic_engine_lead_until(engine, util_now_ns() + PASS_CATCH_UP_NS))
		return;
	engine_pass_epoll(engine);
	rnic_engine_unlead(engine);
}
