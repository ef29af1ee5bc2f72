/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The life of an engine. */
#define _GNU_SOURCE
#include "engine.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/cancel.h"
#include "util/env.h"
#include "hot.h"
#include "os/fd.h"
#include "os/stat.h"
#include "siw-mpa.h"
#include "visit.h"
#include "wake.h"

static int engine_open_fds(struct rnic_engine *engine)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int rc;

	engine->epfd = rnic_fd_own(epoll_create1(EPOLL_CLOEXEC));
	if (engine->epfd < 0)
		return engine->epfd;
	engine->thread.wake_fd =
		rnic_fd_own(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (engine->thread.wake_fd < 0) {
		rc = engine->thread.wake_fd;
		goto close_epfd;
	}
	ev.data.u64 = ENGINE_WAKE_TOKEN;
	if (epoll_ctl(engine->epfd, EPOLL_CTL_ADD, engine->thread.wake_fd,
		      &ev) == 0)
		return 0;
	rc = -errno;
	rnic_fd_close(engine->thread.wake_fd);
close_epfd:
	rnic_fd_close(engine->epfd);
	return rc;
}

int rnic_engine_new(const struct rnic_engine_ops *ops, struct rnic_context *ctx,
		    struct rnic_engine **ret_engine)
{
	struct rnic_engine *engine = util_alloc_lines(1, sizeof(*engine));
	size_t staging = (size_t)util_settings()->staging_kib * 1024;
	int rc;

	if (!engine)
		return -ENOMEM;
	util_lock_init(&engine->lead, UTIL_RANK_ENGINE);
	engine->ops = ops;
	engine->ctx = ctx;
	LIST_INIT(&engine->slots.list);
	TAILQ_INIT(&engine->hot.list);
	engine->slots.free = UINT32_MAX;
	engine->turn.last_no = 1;
	rnic_sched_init(&engine->sched);
	atomic_init(&engine->ref_cnt, 1);
	engine->rx_pool.size =
		staging < SMPA_RX_STAGING_MIN ? SMPA_RX_STAGING_MIN : staging;
	engine->tx_pool.size = SMPA_TX_STAGING_FULL;
	rc = engine_open_fds(engine);
	if (rc < 0) {
		free(engine);
		return rc;
	}
	engine->stat = rnic_stat_part_take();
	*ret_engine = engine;
	return 0;
}

static void engine_close(struct rnic_engine *engine)
{
	struct rnic_source *source, *next;

	for (source = LIST_FIRST(&engine->slots.list); source; source = next) {
		next = LIST_NEXT(source, link);
		source->ops->drain(source);
	}
}

bool rnic_engine_close(struct rnic_engine *engine, uint64_t end_ns)
{
	if (!rnic_engine_lead_until(engine, end_ns))
		return false;
	engine_close(engine);
	rnic_engine_unlead(engine);
	return true;
}

/* Every stream sends its FIN and gets its peer's, within the limit. */
bool rnic_engine_drain(struct rnic_engine *engine, uint64_t end_ns)
{
	struct epoll_event ev[ENGINE_EVENT_MAX];
	int cnt;

	if (!rnic_engine_lead_until(engine, end_ns))
		return false;
	engine_close(engine);
	while (!LIST_EMPTY(&engine->slots.list) && util_now_ns() < end_ns) {
		cnt = util_sys_epoll_wait(engine->epfd, ev, ENGINE_EVENT_MAX,
					  rnic_engine_sleep_hot(engine) ? 10
									: 0);
		if (rnic_engine_wait_error(cnt))
			break;
		rnic_engine_wake_clear(engine, ev, cnt);
		rnic_engine_serve_events(engine, ev, cnt > 0 ? cnt : 0);
		if (!rnic_engine_is_all_due(engine))
			continue;
		rnic_engine_unlead(engine);
		if (!rnic_engine_lead_until(engine, end_ns))
			return false;
	}
	rnic_engine_abort(engine);
	rnic_engine_unlead(engine);
	return true;
}

bool rnic_engine_stop(struct rnic_engine *engine, uint64_t end_ns)
{
	UTIL_CANCEL_OFF();

	/* seq_cst: rnic_engine_visit_wait() */
	atomic_store_explicit(&engine->is_stopping, true, memory_order_seq_cst);
	/* Before the thread is waited for: it may be waiting for the lead. */
	if (!rnic_engine_drain(engine, end_ns) ||
	    !rnic_engine_visit_wait(engine, end_ns))
		return false;
	rnic_engine_unpark(engine);
	rnic_engine_thread_wake(engine);
	if (engine->thread.is_started)
		pthread_join(engine->thread.id, NULL);
	engine->thread.is_started = false;
	return true;
}

void rnic_engine_free(struct rnic_engine *engine)
{
	uint64_t end_ns = util_now_ns() + util_settings()->drain_ms * NS_PER_MS;

	if (!engine || !rnic_engine_stop(engine, end_ns))
		return;
	rnic_staging_fini(&engine->rx_pool);
	rnic_staging_fini(&engine->tx_pool);
	rnic_fd_close(engine->thread.wake_fd);
	rnic_fd_close(engine->epfd);
	rnic_stat_part_give(engine->stat);
	free(engine->slots.at);
	rnic_engine_put(engine);
}
