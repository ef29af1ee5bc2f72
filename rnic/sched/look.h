/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a poll looks at, beside the memory of hot sources: the sockets that were
 * busy lately, or epoll, which knows all.  Each takes system calls, which a
 * thread that exchanges messages through memory would pay for each of its polls
 * between two of them.
 *
 * Under the lead.
 */
#ifndef RNIC_SCHED_LOOK_H
#define RNIC_SCHED_LOOK_H

#include <stdbool.h>
#include <stdint.h>

/* Zero at first. */
struct rnic_look {
	uint64_t asked_ns; /* when a poll asked epoll last */
	uint64_t news_ns;  /* when a poll found news in memory last */
	bool asks_again;   /* epoll named a source that no poll looked at */
	uint32_t vain_cnt; /* polls since news in memory, up to a limit */
	bool is_untimed; /* the last poll has found news, and not noted when */
	/* Polls behind a sleep that found news in memory, and did not ask. */
	uint32_t slept_cnt;
};

/* A poll, which has looked at memory. */
struct rnic_look_poll {
	bool has_news;	 /* there */
	bool has_others; /* sources that it can look at without epoll */
	/*
	 * A thread that sleeps on the epoll set is woken by whatever epoll
	 * knows, and at once if it was there before.
	 */
	bool has_slept;	  /* the first poll behind such a sleep */
	bool has_sleeper; /* a thread sleeps so, or is about to */
};

enum rnic_look_at {
	RNIC_LOOK_MEMORY, /* only */
	RNIC_LOOK_BUSY,
	RNIC_LOOK_EPOLL,
};

/* The last poll was in vain: what the next one finds is an answer, mostly. */
static inline bool rnic_look_awaits_news(const struct rnic_look *look)
{
	return look->vain_cnt;
}

/*
 * A poll has looked.  News that was awaited needs no time: nothing but memory
 * is looked at, whatever the time is.
 * Return: false: there it is; true: rnic_look() follows.
 */
bool rnic_look_needs_time(struct rnic_look *look,
			  const struct rnic_look_poll *poll);

enum rnic_look_at rnic_look(struct rnic_look *look, uint64_t now_ns,
			    const struct rnic_look_poll *poll);

/*
 * A poll has found no news in memory.  A look takes little of a poll, and a
 * thread that waits for an answer polls without a pause.  So the poll waits a
 * little itself.  Where both ends run on one core, the other one is faster
 * meanwhile.
 * Return: how often it looks again.
 */
uint32_t rnic_look_again_cnt(const struct rnic_look *look);

/* It has asked epoll.  @has_named_others: sources that polls did not look
 * at. */
void rnic_look_asked(struct rnic_look *look, uint64_t now_ns,
		     bool has_named_others);

#endif
