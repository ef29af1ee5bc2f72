/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See watch.h. */
#include "watch.h"

#include "util/reason.h"

static _Atomic(const struct rnic_watcher *) current;

void rnic_watch(const struct rnic_watcher *watcher)
{
	util_reason_watch(watcher ? watcher->reason : NULL);
	/* relaxed: it is constant, and set before there is a QP */
	atomic_store_explicit(&current, watcher, memory_order_relaxed);
}

const struct rnic_watcher *rnic_watcher(void)
{
	return atomic_load_explicit(&current, memory_order_relaxed);
}
