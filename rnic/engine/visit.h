/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Threads that use an engine and may outlast it. Such a thread holds a
 * reference to the engine's memory, and uses the rest of it in visits, which
 * end before the engine does.
 */
#ifndef RNIC_ENGINE_VISIT_H
#define RNIC_ENGINE_VISIT_H

#include "object.h"

void rnic_engine_get(struct rnic_engine *engine);
/* Frees the engine's memory if it was the last reference. The owner has the
 * first one. */
void rnic_engine_put(struct rnic_engine *engine);

/* Return: false: the engine is stopping, or has stopped. */
bool rnic_engine_visit_begin(struct rnic_engine *engine);
void rnic_engine_visit_end(struct rnic_engine *engine);

/* The engine is stopping: waits for the visits that have begun. Return: false:
 * not all have ended by @end_ns. */
bool rnic_engine_visit_wait(struct rnic_engine *engine, uint64_t end_ns);

#endif
