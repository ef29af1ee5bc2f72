/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See sched.h. */
#include "sched.h"

void rnic_sched_init(struct rnic_sched *sched)
{
	atomic_init(&sched->post_cpu, -1);
}

/* ---- a thread that posts ------------------------------------------------- */

/* Do threads sleep on the epoll set when they wait? */
static bool is_slept_on(const struct rnic_sched *sched)
{
	return rnic_polls_have_sleeper(&sched->polls) ||
	       rnic_polls_are_attended(&sched->polls);
}

/* A program that sleeps when it waits, as a server of many connections does,
 * needs its CPU for the next one, and gives it up soon enough. */
static bool hands_over(const struct rnic_sched *sched, bool has_memory)
{
	return has_memory &&
	       atomic_load_explicit(&sched->is_crowded, memory_order_relaxed) &&
	       !is_slept_on(sched);
}

enum rnic_sched_after rnic_sched_post(struct rnic_sched *sched, bool has_memory)
{
	enum rnic_answer answer = rnic_answer_take(&sched->answers);
	enum rnic_sched_after after = RNIC_AFTER_GO_ON;

	if (answer == RNIC_ANSWER_SPINNER)
		after |= RNIC_AFTER_YIELD;
	if (answer && hands_over(sched, has_memory))
		after |= RNIC_AFTER_HAND_OVER;
	return after && rnic_skip_may(&sched->skip) ? after : RNIC_AFTER_GO_ON;
}

/* ---- a thread that polls, or waits for an event -------------------------- */

void rnic_sched_note_attended(struct rnic_sched *sched, uint64_t now_ns,
			      bool may_gather)
{
	rnic_polls_note_attended(&sched->polls, now_ns);
	atomic_store_explicit(&sched->burst.may_gather, may_gather,
			      memory_order_relaxed);
}

/* ---- the completion thread ----------------------------------------------- */

enum rnic_sched_next rnic_sched_woke(const struct rnic_sched *sched,
				     uint64_t now_ns, bool has_events,
				     bool is_called)
{
	/* A thread that polls finds these events itself. */
	if (has_events && !is_called && rnic_park_may(&sched->park, now_ns) &&
	    rnic_polls_are_live(&sched->polls, now_ns))
		return RNIC_NEXT_PARK;
	return RNIC_NEXT_SERVE;
}

void rnic_sched_note_cpu(struct rnic_sched *sched, uint64_t now_ns,
			 uint64_t lost_cnt)
{
	bool is_crowded = rnic_cpu_note(&sched->cpu, now_ns, lost_cnt);

	atomic_store_explicit(&sched->is_crowded, is_crowded,
			      memory_order_relaxed);
}

static bool spins(struct rnic_sched *sched)
{
	return rnic_spin_is_due(&sched->spin, rnic_sched_arrival_no(sched),
				sched->cpu.has_idle && !is_slept_on(sched));
}

static void set_spinning(struct rnic_sched *sched, bool is_spinning)
{
	/* relaxed: who leads looks at it, or takes it as a hint */
	atomic_store_explicit(&sched->is_spinning, is_spinning,
			      memory_order_relaxed);
}

enum rnic_sched_next rnic_sched_served(struct rnic_sched *sched,
				       uint64_t now_ns)
{
	bool is_spinning = spins(sched);

	if (rnic_burst_take_park(&sched->burst) &&
	    rnic_park_may(&sched->park, now_ns)) {
		set_spinning(sched, false);
		return RNIC_NEXT_PARK;
	}
	set_spinning(sched, is_spinning);
	return is_spinning ? RNIC_NEXT_SPIN : RNIC_NEXT_SLEEP;
}

uint64_t rnic_sched_park_ns(const struct rnic_sched *sched, uint64_t now_ns,
			    uint64_t last_ns)
{
	/* The first time the poller may have waited for this thread's CPU. */
	if (last_ns ? !rnic_polls_are_live(&sched->polls, now_ns)
		    : !rnic_polls_are_noted(&sched->polls))
		return 0;
	return rnic_park_ns(last_ns);
}

void rnic_sched_parked(struct rnic_sched *sched, uint64_t now_ns,
		       bool was_served)
{
	/* Somebody has read others meanwhile, and posts now; or comes back for
	 * them: it was busy with what it had got before, and is not disturbed
	 * by a thread that reads and completes beside it. */
	if (was_served || (rnic_polls_come_back(&sched->polls) &&
			   rnic_polls_are_live(&sched->polls, now_ns)))
		return;
	rnic_park_note_unread(&sched->park, now_ns);
}

bool rnic_sched_spins_on(const struct rnic_sched *sched, uint64_t now_ns)
{
	/* Other threads that run or poll have what this one waits for, or want
	 * its CPU. */
	return !rnic_polls_have_sleeper(&sched->polls) &&
	       !rnic_polls_are_live(&sched->polls, now_ns);
}

void rnic_sched_spun(struct rnic_sched *sched, bool found)
{
	rnic_spin_note(&sched->spin, found);
	if (!found)
		set_spinning(sched, false);
}
