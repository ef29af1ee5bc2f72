/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Posts: transmitted here, by the leader, or by the next poll. */
#define _GNU_SOURCE
#include "post.h"

#include <sched.h>

#include "util/keep-errno.h"
#include "bell.h"
#include "lead.h"
#include "hot.h"
#include "os/guard.h"
#include "os/stat.h"

/* How long a poster waits for the leader to finish, in turns of about 10 ns. */
#define POST_FINISH_SPINS 64
/* How long one whose post is an answer waits for the leader to send it ... */
#define POST_SERVE_SPINS 500
/* ... and so often, if it hands its CPU over. */
#define POST_SERVE_TRIES 4
/* How long it yields until the peer has read: its completion thread takes less
 * if it runs at all. */
#define POST_HAND_OVER_NS 15000u

/* @bell: NULL: it has been rung.  Return: whether this thread leads, and shall
 * serve @bell.  Otherwise the bell is rung: the leader serves it. */
static bool engine_lead_or_bell(struct rnic_engine *engine,
				struct rnic_bell *bell)
{
	if (rnic_engine_try_lead(engine))
		return true;
	if (!bell)
		return false;
	rnic_engine_bell(engine, bell);
	/* Pairs with rnic_engine_unlead_beside(), and with the fence in
	 * engine_is_unserved(). */
	atomic_thread_fence(memory_order_seq_cst);
	return rnic_engine_try_lead(engine);
}

/* @bell: as engine_lead_or_bell().  Return: whether this thread could lead;
 * otherwise the leader serves. */
static bool engine_serve_ring(struct rnic_engine *engine,
			      struct rnic_bell *bell)
{
	/* relaxed: a hint */
	atomic_store_explicit(&engine->sched.post_cpu, sched_getcpu(),
			      memory_order_relaxed);
	if (!engine_lead_or_bell(engine, bell))
		return false;
	rnic_stat_count(engine->stat, RNIC_STAT_passes_post, 1);
	engine->turn.poll_no = 0;
	engine->turn.may_leave = true;
	rnic_engine_serve_bells(engine);
	if (bell)
		bell->serve(bell);
	engine->turn.may_leave = false;
	rnic_engine_unlead(engine);
	return true;
}

/* Waits until the leader has served the bells, and has woken who is to be
 * woken. */
static void engine_let_serve(const struct rnic_engine *engine)
{
	for (int i = 0;
	     i < POST_SERVE_SPINS && (rnic_engine_has_bells(engine) ||
				      util_lock_is_held(&engine->lead) ||
				      rnic_engine_is_waking(engine));
	     i++)
		atomic_thread_fence(memory_order_seq_cst);
}

/* The answer that was posted.  Return: whether there is something to hand the
 * CPU over for; rnic_engine_hot_words_give() has to follow then. */
static bool engine_begin_handover(struct rnic_engine *engine,
				  struct rnic_handover *ret_handover)
{
	if (!rnic_engine_try_lead(engine))
		return false;
	if (!rnic_engine_handover_begin(engine, ret_handover)) {
		rnic_engine_unlead(engine);
		return false;
	}
	if (rnic_engine_unlead_holding(engine))
		return true;
	rnic_engine_hot_words_give(engine);
	rnic_engine_lead(engine);
	rnic_engine_unlead(engine);
	return false;
}

struct handed {
	struct rnic_handover handover;
	bool is_over;
};

/* Guarded, as the look of spin.c: the end of the source waits a second only. */
static void handed_look(void *arg)
{
	struct handed *handed = arg;

	handed->is_over = rnic_handover_is_over(&handed->handover);
}

static bool handed_is_over(struct handed *handed)
{
	return rnic_guard(handed_look, handed) < 0 || handed->is_over;
}

/*
 * Once does not help a thread of another group of the scheduler (autogroup,
 * cgroup), which two terminals and two containers are.
 * Return: whether it was necessary.
 */
static bool engine_hand_over(struct rnic_engine *engine, struct handed *handed)
{
	uint64_t begin_ns, ns;

	if (handed_is_over(handed))
		return false;
	begin_ns = util_now_ns();
	do {
		sched_yield();
		ns = util_now_ns() - begin_ns;
	} while (ns < POST_HAND_OVER_NS && !handed_is_over(handed));
	rnic_skip_note(&engine->sched.skip, ns);
	return true;
}

static void engine_give_cpu(struct rnic_engine *engine,
			    enum rnic_sched_after after)
{
	struct handed handed;
	bool is_given = true;

	if (after & RNIC_AFTER_HAND_OVER &&
	    engine_begin_handover(engine, &handed.handover)) {
		is_given = engine_hand_over(engine, &handed);
		rnic_engine_hot_words_give(engine);
	} else if (after & RNIC_AFTER_YIELD) {
		rnic_skip_note(&engine->sched.skip, rnic_engine_yield());
	} else {
		return;
	}
	if (is_given)
		rnic_stat_add(RNIC_STAT_yields, 1);
}

/* It has to reach the peer's completion thread, which may need this CPU. */
static void engine_serve_answer(struct rnic_engine *engine,
				struct rnic_bell *bell,
				enum rnic_sched_after after)
{
	bool is_served = engine_serve_ring(engine, bell);

	for (int i = 0; i < POST_SERVE_TRIES && !is_served; i++) {
		engine_let_serve(engine);
		is_served = !(after & RNIC_AFTER_HAND_OVER) ||
			    engine_serve_ring(engine, NULL);
	}
	engine_give_cpu(engine,
			is_served ? after : after & ~RNIC_AFTER_HAND_OVER);
}

/* @bell: as engine_lead_or_bell(). */
static void engine_serve_post(struct rnic_engine *engine,
			      struct rnic_bell *bell)
{
	UTIL_KEEP_ERRNO();
	enum rnic_sched_after after =
		rnic_sched_post(&engine->sched, rnic_engine_has_memory(engine));

	if (after)
		engine_serve_answer(engine, bell, after);
	else
		(void)engine_serve_ring(engine, bell);
}

void rnic_engine_flush(struct rnic_engine *engine)
{
	if (rnic_engine_has_bells(engine))
		(void)engine_serve_ring(engine, NULL);
}

/*
 * A program that spins on its memory posts the moment the octets are there,
 * while the completion thread that has placed them still leads, for some
 * hundred nanoseconds.  A bell that is rung now would be served by that thread,
 * and what it sends would wake the peer's from the wrong CPU, by an interrupt.
 */
void rnic_engine_post(struct rnic_engine *engine, struct rnic_bell *bell)
{
	struct rnic_burst *burst = &engine->sched.burst;
	bool may_wait = rnic_burst_post(burst);

	if (!may_wait || !rnic_burst_is_watched(burst))
		rnic_engine_let_finish(engine, POST_FINISH_SPINS);
	if (!may_wait) {
		engine_serve_post(engine, bell);
		return;
	}
	rnic_engine_bell(engine, bell);
	if (!rnic_burst_waits(burst, &engine->sched.polls))
		engine_serve_post(engine, NULL);
}
