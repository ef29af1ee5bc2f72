/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Threads that use an engine and may outlast it. */
#define _GNU_SOURCE
#include "visit.h"

#include <stdlib.h>
#include <unistd.h>

#include "util/cancel.h"

void rnic_engine_get(struct rnic_engine *engine)
{
	atomic_fetch_add_explicit(&engine->ref_cnt, 1, memory_order_relaxed);
}

void rnic_engine_put(struct rnic_engine *engine)
{
	/* acq_rel: whoever frees it comes behind every use */
	if (atomic_fetch_sub_explicit(&engine->ref_cnt, 1,
				      memory_order_acq_rel) == 1)
		free(engine);
}

void rnic_engine_visit_end(struct rnic_engine *engine)
{
	/* release: pairs with rnic_engine_visit_wait() */
	atomic_fetch_sub_explicit(&engine->visitor_cnt, 1,
				  memory_order_release);
}

bool rnic_engine_visit_begin(struct rnic_engine *engine)
{
	/* seq_cst, both: rnic_engine_visit_wait() sees this visit, or the visit
	 * sees that the engine stops. */
	atomic_fetch_add_explicit(&engine->visitor_cnt, 1,
				  memory_order_seq_cst);
	if (!atomic_load_explicit(&engine->is_stopping, memory_order_seq_cst))
		return true;
	rnic_engine_visit_end(engine);
	return false;
}

bool rnic_engine_visit_wait(struct rnic_engine *engine, uint64_t end_ns)
{
	UTIL_CANCEL_OFF();

	while (atomic_load_explicit(&engine->visitor_cnt,
				    memory_order_seq_cst)) {
		if (util_now_ns() >= end_ns)
			return false;
		usleep(50);
	}
	return true;
}
