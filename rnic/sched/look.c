/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See look.h. */
#include "look.h"

/* For at most so long, polls do not ask epoll.  For so long after news in
 * memory, they do not read sockets. */
#define LOOK_ASK_NS 50000u

/* A poll that finds no news in memory looks so often again, if one of so many
 * polls before did. */
#define LOOK_AGAIN 8u
#define LOOK_VAIN_POLLS 16u

uint32_t rnic_look_again_cnt(const struct rnic_look *look)
{
	return look->vain_cnt < LOOK_VAIN_POLLS ? LOOK_AGAIN : 0;
}

enum rnic_look_at rnic_look(struct rnic_look *look, uint64_t now_ns,
			    bool has_news, bool has_others)
{
	if (has_news) {
		look->news_ns = now_ns;
		look->vain_cnt = 0;
	} else if (look->vain_cnt < LOOK_VAIN_POLLS) {
		look->vain_cnt++;
	}
	if (!has_others || look->asks_again ||
	    now_ns - look->asked_ns >= LOOK_ASK_NS)
		return RNIC_LOOK_EPOLL;
	return now_ns - look->news_ns >= LOOK_ASK_NS ? RNIC_LOOK_BUSY
						     : RNIC_LOOK_MEMORY;
}

void rnic_look_asked(struct rnic_look *look, uint64_t now_ns,
		     bool has_named_others)
{
	look->asked_ns = now_ns;
	look->asks_again = has_named_others;
}
