/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the connection manager has in its lists. */
#ifndef TEST_CM_LISTS_H
#define TEST_CM_LISTS_H

#include "fixture.h"
#include "cm/object.h"
#include "until.h"

/* Connections that begin or end and are no QP's. */
static inline uint32_t cm_unowned_cnt(void)
{
	const struct cm_conn_list *const lists[] = { &cm.starting, &cm.asked,
						     &cm.rejected,
						     &cm.closing };
	struct cm_conn *conn;
	uint32_t cnt = 0;

	util_lock(&rnic_loop.lock);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		TAILQ_FOREACH(conn, lists[i], link)
	cnt++;
	util_unlock(&rnic_loop.lock);
	return cnt;
}

static inline void cm_wait_none_unowned(void)
{
	wait_until(cm_unowned_cnt() == 0);
}

#endif
