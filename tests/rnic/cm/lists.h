/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the connection manager has in its lists. */
#ifndef TEST_CM_LISTS_H
#define TEST_CM_LISTS_H

#include "fixture.h"
#include "cm/object.h"
#include "until.h"

/* The timer that expires first.  Locked. */
static inline struct rnic_timer *cm_first(enum rnic_timer_list list)
{
	assert_int_not_equal(rnic_timer_cnt(list), 0);
	return rnic_timer_first(list);
}

/* Connections that begin or end and are no QP's. */
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
