/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Posts: transmitted here, by the leader, or by the next poll. */
#ifndef RNIC_ENGINE_POST_H
#define RNIC_ENGINE_POST_H

#include "object.h"

/* A queue got entries: serves it here if the lead is free, unless posts wait to
 * be served together (sched/burst.h).  Leaves errno as it is. */
void rnic_engine_post(struct rnic_engine *engine, struct rnic_bell *bell);

/* Transmits posts that wait to be transmitted together. */
void rnic_engine_flush(struct rnic_engine *engine);

#endif
