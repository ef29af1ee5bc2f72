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

#endif
