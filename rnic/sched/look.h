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
};

enum rnic_look_at {
	RNIC_LOOK_MEMORY, /* only */
	RNIC_LOOK_BUSY,
	RNIC_LOOK_EPOLL,
};

/*
 * A poll at that time, which has looked at memory.  @has_news: there.
 * @has_others: there are sources that a poll can look at without epoll.
 */
enum rnic_look_at rnic_look(struct rnic_look *look, uint64_t now_ns,
			    bool has_news, bool has_others);

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
