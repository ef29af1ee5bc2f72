/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Completion queues. */

#include "cq.h"

#include <errno.h>
#include <stdlib.h>

#include "util/alloc.h"
#include "util/keep-errno.h"
#include "util/log.h"
#include "util/reason.h"
#include "engine/engine.h"
#include "engine/wake.h"
#include "mem/context.h"
#include "os/chan.h"
#include "util/clock.h"
#include "os/stat.h"
#include "place.h"
#include "ring-mem.h"

/* Only a CQ of several engines needs it.  Return: true: locked. */
static bool cq_lock(struct rnic_cq *cq)
{
	bool is_shared = rnic_cq_is_shared(cq);

	if (is_shared)
		util_lock(&cq->lock);
	return is_shared;
}

static void cq_unlock(struct rnic_cq *cq, bool is_locked)
{
	if (is_locked)
		util_unlock(&cq->lock);
}

void rnic_cq_user_add(struct rnic_cq *cq, struct rnic_cq_user *user,
		      struct rnic_qp *qp)
{
	bool is_locked = cq_lock(cq);

	user->qp = qp;
	LIST_INSERT_HEAD(&cq->users, user, link);
	cq_unlock(cq, is_locked);
}

void rnic_cq_user_remove(struct rnic_cq *cq, struct rnic_cq_user *user)
{
	bool is_locked = cq_lock(cq);

	LIST_REMOVE(user, link);
	cq_unlock(cq, is_locked);
}

static void cq_overrun(struct rnic_cq *cq)
{
	struct rnic_cq_user *user;

	if (cq->is_overrun)
		return;
	cq->is_overrun = true;
	rnic_res_set(&cq->res->is_overrun, 1);
	util_err("rnic", "cq: overrun: more completions than its %u entries",
		 cq->ring.depth);
	rnic_context_event(cq->ctx, &cq->async_node, USIW_EVENT_CQ_ERR,
			   cq->handle);
	/* They fail when their bells are served: one of them may be at work. */
	LIST_FOREACH(user, &cq->users, link)
	{
		/* relaxed: its bell orders it */
		atomic_store_explicit(&user->qp->is_cq_gone, true,
				      memory_order_relaxed);
		rnic_engine_bell(user->qp->engine, &user->qp->bell);
	}
	if (rnic_cq_is_shared(cq))
		rnic_engines_flush(&cq->ctx->engines);
}

/*
 * Takes what was armed, which is for one event.  @armed: as it was loaded; as
 * it is now, if another thread has changed it.
 */
static bool cq_disarm(struct rnic_cq *cq, uint64_t *armed)
{
	if (!atomic_compare_exchange_strong_explicit(
		    &cq->armed, armed, RNIC_CQ_NOT_ARMED, memory_order_relaxed,
		    memory_order_relaxed))
		return false;
	rnic_res_set(&cq->res->armed, RNIC_CQ_NOT_ARMED);
	return true;
}

static void cq_post(struct rnic_cq *cq)
{
	struct usiw_comp_event record = { .cq_handle = cq->handle };

	/* relaxed: several threads; an event costs much more */
	atomic_fetch_add_explicit(&cq->res->fired_cnt, 1, memory_order_relaxed);
	if (cq->chan)
		rnic_chan_post(cq->chan, &cq->comp_node, &record,
			       sizeof(record));
}

/* The event is for the entry before @told_idx. */
static void cq_tell(struct rnic_cq *cq, uint32_t told_idx)
{
	atomic_store_explicit(&cq->told_idx, told_idx, memory_order_relaxed);
	cq_post(cq);
}

static enum rnic_cq_armed cq_armed_kind(const struct rnic_cq *cq)
{
	return rnic_cq_armed_kind(
		atomic_load_explicit(&cq->armed, memory_order_relaxed));
}

static bool cqe_is_urgent(const struct usiw_cqe *cqe)
{
	return cqe->wc_flags & USIW_WC_FLAG_SOLICITED ||
	       cqe->status != USIW_WC_SUCCESS;
}

static bool cq_fires(uint64_t armed, const struct usiw_cqe *cqe)
{
	switch (rnic_cq_armed_kind(armed)) {
	case RNIC_CQ_ARM_ANY:
		return true;
	case RNIC_CQ_ARM_SOLICITED:
		return cqe_is_urgent(cqe);
	case RNIC_CQ_NOT_ARMED:
		break;
	}
	return false;
}

/*
 * Entry @idx is in the ring.  Does it fire what the application armed?
 * @before: what was armed when the entry was not in the ring yet.
 */
static void cq_fire(struct rnic_cq *cq, const struct usiw_cqe *cqe,
		    uint32_t idx, uint64_t before)
{
	uint64_t armed = before;

	if (!cq_fires(before, cqe)) {
		/* seq_cst: pairs with the fence of cq_arm(): either we see it
		 * armed, or the thread that arms sees the entry. */
		atomic_thread_fence(memory_order_seq_cst);
		armed = atomic_load_explicit(&cq->armed, memory_order_relaxed);
	}
	/* The application had polled an earlier entry when it armed. */
	while (cq_fires(armed, cqe) &&
	       (int32_t)(idx - (uint32_t)(armed >> 32)) >= 0) {
		if (cq_disarm(cq, &armed)) {
			cq_tell(cq, idx + 1);
			return;
		}
	}
}

/*
 * The CQ is armed.  An entry that came behind that of the last event, and is
 * not polled yet, raises an event at once, so that no thread waits beside it.
 * Each event is for one entry only: a program that polls one entry for each
 * event polls all.
 */
static void cq_fire_waiting(struct rnic_cq *cq)
{
	uint64_t armed = atomic_load_explicit(&cq->armed, memory_order_relaxed);
	uint32_t cons = usiw_ring_cons_idx(&cq->ring);
	uint32_t used = usiw_ring_used(&cq->ring);
	/* Of the entries that are not polled.  A number that is larger is of a
	 * time long ago. */
	uint32_t told =
		atomic_load_explicit(&cq->told_idx, memory_order_relaxed) -
		cons;
	uint32_t urgent =
		atomic_load_explicit(&cq->urgent_idx, memory_order_relaxed) -
		cons;
	uint32_t end;

	if (told > used)
		told = 0;
	if (urgent > used)
		urgent = 0;
	do {
		end = rnic_cq_armed_kind(armed) == RNIC_CQ_ARM_ANY ? used
								   : urgent;
		if (rnic_cq_armed_kind(armed) == RNIC_CQ_NOT_ARMED ||
		    told >= end)
			return;
	} while (!cq_disarm(cq, &armed));
	cq_tell(cq, cons + told + 1);
}

void rnic_cq_moved(struct rnic_cq *cq)
{
	uint32_t idx =
		atomic_load_explicit(&cq->urgent_idx, memory_order_relaxed);

	/* If it fails, a later one has come. */
	(void)atomic_compare_exchange_strong_explicit(
		&cq->urgent_idx, &idx, usiw_ring_prod_idx(&cq->ring),
		memory_order_relaxed, memory_order_relaxed);
}

bool rnic_cq_is_awaited(const struct rnic_cq *cq)
{
	return cq->chan && cq_armed_kind(cq) == RNIC_CQ_ARM_ANY;
}

void rnic_cq_nudge(struct rnic_cq *cq)
{
	uint64_t armed = atomic_load_explicit(&cq->armed, memory_order_relaxed);

	if (rnic_cq_armed_kind(armed) == RNIC_CQ_ARM_ANY &&
	    cq_disarm(cq, &armed))
		cq_post(cq);
}

uint64_t rnic_raw_clock_ns(void)
{
	return util_clock_ns(CLOCK_MONOTONIC_RAW);
}

static void cqe_stamp(struct usiw_cqe *slot, uint32_t flags)
{
	if (flags & RNIC_CQ_TIMESTAMP)
		slot->timestamp_ns = rnic_raw_clock_ns();
	if (flags & RNIC_CQ_WALLCLOCK)
		slot->wallclock_ns = util_clock_ns(CLOCK_REALTIME);
}

/* There is no room for a completion.  Return: as rnic_cq_push(). */
static int cq_lose(struct rnic_cq *cq)
{
	if (cq->flags & RNIC_CQ_IGNORE_OVERRUN)
		return 0;
	cq_overrun(cq);
	return -ENOSPC;
}

/* All but the times (cqe_stamp()).  @cqe was made just now: a load of several
 * members at once would wait until their stores are in the cache.  volatile
 * keeps the compiler from making one. */
static inline void cqe_put(struct usiw_cqe *slot,
			   const volatile struct usiw_cqe *cqe)
{
	slot->wr_id = cqe->wr_id;
	slot->status = cqe->status;
	slot->opcode = cqe->opcode;
	slot->byte_len = cqe->byte_len;
	slot->imm_be = cqe->imm_be;
	slot->qp_num = cqe->qp_num;
	slot->wc_flags = cqe->wc_flags;
	slot->vendor_err = cqe->vendor_err;
	slot->src_qp = cqe->src_qp;
	slot->qp_handle = cqe->qp_handle;
}

static int cq_push(struct rnic_cq *cq, const struct usiw_cqe *cqe,
		   struct rnic_stat_part part)
{
	struct usiw_cqe *slot = usiw_ring_reserve(&cq->ring, 0);
	uint64_t armed;
	uint32_t idx;

	if (!slot || cq->is_overrun)
		return cq_lose(cq);
	cqe_put(slot, cqe);
	/* Only a CQ that asks for it pays for a clock. */
	if (cq->flags & (RNIC_CQ_TIMESTAMP | RNIC_CQ_WALLCLOCK))
		cqe_stamp(slot, cq->flags);
	armed = atomic_load_explicit(&cq->armed, memory_order_relaxed);
	idx = usiw_ring_prod_idx(&cq->ring);
	if (cqe_is_urgent(cqe))
		atomic_store_explicit(&cq->urgent_idx, idx + 1,
				      memory_order_relaxed);
	usiw_ring_commit(&cq->ring, 1);
	rnic_stat_count(part, RNIC_STAT_cqe, 1);
	if (cqe->status != USIW_WC_SUCCESS)
		rnic_stat_count(part, RNIC_STAT_cqe_error, 1);
	/* Without a channel no event is possible, and none pays for the
	 * fence. */
	if (cq->chan)
		cq_fire(cq, cqe, idx, armed);
	return 0;
}

int rnic_cq_push(struct rnic_cq *cq, const struct usiw_cqe *cqe,
		 struct rnic_stat_part part)
{
	bool is_locked = cq_lock(cq);
	int rc = cq_push(cq, cqe, part);

	cq_unlock(cq, is_locked);
	return rc;
}

int rnic_cq_overrun(struct rnic_cq *cq)
{
	bool is_locked = cq_lock(cq);
	int rc = cq_lose(cq);

	cq_unlock(cq, is_locked);
	return rc;
}

size_t rnic_cq_slots_size(uint32_t cqe)
{
	return rnic_ring_slots_size(cqe, sizeof(struct usiw_cqe));
}

static void cq_show(struct rnic_cq *cq, struct usiw_res_cq *res)
{
	cq->res = res;
	usiw_ring_show(&cq->ring, &res->pushed_idx, &res->polled_idx);
	res->context = cq->ctx->res->head.id;
	res->depth = cq->ring.depth;
	res->has_channel = cq->chan != NULL;
	rnic_res_close(&res->head);
}

#define CREATE "ibv_create_cq"
#define RESIZE "ibv_resize_cq"

int rnic_cq_create(struct rnic_context *ctx, uint32_t cqe,
		   struct rnic_chan *chan, uint64_t handle, void *slots,
		   struct rnic_cq **ret_cq)
{
	struct usiw_res_cq *res;
	struct rnic_cq *cq;
	int rc;

	rc = util_check_range("verbs", CREATE, "cqe", cqe, 1,
			      rnic_limits()->max_cqe);
	if (rc < 0)
		return rc;
	res = rnic_res_take(USIW_RES_CQ, 0);
	cq = util_alloc_lines(1, sizeof(*cq));
	if (!res || !cq)
		goto give;
	cq->ctx = ctx;
	rnic_place_init(&cq->place, ctx);
	util_lock_init(&cq->lock, UTIL_RANK_CQ);
	cq->handle = handle;
	cq->mem.shm = &ctx->shm;
	if (rnic_ring_alloc(&cq->ring, &cq->mem, cqe, sizeof(struct usiw_cqe),
			    slots) < 0)
		goto give;
	if (chan) {
		rnic_chan_get(chan);
		cq->chan = chan;
	}
	cq_show(cq, res);
	*ret_cq = cq;
	return 0;
give:
	rnic_res_give(USIW_RES_CQ, res);
	free(cq);
	return util_refuse_memory("verbs", CREATE);
}

void rnic_cq_set_flags(struct rnic_cq *cq, uint32_t flags)
{
	cq->flags = flags;
}

int rnic_cq_resize(struct rnic_cq *cq, uint32_t cqe, void *slots)
{
	struct rnic_ring_swap swap;
	bool is_done;
	int rc;

	rc = util_check_range("verbs", RESIZE, "cqe", cqe, 1,
			      rnic_limits()->max_cqe);
	if (rc < 0)
		return rc;
	if (rnic_ring_swap_begin(&cq->ring, &cq->mem, cqe, slots, &swap) < 0)
		return util_refuse_memory("verbs", RESIZE);
	rnic_engines_lead(&cq->ctx->engines);
	is_done = !cq->is_overrun && rnic_ring_swap(&cq->ring, &cq->mem, &swap);
	rnic_res_open(&cq->res->head);
	cq->res->depth = cq->ring.depth;
	rnic_res_close(&cq->res->head);
	rnic_engines_unlead(&cq->ctx->engines);
	rnic_ring_swap_end(&cq->ring, &cq->mem, &swap);
	return is_done ? 0
		       : util_refuse("verbs", EINVAL, RESIZE,
				     "cqe is %u, fewer than the entries that "
				     "are not polled, or the CQ is overrun",
				     cqe);
}

uint32_t rnic_cq_num(const struct rnic_cq *cq)
{
	return cq->res->head.id;
}

const struct usiw_ring *rnic_cq_ring(const struct rnic_cq *cq)
{
	return &cq->ring;
}

/* Each engine that may complete into the CQ: mostly one. */
#define FOREACH_ENGINE(cq, engine, i)                                          \
	for (uint32_t i = 0; ((engine) = cq_engine(cq, i)) != NULL; i++)

/* NULL: no more. */
static struct rnic_engine *cq_engine(const struct rnic_cq *cq, uint32_t idx)
{
	const struct rnic_engines *engines = &cq->ctx->engines;

	if (!rnic_cq_is_shared(cq))
		return idx ? NULL : rnic_place_engine(&cq->place);
	return idx < rnic_engines_cnt(engines) ? rnic_engines_at(engines, idx)
					       : NULL;
}

bool rnic_cq_wants_progress(const struct rnic_cq *cq)
{
	struct rnic_engine *engine;

	FOREACH_ENGINE(cq, engine, i)
	if (rnic_engine_wants_pass(engine))
		return true;
	return false;
}

void rnic_cq_progress(struct rnic_cq *cq)
{
	uint32_t look = atomic_load_explicit(&cq->look, memory_order_relaxed);
	struct rnic_engine *engine;

	/* The thread is going to sleep on a descriptor; what has come since the
	 * last look makes that readable. */
	if (look == RNIC_CQ_LOOK_VAIN &&
	    atomic_compare_exchange_strong_explicit(
		    &cq->look, &look, RNIC_CQ_LOOK_DUE, memory_order_relaxed,
		    memory_order_relaxed))
		return;
	if (look != RNIC_CQ_LOOKED)
		atomic_store_explicit(&cq->look, RNIC_CQ_LOOKED,
				      memory_order_relaxed);
	FOREACH_ENGINE(cq, engine, i)
	rnic_engine_poll(engine);
}

static void cq_arm(struct rnic_cq *cq, bool solicited_only)
{
	enum rnic_cq_armed kind = solicited_only ? RNIC_CQ_ARM_SOLICITED
						 : RNIC_CQ_ARM_ANY;

	/* What is armed already stays so: its first entry, and the wider
	 * request, count. */
	if (cq_armed_kind(cq) < kind) {
		/* Before it is armed: who disarms it comes later. */
		rnic_res_set(&cq->res->armed, kind);
		atomic_store_explicit(
			&cq->armed,
			RNIC_CQ_ARMED(kind, usiw_ring_cons_idx(&cq->ring)),
			memory_order_relaxed);
	}
	/* seq_cst: pairs with the fence in cq_fire(). */
	atomic_thread_fence(memory_order_seq_cst);
}

/* Does a thread that waits on the CQ's channel do the work of @engine? */
static bool cq_is_attended(struct rnic_cq *cq, struct rnic_engine *engine)
{
	return cq->chan && rnic_chan_set_host(cq->chan, &engine->host);
}

void rnic_cq_arm(struct rnic_cq *cq, bool solicited_only)
{
	UTIL_KEEP_ERRNO();
	struct rnic_engine *engine;

	cq_arm(cq, solicited_only);
	if (cq->chan)
		cq_fire_waiting(cq);
	FOREACH_ENGINE(cq, engine, i)
	{
		if (!cq_is_attended(cq, engine) &&
		    !rnic_engine_has_sleeper(engine))
			rnic_engine_unpark(engine);
		rnic_engine_flush(engine);
	}
}

int rnic_cq_sleep_begin(struct rnic_cq *cq)
{
	struct rnic_engine *engine;

	/* One descriptor is of one engine. */
	if (rnic_cq_is_shared(cq))
		return util_refuse("verbs", EOPNOTSUPP, "usiwdv_cq_sleep_begin",
				   "several engines use the CQ "
				   "(USIW_ENGINES)");
	/* rnic_cq_sleep_end() finds the same one. */
	rnic_place_cq(cq);
	engine = rnic_place_engine(&cq->place);
	if (!rnic_engine_sleep_begin(engine))
		return -EAGAIN;
	cq_arm(cq, false);
	rnic_engine_flush(engine);
	if (!rnic_engine_rest(engine)) {
		rnic_cq_sleep_end(cq);
		return -EAGAIN;
	}
	if (atomic_load_explicit(&cq->look, memory_order_relaxed) ==
	    RNIC_CQ_LOOKED)
		atomic_store_explicit(&cq->look, RNIC_CQ_LOOK_VAIN,
				      memory_order_relaxed);
	return engine->epfd;
}

void rnic_cq_sleep_end(struct rnic_cq *cq)
{
	atomic_store_explicit(&cq->armed, RNIC_CQ_NOT_ARMED,
			      memory_order_relaxed);
	rnic_res_set(&cq->res->armed, RNIC_CQ_NOT_ARMED);
	atomic_store_explicit(&cq->look, RNIC_CQ_LOOK_DUE,
			      memory_order_relaxed);
	rnic_engine_sleep_end(rnic_place_engine(&cq->place));
}

int rnic_cq_destroy(struct rnic_cq *cq, uint32_t *ret_comp_events,
		    uint32_t *ret_async_events)
{
	struct rnic_context *ctx = cq->ctx;

	if (atomic_load_explicit(&cq->user_cnt, memory_order_acquire))
		return util_refuse("verbs", EBUSY, "ibv_destroy_cq",
				   "queue pairs use it");
	*ret_comp_events = rnic_chan_purge(cq->chan, &cq->comp_node);
	*ret_async_events = rnic_chan_purge(ctx->async, &cq->async_node);
	if (cq->chan)
		rnic_chan_put(cq->chan);
	rnic_ring_free(&cq->ring, &cq->mem);
	rnic_res_give(USIW_RES_CQ, cq->res);
	free(cq);
	return 0;
}
