/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Threads that wait for events, and do the engine's work in the meantime. */
#include "attend.h"

#include <errno.h>

#include "engine.h"
#include "visit.h"
#include "wake.h"

static struct rnic_engine *host_engine(struct rnic_chan_host *host)
{
	return RNIC_CONTAINER_OF(host, struct rnic_engine, host);
}

static void host_get(struct rnic_chan_host *host)
{
	rnic_engine_get(host_engine(host));
}

static void host_put(struct rnic_chan_host *host)
{
	rnic_engine_put(host_engine(host));
}

static int engine_rest(struct rnic_engine *engine)
{
	rnic_sched_note_attended(&engine->sched, util_now_ns(), true);
	rnic_polls_note_slept(&engine->sched.polls);
	/* The completion thread has something to do first, and would be asked
	 * for at each wake-up. */
	if (rnic_engine_is_woken(engine)) {
		rnic_engine_unpark(engine);
		return -EAGAIN;
	}
	rnic_engine_flush(engine);
	return rnic_engine_rest(engine) ? engine->epfd : -EALREADY;
}

static int host_rest(struct rnic_chan_host *host)
{
	struct rnic_engine *engine = host_engine(host);
	int ret;

	if (!rnic_engine_visit_begin(engine))
		return -EAGAIN;
	ret = engine_rest(engine);
	rnic_engine_visit_end(engine);
	return ret;
}

static void host_serve(struct rnic_chan_host *host)
{
	struct rnic_engine *engine = host_engine(host);

	if (!rnic_engine_visit_begin(engine))
		return;
	rnic_sched_note_attended(&engine->sched, util_now_ns(), true);
	rnic_engine_serve(engine);
	rnic_engine_visit_end(engine);
}

const struct rnic_chan_host_ops rnic_engine_host_ops = {
	.get = host_get,
	.put = host_put,
	.rest = host_rest,
	.serve = host_serve,
};
