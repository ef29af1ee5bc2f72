/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The engine's completion thread. */
#ifndef RNIC_ENGINE_THREAD_H
#define RNIC_ENGINE_THREAD_H

#include "object.h"

/*
 * Starts it unless it runs already, as rnic_engine_add() requires. Under the
 * lead.
 * Return: 0; -EIO: the engine is broken; other -errno.
 */
int rnic_engine_thread_start(struct rnic_engine *engine);

/*
 * How long the parked thread sleeps before it looks whether the poller still
 * polls, in ns.  @last_ns: how long it has slept the last time; 0: it parks.
 * @run_ns: how long the poller has polled without a pause.
 */
uint64_t rnic_engine_park_ns(uint64_t last_ns, uint64_t run_ns);

#endif
