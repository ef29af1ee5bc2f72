/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See look.h. */
#include "look.h"

#include "util/clock.h"

/* For at most so long, polls do not ask epoll.  For so long after news in
 * memory, they do not read sockets. */
#define LOOK_ASK_NS 50000u
/* The same while a thread sleeps on the epoll set. It may not get a CPU. */
#define LOOK_SLEEPER_NS (2 * NS_PER_MS)
/* So many polls behind a sleep do not ask, if each has found news in memory. */
#define LOOK_SLEPT_MAX 8u

/* A poll that finds no news in memory looks so often again, if one of so many
 * polls before did. */
#define LOOK_AGAIN 8u
#define LOOK_VAIN_POLLS 16u

uint32_t rnic_look_again_cnt(const struct rnic_look *look)
{
	return look->vain_cnt < LOOK_VAIN_POLLS ? LOOK_AGAIN : 0;
}

bool rnic_look_needs_time(struct rnic_look *look,
			  const struct rnic_look_poll *poll)
{
	if (!poll->has_news || !rnic_look_awaits_news(look) ||
	    poll->has_slept || poll->has_sleeper || look->asks_again)
		return true;
	look->is_untimed = true;
	look->vain_cnt = 0;
	return false;
}

static void note_news(struct rnic_look *look, uint64_t now_ns, bool has_news)
{
	if (has_news || look->is_untimed)
		look->news_ns = now_ns;
	look->is_untimed = false;
	if (has_news)
		look->vain_cnt = 0;
	else if (look->vain_cnt < LOOK_VAIN_POLLS)
		look->vain_cnt++;
}

static bool is_to_ask(struct rnic_look *look, uint64_t now_ns,
		      const struct rnic_look_poll *poll)
{
	uint64_t since_ns = now_ns - look->asked_ns;

	/* News in memory is what has woken it, most probably. */
	if (poll->has_slept)
		return !poll->has_news || look->slept_cnt++ >= LOOK_SLEPT_MAX;
	if (poll->has_sleeper)
		return since_ns >= LOOK_SLEEPER_NS;
	return !poll->has_others || look->asks_again || since_ns >= LOOK_ASK_NS;
}

enum rnic_look_at rnic_look(struct rnic_look *look, uint64_t now_ns,
			    const struct rnic_look_poll *poll)
{
	note_news(look, now_ns, poll->has_news);
	if (is_to_ask(look, now_ns, poll))
		return RNIC_LOOK_EPOLL;
	return now_ns - look->news_ns >= LOOK_ASK_NS && !poll->has_sleeper
		       ? RNIC_LOOK_BUSY
		       : RNIC_LOOK_MEMORY;
}

void rnic_look_asked(struct rnic_look *look, uint64_t now_ns,
		     bool has_named_others)
{
	look->asked_ns = now_ns;
	look->asks_again = has_named_others;
	look->slept_cnt = 0;
}
