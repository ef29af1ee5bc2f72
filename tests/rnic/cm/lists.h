/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Inspects the lists of the connection manager. */
#ifndef TEST_CM_LISTS_H
#define TEST_CM_LISTS_H

#include "fixture.h"
#include "cm/fork.h"
#include "until.h"

/* The timer that expires first. The lock is held. */
static inline struct rnic_timer *cm_first(enum rnic_timer_list list)
{
	assert_int_not_equal(rnic_timer_cnt(list), 0);
	return rnic_timer_first(list);
}

/* A listener's connections without a Request so far. */
static inline uint32_t cm_half_open_cnt(const struct cm_side *s)
{
	struct cm_id *id;
	uint32_t cnt;

	assert_int_equal(cm_id_lock(s->chan, s->id, &id), 0);
	cnt = id->listener.acceptor.half_open_cnt;
	util_unlock(&rnic_loop.lock);
	return cnt;
}

/* Number of connections that begin or end and belong to no QP. */
static inline uint32_t cm_unowned_cnt(void)
{
	static const enum rnic_timer_list lists[] = { RNIC_TIMER_CM_STARTING,
						      RNIC_TIMER_CM_ASKED,
						      RNIC_TIMER_CM_REJECTED,
						      RNIC_TIMER_CM_CLOSING };
	uint32_t cnt = 0;

	util_lock(&rnic_loop.lock);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		cnt += rnic_timer_cnt(lists[i]);
	util_unlock(&rnic_loop.lock);
	return cnt;
}

static inline void cm_wait_none_unowned(void)
{
	wait_until(cm_unowned_cnt() == 0);
}

#endif
