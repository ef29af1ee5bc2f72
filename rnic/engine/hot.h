/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Sources whose octets come through memory, beside their socket.
 *
 * The other end of such a source wakes this one, by the descriptor wake_fd, if
 * it is asleep.  Those that had news lately are hot: each poll looks at them,
 * at one word each, and at the sockets of all sources rarely.  While the
 * completion thread watches, hot sources stay awake and need not be woken.
 * Before it sleeps in epoll, and where it sleeps there while another thread
 * polls, all sources are put to sleep.  So what a poll costs does not grow with
 * the number of sources.
 *
 * All under the lead.
 */
#ifndef RNIC_ENGINE_HOT_H
#define RNIC_ENGINE_HOT_H

#include "object.h"

/* So many are looked at in each poll, but for those that cannot sleep. */
#define RNIC_HOT_MAX 64u

/* epoll data: the slot's, for the descriptor beside the socket. */
#define ENGINE_SLOT_WAKE (1u << 31)

/*
 * The source, which rnic_engine_add() has taken, is asleep, and is woken by
 * @wake_fd.  Return: 0; what epoll_ctl() said.
 */
int rnic_engine_add_wake(struct rnic_engine *engine, struct rnic_source *source,
			 int wake_fd);
/*
 * Whether it has one or not.  The source stays.  wake_fd is -1 then if a thread
 * did not give it back in time: it must stay open, or the thread could write to
 * another file of the same number.
 */
void rnic_engine_remove_wake(struct rnic_engine *engine,
			     struct rnic_source *source);

/*
 * @fd: in place of wake_fd; -1: nothing wakes the source until the next one.
 * For sources without handover: no thread uses wake_fd then.  Return: 0; what
 * epoll_ctl() said.
 */
int rnic_engine_change_wake_fd(struct rnic_engine *engine,
			       struct rnic_source *source, int fd);

/*
 * The other end is to be woken as soon as this thread has given up the lead.
 * What is woken may run on this CPU at once, in place of this thread, and a
 * thread that waits for the lead would wait for both.
 * Return: false: there is no place for it.
 */
bool rnic_engine_wake_later(struct rnic_engine *engine,
			    struct rnic_source *source);

/*
 * What was written last, and by which the calling thread, which has posted it,
 * hands over its CPU without the lead: rnic_engine_unlead_holding().
 * Return: false: nothing; otherwise rnic_engine_hot_words_give() has to follow.
 */
bool rnic_engine_handover_begin(struct rnic_engine *engine,
				struct rnic_handover *ret_handover);

/* The lead is given up: those to be woken then, with the lead ... */
static inline void rnic_engine_wakes_take(struct rnic_engine *engine,
					  struct rnic_wakes *ret_wakes)
{
	ret_wakes->cnt = engine->hot.wakes.cnt;
	if (!ret_wakes->cnt)
		return;
	*ret_wakes = engine->hot.wakes;
	engine->hot.wakes.cnt = 0;
	/* relaxed: the lead orders this before a source is removed */
	atomic_fetch_add_explicit(&engine->hot.waker_cnt, 1,
				  memory_order_relaxed);
}
/* ... and, if there are any, without it.  Leaves those that cannot be woken. */
void rnic_engine_wakes_send(struct rnic_engine *engine,
			    struct rnic_wakes *wakes);

/* It has been woken, or has had news: the next polls look at it. */
void rnic_engine_heat(struct rnic_engine *engine, struct rnic_source *source);

/* More is awaited from it than before: what its owner has set in the source. */
void rnic_engine_await(struct rnic_engine *engine, struct rnic_source *source);

/* May hot sources stay awake when this thread has gone? */
bool rnic_engine_may_stay_awake(const struct rnic_engine *engine);

/* Serve the hot sources that have news.  Return: whether there were any. */
bool rnic_engine_look_hot(struct rnic_engine *engine);

/* Are some of them awake?  Without the lead, a hint. */
bool rnic_engine_is_restless(const struct rnic_engine *engine);

/* The lead is given up: no other thread looks when this one polls no more.
 * Return: whether some stay awake for a thread that looks. */
bool rnic_engine_leave_hot(struct rnic_engine *engine);

/* Is there news?  Nothing is served. */
bool rnic_engine_has_news(const struct rnic_engine *engine);

/*
 * The same words, for a thread that looks at them without the lead.  The end of
 * a source waits until they are given back, for a second at most; after that
 * they may not exist any more.
 */
struct rnic_hot_word {
	const _Atomic uint64_t *word;
	uint64_t seen;
};

/* Return: how many of at most @max; with none, nothing is to be given back. */
uint32_t rnic_engine_hot_words_take(struct rnic_engine *engine,
				    struct rnic_hot_word *words, uint32_t max);
/* Without the lead. */
bool rnic_engine_hot_words_differ(const struct rnic_hot_word *words,
				  uint32_t cnt);
void rnic_engine_hot_words_give(struct rnic_engine *engine);

/* Put all to sleep, and serve those that have news then.  Return: false: news
 * came again and again, and somebody has to look soon. */
bool rnic_engine_sleep_hot(struct rnic_engine *engine);

#endif
